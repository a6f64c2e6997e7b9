// SPDX-License-Identifier: Apache-2.0
//
// What the products of a factorization were and what their operands' rounding can have cost, tile
// by tile: each tile takes its updates in one order, so the sums have the same bits whoever adds.
#ifndef BB_SOLVERS_FACTOR_TILES_TILE_UPDATES_H
#define BB_SOLVERS_FACTOR_TILES_TILE_UPDATES_H

#include "solvers/factor/tiles/tile_matrix.h"

typedef struct bb_tile_updates {
    double flops[BB_VARIANT_COUNT];
    double bound; ///< on ||.||_F of the error of all products into the tile; NaN: none known
} bb_tile_updates;

/// Adds the product of two tiles, final with their norms; of one with itself: into the diagonal.
void bb_tile_updates_add(bb_tile_updates *updates, bb_variant variant, const bb_tile *row_tile,
                         const bb_tile *column_tile);

/// Over the accounts [tiles] of a factorization; nothing is saturated yet.
bb_tile_work bb_tile_updates_sum(const bb_tile_matrix *matrix, const bb_tile_updates *updates);

#endif
