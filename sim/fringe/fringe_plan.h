// SPDX-License-Identifier: Apache-2.0
//
// What a fringe study takes of memory and time, before anything is computed.
#ifndef BB_SIM_FRINGE_FRINGE_PLAN_H
#define BB_SIM_FRINGE_FRINGE_PLAN_H

#include "sim/experiment.h"

/// Contract in sim/experiment.h; `study` is a bb_fringe_study.
BB_CHECKED bb_status bb_fringe_plan(const void *study, const bb_run_options *options,
                                    bb_plan *plan);

#endif
