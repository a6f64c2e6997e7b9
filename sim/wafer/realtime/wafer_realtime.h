// SPDX-License-Identifier: Apache-2.0
//
// `bitbudget realtime` of a wafer study. Only builds with CUDA link it.
#ifndef BB_SIM_WAFER_REALTIME_WAFER_REALTIME_H
#define BB_SIM_WAFER_REALTIME_WAFER_REALTIME_H

#include "sim/experiment.h"

/// Contract of `realtime` in sim/experiment.h; `study` is a bb_wafer_study. Errors besides: those
/// of bb_wafer_loop_create, BB_DEVICE (no cuda device).
BB_CHECKED bb_status bb_wafer_realtime_run(const void *study, bb_results *results, bb_text *table);

#endif
