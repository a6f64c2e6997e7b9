// SPDX-License-Identifier: Apache-2.0
#include "solvers/distributed/block_cyclic.h"

#include "solvers/factor/tiles/tile_store.h"

#include <stdlib.h>
#include <string.h>

bb_process_grid bb_process_grid_of(int processes)
{
    int rows = 1;
    for (int divisor = 1; divisor <= processes / divisor; ++divisor) {
        if (processes % divisor == 0) {
            rows = divisor;
        }
    }
    return (bb_process_grid){rows, processes / rows};
}

// A count of up to four digits at `*text`, which moves behind it; 0 where there is none.
static int read_count(const char **text)
{
    enum { DIGITS = 4 };
    const size_t digits = strspn(*text, "0123456789");
    const int count = digits > DIGITS || **text == '0' ? 0 : atoi(*text);
    *text += digits;
    return count;
}

bool bb_process_grid_read(const char *text, bb_process_grid *out)
{
    out->rows = read_count(&text);
    if (*text != 'x') {
        return false;
    }
    ++text;
    out->columns = read_count(&text);
    return *text == '\0' && out->rows > 0 && out->columns > 0;
}

int bb_process_grid_size(bb_process_grid grid)
{
    return grid.rows * grid.columns;
}

int bb_block_cyclic_owner(bb_process_grid grid, bb_index row, bb_index column)
{
    return (int)(row % grid.rows) * grid.columns + (int)(column % grid.columns);
}

static bool holds(const void *context, bb_index row, bb_index column)
{
    const bb_block_cyclic_share *share = context;
    return bb_block_cyclic_owner(share->grid, row, column) == share->rank;
}

bb_tile_share bb_block_cyclic_tiles(const bb_block_cyclic_share *share)
{
    return (bb_tile_share){.holds = holds, .context = share};
}

void bb_block_cyclic_bytes(const bb_tile_matrix *matrix, bb_process_grid grid, double *out)
{
    for (int rank = 0; rank < bb_process_grid_size(grid); ++rank) {
        out[rank] = 0.0;
    }
    for (bb_index row = 0; row < matrix->tile_rows; ++row) {
        for (bb_index column = 0; column <= row; ++column) {
            const bb_tile *tile = bb_tile_matrix_at(matrix, row, column);
            out[bb_block_cyclic_owner(grid, row, column)] +=
                (double)bb_tile_store_bytes(tile->format, tile->rows, tile->columns);
        }
    }
}
