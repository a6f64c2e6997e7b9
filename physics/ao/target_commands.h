// SPDX-License-Identifier: Apache-2.0
//
// Commands of a target's own mirror, from estimates and from the truth. With Dx the mirror's
// projector an estimate R s of slopes t gives the commands M s, M = Dx R, where t gives Dx t. The
// stored matrix Q = M + E moves actuators directly, also in modes outside the range of Dx: no
// matrix of slopes R' has Dx R' = Q. So the residual of Q is computed in commands,
//     Cvv = Dx Ctt Dx^T - Q (Dx Ctm)^T - (Dx Ctm) Q^T + Q Cmm Q^T = Dx Cee(R) Dx^T + E Cmm E^T,
// from which the score follows (score/point_spread.h).
#ifndef BB_PHYSICS_AO_TARGET_COMMANDS_H
#define BB_PHYSICS_AO_TARGET_COMMANDS_H

#include "physics/ao/tomography.h"

/// The mirror of a target, and Dx [actuators][m] of its m truth slopes, volts per arcsec.
const bb_deformable_mirror *bb_target_commands_mirror(const bb_tomography *tomography,
                                                      bb_index target);

/// Computes M = Dx R into `commands` [actuators][n] for r [m][n], by the tomography's projection if
/// it has one. Errors: BB_MEMORY, the projection's.
BB_CHECKED bb_status bb_target_commands_project(const bb_tomography *tomography, bb_index target,
                                                bb_index n, const double *r, const void *resident,
                                                double *commands);

/// Computes Dx Ctt Dx^T, `out` [actuators][actuators], V^2, and the diagonal of Ctt [m]; NULL:
/// omitted. Errors: BB_MEMORY, the source's, the projection's.
BB_CHECKED bb_status bb_target_commands_truth(const bb_tomography *tomography, bb_index target,
                                              double *out, double *variances);

/// Memory and time for `slopes` truth slopes, without filling them.
bb_need bb_target_commands_need(double slopes, double actuators, double threads);

#endif
