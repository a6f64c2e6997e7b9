// SPDX-License-Identifier: Apache-2.0
//
// The sweeps X L^-T and X L^-1 of tile_cholesky.h over a block of right-hand sides, step by step:
// forward through the tile rows of L, then backward through its tile columns. A step reads that row
// or column alone, so whoever has it at hand can take all blocks through it.
//
// Two kinds, whose blocks are of fixed height, so that the bits do not depend on threads:
//
// Plain: all products in fp64 where every tile is dp, else in fp32.
//
// Narrow: products take the variants of the factor's tiles, in the first sweep or in both: operands
// L and X are rounded as in the factorization, and so is what is accumulated; the solves with the
// diagonal tiles stay in fp32, and so does a second sweep that does not follow. Each right-hand
// side is scaled by the power of two that brings its largest magnitude to (1/2, 1], before the
// first sweep and again between the two, undone at the end: exact in fp32, and fp16 then covers it
// whatever its unit is, up to a condition of about 65504^2.
#ifndef BB_SOLVERS_FACTOR_TILES_TILE_SWEEP_H
#define BB_SOLVERS_FACTOR_TILES_TILE_SWEEP_H

#include "solvers/factor/tiles/tile_matrix.h"

typedef struct bb_tile_sweep_kind {
    bb_index block_rows; ///< right-hand sides of a block, at most
    /// Starts a block of `rows` right-hand sides `x` [rows][n], borrowed until it is destroyed.
    /// Errors: BB_MEMORY.
    bb_status (*create)(const bb_tile_matrix *factor, bb_index rows, double *x, void **out);
    void (*forward)(void *block, bb_index k); ///< k = 0, 1, ...: reads tiles (k, 0) ... (k, k)
    void (*turn)(void *block);                ///< between the two
    void (*backward)(void *block,
                     bb_index k); ///< k = ..., 1, 0: reads tiles (k, k), (k + 1, k) ...
    void (*store)(void *block);   ///< the result is in `x`
    void (*destroy)(void **block);
} bb_tile_sweep_kind;

extern const bb_tile_sweep_kind bb_tile_sweep_plain;
extern const bb_tile_sweep_kind bb_tile_sweep_narrow;

/// Whether every tile is kept in fp64.
bool bb_tile_sweep_is_wide(const bb_tile_matrix *factor);

/// Bytes that the blocks of either kind take beside the factor and `rows` right-hand sides, in
/// tiles of `size`, where `blocks` of them are at work at once. `wide`: every tile is dp.
double bb_tile_sweep_plain_bytes(bb_index n, bb_index size, bb_index rows, double blocks,
                                 bool wide);
double bb_tile_sweep_narrow_bytes(bb_index n, bb_index size, bb_index rows, double blocks);

#endif
