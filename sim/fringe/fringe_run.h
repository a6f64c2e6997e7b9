// SPDX-License-Identifier: Apache-2.0
//
// The fringe driver: scene -> frames, stored per pipeline -> wrapped phase -> unwrapped per
// pipeline -> wrong cycles and nanometres.
#ifndef BB_SIM_FRINGE_FRINGE_RUN_H
#define BB_SIM_FRINGE_FRINGE_RUN_H

#include "sim/experiment.h"

extern const bb_output_table *const bb_fringe_outputs[];

/// Contracts in sim/experiment.h; `study` is a bb_fringe_study.
BB_CHECKED bb_status bb_fringe_run(const void *study, const bb_run_options *options,
                                   bb_results *results);

#endif
