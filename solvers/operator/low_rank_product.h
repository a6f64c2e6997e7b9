// SPDX-License-Identifier: Apache-2.0
//
// y = C x on the cpu with C as low-rank tiles (precision/codecs/low_rank.h), never decoded: first
// t = scale (V x) of every tile of the bands that the wanted rows touch, then y = U t.
//
// Arithmetic: fp32 products and t rounded to fp32, or both in fp64; sums of 16 lanes, lane l taking
// values l, l + 16, ..., then a tree of halves, in fp64 or fp32. Products are few: each is promoted
// by itself, whatever the run. Any number of threads gives the same bits.
#ifndef BB_SOLVERS_OPERATOR_LOW_RANK_PRODUCT_H
#define BB_SOLVERS_OPERATOR_LOW_RANK_PRODUCT_H

#include "precision/codecs/low_rank.h"
#include "solvers/operator/coded_operator.h"

/// x [columns] is rounded already where products are in fp32. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_low_rank_product_multiply(bb_device *device, const bb_coded_matrix *matrix,
                                                  bb_gemv_arithmetic arithmetic, bb_index row,
                                                  bb_index rows, const double *x, double *y);

/// Operations of it: 2 for every value of V and of the wanted rows of U.
double bb_low_rank_product_flops(const bb_coded_matrix *matrix, bb_index row, bb_index rows);

#endif
