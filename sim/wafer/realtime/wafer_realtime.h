// SPDX-License-Identifier: Apache-2.0
//
// Results of `bitbudget realtime` of a wafer study as a table and as results: latencies by
// kind of step, misses with their bound, the worst steps with their stages, a histogram and a
// series, times of a field back to back, and the host.
#ifndef BB_SIM_WAFER_REALTIME_WAFER_REALTIME_H
#define BB_SIM_WAFER_REALTIME_WAFER_REALTIME_H

#include "sim/wafer/realtime/realtime_measurement.h"

/// Appends the table and writes root axes kind and stage, /results, /latency, /worst and /host.
/// Errors: BB_MEMORY, BB_INVALID (no step was measured).
BB_CHECKED bb_status bb_wafer_realtime_report(const bb_wafer_loop *loop,
                                              const bb_realtime_measurement *measured,
                                              bb_results *results, bb_text *table);

#endif
