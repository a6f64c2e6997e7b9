// SPDX-License-Identifier: Apache-2.0
//
// The tiles of a Cholesky factor that its sweeps may take narrow. Rounding tile L_ij where it is
// multiplied with right-hand sides errs in proportion to the root of its energy, the sum of squares
// of its values, and errors of tiles add up as independent ones do: so the tiles of least energy
// buy the most products for a given error.
#ifndef BB_PRECISION_LIGHT_TILES_H
#define BB_PRECISION_LIGHT_TILES_H

#include "core/array.h"
#include "core/need.h"
#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Those below the diagonal of least energy, as many as hold at most the part `share` of what all
/// of them hold. `energies` [tile_rows (tile_rows + 1) / 2], row by row; `light`
/// [tile_rows][tile_rows], 1 at (row, column) with row > column where light, else 0. Equal energies
/// are taken in the order of their place; no tile is light where one is not finite. Errors:
/// BB_MEMORY.
BB_CHECKED bb_status bb_light_tiles(bb_index tile_rows, const double *energies, double share,
                                    unsigned char *light);

/// What it takes beside its arguments.
bb_need bb_light_tiles_need(bb_index tile_rows);

#ifdef __cplusplus
}
#endif

#endif
