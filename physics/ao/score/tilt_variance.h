// SPDX-License-Identifier: Apache-2.0
//
// Tip and tilt of a residual over the pupil.
//
// Tip is the least-squares fit of x to the phase: with P the light of a point, q_i = P_i (x_i -
// <x>) and m = sum P (x - <x>)^2 its coefficient is sum q_i phi_i / m, and its variance over the
// pupil, with sum q = 0 and the covariance of bb_pair_field up to functions of one point,
//   sum_ij q_i q_j (S_ij - s_ij) / (m sum P),  sum_ij q_i q_j S_ij = (sum q_i F_i) (sum q_j z_j).
// Tilt likewise along y. Both are fitted separately, exact where the pupil is symmetric.
#ifndef BB_PHYSICS_AO_SCORE_TILT_VARIANCE_H
#define BB_PHYSICS_AO_SCORE_TILT_VARIANCE_H

#include "physics/ao/score/pair_strehl.h"

/// Computes the variance of tip and tilt over the pupil, m^2; NaN if the field's z is not in host
/// memory. Cost: a pass over the pairs of points. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_tilt_variance(const bb_pair_field *field, double *out);

#endif
