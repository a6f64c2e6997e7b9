// SPDX-License-Identifier: Apache-2.0
#include "precision/light_tiles.h"

#include "core/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct tile_energy {
    double energy;
    bb_index row, column;
} tile_energy;

static int by_energy(const void *a, const void *b)
{
    const tile_energy *x = a;
    const tile_energy *y = b;
    if (x->energy != y->energy) {
        return x->energy < y->energy ? -1 : 1;
    }
    if (x->row != y->row) {
        return x->row < y->row ? -1 : 1;
    }
    return (x->column > y->column) - (x->column < y->column);
}

bb_need bb_light_tiles_need(bb_index tile_rows)
{
    return (bb_need){.host_bytes = (double)(tile_rows * tile_rows) * sizeof(tile_energy)};
}

bb_status bb_light_tiles(bb_index tile_rows, const double *energies, double share,
                         unsigned char *light)
{
    bb_status status = BB_OK;
    tile_energy *tiles = NULL;
    bb_index count = 0;
    double all = 0.0;
    double taken = 0.0;
    memset(light, 0, (size_t)(tile_rows * tile_rows));
    BB_TRY(BB_ALLOCATE(tile_rows * tile_rows, &tiles));
    for (bb_index i = 1; i < tile_rows; ++i) {
        for (bb_index j = 0; j < i; ++j) {
            tiles[count++] = (tile_energy){energies[i * (i + 1) / 2 + j], i, j};
        }
    }
    qsort(tiles, (size_t)count, sizeof *tiles, by_energy);
    for (bb_index t = 0; t < count; ++t) { // in the order of `taken`: a share of 1 is all
        all += tiles[t].energy;
    }
    for (bb_index t = 0; isfinite(all) && t < count && taken + tiles[t].energy <= share * all;
         ++t) {
        taken += tiles[t].energy;
        light[tiles[t].row * tile_rows + tiles[t].column] = 1;
    }
done:
    BB_RELEASE(&tiles);
    return status;
}
