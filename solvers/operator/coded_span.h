// SPDX-License-Identifier: Apache-2.0
//
// The inner loop of products in fp32: columns [begin, end) of a few rows are decoded, multiplied in
// fp32 (the product rounded to fp32) and added to each row's 16 lanes, lane l taking the columns
// l, l + 16, ... in turn, in fp64 or fp32. Every kernel of the table has the same bits (which NaN
// stands for a NaN excepted): decoding is exact, and no product is fused with its sum.
#ifndef BB_SOLVERS_OPERATOR_CODED_SPAN_H
#define BB_SOLVERS_OPERATOR_CODED_SPAN_H

#include "precision/codec.h"

#include <stdbool.h>

enum {
    BB_SPAN_LANES = 16,
    BB_SPAN_ROWS = 4, ///< most rows of a span: they share what is read of x
};

/// What a row is stored as: a bb_format, or eight-bit block floating point.
enum { BB_SPAN_BFP8 = BB_FORMAT_COUNT };

typedef struct bb_span_row {
    const unsigned char *words;     ///< of column 0; mantissas of bfp8
    const unsigned char *exponents; ///< of bfp8, one byte for each 32 columns
    double wide[BB_SPAN_LANES];     ///< sums in fp64
    float narrow[BB_SPAN_LANES];    ///< sums in fp32
} bb_span_row;

typedef struct bb_span {
    int storage;
    bool wide_sums;      ///< in fp64, else in fp32
    bool finite;         ///< known: no stored value and no product is NaN or infinite
    bb_index begin, end; ///< begin is a multiple of 32
    const float *x;      ///< of column 0
    bb_index rows;       ///< 1..BB_SPAN_ROWS
    bb_span_row *row;    ///< [rows]
} bb_span;

typedef struct bb_span_kernel {
    const char *name;
    bool (*available)(void); ///< on this processor
    void (*add)(const bb_span *span);
} bb_span_kernel;

/// Kernels of this build, the fastest first, the portable one last; returns how many.
bb_index bb_span_kernels(const bb_span_kernel **out);

/// The first one that is available here.
const bb_span_kernel *bb_span_kernel_chosen(void);

#endif
