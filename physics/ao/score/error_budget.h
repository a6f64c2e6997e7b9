// SPDX-License-Identifier: Apache-2.0
//
// What a residual is made of: the error terms one by one, and the measurement noise that a
// reconstructor lets through, R N R^T, N the covariance of the noise. The rest of the residual of
// slopes is tomography: what stars and layers leave open, the guide stars' aliasing with it.
#ifndef BB_PHYSICS_AO_SCORE_ERROR_BUDGET_H
#define BB_PHYSICS_AO_SCORE_ERROR_BUDGET_H

#include "core/csr.h"
#include "physics/ao/tomography.h"

/// Variances over the pupil, piston taken out, m^2; 0 of a term that is off.
typedef struct bb_error_budget {
    double fitting, aliasing, lag;
} bb_error_budget;

/// The error terms in a target's direction. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_error_budget_of_terms(const bb_error_terms_config *config,
                                              const bb_tomography *tomography, bb_index target,
                                              bb_error_budget *out);

/// N [n][n] of the guide stars, arcsec^2: two entries a row. Errors: BB_MEMORY. Owner of `*out`:
/// the caller.
BB_CHECKED bb_status bb_error_budget_noise(const bb_tomography *tomography, bb_csr *out);

/// Standard deviation of a slope of a guide star, mean over its subapertures and axes, arcsec.
double bb_error_budget_slope_noise(const bb_tomography *tomography, bb_index star);

#endif
