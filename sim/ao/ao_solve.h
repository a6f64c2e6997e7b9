// SPDX-License-Identifier: Apache-2.0
//
// Solves and scores of the pipelines of an ao study, in an order that reuses earlier solves, with
// draws, searches, checkpoints, and cached pipelines of earlier studies (core/store.h).
#ifndef BB_SIM_AO_AO_SOLVE_H
#define BB_SIM_AO_AO_SOLVE_H

#include "core/thread.h"
#include "sim/ao/ao_run.h"
#include "sim/pipelines/pipeline_restart.h"
#include "sim/run/device_choice.h"

#include <stdatomic.h>

/// Solves and scores of all pipelines. Call bb_ao_solve_open, bb_ao_solve_all, then
/// bb_ao_solve_release.
typedef struct bb_ao_solve {
    bb_ao_work *work;    ///< owned by the driver
    bb_restart *restart; ///< owned by the driver
    const bb_factor_pipeline *pipelines;
    bb_index pipeline_count;
    bb_index *order;    ///< [pipeline_count] the reference, others, searches
    bb_index solved;    ///< number of pipelines solved, in that order
    bb_index scored;    ///< number of pipelines scored and drawn, in that order
    bool *warm;         ///< [pipeline_count] results found in the cache
    bool keeps;         ///< reconstructors are kept, because they are read after all scores
    double *tile_norms; ///< norms of the tiles of Cmm, NULL until a search needs them
    bb_side_thread *warming;
    atomic_bool awaited; ///< set when the starting thread waits
    bb_index warmed;     ///< number of pipelines warmed, in that order
} bb_ao_solve;

/// Creates the evaluations of `work`, with their devices, and its trials. Errors: BB_MEMORY, those
/// of bb_factor_device_choose.
BB_CHECKED bb_status bb_ao_solve_open(bb_ao_work *work, bb_restart *restart,
                                      const bb_device_offer *offer, bb_ao_solve *out);

/// Warms up the kernels of coming pipelines in a side thread, while the problem is built and while
/// scores are computed. bb_ao_solve_await waits until the pipeline in progress is warm. On a GPU
/// the whole warm-up takes as long as the solves of 17,000 measurements. Kernels that remain cold,
/// or whose warm-up failed, load during the solve. Errors: from bb_side_thread_start.
BB_CHECKED bb_status bb_ao_solve_warm(bb_ao_solve *run);
void bb_ao_solve_await(bb_ao_solve *run);

/// Contents of a checkpoint of `work`, whose pipelines are computed in `order`.
bb_pipeline_state bb_ao_solve_state(bb_ao_work *work, const bb_index *order);

/// Solves, scores and draws every pipeline. With checkpoints, each pipeline is scored before the
/// next, so that it can be saved. On a device and over several processes, pipelines are also scored
/// one by one, because filling Cmm is cheap there and estimates would only occupy memory. Otherwise
/// all share one pass over Cmm, except the reference of a search. Errors: from its steps.
BB_CHECKED bb_status bb_ao_solve_all(bb_ao_solve *run, const bb_run_options *options);

/// Searches the arithmetic of a pipeline within max_loss, a bound on the loss of Strehl ratio. The
/// residual covariance uses the unperturbed Cmm; targets and wavelengths are selected by
/// search.over. The evaluation, created but not solved, receives the work of the result. A matrix
/// failure gives its own outcome, a failed reference gives BB_OUTCOME_UNDERDETERMINED. Errors:
/// those of bb_factor_search_run and bb_factor_device_score.
BB_CHECKED bb_status bb_ao_solve_find_arithmetic(bb_ao_solve *run, bb_index pipeline);

/// Searches the storage of a pipeline, if max_loss is set, for the solution or the commands in its
/// evaluation. The storage found is set in its level, but not applied yet. No effect after a
/// failure; a failed reference gives BB_OUTCOME_UNDERDETERMINED. Errors: those of
/// bb_storage_search_run_factor, bb_ao_storage_round and bb_ao_scoring_strehls.
BB_CHECKED bb_status bb_ao_solve_find_storage(bb_ao_solve *run, bb_index pipeline);

/// Releases the contents of `work`, including its evaluations and trials.
void bb_ao_solve_release(bb_ao_solve *run);

#endif
