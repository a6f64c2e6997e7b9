// SPDX-License-Identifier: Apache-2.0
//
// A controller in time (time_domain): every pipeline's matrix, as it is stored, on the same skies
// that the wind carries, beside the analytic score with the delay: run and outputs.
#ifndef BB_SIM_AO_TIMELINE_AO_TIMELINE_H
#define BB_SIM_AO_TIMELINE_AO_TIMELINE_H

#include "sim/ao/ao_scoring.h"

/// What is written.
extern const bb_output_table bb_ao_timeline_strehl, bb_ao_timeline_residual, bb_ao_timeline_wind;

/// Runs the controller with the matrices of `evaluations` [pipelines of the study] and adds its
/// part of /results, whose axes stand; `physics` is what the scoring's problem was made of. Errors:
/// BB_MEMORY, BB_UNSUPPORTED (a sensor that stands askew), those of a score.
BB_CHECKED bb_status bb_ao_timeline_run(bb_ao_scoring *scoring, const bb_ao_config *physics,
                                        bb_ao_evaluation *evaluations, bb_results *results);

#endif
