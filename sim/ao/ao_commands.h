// SPDX-License-Identifier: Apache-2.0
//
// Scoring tasks of an estimate in slopes or in commands.
//
// Commands are those of each target's own mirror, if a pipeline stores them (operator: commands)
// and M = Dx R replaces R before rounding (physics/ao/target_commands.h). With mcao they are those
// of all mirrors: a single M affects every target through the slopes of its commands there.
#ifndef BB_SIM_AO_AO_COMMANDS_H
#define BB_SIM_AO_AO_COMMANDS_H

#include "physics/ao/target_commands.h"
#include "sim/ao/ao_evaluation.h"
#include "solvers/factor/residual_covariance.h"

/// Covariance of the truth in commands, Dx Ctt Dx^T, for a target's own mirror.
typedef struct bb_ao_truth {
    double *values;    ///< [actuators][actuators]; NULL: not computed yet
    double *variances; ///< [m] diagonal of Ctt, arcsec^2
    bb_view view;
    bb_matrix_source ctt;
} bb_ao_truth;

/// Truth covariances in commands, computed on first use. Zero-initialise, then set `problem`;
/// release with bb_ao_commands_release.
typedef struct bb_ao_commands {
    const bb_tomography *problem; ///< borrowed
    bb_ao_truth *truths;          ///< [targets]
    /// zero matrix [actuators][n], for mirrors with joint correction (mcao)
    bb_matrix_source zeros;
} bb_ao_commands;

void bb_ao_commands_release(bb_ao_commands *self);

/// Replaces every R of a solved evaluation by the command matrix M, if its pipeline stores
/// commands. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_ao_commands_replace_estimates(const bb_tomography *problem,
                                                      const bb_factor_pipeline *pipeline,
                                                      bb_ao_evaluation *evaluation);

/// Rows of an evaluation's estimate for a target: slopes of its truth sensor, actuators of its
/// mirror, or actuators of all mirrors with mcao.
bb_index bb_ao_commands_rows(const bb_tomography *problem, const bb_ao_evaluation *evaluation,
                             bb_index target);

/// Residual task that scores an evaluation's estimate for a target. The caller sets `cee`, with the
/// rows and columns of ctt. Errors: BB_MEMORY, the sources'.
BB_CHECKED bb_status bb_ao_commands_task(bb_ao_commands *self, const bb_ao_evaluation *evaluation,
                                         bb_index target, bb_residual_task *out);

/// Projects a task of slopes onto the commands of the target's own mirror, so that a GPU returns
/// the smaller covariance. Set `diagonal` of the task to get the trace of slopes. Errors:
/// BB_MEMORY, the source's.
BB_CHECKED bb_status bb_ao_commands_project(bb_ao_commands *self, bb_index target,
                                            bb_residual_task *task);

/// Kind of a task's residual: commands or slopes.
bb_residual_kind bb_ao_commands_kind(const bb_residual_task *task);

/// Device address of a target's reconstructor, stored after those of the preceding targets; NULL:
/// on the host.
const void *bb_ao_commands_resident(const bb_tomography *problem,
                                    const bb_ao_evaluation *evaluation, bb_index target);

/// Task that computes M Cmm M^T with mcao. The tasks of the targets follow it and share its
/// product.
void bb_ao_commands_product(bb_ao_commands *self, const bb_ao_evaluation *evaluation,
                            bb_residual_task *out);

/// Adds the residual of a tilt of `rms_arcsec` along each axis, after the task's estimate, to its
/// `cee` (physics/ao/score/error_terms.h). Errors: BB_MEMORY.
BB_CHECKED bb_status bb_ao_commands_shake(const bb_tomography *problem, bb_index target,
                                          bb_residual_kind kind, double rms_arcsec,
                                          const bb_residual_task *task);

extern const bb_output_table bb_ao_commands_actuators;

/// Writes /actuators_<target>: mirror and position of each row of a dumped R in commands. No effect
/// if the group exists already. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_ao_commands_publish(const bb_tomography *problem, bb_index target,
                                            bb_results *results);

/// Checks `operator` against the other keys of a study. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_ao_commands_check(const bb_ao_study *study, const bb_config *config,
                                          bb_problems *problems);

#endif
