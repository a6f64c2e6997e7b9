// SPDX-License-Identifier: Apache-2.0
//
// Patterns of actuators that are even or odd under the reflections of where they stand.
//
// Where mirrors and their sensors, towards all directions, look the same from the other side of an
// axis, D^T D does not couple even patterns with odd ones. With both axes it falls apart into four
// blocks of a quarter of the actuators, one a pair of parities, whose eigenproblems take a
// sixteenth of the work and run side by side; with one axis, or only the turn by 180 degrees, into
// two. A basis vector is an orbit of actuators, each with 1 / sqrt(size) or its negative: the basis
// is orthonormal, so eigenvalues, eigenvectors and inverses carry over exactly. Without a symmetry
// there is one block, of the actuators themselves, and nothing is computed otherwise than without a
// basis.
#ifndef BB_PHYSICS_AO_MIRRORS_PARITY_BASIS_H
#define BB_PHYSICS_AO_MIRRORS_PARITY_BASIS_H

#include "core/need.h"
#include "core/status.h"

enum { BB_PARITIES = 4, BB_PARITY_ORBIT = 4 };

/// Where actuators stand, from the point that a reflection keeps, in any one unit; all borrowed.
typedef struct bb_actuator_places {
    const double *x;        ///< [actuators]
    const double *y;        ///< [actuators]
    const bb_index *mirror; ///< [actuators] within which a reflection is looked for; NULL: one
} bb_actuator_places;

/// One basis vector: `size` actuators of equal share.
typedef struct bb_parity_vector {
    int size;
    bb_index member[BB_PARITY_ORBIT];
    double share[BB_PARITY_ORBIT];
} bb_parity_vector;

/// Zero-initialise; release with bb_parity_basis_release.
typedef struct bb_parity_basis {
    bb_index count;                  ///< actuators, and basis vectors
    int blocks;                      ///< 1, 2 or 4
    bb_index first[BB_PARITIES + 1]; ///< block b holds vectors first[b] to first[b + 1]
    bb_parity_vector *vectors;       ///< [count]; NULL: the actuators themselves
} bb_parity_basis;

/// The basis of all reflections that both `places` and `gram` [count][count], symmetric, keep: the
/// former to 1e-7 of the farthest coordinate, the latter entry by entry to 1e-12 of its largest
/// diagonal entry. `places` NULL: one block. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_parity_basis_create(bb_index count, const bb_actuator_places *places,
                                            const double *gram, bb_parity_basis *out);
void bb_parity_basis_release(bb_parity_basis *basis);

/// What it takes for `count` actuators, while it is made.
bb_need bb_parity_basis_need(bb_index count);

bb_index bb_parity_basis_size(const bb_parity_basis *basis, int block);

/// Block `block` of a matrix [count][count] in this basis, out [size][size]. Bits do not depend on
/// the threads.
BB_CHECKED bb_status bb_parity_basis_fold(const bb_parity_basis *basis, int block,
                                          const double *matrix, double *out);

/// Rows of actuators [rows][count] to coordinates in this basis, in place, and back. Errors:
/// BB_MEMORY.
BB_CHECKED bb_status bb_parity_basis_enter(const bb_parity_basis *basis, bb_index rows,
                                           double *values);
BB_CHECKED bb_status bb_parity_basis_leave(const bb_parity_basis *basis, bb_index rows,
                                           double *values);

#endif
