// SPDX-License-Identifier: Apache-2.0
//
// Sweeps X L^-T and X L^-1 of tile_cholesky.h over a block of right-hand sides, step by step:
// forward through the tile rows of L, then backward through its tile columns. A step reads only
// that row or column, so all blocks can use it while it is in memory.
//
// Two kinds, whose blocks have a fixed height, so that the bits do not depend on threads:
//
// Plain: all products in fp64 if every tile is dp, else in fp32.
//
// Narrow: products use the variants of the factor's tiles, in the first sweep or in both. Operands
// from L and X are rounded as in the factorization, and so are the accumulated results. The solves
// with the diagonal tiles are in fp32, and so is a second sweep that does not follow. Each
// right-hand side is scaled by the power of two that brings its largest magnitude to (1/2, 1],
// before the first sweep and again between the two, and scaled back at the end. This is exact in
// fp32, and makes fp16 cover it in any unit, up to a condition number of about 65504^2.
#ifndef BB_SOLVERS_FACTOR_TILES_TILE_SWEEP_H
#define BB_SOLVERS_FACTOR_TILES_TILE_SWEEP_H

#include "solvers/factor/tiles/tile_matrix.h"

typedef struct bb_tile_sweep_kind {
    bb_index block_rows; ///< largest number of right-hand sides in a block
    /// Creates a block of `rows` right-hand sides `x` [rows][n], borrowed until it is destroyed.
    /// Errors: BB_MEMORY.
    bb_status (*create)(const bb_tile_matrix *factor, bb_index rows, double *x, void **out);
    void (*forward)(void *block, bb_index k); ///< k = 0, 1, ...: reads tiles (k, 0) ... (k, k)
    void (*turn)(void *block);                ///< between the two sweeps
    void (*backward)(void *block,
                     bb_index k); ///< k = ..., 1, 0: reads tiles (k, k), (k + 1, k) ...
    void (*store)(void *block);   ///< stores the result in `x`
    void (*destroy)(void **block);
} bb_tile_sweep_kind;

extern const bb_tile_sweep_kind bb_tile_sweep_plain;
extern const bb_tile_sweep_kind bb_tile_sweep_narrow;

/// True if every tile is stored in fp64.
bool bb_tile_sweep_is_wide(const bb_tile_matrix *factor);

/// Bytes of the blocks of either kind, without the factor and `rows` right-hand sides, in tiles of
/// `size`, if `blocks` of them are processed at the same time. `wide`: every tile is dp.
double bb_tile_sweep_plain_bytes(bb_index n, bb_index size, bb_index rows, double blocks,
                                 bool wide);
double bb_tile_sweep_narrow_bytes(bb_index n, bb_index size, bb_index rows, double blocks);

#endif
