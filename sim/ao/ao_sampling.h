// SPDX-License-Identifier: Apache-2.0
//
// Independent frames of an ao study: every pipeline's reconstructor on the same random screens, and
// how far the Strehl ratios are from the analytic ones.
#ifndef BB_SIM_AO_AO_SAMPLING_H
#define BB_SIM_AO_AO_SAMPLING_H

#include "sim/ao/ao_evaluation.h"

/// What is written.
extern const bb_output_table bb_ao_sampling_strehl, bb_ao_sampling_frames;

/// Draws the frames of `monte_carlo` and adds their part of /results, whose axes stand. Errors:
/// BB_MEMORY, BB_UNSUPPORTED (a sensor that stands askew).
BB_CHECKED bb_status bb_ao_sampling_run(const bb_ao_study *study, const bb_tomography *problem,
                                        const double *wavelengths_m,
                                        const bb_ao_evaluation *evaluations, bb_results *results);

#endif
