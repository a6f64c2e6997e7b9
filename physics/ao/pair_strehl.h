// SPDX-License-Identifier: Apache-2.0
//
// Strehl ratio of a residual that is not stationary over the pupil.
//
// point_spread.h averages the residual's covariance over pairs of actuators of equal displacement,
// as if it were stationary; so do Dphi and all that follows. Here every pair of points of the pupil
// has its own structure function,
//   Strehl = sum_ij P_i P_j exp(-D_ij / 2) / (sum P)^2,
//   D_ij = (2 pi / lambda)^2 (C_ii + C_jj - 2 C_ij),  C = F Cvv F^T, Cvv = Dx Cee Dx^T,
// exact for a normal residual: what a long exposure converges to. Points are those of the point
// spread's pupil, thinned to at most `points_per_lenslet` across a lenslet; the cost is the square
// of their number.
#ifndef BB_PHYSICS_AO_PAIR_STREHL_H
#define BB_PHYSICS_AO_PAIR_STREHL_H

#include "physics/ao/point_spread.h"

#ifdef __cplusplus
extern "C" {
#endif

/// `voltages` Cvv [actuators][actuators], V^2 (bb_point_spread_voltages); `strehl` [wavelengths].
/// `terms` [N][N], m^2, is half a structure function that comes on top (error_terms.h); NULL: none.
/// NaN in, NaN out. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_pair_strehl(const bb_point_spread *spread, const double *voltages,
                                    const double *terms, bb_index points_per_lenslet,
                                    bb_index wavelength_count, const double *wavelengths_m,
                                    double *strehl);

#ifdef __cplusplus
}
#endif

#endif
