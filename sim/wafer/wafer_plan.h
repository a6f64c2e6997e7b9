// SPDX-License-Identifier: Apache-2.0
//
// What a wafer study will hold and take, from its configuration alone.
#ifndef BB_SIM_WAFER_WAFER_PLAN_H
#define BB_SIM_WAFER_WAFER_PLAN_H

#include "sim/experiment.h"
#include "sim/wafer/wafer_study.h"

/// Contract in sim/experiment.h; `study` is a bb_wafer_study.
BB_CHECKED bb_status bb_wafer_plan(const void *study, const bb_run_options *options, bb_plan *plan);

/// A copy of a study, which has to outlive it, with the device that `auto` comes to by the size of
/// its matrices. Errors: those of the study's layout, BB_MEMORY.
BB_CHECKED bb_status bb_wafer_plan_resolve(const bb_wafer_study *study, bb_wafer_study *out);

#endif
