// SPDX-License-Identifier: Apache-2.0
//
// Searches of storages: pipelines with `max_loss` whose storage, or its bits or tolerance, is to be
// found. The result has the fewest bytes of those whose loss, in every draw, is at most max_loss.
//
// A storage without its bits or tolerance is searched along the ladders of its codec
// (precision/codec_ladder.h). Two kinds of pipelines:
//   products (wafer): candidates are `search.codecs`, a complete one as it is; without them every
//     ladder that the pipeline's scale, sums, draws and device allow. All ladders of all pipelines
//     share a pass through the matrix: one candidate of each, as often as the longest takes.
//     Before, the formats of the stages in `search.stages` are found, each by itself along a ladder
//     of bf16, fp16, tf32 and fp32: the cheapest that alone, with the product of the reference,
//     loses at most a tenth of max_loss, else fp64. All trials of storages have these stages, so
//     that their loss is that of the whole chain.
//   factors (ao): the pipeline is solved once. Trials store it along the ladders of `storage`, with
//     tolerances in fine steps, by guesses. Draws are of the storage (precision/draw.h).
// A cost is the bytes of the operator.
#ifndef BB_SIM_PIPELINES_STORAGE_SEARCH_H
#define BB_SIM_PIPELINES_STORAGE_SEARCH_H

#include "precision/codec_ladder.h"
#include "sim/pipelines/factor_search.h"

// Not included: the constants of physics/wafer clash with those of physics/ao.
typedef struct bb_product_pipeline bb_product_pipeline;

enum { BB_STORAGE_SEARCH_CODECS = 32, BB_STORAGE_SEARCH_LADDERS = 64 };
enum { BB_STAGE_SEARCH_TRIALS = 3 }; ///< of a stage at most

/// Candidates of one codec.
typedef struct bb_storage_ladder {
    bb_codec_config storage; ///< as given
    bb_codec_ladder ladder;  ///< key NULL: the storage is complete, a single step
    int first;               ///< of the steps that are possible
} bb_storage_ladder;

/// The storage of a step.
bb_codec_config bb_storage_ladder_storage(const bb_storage_ladder *ladder, int step);

/// The storage of the last step.
bb_codec_config bb_storage_ladder_widest(const bb_storage_ladder *ladder);

/// Trials of a bisection, and so passes, at most.
int bb_storage_ladder_trials(const bb_storage_ladder *ladder);

/// Ladders of a pipeline; 0 without a search. `out` has BB_STORAGE_SEARCH_LADDERS.
bb_index bb_storage_search_list(const bb_product_pipeline *pipeline, int study_device,
                                bb_storage_ladder *out);

/// The pipeline with the last step of its first ladder; one without a search as it is.
bb_product_pipeline bb_storage_search_first(const bb_product_pipeline *pipeline, int study_device);

/// The rules on product pipelines with max_loss: no storage, codecs that can be searched and that
/// the pipeline takes. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_storage_searches_check(const bb_list *pipelines, int study_device,
                                               const bb_config *config, bb_problems *problems);

/// A candidate of a pass.
typedef struct bb_storage_trial {
    bb_index pipeline;                 ///< of the study
    int stage;                         ///< bb_chain_stage that is tried; -1: the storage
    const bb_product_pipeline *record; ///< that with the candidate's storage, or with the
                                       ///< reference's and the stage alone
    double loss;                       ///< worst of its draws; NaN if one failed
    double bytes;                      ///< of the operator, or what the stage stores
} bb_storage_trial;

/// Searches of all product pipelines of a study. Opaque, owned by the caller.
typedef struct bb_storage_search bb_storage_search;

/// Callbacks of an experiment.
typedef struct bb_storage_search_task {
    void *context;
    /// Fills loss and bytes of `count` trials, one pass through the operator.
    bb_status (*compute)(void *context, bb_storage_trial *trials, bb_index count);
    /// Trial number `trial` of the last call becomes the result of a pipeline.
    void (*adopt)(void *context, bb_index trial, bb_index pipeline);
} bb_storage_search_task;

/// Lists the ladders of bb_product_pipeline `pipelines`, which stay the caller's and in place.
/// Errors: BB_MEMORY.
BB_CHECKED bb_status bb_storage_search_create(const bb_list *pipelines, int study_device,
                                              bb_storage_search **out);
void bb_storage_search_destroy(bb_storage_search **search);

/// Whether any pipeline is searched.
bool bb_storage_search_wanted(const bb_storage_search *search);

/// Searches. Errors: those of `compute`.
BB_CHECKED bb_status bb_storage_search_run(bb_storage_search *search,
                                           const bb_storage_search_task *task);

/// Result of a searched pipeline: its storage and stages into `record` (false if no storage was
/// found), and the outcome, not_converged or ok with a detail, `unit` as of bb_search_report.
bool bb_storage_search_found(const bb_storage_search *search, bb_index pipeline, const char *unit,
                             bb_product_pipeline *record, bb_outcome *outcome);

/// Writes /search; `losses` declares the loss. Errors: as bb_search_trials_publish.
BB_CHECKED bb_status bb_storage_search_publish(const bb_storage_search *search,
                                               const bb_output_table *losses, bb_results *results);

/// Candidates and costs, in /search.
extern const bb_output_table bb_storage_search_outputs;

/// The factor pipeline with the widest storage of its first ladder; one without a search of its
/// storage as it is.
bb_factor_pipeline bb_storage_search_widest(const bb_factor_pipeline *pipeline);

/// Trials of a factor pipeline at most, times its draws; 0 without a search of its storage.
double bb_storage_search_trials(const bb_factor_pipeline *pipeline);

/// The storage of a step, counted over all ladders of a factor pipeline as
/// bb_factor_report.stored_step; false if there is none.
bool bb_storage_search_at(const bb_factor_pipeline *pipeline, double step, bb_codec_config *out);

/// The rules on a factor pipeline whose storage is searched: a storage with ladders, and draws that
/// differ. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_storage_search_check_factor(const bb_factor_pipeline *pipeline,
                                                    bb_index index, const bb_config *config,
                                                    bb_problems *problems);

/// Searches for the solution in `solved`, which is ok. Its outcome gets a detail, with the storage
/// that was found, then also that of `level`, and its draws; without one it is not_converged.
/// Errors: those of `store`.
BB_CHECKED bb_status bb_storage_search_run_factor(const bb_factor_search_task *task,
                                                  bb_evaluation *solved, bb_factor_pipeline *level);

#endif
