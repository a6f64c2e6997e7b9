// SPDX-License-Identifier: Apache-2.0
//
// max_loss in ao: the Strehl ratio, of every target and wavelength or of the first (search.over),
// is at most max_loss below the reference's. It is that of the residual covariance over the
// unperturbed Cmm, as the study scores.
#ifndef BB_SIM_AO_AO_SEARCH_H
#define BB_SIM_AO_AO_SEARCH_H

#include "sim/ao/ao_scoring.h"
#include "sim/pipelines/search.h"

/// Input of a search; everything is borrowed.
typedef struct bb_ao_search_task {
    bb_ao_scoring *scoring;
    const bb_factor_problem *factor_problem;
    double **tile_norms;               ///< as of bb_factor_search_task
    const bb_ao_evaluation *reference; ///< scored
} bb_ao_search_task;

/// Searches the arithmetic of one of the pipelines and leaves the work of the result in
/// `evaluation` (created, not solved), with a detail. A matrix that failed by itself gives its
/// outcome, a reference that failed underdetermined. Errors: those of bb_factor_search_run and
/// bb_factor_device_score.
BB_CHECKED bb_status bb_ao_search_arithmetic(bb_search_trials *trials,
                                             const bb_ao_search_task *task, bb_index pipeline,
                                             bb_ao_evaluation *evaluation);

/// Searches the storage of one of the pipelines, if max_loss asks for it, for the solution in
/// `evaluation`, or its commands if those are stored: its level gets the storage that was found,
/// which is still to be applied, and its outcome a detail; without a result it is not_converged.
/// Nothing is done after a failure; a reference that failed is underdetermined. Errors: those of
/// bb_storage_search_run_factor, bb_ao_storage_round and bb_ao_scoring_strehls.
BB_CHECKED bb_status bb_ao_search_storage(bb_search_trials *trials, const bb_ao_search_task *task,
                                          bb_index pipeline, bb_ao_evaluation *evaluation);

#endif
