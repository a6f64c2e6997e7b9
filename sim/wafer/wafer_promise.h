// SPDX-License-Identifier: Apache-2.0
//
// Pipelines of a wafer study with `promise: {price: x, codecs: [...]}`: the storage of fewest bytes
// whose price, as outputs/README.md has it of draws, is at most x nm of every draw.
//
// The search (sim/pipelines/storage_promise.h) goes through the response rows once a pass, with one
// candidate of each of its ladders; the first pass computes the reference and the other pipelines
// too. What a pipeline's row of the results says is what its candidate was computed as.
#ifndef BB_SIM_WAFER_WAFER_PROMISE_H
#define BB_SIM_WAFER_WAFER_PROMISE_H

#include "sim/pipelines/storage_promise.h"
#include "sim/plan.h"
#include "sim/wafer/pass/wafer_pass.h"

/// Zero-initialise; release with bb_wafer_promises_release.
typedef struct bb_wafer_promises {
    const bb_wafer_study *asked;
    bb_wafer_study study;           ///< the same with what was found in the place of promises
    bb_product_pipeline *pipelines; ///< of that
    bb_storage_search *search;
    bb_product_devices *devices;
    bb_wafer_evaluation *evaluations; ///< [pipelines], the caller's
    bb_wafer_pass pass;
    bb_wafer_evaluation *tried; ///< [tried_count] of the pass
    bb_index tried_count;
} bb_wafer_promises;

/// Reads the promises of a study. What is given stays the caller's and in place; `evaluations`
/// [pipelines of the study] are created but for those of pipelines that promise, which are started.
/// Errors: BB_MEMORY.
BB_CHECKED bb_status bb_wafer_promises_open(const bb_wafer_study *study,
                                            bb_product_devices *devices,
                                            bb_wafer_evaluation *evaluations,
                                            bb_wafer_promises *out);
void bb_wafer_promises_release(bb_wafer_promises *promises);

/// Computes every pipeline of the study into its evaluation, those that promise by search: with a
/// detail that says what was found, or not_converged. Errors: those of bb_wafer_pass_run.
BB_CHECKED bb_status bb_wafer_promises_compute(bb_wafer_promises *promises,
                                               bb_wafer_problem *problem,
                                               const bb_wafer_heating *heating);

/// Writes the group /promise, one row a trial; nothing where nothing is promised. Errors:
/// BB_MEMORY.
BB_CHECKED bb_status bb_wafer_promises_publish(const bb_wafer_promises *promises,
                                               bb_results *results);

/// For plans: a study whose promises are the largest candidates of their ladders, each with the
/// draws of all trials of its ladder, and the passes through the rows.
typedef struct bb_wafer_promises_extent {
    bb_wafer_study study;
    bb_product_pipeline *pipelines; ///< of that; release with BB_RELEASE
    double passes;
    double
        held_draws; ///< evaluations that a pass holds: of pipelines, candidates and what is found
    bool searches;
} bb_wafer_promises_extent;

/// Errors: BB_MEMORY.
BB_CHECKED bb_status bb_wafer_promises_measure(const bb_wafer_study *study,
                                               bb_wafer_promises_extent *out);

/// Adds what a pipeline searches of an operator of `values`. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_wafer_promises_plan(const bb_wafer_study *study,
                                            const bb_product_pipeline *pipeline, double values,
                                            bb_plan *plan);

/// The price in /promise.
extern const bb_output_table bb_wafer_promise_outputs;

#endif
