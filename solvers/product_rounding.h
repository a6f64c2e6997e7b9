// SPDX-License-Identifier: Apache-2.0
//
// A-priori rounding of the products of solvers/coded_operator.h, for the orders of sums stated
// there: a value passes at most 4 roundings as operand, unit of its block and product, and then as
// many sums as the longest path of its lane has. (1 + u)^k - 1 <= e^(k u) - 1 (Higham, Accuracy and
// stability of numerical algorithms, section 3.1).
//
// Lanes: cpu 16, cuda 32 and 5 foldings after places; either path has at most columns / 16 + 64
// sums. In runs of r, r of them are in fp32 and all in fp64; in fp32 sums all are counted in fp32.
//
// Rows of low-rank tiles and of transformed blocks are multiplied as factors and have counts and
// magnitudes of their own (precision/row_path.h), which go with the row.
#ifndef BB_SOLVERS_PRODUCT_ROUNDING_H
#define BB_SOLVERS_PRODUCT_ROUNDING_H

#include "precision/row_certificate.h"
#include "solvers/coded_operator.h"

/// For products over `columns` columns in runs of `run` (bb_coded_operator_sum_in_runs).
bb_sum_rounding bb_product_rounding(bb_gemv_arithmetic arithmetic, bb_index run, bb_index columns);

#endif
