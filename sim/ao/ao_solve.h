// SPDX-License-Identifier: Apache-2.0
//
// The pipelines of an ao study from their factors to their prices: in the order in which each
// shares what those before it leave, with draws, searches, checkpoints, and pipelines of an
// earlier study (core/store.h).
#ifndef BB_SIM_AO_AO_SOLVE_H
#define BB_SIM_AO_AO_SOLVE_H

#include "core/thread.h"
#include "sim/ao/ao_run.h"
#include "sim/pipelines/pipeline_restart.h"
#include "sim/run/device_choice.h"

#include <stdatomic.h>

/// bb_ao_solve_open, bb_ao_solve_all, bb_ao_solve_release.
typedef struct bb_ao_solve {
    bb_ao_work *work;    ///< the driver's
    bb_restart *restart; ///< likewise
    const bb_factor_pipeline *pipelines;
    bb_index pipeline_count;
    bb_index *order;    ///< [pipeline_count] the reference, others, searched ones
    bb_index solved;    ///< so many of that order
    bb_index settled;   ///< so many of them scored and drawn, too
    bool *warm;         ///< [pipeline_count] known from a study before
    bool keeps;         ///< reconstructors, which are read again when all are scored
    double *tile_norms; ///< of Cmm, NULL until a search asks for them
    bb_side_thread *warming;
    atomic_bool awaited; ///< by whoever started it
    bb_index warmed;     ///< so many of that order
} bb_ao_solve;

/// Creates the evaluations of `work`, with their devices, and its trials. Errors: BB_MEMORY, those
/// of bb_factor_device_choose.
BB_CHECKED bb_status bb_ao_solve_open(bb_ao_work *work, bb_restart *restart,
                                      const bb_device_offer *offer, bb_ao_solve *out);

/// Uses kernels of pipelines to come for the first time in a thread beside the caller's, until
/// bb_ao_solve_await, which waits for those of the pipeline in work: while the problem is built,
/// and while scores are made. On a GPU all of them take as long as the solves of 17,000
/// measurements. What is left, or failed, is the solve's own to do. Errors: those of
/// bb_side_thread_start.
BB_CHECKED bb_status bb_ao_solve_warm(bb_ao_solve *run);
void bb_ao_solve_await(bb_ao_solve *run);

/// Contents of a checkpoint of `work`, whose pipelines are computed in `order`.
bb_pipeline_state bb_ao_solve_state(bb_ao_work *work, const bb_index *order);

/// Solves, scores and draws every pipeline. With checkpoints each is settled by itself, so that it
/// can be kept; so it is on a device and over processes, where Cmm takes no time and estimates
/// would only fill memory. Else all share one pass over Cmm, but for what a search is compared
/// with. Errors: those of the parts it is made of.
BB_CHECKED bb_status bb_ao_solve_all(bb_ao_solve *run, const bb_run_options *options);

/// Searches the arithmetic of a pipeline by max_loss, which bounds the loss of Strehl ratio, that
/// of the residual covariance over the unperturbed Cmm, of every target and wavelength or of the
/// first (search.over). Leaves the work of the result in its evaluation (created, not solved). A
/// matrix that failed by itself gives its outcome, a reference that failed underdetermined. Errors:
/// those of bb_factor_search_run and bb_factor_device_score.
BB_CHECKED bb_status bb_ao_solve_find_arithmetic(bb_ao_solve *run, bb_index pipeline);

/// Searches the storage of a pipeline, if max_loss asks for it, for the solution in its evaluation,
/// or its commands if those are stored: its level gets the storage that was found, which is still
/// to be applied. Nothing is done after a failure; a reference that failed is underdetermined.
/// Errors: those of bb_storage_search_run_factor, bb_ao_storage_round and bb_ao_scoring_strehls.
BB_CHECKED bb_status bb_ao_solve_find_storage(bb_ao_solve *run, bb_index pipeline);

/// The evaluations and trials of `work` too.
void bb_ao_solve_release(bb_ao_solve *run);

#endif
