// SPDX-License-Identifier: Apache-2.0
//
// Sparse matrix times vector with narrow storage and narrow arithmetic, as a controller computes
// it. Coefficients and results are stored in one format; the operands of products are rounded to
// another. Products and sums are in fp64 if operands are fp64, else in fp32: a product of tf32,
// bf16 or fp16 is exact there, as on tensor cores. fp16 is scaled by powers of two: results by a
// scale of the caller, coefficients so that the largest lies in (2^13, 2^14].
//
// The order of sums is that of bb_csr_multiply, so bits do not depend on threads; fp64 in both
// formats gives its bits. Emulation: every value is kept as a double or a float.
#ifndef BB_SOLVERS_STEP_NARROW_MATRIX_H
#define BB_SOLVERS_STEP_NARROW_MATRIX_H

#include "core/csr.h"
#include "precision/format.h"

typedef struct bb_narrow_formats {
    bb_format storage;    ///< of coefficients and results
    bb_format arithmetic; ///< of operands
    double scale;         ///< of results and vectors in fp16: a power of two
} bb_narrow_formats;

/// Rounds a value to the storage, or to an operand.
double bb_narrow_formats_store(const bb_narrow_formats *formats, double value);
double bb_narrow_formats_operand(const bb_narrow_formats *formats, double value);

/// a + b, a b in the format of sums.
double bb_narrow_formats_add(const bb_narrow_formats *formats, double a, double b);
double bb_narrow_formats_multiply(const bb_narrow_formats *formats, double a, double b);

/// Rounds `count` values to the storage over the threads. Errors: none of its own.
BB_CHECKED bb_status bb_narrow_formats_store_all(const bb_narrow_formats *formats, bb_index count,
                                                 double *values);

typedef struct bb_narrow_matrix bb_narrow_matrix;

/// Rounds the coefficients; `matrix` is borrowed for its indices. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_narrow_matrix_create(const bb_csr *matrix, const bb_narrow_formats *formats,
                                             bb_narrow_matrix **out);
void bb_narrow_matrix_destroy(bb_narrow_matrix **matrix);

/// What one of `entries` coefficients and `columns` columns takes.
bb_need bb_narrow_matrix_need(double entries, double columns);

/// Sums of x [columns] into y [rows], not stored yet. Not safe from several threads.
BB_CHECKED bb_status bb_narrow_matrix_multiply(bb_narrow_matrix *matrix, const double *x,
                                               double *y);

/// A coefficient of the matrix's kind that is none of its entries, as an operand.
double bb_narrow_matrix_coefficient(const bb_narrow_matrix *matrix, double value);

#endif
