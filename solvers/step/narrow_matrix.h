// SPDX-License-Identifier: Apache-2.0
//
// Sparse matrix times vector with narrow storage and narrow arithmetic, as on a controller.
// Coefficients and results are stored in one format; the operands of products are rounded to
// another. Products and sums are in fp64 if operands are fp64, else in fp32: a product of tf32,
// bf16 or fp16 operands is exact there, as on tensor cores. fp16 is scaled by powers of two:
// results by a scale from the caller, coefficients so that the largest lies in (2^13, 2^14].
//
// Sums run in the order of bb_csr_multiply, so bits do not depend on threads; with fp64 for both
// formats the result is bit-identical to bb_csr_multiply. Emulation: every value is kept as a
// double or a float.
#ifndef BB_SOLVERS_STEP_NARROW_MATRIX_H
#define BB_SOLVERS_STEP_NARROW_MATRIX_H

#include "core/csr.h"
#include "precision/format.h"

typedef struct bb_narrow_formats {
    bb_format storage;    ///< format of coefficients and results
    bb_format arithmetic; ///< format of the operands of products
    double scale;         ///< power of two that scales results and vectors in fp16
} bb_narrow_formats;

/// Rounds a value to the storage format, or to the operand format.
double bb_narrow_formats_store(const bb_narrow_formats *formats, double value);
double bb_narrow_formats_operand(const bb_narrow_formats *formats, double value);

/// Return a + b and a b in the format of sums.
double bb_narrow_formats_add(const bb_narrow_formats *formats, double a, double b);
double bb_narrow_formats_multiply(const bb_narrow_formats *formats, double a, double b);

/// Rounds `count` values to the storage format on all threads. Errors: none of its own.
BB_CHECKED bb_status bb_narrow_formats_store_all(const bb_narrow_formats *formats, bb_index count,
                                                 double *values);

typedef struct bb_narrow_matrix bb_narrow_matrix;

/// Rounds the coefficients; `matrix` is borrowed for its indices. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_narrow_matrix_create(const bb_csr *matrix, const bb_narrow_formats *formats,
                                             bb_narrow_matrix **out);
void bb_narrow_matrix_destroy(bb_narrow_matrix **matrix);

/// Memory for `entries` coefficients and `columns` columns.
bb_need bb_narrow_matrix_need(double entries, double columns);

/// Multiplies: sums of x [columns] into y [rows], not yet rounded to the storage format. Not
/// thread-safe.
BB_CHECKED bb_status bb_narrow_matrix_multiply(bb_narrow_matrix *matrix, const double *x,
                                               double *y);

/// Rounds a coefficient that is not an entry of the matrix to an operand, by the same rules.
double bb_narrow_matrix_coefficient(const bb_narrow_matrix *matrix, double value);

#endif
