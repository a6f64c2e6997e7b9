// SPDX-License-Identifier: Apache-2.0
//
// Tiles of a Cholesky factor that solves may store in a narrow format. Rounding tile L_ij in
// products with right-hand sides gives an error proportional to the square root of its energy, the
// sum of squares of its values, and tile errors add up like independent ones: so the tiles of least
// energy save the most for a given error.
#ifndef BB_PRECISION_LIGHT_TILES_H
#define BB_PRECISION_LIGHT_TILES_H

#include "core/array.h"
#include "core/need.h"
#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Marks the tiles of least energy below the diagonal, as many as have at most the fraction `share`
/// of their total energy. `energies` [tile_rows (tile_rows + 1) / 2], row by row; `light`
/// [tile_rows][tile_rows], 1 at (row, column) with row > column if light, else 0. Ties are broken
/// by position; no tile is light if an energy is not finite. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_light_tiles(bb_index tile_rows, const double *energies, double share,
                                    unsigned char *light);

/// Memory and time in addition to its arguments.
bb_need bb_light_tiles_need(bb_index tile_rows);

#ifdef __cplusplus
}
#endif

#endif
