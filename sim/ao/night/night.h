// SPDX-License-Identifier: Apache-2.0
//
// Supervisor over a night, and its cost. For every profile that a policy uses, it computes the
// reconstructor of every pipeline, and its Strehl ratio in the turbulence at the times of its use.
// Only draw 0 of a pipeline is solved; only the first target and wavelength are scored.
#ifndef BB_SIM_AO_NIGHT_NIGHT_H
#define BB_SIM_AO_NIGHT_NIGHT_H

#include "sim/ao/ao_study.h"
#include "sim/pipelines/factor_plan.h"
#include "sim/run/plan.h"

/// Plan of a night; all zero without one.
typedef struct bb_night_planned {
    double samples, layers; ///< numbers of the night
    double recipes;         ///< profiles solved
    double passes;          ///< passes over Cmm, each scoring one recipe at one sample
    double held_bytes;      ///< cached covariances of the layers; 0: refilled every time
    double output_bytes;
    bb_need need;
} bb_night_planned;

/// Plans a night. `solved` is the extent of the study's solves, `rows` the slopes of its largest
/// truth sensor. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_night_plan(const bb_ao_study *study, const bb_ao_config *physics,
                                   const bb_factor_extent *solved, double rows, double threads,
                                   bb_night_planned *out);

/// Adds the lines of a night to a plan; no effect without one. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_night_plan_print(const bb_night_planned *planned, bb_plan *plan);

#endif
