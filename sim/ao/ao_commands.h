// SPDX-License-Identifier: Apache-2.0
//
// Scoring tasks of an estimate: of slopes; of commands of each target's own mirror, if a pipeline
// stores those (operator: commands) and M = Dx R has taken the place of R before it was rounded
// (physics/ao/target_commands.h); or of mirrors that correct together, whose one M is seen by every
// target through the slopes that it makes there.
#ifndef BB_SIM_AO_AO_COMMANDS_H
#define BB_SIM_AO_AO_COMMANDS_H

#include "physics/ao/target_commands.h"
#include "sim/ao/ao_evaluation.h"
#include "solvers/factor/residual_covariance.h"

/// Dx Ctt Dx^T of a target's own mirror.
typedef struct bb_ao_truth {
    double *values;    ///< [actuators][actuators]; NULL: not made yet
    double *variances; ///< [m] of Ctt, arcsec^2
    bb_view view;
    bb_matrix_source ctt;
} bb_ao_truth;

/// Truths in commands, made when they are first asked for. Zero-initialise, then set `problem`;
/// release with bb_ao_commands_release.
typedef struct bb_ao_commands {
    const bb_tomography *problem; ///< borrowed
    bb_ao_truth *truths;          ///< [targets]
    bb_matrix_source nothing;     ///< zeros [actuators][n] of mirrors that correct together
} bb_ao_commands;

void bb_ao_commands_release(bb_ao_commands *self);

/// Puts M in the place of every R of an evaluation whose pipeline stores commands, if it was
/// solved. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_ao_commands_replace_estimates(const bb_tomography *problem,
                                                      const bb_factor_pipeline *pipeline,
                                                      bb_ao_evaluation *evaluation);

/// Rows of what an evaluation holds of a target: slopes of its truth sensor, actuators of its
/// mirror, or of all mirrors that correct together.
bb_index bb_ao_commands_rows(const bb_tomography *problem, const bb_ao_evaluation *evaluation,
                             bb_index target);

/// What scores an evaluation's estimate for a target; `cee` is to be filled, of as many rows as its
/// ctt. Errors: BB_MEMORY, the sources'.
BB_CHECKED bb_status bb_ao_commands_task(bb_ao_commands *self, const bb_ao_evaluation *evaluation,
                                         bb_index target, bb_residual_task *out);

/// Has a task of slopes scored in commands of the target's own mirror, by its projector, so that a
/// GPU returns the smaller covariance; set its `diagonal` for the trace of slopes. Errors:
/// BB_MEMORY, the source's.
BB_CHECKED bb_status bb_ao_commands_project(bb_ao_commands *self, bb_index target,
                                            bb_residual_task *task);

/// Whether a task's residual is of commands.
bb_residual_kind bb_ao_commands_kind(const bb_residual_task *task);

/// Where a GPU has the reconstructor of a target, behind those of the targets before; NULL: the
/// host has it.
const void *bb_ao_commands_resident(const bb_tomography *problem,
                                    const bb_ao_evaluation *evaluation, bb_index target);

/// What makes M Cmm M^T of mirrors that correct together, in one product with the tasks of their
/// targets that follow it.
void bb_ao_commands_product(bb_ao_commands *self, const bb_ao_evaluation *evaluation,
                            bb_residual_task *out);

/// Adds to a task's `cee` what its estimate for a target leaves of a tilt of `rms_arcsec` along
/// each axis (physics/ao/score/error_terms.h). Errors: BB_MEMORY.
BB_CHECKED bb_status bb_ao_commands_shake(const bb_tomography *problem, bb_index target,
                                          bb_residual_kind kind, double rms_arcsec,
                                          const bb_residual_task *task);

extern const bb_output_table bb_ao_commands_actuators;

/// Writes /actuators_<target>: mirror and place of each row of a dumped R that gives commands.
/// Nothing where the group is there already. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_ao_commands_publish(const bb_tomography *problem, bb_index target,
                                            bb_results *results);

/// The rule between `operator` and the rest of a study. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_ao_commands_check(const bb_ao_study *study, const bb_config *config,
                                          bb_problems *problems);

#endif
