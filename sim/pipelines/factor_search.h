// SPDX-License-Identifier: Apache-2.0
//
// Search of an arithmetic, for pipelines with `max_loss` and no storage. The result is the cheapest
// arithmetic of a factorization with a loss of at most max_loss in every draw.
//
// Candidates are uniform variants, including diagonal tiles, from the cheapest on until one is
// accepted; then mixtures of that one with cheaper ones, by bisection. A candidate runs the full
// chain on the pipeline's device: factor, R, and the experiment's loss of R; a breakdown rejects
// it. Costs are those of the updates at nominal rates.
//
// Variants are ordered by nominal cost (precision/variant.h), at equal cost the more precise first.
// `search.variants` lists them. By default they are the pipeline's arithmetic, `search.inside`, and
// all that cost at least as much as the arithmetic, only the most precise of each cost. Variants
// that cost more than dp are left out: sp at the nominal rates.
//
// On the CPU a mixture is the product rule (with hp2 and hp3, the tile-norm rule) at tolerances
// 10^-1, 10^(-1 - 1/8), ..., 10^-6, and diagonal tiles follow. On a CUDA device, with one variant
// per tile, it is the tile-norm rule with fp32 diagonal tiles and sweeps, at tolerances that depend
// on the matrix: off-diagonal lower tiles, ordered by norm, are narrow up to 64/64, 63/64, ...,
// 1/64 of the operations. Tile (i, j), i > j, is updated by j products and then solved: 2 j + 1.
// Tolerances that give the same tiles are tried once.
#ifndef BB_SIM_PIPELINES_FACTOR_SEARCH_H
#define BB_SIM_PIPELINES_FACTOR_SEARCH_H

#include "core/device/device.h"
#include "sim/pipelines/factor_problem.h"
#include "sim/pipelines/search.h"

/// Most trials of one search: every variant, and bisections of three ladders.
enum { BB_FACTOR_SEARCH_TRIALS = BB_VARIANT_COUNT + 3 * 8 };

enum { BB_FACTOR_MIXTURES = 64, BB_FACTOR_CANDIDATE_NAME = 48 };

/// Mixtures of a pipeline's arithmetic and `search.inside`, from cheap to precise.
typedef struct bb_factor_candidates {
    bool by_tile; ///< variants assigned per tile, not per product
    int mixtures;
    double tolerances[BB_FACTOR_MIXTURES];
} bb_factor_candidates;

/// Lists the variants that a search may use throughout, cheapest first; returns their number.
int bb_factor_candidates_variants(const bb_factor_pipeline *pipeline,
                                  bb_variant out[BB_VARIANT_COUNT]);

/// The pipeline with one variant throughout, without escalation.
bb_factor_pipeline bb_factor_candidates_uniform(const bb_factor_pipeline *pipeline,
                                                bb_variant variant, bb_device_kind device);

/// Lists mixtures for `device`; on CUDA `problem` needs its `tile_norms`. Errors: BB_MEMORY,
/// BB_INTERNAL (no norms).
BB_CHECKED bb_status bb_factor_candidates_make(const bb_factor_problem *problem,
                                               const bb_factor_pipeline *pipeline,
                                               bb_device_kind device, bb_factor_candidates *out);

/// The pipeline of a mixture, without escalation, and its name.
bb_factor_pipeline bb_factor_candidates_mixture(const bb_factor_candidates *candidates,
                                                const bb_factor_pipeline *pipeline, int mixture,
                                                char name[BB_FACTOR_CANDIDATE_NAME]);

/// Loss of reconstructors.
typedef struct bb_factor_loss {
    double loss;  ///< loss to compare with max_loss, NaN without one
    double drawn; ///< value for the study's statistics of draws, NaN without one
} bb_factor_loss;

/// Input of a search for an arithmetic or a storage (storage_search.h); everything is borrowed.
typedef struct bb_factor_search_task {
    const bb_factor_pipeline *pipelines; ///< pipelines of the study
    bb_index pipeline;                   ///< index of the searched pipeline
    bb_search_trials *trials;
    const char *quantity;             ///< name of the missing quantity if `drawn` of a draw is NaN
    const bb_factor_problem *problem; ///< problem, for an arithmetic
    /// norms of the tiles, for an arithmetic: computed if a device needs them, then owned by the
    /// caller
    double **tile_norms;
    void *context;
    /// Computes the loss of the reconstructors r [targets] of a successful evaluation, and sets its
    /// outcome if they fail. May replace r.
    bb_status (*score)(void *context, double **r, bb_evaluation *solved, bb_factor_loss *out);
    /// For a storage: stores one draw of the solution by `level`, and computes its loss. `tried` is
    /// the solution; it receives the bytes, and an outcome if there is no loss.
    bb_status (*store)(void *context, const bb_factor_pipeline *level, bb_index draw,
                       bb_evaluation *tried, bb_factor_loss *out);
} bb_factor_search_task;

/// Search of a task, without its callbacks.
bb_search bb_factor_search_start(const bb_factor_search_task *task);

/// Adds a draw to the draws of a candidate, and returns its loss, NaN after a failure.
double bb_factor_search_add_draw(const bb_factor_search_task *task, const bb_evaluation *drawn,
                                 const bb_factor_loss *loss, bb_draws *draws);

/// Searches an arithmetic, and stores the work of the result in `evaluation` (started, with its
/// device), `r` [targets] and `level`, its pipeline (NULL: not requested). They are unchanged
/// without a result; the outcome, with a detail, is then not_converged. A matrix failure gives its
/// own outcome. Errors: from bb_factor_problem_solve, bb_factor_map_norms and `score`. Owner of
/// each r[t]: the caller.
BB_CHECKED bb_status bb_factor_search_run(const bb_factor_search_task *task,
                                          bb_evaluation *evaluation, double **r,
                                          bb_factor_pipeline *level);

/// Candidates and costs of the arithmetic search, in /search.
extern const bb_output_table bb_factor_search_outputs;

#endif
