// SPDX-License-Identifier: Apache-2.0
//
// Mirrors with joint correction (correction: mcao) in the driver: right-hand side, effect of an
// estimate on each target, checks of keys, and results.
//
// The single right-hand side is B = F sum_p w_p D_p^T Ctm_p (mirror_commands.h). Its estimate M
// maps slopes to commands, and a controller stores it. Scores use D_q M for target q.
#ifndef BB_SIM_AO_AO_MCAO_H
#define BB_SIM_AO_AO_MCAO_H

#include "sim/ao/ao_evaluation.h"
#include "sim/ao/ao_input.h" // also for the files that include this one
#include "sim/pipelines/factor_problem.h"

/// Right-hand side [actuators][n] of mcao for one turbulence profile.
typedef struct bb_ao_mcao bb_ao_mcao;

/// Computes the right-hand side from `ctm` [targets], covariances of the known profile. `*out` is
/// NULL if every target of `problem` has its own mirror; `problem` must outlive the right-hand
/// side. Errors: BB_MEMORY, the sources'.
BB_CHECKED bb_status bb_ao_mcao_create(const bb_tomography *problem,
                                       const bb_matrix_source *const *ctm, bb_ao_mcao **out);
void bb_ao_mcao_destroy(bb_ao_mcao **mcao);

/// Replaces the right-hand sides of all targets by this one; no effect with NULL.
void bb_ao_mcao_set_sides(const bb_ao_mcao *mcao, bb_factor_problem *factor_problem);

/// Sets `seen` of an evaluation whose r[0] is M: D_t M for every target. No effect after a failure
/// or where every target has its own mirror. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_ao_mcao_project_commands(const bb_tomography *problem,
                                                 bb_ao_evaluation *evaluation);

/// Rows of an estimate: all actuators with mcao, else the slopes of a truth sensor.
bb_index bb_ao_mcao_rows(const bb_tomography *problem, bb_index target);

/// Logs the mirrors, and warns of plate-scale modes close to the condition and of unequal strokes.
/// Errors: BB_MEMORY.
BB_CHECKED bb_status bb_ao_mcao_caution(const bb_tomography *problem);

/// Checks mirrors, correction and weights against each other. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_ao_mcao_check(const bb_ao_study *study, const bb_config *config,
                                      bb_problems *problems);

extern const bb_output_table bb_ao_mcao_outputs, bb_ao_mcao_mirrors;

/// Publishes actuators and modes of mcao mirrors; no effect without. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_ao_mcao_publish(const bb_tomography *problem, bb_results *results);

#endif
