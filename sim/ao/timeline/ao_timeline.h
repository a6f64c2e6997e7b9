// SPDX-License-Identifier: Apache-2.0
//
// A controller in time (time_domain): every pipeline's matrix, as it is stored, on the same skies
// that the wind carries, beside the analytic score with the delay. Keys, rules, run, outputs.
#ifndef BB_SIM_AO_TIMELINE_AO_TIMELINE_H
#define BB_SIM_AO_TIMELINE_AO_TIMELINE_H

#include "sim/ao/ao_scoring.h"

/// The rules between time_domain and the rest of a study. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_ao_timeline_check(const bb_ao_study *study, const bb_config *config,
                                          bb_problems *problems);

/// Whether the grids of influence functions from files reach what guide stars see of the mirrors in
/// a closed loop (bb_mirror_stack_cover), which `physics` has been handed. Errors: BB_INVALID,
/// BB_MEMORY.
BB_CHECKED bb_status bb_ao_timeline_cover(const bb_ao_study *study, const bb_ao_config *physics,
                                          const bb_sensor_array *guides);

/// From the middle of an exposure to its correction, ms.
double bb_ao_timeline_delay_ms(const bb_ao_study *study);

/// What is written.
extern const bb_output_table bb_ao_timeline_strehl, bb_ao_timeline_residual, bb_ao_timeline_wind;

/// Runs the controller with the matrices of `evaluations` [pipelines of the study] and adds its
/// part of /results, whose axes stand; `physics` is what the scoring's problem was made of. Errors:
/// BB_MEMORY, BB_UNSUPPORTED (a sensor that stands askew), those of a score.
BB_CHECKED bb_status bb_ao_timeline_run(bb_ao_scoring *scoring, const bb_ao_config *physics,
                                        bb_ao_evaluation *evaluations, bb_results *results);

#endif
