// SPDX-License-Identifier: Apache-2.0
//
// A tall least-squares problem as one small triangle, and its non-negative solution. For learn.c.
//
// The columns are covariances (of layers, and measured), their rows all values that
// learn_block.h gives. A = Q T with T upper triangular: |A y| = |T y| for any y, so that all sums
// of squares are those of T, without the squared condition of the normal equations.
#ifndef BB_PHYSICS_AO_LEARN_LEARN_TRIANGLE_H
#define BB_PHYSICS_AO_LEARN_LEARN_TRIANGLE_H

#include "core/matrix_source.h"
#include "physics/ao/sensor_array.h"

/// Reduces `count` covariances of one sensor array to T [count][count], column-major, zeros below
/// the diagonal; `rows` gets the number of values behind it, NaN (and T is zero) where one of them
/// is not finite. The bits do not depend on the number of threads. Errors: BB_MEMORY, BB_INTERNAL
/// (LAPACK), the sources'.
BB_CHECKED bb_status bb_learn_triangle_make(const bb_sensor_array *guides, bb_index count,
                                            const bb_matrix_source *const *columns, double *t,
                                            double *rows);

/// Least squares of A x = b. A [rows][unknowns] and b [rows] are column-major and kept; x
/// [unknowns]. Errors: BB_MEMORY, BB_INTERNAL.
BB_CHECKED bb_status bb_learn_triangle_least_squares(bb_index rows, bb_index unknowns,
                                                     const double *a, const double *b, double *x);

/// The same with x >= 0 (Lawson and Hanson 1974, chapter 23); `residual` is |A x - b|.
BB_CHECKED bb_status bb_learn_triangle_non_negative(bb_index rows, bb_index unknowns,
                                                    const double *a, const double *b, double *x,
                                                    double *residual);

/// Of columns A [rows][unknowns] of unit norm: the diagonal of (A^T A)^-1 and the condition of A^T
/// A; infinite where columns depend on each other. Errors: BB_MEMORY, BB_INTERNAL.
BB_CHECKED bb_status bb_learn_triangle_condition(bb_index rows, bb_index unknowns, const double *a,
                                                 double *inverse_diagonal, double *condition);

#endif
