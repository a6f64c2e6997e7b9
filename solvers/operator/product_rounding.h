// SPDX-License-Identifier: Apache-2.0
//
// A-priori rounding of the products of solvers/operator/coded_operator.h, for the orders of sums
// stated there: a value passes at most 4 roundings as operand, unit of its block and product, and
// then as many sums as the longest path of its lane has. (1 + u)^k - 1 <= e^(k u) - 1 (Higham,
// Accuracy and stability of numerical algorithms, section 3.1).
//
// Lanes: cpu 16, cuda 32 and 5 foldings after places, zfp's panels there 128 sums of a lane; a path
// has at most columns / 16 + 128 sums. In runs of r, r of them are in fp32 and all in fp64; in fp32
// sums all are counted in fp32.
//
// In limbs (stream_limbs_cuda.h) a tensor core adds 16 products to a sum at once, each of the 17
// cut below 2^-24 of the largest at most (Fasi, Higham, Mikaitis, Pranesh, Numerical behavior of
// NVIDIA tensor cores, PeerJ CS 7, 2021: it keeps at least two bits more than fp32), eight times
// before a sum is promoted; and x is exact to 2^-30 of the largest.
//
// Rows of low-rank tiles and of transformed blocks are multiplied as factors and have counts and
// magnitudes of their own (precision/row_rounding.h), which go with the row.
#ifndef BB_SOLVERS_OPERATOR_PRODUCT_ROUNDING_H
#define BB_SOLVERS_OPERATOR_PRODUCT_ROUNDING_H

#include "precision/row_certificate.h"
#include "solvers/operator/coded_operator.h"

/// For products of `storage` over `columns` columns in runs of `run`
/// (bb_coded_operator_sum_in_runs), on any device.
bb_sum_rounding bb_product_rounding(const bb_codec_config *storage, bb_gemv_arithmetic arithmetic,
                                    bb_index run, bb_index columns);

#endif
