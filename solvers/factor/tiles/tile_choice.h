// SPDX-License-Identifier: Apache-2.0
//
// Queries of a tile factorization to its map, for every engine: the variant of each product
// and the formats in which final tiles are read.
#ifndef BB_SOLVERS_FACTOR_TILES_TILE_CHOICE_H
#define BB_SOLVERS_FACTOR_TILES_TILE_CHOICE_H

#include "solvers/factor/tiles/tile_operand.h"

/// Whether the products into tile (row, column) are chosen one by one, by their operands' norms.
bool bb_tile_choice_is_open(const bb_tile_matrix *matrix, bb_index row, bb_index column);

/// Variant of a product into tile (row, column) whose final operands have these Frobenius norms.
bb_variant bb_tile_choice_variant(const bb_tile_matrix *matrix, bb_index row, bb_index column,
                                  double row_norm, double column_norm);

/// Whether products into tile (row, column) may read an operand.
bool bb_tile_choice_allows(const bb_tile_matrix *matrix, bb_index row, bb_index column,
                           bb_operand operand);

/// Whether a later task may read tile (row, column), once final, in a format: of a diagonal tile
/// the solves of its column, of another one the products of its row and column.
bool bb_tile_choice_needs(const bb_tile_matrix *matrix, bb_index row, bb_index column,
                          bb_operand operand);

/// Sums of squares of the tiles of L that are here, 0 of the others: out [tile_rows (tile_rows + 1)
/// / 2], row by row. Errors: of bb_tile_matrix_acquire.
BB_CHECKED bb_status bb_tile_choice_energies(const bb_tile_matrix *matrix, double *out);

/// Which tiles of L its light sweeps take narrow, from the energies of all. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_tile_choice_light(bb_tile_matrix *matrix, const double *energies);

/// Account of a factorization's products and of the errors that their operands' rounding can cause,
/// tile by tile: each tile takes its updates in one order, so the sums have the same bits.
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
