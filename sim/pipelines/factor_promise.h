// SPDX-License-Identifier: Apache-2.0
//
// Pipelines with `policy: {kind: promise, price: x}`: the cheapest arithmetic of a factorization
// whose price, of every draw, is at most x. What a price is, the experiment says.
//
// What is tried stands in sim/pipelines/factor_candidates.h: variants throughout from the cheapest
// on, until one keeps the promise; then mixtures of that one with cheaper ones, by bisection. A
// candidate is tried by the full chain on the pipeline's device: factor, R, and the experiment's
// price of R; one that breaks down is not kept. Costs are those of the updates at nominal rates.
#ifndef BB_SIM_PIPELINES_FACTOR_PROMISE_H
#define BB_SIM_PIPELINES_FACTOR_PROMISE_H

#include "sim/pipelines/factor_problem.h"
#include "sim/pipelines/promise.h"

/// Of one search at most: every variant, and bisections of three ladders.
enum { BB_FACTOR_PROMISE_TRIALS = BB_VARIANT_COUNT + 3 * 8 };

/// What `price` says of reconstructors.
typedef struct bb_factor_price {
    double price; ///< held against the promise, NaN where there is none
    double drawn; ///< what the study's draws list, NaN where there is none
} bb_factor_price;

/// What a search needs; everything is borrowed.
typedef struct bb_factor_promise_task {
    const bb_factor_problem *problem;
    const bb_factor_pipeline *pipelines; ///< of the study
    bb_index pipeline;                   ///< the one that promises
    double **tile_norms;  ///< of the matrix; found, and left to the caller, where a device asks
    const char *quantity; ///< what a draw is said to lack whose `drawn` is NaN
    void *context;
    /// Price of the reconstructors r [targets] that were solved, of an evaluation that is ok: where
    /// they turn out not to be, its outcome changes. May put others in their place.
    bb_status (*price)(void *context, double **r, bb_evaluation *solved, bb_factor_price *out);
} bb_factor_promise_task;

/// Searches, and leaves the work of the candidate that was found in `evaluation` (started, with its
/// device), `r` [targets] and `level`, the pipeline that it is (NULL: not asked for); they stay as
/// they are where none was found. The evaluation's detail says what was found; nothing found is
/// not_converged, and a matrix that failed by itself gives its outcome. Errors: those of
/// bb_factor_problem_solve, bb_factor_map_norms and `price`. Owner of each r[t]: the caller.
BB_CHECKED bb_status bb_factor_promise_keep(const bb_factor_promise_task *task,
                                            bb_promise_trials *trials, bb_evaluation *evaluation,
                                            double **r, bb_factor_pipeline *level);

/// What was tried and what it costs, in /promise.
extern const bb_output_table bb_factor_promise_outputs;

/// bb_promise_trials_publish for the pipelines of a study; `price` declares the price. Errors: as
/// there.
BB_CHECKED bb_status bb_factor_promise_publish(const bb_promise_trials *trials,
                                               const bb_list *pipelines,
                                               const bb_output_table *price, bb_results *results);

#endif
