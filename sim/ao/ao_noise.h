// SPDX-License-Identifier: Apache-2.0
//
// How far noise keeps a covariance of measurements from being singular.
#ifndef BB_SIM_AO_AO_NOISE_H
#define BB_SIM_AO_AO_NOISE_H

#include "physics/ao/tomography.h"

/// For every measurement, the least eigenvalue of the 2 x 2 noise covariance of its subaperture,
/// arcsec^2: the diagonal matrix of these is a lower bound of the noise covariance. Errors:
/// BB_MEMORY. Owner of `*out` [n]: the caller.
BB_CHECKED bb_status bb_ao_noise_bounds(const bb_tomography *problem, double **out);

#endif
