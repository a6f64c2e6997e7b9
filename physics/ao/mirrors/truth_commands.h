// SPDX-License-Identifier: Apache-2.0
//
// A target's truth in commands of its own mirror, for reconstructors that are stored as commands.
//
// With Dx the mirror's projector (deformable_mirror.h), the commands that the truth t asks for are
// Dx t, and M = Dx R estimates them from slopes s. What is stored of M, Q = M + E, moves actuators
// as it stands, also in modes that Dx leaves out: no matrix of slopes R' has Dx R' = Q. So what an
// estimate by Q leaves is counted in commands,
//
//     Cvv = Dx Ctt Dx^T - Q (Dx Ctm)^T - (Dx Ctm) Q^T + Q Cmm Q^T = Dx Cee(R) Dx^T + E Cmm E^T,
//
// of which the score is made (point_spread.h).
#ifndef BB_PHYSICS_AO_MIRRORS_TRUTH_COMMANDS_H
#define BB_PHYSICS_AO_MIRRORS_TRUTH_COMMANDS_H

#include "core/matrix_source.h"
#include "physics/ao/mirrors/deformable_mirror.h"

/// Stays where it was made: the sources point into it. Release with bb_truth_commands_release.
typedef struct bb_truth_commands {
    double *with_slopes; ///< Dx Ctm [actuators][n], V arcsec
    double *own;         ///< Dx Ctt Dx^T [actuators][actuators], V^2
    bb_view views[2];
    bb_matrix_source ctm; ///< with_slopes
    bb_matrix_source ctt; ///< own
} bb_truth_commands;

/// From `ctm` [m][n] and `ctt` [m][m] of the mirror's m truth slopes. Errors: BB_MEMORY, the
/// sources'.
BB_CHECKED bb_status bb_truth_commands_create(const bb_deformable_mirror *mirror,
                                              const bb_matrix_source *ctm,
                                              const bb_matrix_source *ctt, bb_truth_commands *out);
void bb_truth_commands_release(bb_truth_commands *truth);

/// M = Dx R into `commands` [actuators][n], volts per arcsec, for r [m][n]. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_truth_commands_project(const bb_deformable_mirror *mirror, bb_index n,
                                               const double *r, double *commands);

/// What making them takes and what stays, of `slopes` truth slopes.
bb_need bb_truth_commands_need(double slopes, bb_index n, double actuators, double threads);
bb_need bb_truth_commands_held(bb_index n, double actuators);

#endif
