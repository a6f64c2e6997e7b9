// SPDX-License-Identifier: Apache-2.0
//
// `bitbudget realtime` of a wafer study, and what it found as a table and as results: latencies by
// kind of step, misses with their bound, the worst steps with their stages, a histogram and a
// series, times of a field back to back, and what the host was.
#ifndef BB_SIM_WAFER_REALTIME_WAFER_REALTIME_H
#define BB_SIM_WAFER_REALTIME_WAFER_REALTIME_H

#include "sim/experiment.h"
#include "sim/wafer/realtime/realtime_measurement.h"

/// Contract of `realtime` in sim/experiment.h; `study` is a bb_wafer_study. Only builds with CUDA
/// have it. Errors besides: those of bb_wafer_loop_create, BB_DEVICE (no cuda device).
BB_CHECKED bb_status bb_wafer_realtime_run(const void *study, bb_results *results, bb_text *table);

/// Appends the table and writes root axes kind and stage, /results, /latency, /worst and /host.
/// Errors: BB_MEMORY, BB_INVALID (no step was measured).
BB_CHECKED bb_status bb_wafer_realtime_report(const bb_wafer_loop *loop,
                                              const bb_realtime_measurement *measured,
                                              bb_results *results, bb_text *table);

#endif
