// SPDX-License-Identifier: Apache-2.0
//
// Product y = C x on the cpu with C as coefficients of a block transform
// (precision/codecs/transform.h), which are never decoded: x^ = T_c x of every block of the mesh,
// once for all rows; s = sum of q x^ of the blocks of each block of rows; y = step T_r' s. Groups
// of zero coefficients are not read.
//
// Arithmetic: transforms of x and s in fp64; x^, q and their products rounded to the products'
// format. Sums of a row frequency are in the format of sums, in the order of blocks and
// coefficients within a strip of the mesh, then strip by strip. Products are few, so each is
// promoted separately, whatever the run. The bits do not depend on the threads. A NaN or infinity
// in x makes every y NaN, as products of decoded values would.
#ifndef BB_SOLVERS_OPERATOR_TRANSFORM_PRODUCT_H
#define BB_SOLVERS_OPERATOR_TRANSFORM_PRODUCT_H

#include "precision/codecs/transform.h"
#include "solvers/operator/coded_operator.h"

/// Computes y[i] = row (row + i) times x [columns]. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_transform_product_multiply(bb_device *device, const bb_coded_matrix *matrix,
                                                   bb_gemv_arithmetic arithmetic, bb_index row,
                                                   bb_index rows, const double *x, double *y);

/// Operations of the product: 2 for every coefficient of a group that is read, and the transforms.
double bb_transform_product_flops(const bb_coded_matrix *matrix, bb_index row, bb_index rows);

#endif
