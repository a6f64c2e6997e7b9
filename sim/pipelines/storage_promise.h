// SPDX-License-Identifier: Apache-2.0
//
// Pipelines with `promise: {price: x, codecs: [...]}` in the place of a storage: the storage of
// fewest bytes whose price, of every draw, is at most x. What a price is, the experiment says.
//
// Tried are the promise's codecs, a storage that is whole as it is, others along the ladders of
// their row (precision/codec_ladder.h); without `codecs` every ladder that the pipeline's scale,
// sums, draws and device take. Ladders are bisected side by side: the experiment computes one
// candidate of each at once, as often as the longest takes, whatever their number. A cost is the
// bytes of the operator.
#ifndef BB_SIM_PIPELINES_STORAGE_PROMISE_H
#define BB_SIM_PIPELINES_STORAGE_PROMISE_H

#include "precision/codec_ladder.h"
#include "sim/pipelines/product_pipeline.h"
#include "sim/pipelines/promise.h"

enum { BB_STORAGE_PROMISE_CODECS = 32, BB_STORAGE_PROMISE_LADDERS = 64 };

/// What is searched of one codec.
typedef struct bb_storage_ladder {
    bb_codec_config storage;       ///< as given
    const bb_codec_ladder *ladder; ///< NULL: it is whole, a single step
    int first, steps;              ///< steps `first` to steps - 1 are possible
} bb_storage_ladder;

/// The storage of a step.
bb_codec_config bb_storage_ladder_storage(const bb_storage_ladder *ladder, int step);

/// What a pipeline's promise searches; 0 where it has none. `out` has BB_STORAGE_PROMISE_LADDERS.
bb_index bb_storage_promise_list(const bb_product_pipeline *pipeline, int study_device,
                                 bb_storage_ladder *out);

/// The pipeline as its first ladder ends; one without a promise as it is.
bb_product_pipeline bb_storage_promise_first(const bb_product_pipeline *pipeline, int study_device);

/// The most trials of a ladder, and so of passes.
int bb_storage_ladder_trials(const bb_storage_ladder *ladder);

/// The rules on pipelines that promise: no storage beside it, codecs that can be searched and that
/// the pipeline takes. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_storage_promises_check(const bb_list *pipelines, int study_device,
                                               const bb_config *config, bb_problems *problems);

/// A candidate of a pass.
typedef struct bb_storage_trial {
    bb_index pipeline;          ///< of the study
    bb_product_pipeline record; ///< that with the candidate's storage
    double price;               ///< worst of its draws; NaN where one failed
    double bytes;
} bb_storage_trial;

/// Searches of all pipelines of a study. Opaque, owned by the caller.
typedef struct bb_storage_search bb_storage_search;

/// How an experiment computes.
typedef struct bb_storage_search_task {
    void *context;
    /// Fills price and bytes of `count` trials, one way through the operator.
    bb_status (*compute)(void *context, bb_storage_trial *trials, bb_index count);
    /// Trial number `trial` of the last call becomes what was found for a pipeline.
    void (*adopt)(void *context, bb_index trial, bb_index pipeline);
} bb_storage_search_task;

/// Reads the promises of bb_product_pipeline `pipelines`, which stay the caller's and in place.
/// Errors: BB_MEMORY.
BB_CHECKED bb_status bb_storage_search_create(const bb_list *pipelines, int study_device,
                                              bb_storage_search **out);
void bb_storage_search_destroy(bb_storage_search **search);

/// Whether pipelines promise anything.
bool bb_storage_search_wanted(const bb_storage_search *search);

/// Searches. Errors: those of `compute`.
BB_CHECKED bb_status bb_storage_search_run(bb_storage_search *search,
                                           const bb_storage_search_task *task);

/// What a pipeline that promises came to: its storage (false where none was found), and the
/// outcome, not_converged or ok with a detail that says what was found, in `unit`.
bool bb_storage_search_found(const bb_storage_search *search, bb_index pipeline, const char *unit,
                             bb_codec_config *storage, bb_outcome *outcome);

/// Writes the group /promise, one row a trial; nothing where nothing was tried. `price` names the
/// price. Errors: as bb_promise_trials_publish.
BB_CHECKED bb_status bb_storage_search_publish(const bb_storage_search *search,
                                               const bb_output_table *price, bb_results *results);

#endif
