// SPDX-License-Identifier: Apache-2.0
//
// A supervisor over a night, and what it takes: for every profile that a policy asks for, the
// reconstructor of every pipeline, and its Strehl ratio in the turbulence of the moments at which
// it is in use. The plain draw of a pipeline is solved; first target and wavelength are scored.
#ifndef BB_SIM_AO_NIGHT_NIGHT_H
#define BB_SIM_AO_NIGHT_NIGHT_H

#include "sim/ao/ao_study.h"
#include "sim/pipelines/factor_plan.h"
#include "sim/run/plan.h"

/// Zero without a night.
typedef struct bb_night_planned {
    double samples, layers; ///< of the night
    double recipes;         ///< profiles whose reconstructors are made
    double passes;          ///< over Cmm, for the score of one recipe at one sample
    double held_bytes;      ///< of the layers' covariances; 0: they are filled anew every time
    double output_bytes;
    bb_need need;
} bb_night_planned;

/// `solved` is what the study solves, `rows` the slopes of its largest truth sensor. Errors:
/// BB_MEMORY.
BB_CHECKED bb_status bb_night_plan(const bb_ao_study *study, const bb_ao_config *physics,
                                   const bb_factor_extent *solved, double rows, double threads,
                                   bb_night_planned *out);

/// Adds the line of a night to a plan, nothing without one. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_night_plan_print(const bb_night_planned *planned, bb_plan *plan);

#endif
