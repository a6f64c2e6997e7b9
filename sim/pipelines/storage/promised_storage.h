// SPDX-License-Identifier: Apache-2.0
//
// Pipelines whose `storage` leaves out its bits or its tolerance, beside `promise: {price: x}`: the
// storage of fewest bytes whose price, of every draw, is at most x. What a price is, the experiment
// says.
//
// What is solved is solved once: a trial stores it along a ladder of the storage's codec
// (precision/codec_ladder.h, tolerances in fine steps) and prices that, until a step keeps the
// price and the one before it does not. A cost is the bytes of the reconstructors as stored. Draws
// are of the storage (precision/draw.h).
#ifndef BB_SIM_PIPELINES_STORAGE_PROMISED_STORAGE_H
#define BB_SIM_PIPELINES_STORAGE_PROMISED_STORAGE_H

#include "sim/pipelines/factor_promise.h"

/// Whether a pipeline's storage is to be found.
bool bb_promised_storage_is_given(const bb_factor_pipeline *pipeline);

/// The pipeline with the widest storage of its first ladder; one without a promise as it is.
bb_factor_pipeline bb_promised_storage_widest(const bb_factor_pipeline *pipeline);

/// The most trials of a search, times its draws; 0 without a promise.
double bb_promised_storage_trials(const bb_factor_pipeline *pipeline);

/// The storage of a step, counted over the ladders of a pipeline, as bb_factor_report has it of
/// what was found; false where there is none.
bool bb_promised_storage_at(const bb_factor_pipeline *pipeline, double step, bb_codec_config *out);

/// The rules on a pipeline that promises: a storage that a search can go through, and draws that
/// differ. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_promised_storage_check(const bb_factor_pipeline *pipeline, bb_index index,
                                               const bb_config *config, bb_problems *problems);

/// What a search needs; everything is borrowed.
typedef struct bb_promised_storage_task {
    const bb_factor_pipeline *pipelines; ///< of the study
    bb_index pipeline;                   ///< the one that promises
    const char *quantity;                ///< what a draw is said to lack whose `drawn` is NaN
    void *context;
    /// Stores what was solved as `level` says, as one of its draws, and prices that. `tried` is
    /// what was solved; it gets the bytes, and an outcome where there is no price.
    bb_status (*price)(void *context, const bb_factor_pipeline *level, bb_index draw,
                       bb_evaluation *tried, bb_factor_price *out);
} bb_promised_storage_task;

/// Searches for what was solved into `solved`, which is ok. Its outcome says what came of it: ok
/// with the storage that was found, which is then that of `level`, and with its draws; or
/// not_converged, with the trial that came nearest. Errors: those of `price`.
BB_CHECKED bb_status bb_promised_storage_keep(const bb_promised_storage_task *task,
                                              bb_promise_trials *trials, bb_evaluation *solved,
                                              bb_factor_pipeline *level);

#endif
