// SPDX-License-Identifier: Apache-2.0
//
// Truncated pseudo-inverse of an interaction matrix D, from slopes to voltages.
//
// Singular values s below the largest over a condition are dropped. With D^T D = V s^2 V^T and Q
// the few dropped right singular vectors,
//   Dx = (I - Q Q^T) (D^T D + Q (s_1^2 - s_Q^2) Q^T)^-1 D^T,
// whose inverted matrix has at most the square of the condition, some thousands: a Cholesky factor
// suffices, and only Q is computed of the eigenvectors. Dx agrees with the singular value
// decomposition to 1e-10. Products and solves run in blocks over the threads.
//
// D is stored dense, but an actuator of the usual mirrors moves few slopes: D^T D skips blocks of
// zeros, and substitutions begin at the first actuator that moves a range of slopes.
//
// The reduction of D^T D to tridiagonal form runs on one thread, 4/3 k^3 operations for k
// actuators; if actuators have reflection symmetries that D^T D shares, each pair of parities is a
// problem of a quarter of them (bb_parity_basis). The four, a sixteenth of the operations in total,
// run in parallel. This choice depends on the values only, so the bits do not depend on the
// threads.
#ifndef BB_PHYSICS_AO_MIRRORS_MIRROR_PROJECTOR_H
#define BB_PHYSICS_AO_MIRRORS_MIRROR_PROJECTOR_H

#include "core/need.h"
#include "core/status.h"

#include <stdbool.h>

// Patterns of actuators that are even or odd under reflections of their positions.
//
// If mirrors and their sensors, in all directions, are symmetric about an axis, D^T D does not
// couple even patterns with odd ones. With both axes it splits into four blocks of a quarter of the
// actuators, one per pair of parities, whose eigenproblems take a sixteenth of the work and run in
// parallel; with one axis, or only the rotation by 180 degrees, into two. A basis vector is an
// orbit of actuators, each with +-1 / sqrt(size): the basis is orthonormal, so eigenvalues,
// eigenvectors and inverses carry over exactly. Without a symmetry there is one block, the
// actuators themselves, and the computation is the same as without a basis.

enum { BB_PARITIES = 4, BB_PARITY_ORBIT = 4 };

/// Positions of actuators relative to the fixed point of the reflections, in any one unit; all
/// borrowed.
typedef struct bb_actuator_places {
    const double *x;        ///< [actuators]
    const double *y;        ///< [actuators]
    const bb_index *mirror; ///< [actuators]: reflections map within a mirror; NULL: one mirror
} bb_actuator_places;

/// One basis vector: `size` actuators of equal weight.
typedef struct bb_parity_vector {
    int size;
    bb_index member[BB_PARITY_ORBIT];
    double share[BB_PARITY_ORBIT];
} bb_parity_vector;

/// Zero-initialise; release with bb_parity_basis_release.
typedef struct bb_parity_basis {
    bb_index count;                  ///< number of actuators and of basis vectors
    int blocks;                      ///< 1, 2 or 4
    bb_index first[BB_PARITIES + 1]; ///< block b has vectors first[b] to first[b + 1]
    bb_parity_vector *vectors;       ///< [count]; NULL: the actuators themselves
} bb_parity_basis;

/// The basis of all reflection symmetries of both `places` and `gram` [count][count], symmetric:
/// the former to 1e-7 of the largest coordinate, the latter entry by entry to 1e-12 of its largest
/// diagonal entry. `places` NULL: one block. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_parity_basis_create(bb_index count, const bb_actuator_places *places,
                                            const double *gram, bb_parity_basis *out);
void bb_parity_basis_release(bb_parity_basis *basis);

/// Memory and time of creating it for `count` actuators.
bb_need bb_parity_basis_need(bb_index count);

bb_index bb_parity_basis_size(const bb_parity_basis *basis, int block);

/// Computes block `block` of a matrix [count][count] in this basis, out [size][size]. The bits do
/// not depend on the threads.
BB_CHECKED bb_status bb_parity_basis_fold(const bb_parity_basis *basis, int block,
                                          const double *matrix, double *out);

/// Convert rows of actuators [rows][count] to coordinates in this basis, in place, and back.
/// Errors: BB_MEMORY.
BB_CHECKED bb_status bb_parity_basis_forward(const bb_parity_basis *basis, bb_index rows,
                                             double *values);
BB_CHECKED bb_status bb_parity_basis_inverse(const bb_parity_basis *basis, bb_index rows,
                                             double *values);

/// The weakest modes of an interaction matrix: the dropped ones and those within a factor `margin`
/// above. Zero-initialise except for the margin; release with bb_weak_modes_release.
typedef struct bb_weak_modes {
    double margin; ///< input: in singular values, 1 or more
    bb_index count;
    double *ratios; ///< [count] singular values over the largest, increasing
    double *volts;  ///< [count][actuators], each of norm 1
} bb_weak_modes;

void bb_weak_modes_release(bb_weak_modes *modes);

/// Computes `projector` [actuators][slopes] from `interaction` [slopes][actuators], which is
/// overwritten, and counts the dropped modes. `places` are the actuators' positions; NULL: unknown.
/// `weak` may be NULL. Errors: BB_MEMORY, BB_INVALID (no actuator moves a slope), BB_INTERNAL
/// (LAPACK did not converge).
BB_CHECKED bb_status bb_mirror_projector_make(bb_index slopes, bb_index actuators, double condition,
                                              const bb_actuator_places *places, double *interaction,
                                              double *projector, bb_index *dropped,
                                              bb_weak_modes *weak);

/// Memory and time without the two matrices, for as many dropped modes as there are actuators along
/// an edge: more than the default condition drops. `is_even`: both reflections are known
/// symmetries. LAPACK's own workspace, its block size times the actuators, is not counted.
bb_need bb_mirror_projector_need(bb_index actuators, bool is_even);

#endif
