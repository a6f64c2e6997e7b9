// SPDX-License-Identifier: Apache-2.0
//
// Product y = C x on the cpu with C as low-rank tiles (precision/codecs/low_rank.h), which are
// never decoded: first t = scale (V x) of every tile of the bands with requested rows, then y = U
// t.
//
// Arithmetic: fp32 products and t rounded to fp32, or both in fp64; sums in 16 lanes, lane l adding
// values l, l + 16, ..., then a binary tree, in fp64 or fp32. Products are few, so each is promoted
// separately, whatever the run. The bits do not depend on the threads.
#ifndef BB_SOLVERS_OPERATOR_LOW_RANK_PRODUCT_H
#define BB_SOLVERS_OPERATOR_LOW_RANK_PRODUCT_H

#include "precision/codecs/low_rank.h"
#include "solvers/operator/coded_operator.h"

/// Multiplies; x [columns] is already rounded if products are in fp32. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_low_rank_product_multiply(bb_device *device, const bb_coded_matrix *matrix,
                                                  bb_gemv_arithmetic arithmetic, bb_index row,
                                                  bb_index rows, const double *x, double *y);

/// Operations of the product: 2 for every value of V and of the requested rows of U.
double bb_low_rank_product_flops(const bb_coded_matrix *matrix, bb_index row, bb_index rows);

#endif
