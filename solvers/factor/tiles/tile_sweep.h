// SPDX-License-Identifier: Apache-2.0
//
// The sweeps X L^-T and X L^-1 whose products take the variants of the factor's tiles (the first,
// or both): operands L and X are rounded as in the factorization, and so is what is accumulated;
// the solves with the diagonal tiles stay in fp32, and so does a second sweep that does not follow.
//
// Each right-hand side is scaled by the power of two that brings its largest magnitude to (1/2, 1],
// before the first sweep and again between the two, undone at the end: exact in fp32, and fp16 then
// covers it whatever its unit is, up to a condition of about 65504^2.
#ifndef BB_SOLVERS_FACTOR_TILES_TILE_SWEEP_H
#define BB_SOLVERS_FACTOR_TILES_TILE_SWEEP_H

#include "solvers/factor/tiles/tile_matrix.h"

/// As bb_tile_cholesky_solve for a factor that is not dp throughout. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_tile_sweep_narrow(const bb_tile_matrix *factor, bb_index count, double *x);

/// Bytes that it takes beside the factor and `rows` right-hand sides, in tiles of `size`.
bb_need bb_tile_sweep_need(bb_index n, bb_index size, bb_index rows, double threads);

#endif
