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

/// Adds product (row, column, k), whose operands are final with their norms.
void bb_tile_updates_add(bb_tile_updates *updates, const bb_tile_matrix *matrix, bb_variant variant,
                         bb_index row, bb_index column, bb_index k);

/// Over the accounts [tiles] of a factorization; nothing is saturated yet.
bb_tile_work bb_tile_updates_sum(const bb_tile_matrix *matrix, const bb_tile_updates *updates);

#endif
