// SPDX-License-Identifier: Apache-2.0
//
// What is told of any control loop's steps: latencies by kind of step with misses and their bound,
// a histogram and a series, and what the host was to the thread that ran them.
//
// Latencies of released steps: from the release time to the end of the step, a late start counted
// in. Kinds and stages of steps are the experiment's. Quantiles are nearest ranks: p99 is a latency
// that was measured.
//
// State of a host for a thread with deadlines, and rights of such a thread: a core of its
// own, memory that stays, a real-time policy. Linux.
#ifndef BB_SIM_REALTIME_REALTIME_REPORT_H
#define BB_SIM_REALTIME_REALTIME_REPORT_H

#include "core/device/device.h"
#include "core/status.h"
#include "core/text.h"
#include "sim/output/output_table.h"

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

enum { BB_HOST_TEXT = 160 };

/// Texts of /proc, /sys and nvidia-smi; "not known" where they say nothing.
typedef struct bb_host_state {
    char processor[BB_HOST_TEXT];
    char kernel[BB_HOST_TEXT]; ///< release and version
    char hypervisor[BB_HOST_TEXT];
    char isolated[BB_HOST_TEXT]; ///< cores that the scheduler leaves alone
    char governor[BB_HOST_TEXT]; ///< of core 0
    char load[BB_HOST_TEXT];     ///< averages over 1, 5 and 15 minutes
    char clocks[BB_HOST_TEXT];   ///< of the GPU: sm and memory now, and the most they reach
} bb_host_state;

/// Asks; may take a second and start a process.
void bb_host_state_read(bb_host_state *out);

/// What was done for the calling thread, or who refused it and why. Zero-initialise.
typedef struct bb_realtime_thread {
    char core[BB_HOST_TEXT];
    char memory[BB_HOST_TEXT];
    char policy[BB_HOST_TEXT];
    bool pinned, locked, raised; ///< in force
    cpu_set_t cores;             ///< of the thread before
    int slack;                   ///< of its timers before, ns; negative: not known
} bb_realtime_thread;

/// Pins the calling thread to an isolated core, else to the last that it may use, locks the memory
/// it has, and asks for SCHED_FIFO unless it `never_sleeps` and the kernel stops such threads.
/// Nothing of it is an error.
void bb_realtime_thread_enter(bb_realtime_thread *thread, bool never_sleeps);

/// Undoes it; the texts stay.
void bb_realtime_thread_leave(bb_realtime_thread *thread);

/// Waits for a release of core/clock.h: sleeps until shortly before, then polls, so that the
/// wake-up of the thread is in no latency.
void bb_realtime_thread_await(int64_t ns);

/// Whether a thread that awaits releases every `period_ns` polls throughout; 0: back to back.
bool bb_realtime_thread_never_sleeps(int64_t period_ns);

enum {
    BB_STEP_ALL = -1,  ///< in the place of a kind: steps of any
    BB_STEP_PARTS = 6, ///< stages of a step, at most
};

/// One step, times in s.
typedef struct bb_step_record {
    double release; ///< since the first release
    double latency;
    double stage[BB_STEP_PARTS]; ///< NaN for those it does not have
    int32_t exposure, step;      ///< of the exposure; without exposures the first is 0
    int kind;
} bb_step_record;

/// Of the steps of one kind; NaN where there are none.
typedef struct bb_latency {
    double count;
    double mean, p50, p99, p999, p9999, max; ///< s
    double max_over_median;
    double misses;                      ///< latencies over the deadline
    double miss_rate, miss_bound;       ///< bb_latency_miss_bound
    double stage_median[BB_STEP_PARTS]; ///< s
} bb_latency;

/// Summary of one kind of steps, or BB_STEP_ALL. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_latency_summarise(bb_index count, const bb_step_record *records, int kind,
                                          double deadline, bb_latency *out);

/// Upper bound at 95 % confidence on the rate of misses, by Clopper and Pearson; 3 / count without
/// a miss, NaN without a step.
double bb_latency_miss_bound(bb_index misses, bb_index count);

/// The `limit` greatest latencies, greatest first, of equal ones the first to come; returns how
/// many there are. out [most].
bb_index bb_latency_worst(bb_index count, const bb_step_record *records, bb_index limit,
                          bb_index *out);

enum {
    BB_LATENCY_BINS = 2001, ///< of 1 us; the last one takes all from 2 ms on
    BB_LATENCY_BINS_PER_SECOND = 1000000,
};

/// Counts by latency of one kind of steps, or BB_STEP_ALL: out [BB_LATENCY_BINS].
void bb_latency_histogram(bb_index count, const bb_step_record *records, int kind, double *out);

/// Median and maximum of `blocks` runs of successive steps of nearly equal length, `count` at
/// least `blocks`: begin [blocks] first release, median, max [blocks]. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_latency_blocks(bb_index count, const bb_step_record *records,
                                       bb_index blocks, double *begin, double *median, double *max);

enum { BB_REALTIME_WORST = 10 }; ///< steps of greatest latency that are told one by one

/// Of a bb_latency a kind, and of the series below.
extern const bb_output_table bb_realtime_report_kinds, bb_realtime_report_latencies;

/// Writes histograms by kind (`kinds` [kind_count] of records, or BB_STEP_ALL) and median and
/// maximum of runs of successive steps; `count` at least 1. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_realtime_report_publish(bb_index count, const bb_step_record *records,
                                                const int *kinds, bb_index kind_count,
                                                bb_results *results);

/// Appends a kind's quantiles without a line's end; NULL: the headings. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_realtime_report_print(const char *name, const bb_latency *latency,
                                              bb_text *out);

/// Appends the line on misses: deadline in us, rate and bound. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_realtime_report_print_misses(double deadline_us, const bb_latency *latency,
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
