// SPDX-License-Identifier: Apache-2.0
//
// y = C x for a coded matrix C: each stored value is decoded, multiplied in one format and
// accumulated in another. The scheme of Doucet et al. (wafer feed-forward) is storage fp32,
// multiply fp32, accumulate fp64.
//
// Order of the sums, which fixes the bits: 16 lanes, lane l taking columns l, l + 16, ... in turn,
// then the tree ((0+8)+(4+12)) ... of halves. Each row is summed by one thread.
#ifndef BB_SOLVERS_CODED_GEMV_H
#define BB_SOLVERS_CODED_GEMV_H

#include "precision/codec.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Formats of the products (operands rounded to it, product rounded to it) and of the sums.
typedef struct bb_gemv_arithmetic {
    bb_format multiply;   ///< BB_FORMAT_FP64 or BB_FORMAT_FP32
    bb_format accumulate; ///< BB_FORMAT_FP64 or BB_FORMAT_FP32, no narrower than multiply
} bb_gemv_arithmetic;

/// y[i] = row (row + i) of C times x for i in [0, rows). x [columns] and y [rows] in fp64; rounding
/// to the multiply format happens here, the rows' scales are undone in fp64. Errors: BB_INVALID
/// (rows outside the matrix), BB_UNSUPPORTED (arithmetic other than above), BB_MEMORY.
BB_CHECKED bb_status bb_coded_gemv(const bb_coded_matrix *matrix, bb_gemv_arithmetic arithmetic,
                                   bb_index row, bb_index rows, const double *x, double *y);

/// Floating-point operations of one product: 2 rows columns.
double bb_coded_gemv_flops(bb_index rows, bb_index columns);

#ifdef __cplusplus
}
#endif

#endif
