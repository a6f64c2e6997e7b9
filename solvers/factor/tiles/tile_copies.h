// SPDX-License-Identifier: Apache-2.0
//
// Rounded copies of a factorization's tiles: a final tile is rounded once to each format that a
// product asks for and that it is not kept in. The copies of two columns are held at a time, those
// of stages of even and of odd number (tile_panels.h).
#ifndef BB_SOLVERS_FACTOR_TILES_TILE_COPIES_H
#define BB_SOLVERS_FACTOR_TILES_TILE_COPIES_H

#include "solvers/factor/tiles/tile_operand.h"

typedef struct bb_tile_copies {
    const bb_tile_matrix *matrix;     ///< borrowed
    void *words[2][BB_OPERAND_COUNT]; ///< [tile_rows][tile_size^2], NULL: no product asks
} bb_tile_copies;

/// Room for the copies that products may ask for. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_tile_copies_create(const bb_tile_matrix *matrix, bb_tile_copies *out);
void bb_tile_copies_release(bb_tile_copies *copies);

/// Makes the copies of final tile (row, column) for a stage; returns how many values e4m3 clipped.
bb_index bb_tile_copies_make(const bb_tile_copies *copies, bb_index stage, bb_index row,
                             bb_index column);

/// What a product of the column of a stage reads of tile (row, column): its values, or a copy.
const void *bb_tile_copies_operand(const bb_tile_copies *copies, bb_index stage, bb_index row,
                                   bb_index column, bb_operand operand);

/// Bytes of the copies where tiles get the variants `given` [count].
bb_need bb_tile_copies_need(bb_index n, bb_index tile_size, int count, const bb_variant *given);

#endif
