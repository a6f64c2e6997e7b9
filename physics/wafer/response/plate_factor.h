// SPDX-License-Identifier: Apache-2.0
//
// Cholesky factor of a sparse stiffness matrix, computed by CHOLMOD (supernodal, with a given
// permutation) or read from a file stored by an earlier run (core/store.h) under a key of
// everything that it depends on.
//
// Limits: the bits are those of the BLAS that computed it.
#ifndef BB_PHYSICS_WAFER_RESPONSE_PLATE_FACTOR_H
#define BB_PHYSICS_WAFER_RESPONSE_PLATE_FACTOR_H

#include "core/need.h"
#include "core/status.h"

#include <stdint.h>

// Solves L L' x = b for several right-hand sides with a supernodal Cholesky factor in CHOLMOD's
// layout.
//
// Right-hand sides are row-major: the values of one unknown are contiguous, so that gathering and
// scattering rows of a supernode copies whole lines, and each supernode is one triangular solve and
// one product (dtrsm, dgemm on one thread). The forward sweep visits only supernodes reached by a
// sparse right-hand side: a nonzero row reaches its supernode and its ancestors. Entries of the
// other supernodes are zero and stay zero.
//
// Limits: real values, fp64. The bits depend on the width and on the BLAS, not on threads.

/// Borrowed view of a factor. Supernode s has the columns first[s] .. first[s + 1] - 1 and the rows
/// row[row_start[s] .. row_start[s + 1] - 1], ascending, its own columns first; its values start at
/// value_start[s], column-major with one column for each of its columns and one row for each row.
typedef struct bb_supernodes {
    int64_t unknowns;
    int64_t count;
    int64_t row_count;          ///< items of row
    int64_t value_count;        ///< items of value
    const int64_t *first;       ///< [count + 1]
    const int64_t *row_start;   ///< [count + 1]
    const int64_t *value_start; ///< [count + 1]
    const int64_t *row;         ///< [row_count]
    const double *value;        ///< [value_count]
    const int64_t *permutation; ///< [unknowns] unknown at each position of the factor
} bb_supernodes;

/// Solves in place: x [unknowns][width], in the order of the factor. `touched` lists the
/// touched_count nonzero rows of x; NULL: all may be nonzero. Safe from several threads. Errors:
/// BB_MEMORY.
BB_CHECKED bb_status bb_supernodes_solve(const bb_supernodes *factor, bb_index width,
                                         bb_index touched_count, const int64_t *touched, double *x);

/// Memory and time in addition to x with that many unknowns per node: for a disc with nested
/// dissection the largest block below a supernode is a few lines of nodes across.
bb_need bb_supernodes_solve_need(double nodes, double unknowns, bb_index width);

/// Rounds operands of a single-precision solve to fewer digits, in place; NULL: no further
/// rounding.
typedef void (*bb_operand_rounding)(float *values, bb_index count);

/// The factor's values rounded to single precision: a factor for solves whose sums are in fp32.
typedef struct bb_narrow_factor bb_narrow_factor;

/// Rounds the values of `factor`, which is borrowed. Errors: BB_MEMORY, BB_UNSUPPORTED (values
/// outside the range of single precision).
BB_CHECKED bb_status bb_narrow_factor_create(const bb_supernodes *factor, bb_operand_rounding round,
                                             bb_narrow_factor **out);
void bb_narrow_factor_destroy(bb_narrow_factor **factor);

/// Solves as bb_supernodes_solve, in single precision (strsm, sgemm): x is converted, and the
/// unknowns of a supernode are rounded once they are solved. `narrow` NULL: bb_supernodes_solve.
BB_CHECKED bb_status bb_narrow_factor_solve(const bb_narrow_factor *narrow,
                                            const bb_supernodes *factor, bb_index width,
                                            bb_index touched_count, const int64_t *touched,
                                            double *x);

/// Checks that the index arrays are consistent, so that a solve stays inside its arrays. For
/// factors read from a file. Errors: BB_INVALID.
BB_CHECKED bb_status bb_supernodes_check(const bb_supernodes *factor);

/// Upper triangle of a symmetric matrix by columns: rows of column j are
/// row[start[j] .. start[j + 1] - 1], ascending, up to j.
typedef struct bb_upper_triangle {
    int64_t unknowns;
    int64_t *start; ///< [unknowns + 1]
    int64_t *row;   ///< [start[unknowns]]
    double *value;
} bb_upper_triangle;

typedef struct bb_plate_factor bb_plate_factor;

/// Computes the factor; `order` [unknowns] is the requested elimination order. Errors: BB_INVALID
/// (not positive definite), BB_MEMORY, BB_INTERNAL. Owner: the caller.
BB_CHECKED bb_status bb_plate_factor_create(const bb_upper_triangle *matrix, const int64_t *order,
                                            bb_plate_factor **out);

/// Reads the stored factor, or sets `*out` to NULL if there is no file, or none that can be trusted
/// (with a warning that gives the reason). Errors: BB_MEMORY.
BB_CHECKED bb_status bb_plate_factor_load(const char *folder, const char *key, int64_t unknowns,
                                          bb_plate_factor **out);

/// Stores the factor in `folder`, which is created if it is missing. Errors: BB_IO, BB_MEMORY.
BB_CHECKED bb_status bb_plate_factor_store(const bb_plate_factor *factor, const char *folder,
                                           const char *key);

/// Memory and time of factoring: the matrix of `matrix_values`, CHOLMOD's permuted copy of it, and
/// a factor by nested dissection of `per_unknown` n log2 n doubles for n unknowns, including its
/// indices; and of the result alone. CHOLMOD allocates its part itself, not through core/memory.h.
bb_need bb_plate_factor_need(double unknowns, double per_unknown, double matrix_values);
bb_need bb_plate_factor_resident(double unknowns, double per_unknown);

/// Returns CHOLMOD's peak memory while it computed a factor, bytes by its own count; 0 for a factor
/// read from a file.
double bb_plate_factor_peak_bytes(const bb_plate_factor *factor);

/// Returns the view of a factor. It is valid as long as the factor.
const bb_supernodes *bb_plate_factor_supernodes(const bb_plate_factor *factor);

/// place [unknowns]: position of each unknown in the factor.
const int64_t *bb_plate_factor_places(const bb_plate_factor *factor);

void bb_plate_factor_destroy(bb_plate_factor **factor);

#endif
