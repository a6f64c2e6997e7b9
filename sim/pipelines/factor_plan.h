// SPDX-License-Identifier: Apache-2.0
//
// Memory and time of a pipeline's factorization, estimated in advance.
#ifndef BB_SIM_PIPELINES_FACTOR_PLAN_H
#define BB_SIM_PIPELINES_FACTOR_PLAN_H

#include "sim/pipelines/factor_pipeline.h"
#include "sim/run/plan.h"

/// Size of a study's factorization and solves.
typedef struct bb_factor_extent {
    bb_index n;    ///< measurements
    bb_index rows; ///< solved right-hand sides of all targets
    bb_index part; ///< columns of the low-rank part
    bb_need fill;  ///< one pass over the whole covariance
    double threads;
    bb_index modes;  ///< modes added to the covariance of the rounding
    bb_index groups; ///< groups of slopes whose mean may be filtered
} bb_factor_extent;

/// Need of a pipeline on its device on this machine (bb_factor_device_supports), with all trials in
/// turn and the estimate of one trial, but without the study's estimates. `operator_bytes`: the
/// factor as stored, an upper bound if a rule assigns variants. A policy's table is read and
/// checked against the tiles. Over processes, adds a line to `lines`, unless NULL, with the memory
/// of each process and the traffic. Errors: BB_INVALID (a table or a tile of the spectrum that does
/// not fit), BB_IO, BB_MEMORY.
BB_CHECKED bb_status bb_factor_pipeline_need(const bb_factor_solver_config *solver,
                                             const bb_factor_pipeline *pipeline, int study_device,
                                             const bb_factor_extent *extent, bb_plan *lines,
                                             bb_need *out, double *operator_bytes);

/// Expected number of factorizations of a pipeline: a search tries several, and each draw is one.
double bb_factor_pipeline_trials(const bb_factor_pipeline *pipeline);

#endif
