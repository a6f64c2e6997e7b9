// SPDX-License-Identifier: Apache-2.0
//
// Searches of storages, for pipelines with `max_loss` that leave the storage, or its bits or
// tolerance, open. The result has the fewest bytes with a loss of at most max_loss in every draw.
//
// A storage without its bits or tolerance is searched along the ladders of its codec
// (precision/codec_ladder.h). Two kinds of pipelines:
//   products (wafer): candidates are `search.codecs`, where a complete one is a single step; by
//     default every ladder that the pipeline's scale, sums, draws and device support. All ladders
//     of all pipelines share passes through the matrix, each with one candidate of every ladder.
//     Before that, the formats of the stages in `search.stages` are searched separately along a
//     ladder of bf16, fp16, tf32 and fp32: the cheapest that alone, with the reference's product,
//     loses at most a tenth of max_loss, else fp64. All trials of storages use these stages, so
//     that their loss is that of the whole chain.
//   factors (ao): the pipeline is solved once. Trials store it along the ladders of `storage`, with
//     tolerances in fine steps, starting with predicted ones. Draws are of the storage
//     (precision/draw.h).
// The cost is the bytes of the operator.
#ifndef BB_SIM_PIPELINES_STORAGE_SEARCH_H
#define BB_SIM_PIPELINES_STORAGE_SEARCH_H

#include "precision/codec_ladder.h"
#include "sim/pipelines/factor_search.h"

// product_pipeline.h cannot be included, because constants of physics/wafer and physics/ao clash.
typedef struct bb_product_pipeline bb_product_pipeline;

enum { BB_STORAGE_SEARCH_CODECS = 32, BB_STORAGE_SEARCH_LADDERS = 64 };
enum { BB_STAGE_SEARCH_TRIALS = 3 }; ///< largest number of trials for a stage

/// Ladder of candidates of one codec.
typedef struct bb_storage_ladder {
    bb_codec_config storage; ///< storage as given
    bb_codec_ladder ladder;  ///< key NULL: the storage is complete, a single step
    int first;               ///< first possible step
} bb_storage_ladder;

/// Storage of a step.
bb_codec_config bb_storage_ladder_storage(const bb_storage_ladder *ladder, int step);

/// Storage of the last step.
bb_codec_config bb_storage_ladder_widest(const bb_storage_ladder *ladder);

/// Largest number of trials, and so of passes, in a bisection.
int bb_storage_ladder_trials(const bb_storage_ladder *ladder);

/// Lists the ladders of a pipeline; 0 without a search. `out` has BB_STORAGE_SEARCH_LADDERS
/// elements.
bb_index bb_storage_search_list(const bb_product_pipeline *pipeline, int study_device,
                                bb_storage_ladder *out);

/// The pipeline with the last step of its first ladder; unchanged without a search.
bb_product_pipeline bb_storage_search_first(const bb_product_pipeline *pipeline, int study_device);

/// Checks product pipelines with max_loss: no storage, and codecs that can be searched and that the
/// pipeline supports. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_storage_searches_check(const bb_list *pipelines, int study_device,
                                               const bb_config *config, bb_problems *problems);

/// Candidate of a pass.
typedef struct bb_storage_trial {
    bb_index pipeline;                 ///< index in the study
    int stage;                         ///< bb_chain_stage to try; -1: the storage
    const bb_product_pipeline *record; ///< pipeline with the candidate's storage; for a stage, the
                                       ///< reference with only that stage changed
    double loss;                       ///< largest loss of its draws; NaN if one failed
    double bytes;                      ///< bytes of the operator, or of the stage's values
} bb_storage_trial;

/// Searches of all product pipelines of a study. Opaque, owned by the caller.
typedef struct bb_storage_search bb_storage_search;

/// Callbacks of an experiment.
typedef struct bb_storage_search_task {
    void *context;
    /// Computes loss and bytes of `count` trials in one pass through the operator.
    bb_status (*compute)(void *context, bb_storage_trial *trials, bb_index count);
    /// Adopts trial number `trial` of the last call as the result of a pipeline.
    void (*adopt)(void *context, bb_index trial, bb_index pipeline);
} bb_storage_search_task;

/// Lists the ladders of bb_product_pipeline `pipelines`, which are borrowed. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_storage_search_create(const bb_list *pipelines, int study_device,
                                              bb_storage_search **out);
void bb_storage_search_destroy(bb_storage_search **search);

/// True if any pipeline is searched.
bool bb_storage_search_wanted(const bb_storage_search *search);

/// Runs the search. Errors: from `compute`.
BB_CHECKED bb_status bb_storage_search_run(bb_storage_search *search,
                                           const bb_storage_search_task *task);

/// Returns the result of a searched pipeline: its storage and stages in `record` (false if no
/// storage was found), and the outcome, ok or not_converged with a detail. `unit` as in
/// bb_search_report.
bool bb_storage_search_found(const bb_storage_search *search, bb_index pipeline, const char *unit,
                             bb_product_pipeline *record, bb_outcome *outcome);

/// Writes /search; `losses` declares the loss. Errors: as bb_search_trials_publish.
BB_CHECKED bb_status bb_storage_search_publish(const bb_storage_search *search,
                                               const bb_output_table *losses, bb_results *results);

/// Output table of /search: candidates and costs of the storage search.
extern const bb_output_table bb_storage_search_outputs;

/// The factor pipeline with the widest storage of its first ladder; unchanged without a storage
/// search.
bb_factor_pipeline bb_storage_search_widest(const bb_factor_pipeline *pipeline);

/// Largest number of trials of a factor pipeline, times its draws; 0 without a storage search.
double bb_storage_search_trials(const bb_factor_pipeline *pipeline);

/// Storage of a step, counted over all ladders of a factor pipeline as
/// bb_factor_report.stored_step; false if out of range.
bool bb_storage_search_at(const bb_factor_pipeline *pipeline, double step, bb_codec_config *out);

/// Checks a factor pipeline with a storage search: the storage must have ladders, and draws must
/// differ. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_storage_search_check_factor(const bb_factor_pipeline *pipeline,
                                                    bb_index index, const bb_config *config,
                                                    bb_problems *problems);

/// Searches a storage for the successful solution in `solved`. Sets the outcome with a detail. With
/// a result, it is ok, and `level` and the draws are those of the storage found; otherwise it is
/// not_converged. Errors: from `store`.
BB_CHECKED bb_status bb_storage_search_run_factor(const bb_factor_search_task *task,
                                                  bb_evaluation *solved, bb_factor_pipeline *level);

#endif
