// SPDX-License-Identifier: Apache-2.0
//
// What is told of any control loop's steps: latencies by kind of step with misses and their bound,
// a histogram and a series, and what the host was to the thread that ran them.
#ifndef BB_SIM_REALTIME_REALTIME_REPORT_H
#define BB_SIM_REALTIME_REALTIME_REPORT_H

#include "core/device/device.h"
#include "core/text.h"
#include "sim/output/output_table.h"
#include "sim/realtime/latency.h"
#include "sim/realtime/realtime_thread.h"

enum { BB_REALTIME_WORST = 10 }; ///< steps of greatest latency that are told one by one

/// Of a bb_latency_summary a kind, and of the series below.
extern const bb_output_table bb_realtime_report_kinds, bb_realtime_report_latencies;

/// Writes histograms by kind (`kinds` [kind_count] of records, or BB_STEP_ALL) and median and
/// maximum of runs of successive steps; `count` at least 1. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_realtime_report_publish(bb_index count, const bb_step_record *records,
                                                const int *kinds, bb_index kind_count,
                                                bb_results *results);

/// Appends a kind's quantiles without a line's end; NULL: the headings. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_realtime_report_print(const char *name, const bb_latency_summary *latency,
                                              bb_text *out);

/// Appends the line on misses: deadline in us, rate and bound. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_realtime_report_print_misses(double deadline_us,
                                                     const bb_latency_summary *latency,
                                                     bb_text *out);

/// The host before and after a run, and what its thread got.
typedef struct bb_realtime_host {
    bb_host_state before, after;
    bb_realtime_thread thread;
} bb_realtime_host;

/// Attributes of /host. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_realtime_report_note_host(const bb_realtime_host *host,
                                                  bb_results *results);

/// Its `device` and `device_driver`, of several devices with " | " between. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_realtime_report_note_devices(int count, const bb_device_report *devices,
                                                     bb_results *results);

/// Appends the lines on the host and its thread. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_realtime_report_print_host(const bb_realtime_host *host, bb_text *out);

#endif
