// SPDX-License-Identifier: Apache-2.0
//
// The kernels of the tile Cholesky: C <- C - A B^T in every variant, and the small factor and
// solve.
#ifndef BB_SOLVERS_TILE_PRODUCT_H
#define BB_SOLVERS_TILE_PRODUCT_H

#include "solvers/tile_matrix.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Scratch of one thread: room for three tiles in fp32 and two in fp64.
typedef struct bb_tile_workspace {
    float *f32;  ///< [3 tile_size^2]
    double *f64; ///< [2 tile_size^2]
    bb_index tile_items;
    bb_index accumulate_k;
} bb_tile_workspace;

BB_CHECKED bb_status bb_tile_workspace_create(bb_index tile_size, bb_index accumulate_k,
                                              bb_tile_workspace *out);
void bb_tile_workspace_release(bb_tile_workspace *workspace);

/// C <- C - A B^T in the variant of C; A [c.rows][k], B [c.columns][k].
void bb_tile_product(const bb_tile *a, const bb_tile *b, bb_tile *c, bb_tile_workspace *workspace);

/// C <- C - A A^T, lower triangle, in fp64 for a dp tile and in fp32 otherwise.
void bb_tile_rank_update(const bb_tile *a, bb_tile *c, bb_tile_workspace *workspace);

/// Cholesky of a diagonal tile; returns 0, or the 1-based row of the pivot that failed.
bb_index bb_tile_factor(bb_tile *diagonal);

/// A <- A L^-T with the factored diagonal tile L, then rounds A to its format.
void bb_tile_solve(const bb_tile *diagonal, bb_tile *a, bb_tile_workspace *workspace);

/// The tile's values in fp64 or fp32: its own array, or a converted copy in `scratch`.
const double *bb_tile_as_f64(const bb_tile *tile, double *scratch);
const float *bb_tile_as_f32(const bb_tile *tile, float *scratch);

#ifdef __cplusplus
}
#endif

#endif
