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

/// Scratch of one thread.
typedef struct bb_tile_workspace {
    float *packed; ///< a tile in the panels of solvers/half_product.h
    bb_index accumulate_k;
} bb_tile_workspace;

BB_CHECKED bb_status bb_tile_workspace_create(bb_index tile_size, bb_index accumulate_k,
                                              bb_tile_workspace *out);
void bb_tile_workspace_release(bb_tile_workspace *workspace);

/// Whether a tile's own values are its values in the operand format of a product.
bool bb_tile_serves(const bb_tile *tile, bb_format format);

/// The tile's values: doubles of a dp tile, floats of any other.
const void *bb_tile_values(const bb_tile *tile);

/// The tile's values rounded to an operand format, in doubles for fp64 and in floats otherwise (a
/// dp tile passes through fp32 on its way to a narrower format). `copy` [rows][columns].
void bb_tile_convert(const bb_tile *tile, bb_format format, void *copy);

/// C <- C - A B^T in the variant of C; A [c.rows][depth], B [c.columns][depth] hold values of its
/// operand format, as doubles for dp and as floats otherwise.
void bb_tile_product(const void *a, const void *b, bb_index depth, bb_tile *c,
                     bb_tile_workspace *workspace);

/// C <- C - A A^T, lower triangle, in fp64 for a dp tile and in fp32 otherwise; A [c.rows][depth]
/// in that type.
void bb_tile_rank_update(const void *a, bb_index depth, bb_tile *c);

/// Cholesky of a diagonal tile; returns 0, or the 1-based row of the pivot that failed.
bb_index bb_tile_factor(bb_tile *diagonal);

/// A <- A L^-T with the factored diagonal tile L, in doubles for a dp tile and in floats
/// otherwise, then rounds A to its format.
void bb_tile_solve(const void *diagonal, bb_tile *a);

/// The tile's values in fp32: its own array, or a converted copy in `scratch`.
const float *bb_tile_as_f32(const bb_tile *tile, float *scratch);

#ifdef __cplusplus
}
#endif

#endif
