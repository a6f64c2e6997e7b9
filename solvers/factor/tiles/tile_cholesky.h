// SPDX-License-Identifier: Apache-2.0
//
// Mixed-precision tile Cholesky A = L L^T and the solves with it, on the CPU.
//
// Tile (i, j) is updated in the order k = 0, 1, ..., each time as one product of its variant:
//     acc <- sum over the tile's columns of round(L_ik) round(L_jk)^T    (operand, accumulator)
//     A_ij <- round(A_ij - acc)                                          (output)
// as in a half-precision GEMM call. fp64 and fp32 accumulate in the order of OpenBLAS's gemm for
// the core type recorded in the outputs (products of 16-bit operands are exact in fp32). fp16
// starts from 0 and is rounded to fp16 after every `accumulate_k` products summed in fp32; if the
// plan says so it starts from A_ij, like a product that accumulates in place. Potrf, trsm and syrk
// compute in fp32, in fp64 for dp tiles. The bits do not depend on the threads.
#ifndef BB_SOLVERS_FACTOR_TILES_TILE_CHOLESKY_H
#define BB_SOLVERS_FACTOR_TILES_TILE_CHOLESKY_H

#include "core/outcome.h"
#include "solvers/factor/tiles/tile_matrix.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Factors in place: the lower tiles become L. A breakdown is an outcome (not_spd or non_finite
/// with tile and row) and leaves the matrix undefined. `accumulate_k` >= 1 is used by fp16
/// accumulators. Errors: BB_MEMORY, BB_INVALID.
BB_CHECKED bb_status bb_tile_cholesky_factor(bb_tile_matrix *matrix, bb_index accumulate_k,
                                             bb_outcome *outcome);

/// Cost of factoring without the matrix; `given` [count] are the variants that tiles may get.
bb_need bb_tile_cholesky_factor_need(const bb_tile_plan *plan, bb_index n, int count,
                                     const bb_variant *given, double threads);

/// X <- X (L L^T)^-1 for X [count][n] row-major fp64, `count` right-hand sides as rows: a forward
/// and a backward sweep. Computes in fp64 if every tile is dp, otherwise in fp32, or, if the
/// factor's plan says so, with the products of the tiles' variants (tile_sweep.h). Errors:
/// BB_MEMORY.
BB_CHECKED bb_status bb_tile_cholesky_solve(const bb_tile_matrix *factor, bb_index count,
                                            double *x);

/// Cost of a solve without the factor and `rows` right-hand sides.
bb_need bb_tile_cholesky_solve_need(const bb_tile_plan *plan, bb_index n, bb_index rows,
                                    double threads);

/// n^3 / 3 + 2 n^2 count: operations of the factor and of the solves of `count` right-hand sides.
double bb_tile_cholesky_flops(bb_index n, bb_index count);

#ifdef __cplusplus
}
#endif

#endif
