// SPDX-License-Identifier: Apache-2.0
//
// The truncated pseudo-inverse of an interaction matrix D, from slopes to voltages.
//
// Singular values s below the largest over a condition are dropped. With D^T D = V s^2 V^T and Q
// the few right singular vectors dropped,
//   Dx = (I - Q Q^T) (D^T D + Q (s_1^2 - s_Q^2) Q^T)^-1 D^T,
// whose inverse has at most the square of the condition, some thousands: a Cholesky factor does,
// and of the eigenvectors only Q is made. Against the singular value decomposition Dx agrees to
// 1e-10. Products and solves run in blocks over the threads. The reduction of D^T D to tridiagonal
// form runs on one, 4/3 k^3 operations for k actuators; where actuators stand in reflections that
// D^T D keeps, each pair of parities is a problem of a quarter of them (parity_basis.h), and
// the four, a sixteenth of the operations, run side by side. Which it is follows from the numbers
// alone, so the bits do not depend on the threads.
#ifndef BB_PHYSICS_AO_MIRRORS_MIRROR_PROJECTOR_H
#define BB_PHYSICS_AO_MIRRORS_MIRROR_PROJECTOR_H

#include "physics/ao/mirrors/parity_basis.h"

#include <stdbool.h>

/// The weakest modes of an interaction matrix: those dropped and those not `margin` times above
/// them. Zero-initialise but for the margin; release with bb_weak_modes_release.
typedef struct bb_weak_modes {
    double margin; ///< asked for: of singular values, 1 or more
    bb_index count;
    double *ratios; ///< [count] singular values over the largest, increasing
    double *volts;  ///< [count][actuators], each of norm 1
} bb_weak_modes;

void bb_weak_modes_release(bb_weak_modes *modes);

/// Writes `projector` [actuators][slopes] from `interaction` [slopes][actuators], which is
/// overwritten, and counts the modes dropped. `places` says where actuators stand; NULL: nobody
/// knows. `weak` may be NULL. Errors: BB_MEMORY, BB_INVALID (no actuator moves a slope),
/// BB_INTERNAL (LAPACK did not converge).
BB_CHECKED bb_status bb_mirror_projector_make(bb_index slopes, bb_index actuators, double condition,
                                              const bb_actuator_places *places, double *interaction,
                                              double *projector, bb_index *dropped,
                                              bb_weak_modes *weak);

/// What it takes beside the two matrices, with room for as many modes to be dropped as there are
/// actuators along an edge: more than the usual condition drops. `is_even`: both reflections are
/// known to be kept. What LAPACK takes for itself is not counted: its blocks times the actuators.
bb_need bb_mirror_projector_need(bb_index actuators, bool is_even);

#endif
