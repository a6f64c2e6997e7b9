// SPDX-License-Identifier: Apache-2.0
//
// What a promise is in ao (sim/pipelines/factor_promise.h): the Strehl ratio, of every target and
// wavelength or of the first (`over`), is at most the price below the reference's. It is that of
// the residual covariance over the unperturbed Cmm, as the study scores.
#ifndef BB_SIM_AO_AO_PROMISE_H
#define BB_SIM_AO_AO_PROMISE_H

#include "sim/ao/ao_scoring.h"
#include "sim/pipelines/factor_promise.h"

/// What a search needs; everything is borrowed.
typedef struct bb_ao_promise_task {
    bb_ao_scoring *scoring;
    const bb_factor_problem *factor_problem;
    double **tile_norms;               ///< as of bb_factor_promise_task
    const bb_ao_evaluation *reference; ///< scored
} bb_ao_promise_task;

/// Searches for one of the pipelines and leaves the found candidate's work in `evaluation`
/// (created, not solved); its detail says what was found. A matrix that failed by itself gives its
/// outcome, a reference that failed underdetermined. Errors: those of bb_factor_promise_keep and
/// bb_factor_device_score.
BB_CHECKED bb_status bb_ao_promise_keep(bb_promise_trials *trials, const bb_ao_promise_task *task,
                                        bb_index pipeline, bb_ao_evaluation *evaluation);

/// Writes the group /promise, one row a trial; nothing where nothing was tried.
BB_CHECKED bb_status bb_ao_promises_publish(const bb_promise_trials *trials,
                                            const bb_list *pipelines, bb_results *results);

/// The price in /promise.
extern const bb_output_table bb_ao_promise_outputs;

#endif
