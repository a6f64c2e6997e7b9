// SPDX-License-Identifier: Apache-2.0
//
// Cholesky factor of a sparse stiffness, made by CHOLMOD (supernodal, permutation given) or read
// from a file that an earlier run kept (core/store.h) by a key of everything that it depends on.
//
// Limits: bits are those of the BLAS of the run that factored.
#ifndef BB_PHYSICS_WAFER_RESPONSE_PLATE_FACTOR_H
#define BB_PHYSICS_WAFER_RESPONSE_PLATE_FACTOR_H

#include "core/need.h"
#include "core/status.h"

#include <stdint.h>

// Solves L L' x = b for several right-hand sides over a supernodal Cholesky factor in CHOLMOD's
// layout.
//
// Right-hand sides are row-major: the values of one unknown stand side by side, so that gathering
// and scattering rows of a supernode copies whole lines, and each supernode is one triangular solve
// and one product (dtrsm, dgemm on one thread). The forward pass visits only supernodes that a
// sparse right-hand side reaches: a nonzero row reaches its supernode and that one's ancestors.
// Entries of the other supernodes are zero and stay so.
//
// Limits: real values, fp64. Bits depend on the width and on the BLAS, not on threads.

/// Borrowed view of a factor. Supernode s has the columns first[s] .. first[s + 1] - 1 and the rows
/// row[row_start[s] .. row_start[s + 1] - 1], ascending, its own columns first; its values stand at
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
    const int64_t *permutation; ///< [unknowns] unknown at each place of the factor
} bb_supernodes;

/// Solves in place: x [unknowns][width], in the order of the factor. `touched` lists the
/// touched_count rows of x that are not zero; NULL: all may be. Safe from several threads. Errors:
/// BB_MEMORY.
BB_CHECKED bb_status bb_supernodes_solve(const bb_supernodes *factor, bb_index width,
                                         bb_index touched_count, const int64_t *touched, double *x);

/// What it takes beside x of so many unknowns a node: of a disc by nested dissection the largest
/// block below a supernode is a few lines of nodes across.
bb_need bb_supernodes_solve_need(double nodes, double unknowns, bb_index width);

/// Rounds operands of a solve in single precision to fewer digits, in place; NULL: to none fewer.
typedef void (*bb_operand_rounding)(float *values, bb_index count);

/// The factor's values in single precision, rounded: a factor for solves whose sums are in fp32.
typedef struct bb_narrow_factor bb_narrow_factor;

/// `factor` is borrowed. Errors: BB_MEMORY, BB_UNSUPPORTED (values beyond single precision).
BB_CHECKED bb_status bb_narrow_factor_create(const bb_supernodes *factor, bb_operand_rounding round,
                                             bb_narrow_factor **out);
void bb_narrow_factor_destroy(bb_narrow_factor **factor);

/// As bb_supernodes_solve, in single precision (strsm, sgemm): x is converted, and the unknowns of
/// a supernode are rounded once they are solved. NULL: bb_supernodes_solve.
BB_CHECKED bb_status bb_narrow_factor_solve(const bb_narrow_factor *narrow,
                                            const bb_supernodes *factor, bb_index width,
                                            bb_index touched_count, const int64_t *touched,
                                            double *x);

/// Whether the index arrays hold together, so that a solve stays inside its arrays. For factors
/// that were read from a file. Errors: BB_INVALID.
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

/// Factors; `order` [unknowns] is the elimination order asked for. Errors: BB_INVALID (not positive
/// definite), BB_MEMORY, BB_INTERNAL. Owner: the caller.
BB_CHECKED bb_status bb_plate_factor_create(const bb_upper_triangle *matrix, const int64_t *order,
                                            bb_plate_factor **out);

/// The file's factor, or NULL in `*out` where there is no file, or none that can be trusted (a
/// warning says why). Errors: BB_MEMORY.
BB_CHECKED bb_status bb_plate_factor_load(const char *folder, const char *key, int64_t unknowns,
                                          bb_plate_factor **out);

/// Keeps the factor in `folder`, which is made when it is missing. Errors: BB_IO, BB_MEMORY.
BB_CHECKED bb_status bb_plate_factor_store(const bb_plate_factor *factor, const char *folder,
                                           const char *key);

/// What factoring takes: the matrix of `matrix_values` beside CHOLMOD's permuted copy of it, and a
/// factor by nested dissection of `per_unknown` n log2 n doubles for n unknowns, its indices
/// included; and what of it stays. CHOLMOD takes its part by itself, not from core/memory.h.
bb_need bb_plate_factor_need(double unknowns, double per_unknown, double matrix_values);
bb_need bb_plate_factor_resident(double unknowns, double per_unknown);

/// The most that CHOLMOD held while it made a factor, bytes by its own count; 0 of one that was
/// read.
double bb_plate_factor_peak_bytes(const bb_plate_factor *factor);

/// Valid as long as the factor.
const bb_supernodes *bb_plate_factor_supernodes(const bb_plate_factor *factor);

/// place [unknowns]: where each unknown stands in the factor.
const int64_t *bb_plate_factor_places(const bb_plate_factor *factor);

void bb_plate_factor_destroy(bb_plate_factor **factor);

#endif
