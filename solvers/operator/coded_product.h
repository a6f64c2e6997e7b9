// SPDX-License-Identifier: Apache-2.0
//
// Products of solvers/operator/coded_operator.h on the CPU: ranges of rows, or of groups for a
// codec that decodes in pieces. A row's sums are in 16 lanes that refer to the whole row, wherever
// a piece begins.
#ifndef BB_SOLVERS_OPERATOR_CODED_PRODUCT_H
#define BB_SOLVERS_OPERATOR_CODED_PRODUCT_H

#include "solvers/operator/coded_operator.h"

#include <stdbool.h>

// Inner loop of products in fp32 (coded_span.c). Columns [begin, end) of a few rows are decoded,
// multiplied in fp32 (the product rounded to fp32) and added to each row's 16 lanes in fp64 or
// fp32; lane l adds the columns l, l + 16, ... in order. Every kernel of the table is
// bit-identical, except for NaN payloads: decoding is exact, and no product is fused with its sum.

enum {
    BB_SPAN_LANES = 16,
    BB_SPAN_ROWS = 4, ///< most rows of a span; they share each load of x
};

/// Stored form of a row: a bb_format, or eight-bit block floating point.
enum { BB_SPAN_BFP8 = BB_FORMAT_COUNT };

typedef struct bb_span_row {
    const unsigned char *words;     ///< words, or mantissas of bfp8, from column 0 on
    const unsigned char *exponents; ///< exponents of bfp8, one byte per 32 columns
    double wide[BB_SPAN_LANES];     ///< sums in fp64
    float narrow[BB_SPAN_LANES];    ///< sums in fp32
} bb_span_row;

typedef struct bb_span {
    int storage;
    bool wide_sums;      ///< sums in fp64, otherwise in fp32
    bool finite;         ///< true: certainly no stored value or product is NaN or infinite
    bb_index begin, end; ///< begin is a multiple of 32
    const float *x;      ///< x from column 0 on
    bb_index rows;       ///< 1..BB_SPAN_ROWS
    bb_span_row *row;    ///< [rows]
} bb_span;

typedef struct bb_span_kernel {
    const char *name;
    bool (*available)(void); ///< true if this processor supports the kernel
    void (*add)(const bb_span *span);
} bb_span_kernel;

/// Kernels of this build, fastest first, portable one last; returns their number.
bb_index bb_span_kernels(const bb_span_kernel **out);

/// First kernel that is available on this processor.
const bb_span_kernel *bb_span_kernel_chosen(void);

enum { BB_CODED_GRAIN = 12 }; ///< most rows of a range

/// Arguments of products with a matrix that is not in plain formats.
typedef struct bb_piece_product {
    const bb_coded_matrix *matrix;
    bb_gemv_arithmetic arithmetic;
    bb_index run;       ///< as in bb_coded_product
    bb_index row, rows; ///< requested rows
    const double *x;
    const float *x_f32; ///< NULL: products in fp64
    bool finite;        ///< as in bb_coded_product
    double *y;          ///< [rows], including the scales
} bb_piece_product;

/// Multiplies rows [begin, end) of a bb_coded_product, at most BB_CODED_GRAIN.
bb_status bb_coded_product_multiply_rows(bb_queue *queue, bb_index begin, bb_index end,
                                         void *context);

/// Multiplies [begin, end) of the requested rows of a bb_piece_product, at most BB_CODED_GRAIN:
/// fp32 products of eight-bit block floating point.
bb_status bb_coded_product_multiply_bfp8(bb_queue *queue, bb_index begin, bb_index end,
                                         void *context);

/// True if every stored value is known to be finite and below 2^BB_FINITE_EXPONENT: fp16, e4m3,
/// e5m2 and bfp of 8 bits without NaN, infinity or poisoned block. One pass over the words. Errors:
/// BB_MEMORY.
BB_CHECKED bb_status bb_coded_product_is_finite(const bb_coded_matrix *matrix, bool *out);

enum { BB_FINITE_EXPONENT = 67 };

/// Multiplies groups [begin, end) of the matrix of a bb_piece_product. Errors: BB_MEMORY.
bb_status bb_coded_product_multiply_groups(bb_queue *queue, bb_index begin, bb_index end,
                                           void *context);

#endif
