// SPDX-License-Identifier: Apache-2.0
//
// What a promise is in ao, of an arithmetic (sim/pipelines/factor_promise.h) or of a storage
// (sim/pipelines/storage/promised_storage.h): the Strehl ratio, of every target and wavelength or
// of the first (`over`), is at most the price below the reference's. It is that of the residual
// covariance over the unperturbed Cmm, as the study scores.
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

/// Searches the storage of one of the pipelines, where that promises, for what was solved into
/// `evaluation`, commands where those are stored: its level has the storage that was found then,
/// which is still to be applied, and its detail says so; nothing found is not_converged. Nothing is
/// done after a failure; a reference that failed is underdetermined. Errors: those of
/// bb_promised_storage_keep, bb_ao_storage_round and bb_ao_scoring_strehls.
BB_CHECKED bb_status bb_ao_promise_store(bb_promise_trials *trials, const bb_ao_promise_task *task,
                                         bb_index pipeline, bb_ao_evaluation *evaluation);

#endif
