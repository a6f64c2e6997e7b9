// SPDX-License-Identifier: Apache-2.0
//
// A supervisor over a night: for every profile that a policy asks for, the reconstructor of every
// pipeline, and its Strehl ratio in the turbulence of the moments at which it is in use. What is
// solved is always the plain draw of a pipeline; first target and wavelength are scored.
#ifndef BB_SIM_AO_NIGHT_NIGHT_RUN_H
#define BB_SIM_AO_NIGHT_NIGHT_RUN_H

#include "sim/ao/ao_evaluation.h"

/// Targets whose reconstructors a night solves: one where each has its own.
bb_index bb_night_run_targets(const bb_ao_study *study);

#endif
