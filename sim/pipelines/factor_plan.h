// SPDX-License-Identifier: Apache-2.0
//
// Memory and time of a pipeline's factorization, before anything is computed.
#ifndef BB_SIM_PIPELINES_FACTOR_PLAN_H
#define BB_SIM_PIPELINES_FACTOR_PLAN_H

#include "sim/pipelines/factor_pipeline.h"
#include "sim/run/plan.h"

/// What a study solves.
typedef struct bb_factor_extent {
    bb_index n;    ///< measurements
    bb_index rows; ///< right-hand sides of all targets that are solved
    bb_index part; ///< columns of the low-rank part
    bb_need fill;  ///< of one pass over the whole covariance
    double threads;
    bb_index modes;  ///< that the covariance does not know, of the norm that is rounded in
    bb_index groups; ///< of slopes whose mean may be taken out of it
} bb_factor_extent;

/// What a pipeline takes where this machine computes it (bb_factor_device_supports), all its trials
/// one after the other and the estimate of one beside; the estimates themselves are not in it.
/// `operator_bytes`: of the factor as stored, an upper bound where a rule chooses. A policy's table
/// is read and held to the tiles. Over processes a line of `lines`, unless that is NULL, says what
/// each takes and what travels. Errors: BB_INVALID (a table or a tile of the spectrum that does not
/// fit), BB_IO, BB_MEMORY.
BB_CHECKED bb_status bb_factor_pipeline_need(const bb_factor_solver_config *solver,
                                             const bb_factor_pipeline *pipeline, int study_device,
                                             const bb_factor_extent *extent, bb_plan *lines,
                                             bb_need *out, double *operator_bytes);

/// Factorizations that a pipeline usually takes: a search tries several, and each draw is one.
double bb_factor_pipeline_trials(const bb_factor_pipeline *pipeline);

#endif
