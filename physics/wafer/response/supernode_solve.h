// SPDX-License-Identifier: Apache-2.0
//
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
#ifndef BB_PHYSICS_WAFER_RESPONSE_SUPERNODE_SOLVE_H
#define BB_PHYSICS_WAFER_RESPONSE_SUPERNODE_SOLVE_H

#include "core/need.h"
#include "core/status.h"

#include <stdint.h>

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

/// Whether the index arrays hold together, so that a solve stays inside its arrays. For factors
/// that were read from a file. Errors: BB_INVALID.
BB_CHECKED bb_status bb_supernodes_check(const bb_supernodes *factor);

#endif
