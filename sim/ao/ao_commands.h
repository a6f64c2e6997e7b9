// SPDX-License-Identifier: Apache-2.0
//
// Reconstructors that a pipeline stores as commands of each target's own mirror (operator:
// commands): M = Dx R takes the place of R before it is rounded, and what is stored of it is scored
// in commands (truth_commands.h).
#ifndef BB_SIM_AO_AO_COMMANDS_H
#define BB_SIM_AO_AO_COMMANDS_H

#include "physics/ao/mirrors/truth_commands.h"
#include "sim/ao/ao_evaluation.h"
#include "solvers/factor/residual_covariance.h"

/// Truths in commands, made when they are first asked for. Zero-initialise, then set `problem`;
/// release with bb_ao_commands_release.
typedef struct bb_ao_commands {
    const bb_tomography *problem; ///< borrowed
    bb_truth_commands *truths;    ///< [targets]
} bb_ao_commands;

void bb_ao_commands_release(bb_ao_commands *self);

/// Puts M in the place of every R of an evaluation whose pipeline stores commands, if it was
/// solved. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_ao_commands_take(const bb_tomography *problem,
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

/// The rules between `operator`, `accumulate` and the rest of a study. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_ao_commands_check(const bb_ao_study *study, const bb_config *config,
                                          bb_problems *problems);

#endif
