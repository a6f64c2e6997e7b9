// SPDX-License-Identifier: Apache-2.0
//
// The products of solvers/operator/coded_operator.h on the CPU: ranges of rows, or of the groups of
// a codec that decodes in pieces. The sums of a row lie in 16 lanes that are those of the whole
// row, wherever a piece begins.
#ifndef BB_SOLVERS_OPERATOR_CODED_PRODUCT_H
#define BB_SOLVERS_OPERATOR_CODED_PRODUCT_H

#include "solvers/operator/coded_operator.h"
#include "solvers/operator/coded_span.h"

enum { BB_CODED_GRAIN = 12 }; ///< most rows of a range

/// Arguments of products with a matrix that is not plain.
typedef struct bb_piece_product {
    const bb_coded_matrix *matrix;
    bb_gemv_arithmetic arithmetic;
    bb_index run;       ///< as in bb_coded_product
    bb_index row, rows; ///< wanted
    const double *x;
    const float *x_f32; ///< NULL: products in fp64
    bool finite;        ///< as in bb_coded_product
    double *y;          ///< [rows], scales not undone
} bb_piece_product;

/// Rows [begin, end) of a bb_coded_product, at most BB_CODED_GRAIN.
bb_status bb_coded_product_multiply_rows(bb_queue *queue, bb_index begin, bb_index end,
                                         void *context);

/// Rows [begin, end) of the wanted ones of a bb_piece_product, at most BB_CODED_GRAIN: fp32
/// products of eight-bit block floating point.
bb_status bb_coded_product_multiply_bfp8(bb_queue *queue, bb_index begin, bb_index end,
                                         void *context);

/// Whether every stored value is known to be finite and below 2^BB_FINITE_EXPONENT: true for fp16,
/// e4m3, e5m2 and bfp of 8 bits without NaN, infinity or poisoned block. One pass over the words.
/// Errors: BB_MEMORY.
BB_CHECKED bb_status bb_coded_product_is_finite(const bb_coded_matrix *matrix, bool *out);

enum { BB_FINITE_EXPONENT = 67 };

/// Groups [begin, end) of the matrix of a bb_piece_product. Errors: BB_MEMORY.
bb_status bb_coded_product_multiply_groups(bb_queue *queue, bb_index begin, bb_index end,
                                           void *context);

#endif
