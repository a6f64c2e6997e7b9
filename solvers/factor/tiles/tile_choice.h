// SPDX-License-Identifier: Apache-2.0
//
// Queries to the map of a tile factorization, for every engine: the variant of each product and the
// formats in which final tiles are read.
#ifndef BB_SOLVERS_FACTOR_TILES_TILE_CHOICE_H
#define BB_SOLVERS_FACTOR_TILES_TILE_CHOICE_H

#include "solvers/factor/tiles/tile_operand.h"

/// True if the variants of products into tile (row, column) are selected one by one, by the norms
/// of their operands.
bool bb_tile_choice_is_open(const bb_tile_matrix *matrix, bb_index row, bb_index column);

/// Variant of a product into tile (row, column) whose final operands have these Frobenius norms.
bb_variant bb_tile_choice_variant(const bb_tile_matrix *matrix, bb_index row, bb_index column,
                                  double row_norm, double column_norm);

/// True if products into tile (row, column) may read this operand format.
bool bb_tile_choice_allows(const bb_tile_matrix *matrix, bb_index row, bb_index column,
                           bb_operand operand);

/// True if a later task may read the final tile (row, column) in this format: for a diagonal tile
/// the solves of its column, otherwise the products of its row and column.
bool bb_tile_choice_needs(const bb_tile_matrix *matrix, bb_index row, bb_index column,
                          bb_operand operand);

/// Sums of squares of the tiles of L stored in this process, 0 for the others: out [tile_rows
/// (tile_rows + 1) / 2], row by row. Errors: of bb_tile_matrix_acquire.
BB_CHECKED bb_status bb_tile_choice_energies(const bb_tile_matrix *matrix, double *out);

/// Selects the light tiles of L for its sweeps, from the energies of all tiles. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_tile_choice_light(bb_tile_matrix *matrix, const double *energies);

/// Statistics of a tile's updates, and bounds of the errors from rounding their operands. Each tile
/// is updated in a fixed order, so the sums are bit-identical on every engine.
typedef struct bb_tile_updates {
    double flops[BB_VARIANT_COUNT];
    double bound; ///< bound on ||.||_F of the error of all products into the tile; NaN: unknown
} bb_tile_updates;

/// Adds the product of two final tiles with their norms; a tile with itself updates a diagonal
/// tile.
void bb_tile_updates_add(bb_tile_updates *updates, bb_variant variant, const bb_tile *row_tile,
                         const bb_tile *column_tile);

/// Sums the statistics [tiles] of a factorization, with `saturated` 0.
bb_tile_work bb_tile_updates_sum(const bb_tile_matrix *matrix, const bb_tile_updates *updates);

#endif
