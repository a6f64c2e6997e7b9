// SPDX-License-Identifier: Apache-2.0
//
// What a wafer study will hold and take, from its configuration alone.
#ifndef BB_SIM_WAFER_WAFER_PLAN_H
#define BB_SIM_WAFER_WAFER_PLAN_H

#include "sim/experiment.h"

/// Contract in sim/experiment.h; `study` is a bb_wafer_study.
BB_CHECKED bb_status bb_wafer_plan(const void *study, const bb_run_options *options, bb_plan *plan);

#endif
