// SPDX-License-Identifier: Apache-2.0
//
// What a pipeline's factorization will take, before anything is computed.
#ifndef BB_SIM_PIPELINES_FACTOR_PLAN_H
#define BB_SIM_PIPELINES_FACTOR_PLAN_H

#include "sim/pipelines/factor_pipeline.h"

typedef struct bb_factor_need {
    double operator_bytes;   ///< of the factor as stored; an upper bound where a rule chooses
    double trials;           ///< factorizations, solves and scores: of a promise, several
    double passes;           ///< over the whole matrix, of the refinement
    double refinement_flops; ///< at a usual number of iterations
    double host_bytes; ///< factor as emulated, operand copies, refinement; the estimates are not
} bb_factor_need;

/// For n measurements and `rows` right-hand sides of the largest target. A policy's table is read
/// and held to the tiles. Errors: BB_INVALID (a table or a tile of the spectrum that does not fit),
/// BB_IO, BB_MEMORY.
BB_CHECKED bb_status bb_factor_pipeline_need(const bb_factor_solver_config *solver,
                                             const bb_factor_pipeline *pipeline, bb_index n,
                                             bb_index rows, bb_factor_need *out);

/// Factorizations that a pipeline usually takes: a promise is searched, and each draw is one.
double bb_factor_pipeline_trials(const bb_factor_pipeline *pipeline);

#endif
