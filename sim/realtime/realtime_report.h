// SPDX-License-Identifier: Apache-2.0
//
// Latencies of loops in real time (realtime_loop.h): statistics by kind of step with missed
// deadlines and their bound, histogram, series, the worst steps, and their tables and datasets,
// which are the same for every experiment. Quantiles are nearest ranks: p99 is a latency that was
// measured.
#ifndef BB_SIM_REALTIME_REALTIME_REPORT_H
#define BB_SIM_REALTIME_REALTIME_REPORT_H

#include "core/text.h"
#include "sim/output/output_table.h"
#include "sim/realtime/realtime_loop.h"

/// Of the steps of one kind; NaN where there are none.
typedef struct bb_latency {
    double count;
    double mean, p50, p99, p999, p9999, max; ///< s
    double max_over_median;
    double misses;                      ///< latencies over the deadline
    double miss_rate, miss_bound;       ///< bb_latency_miss_bound
    double stage_median[BB_STEP_PARTS]; ///< s
} bb_latency;

/// Summary of latencies [count] in s, which it sorts; stages stay NaN.
void bb_latency_of(bb_index count, double *latencies, double deadline, bb_latency *out);

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

enum { BB_REALTIME_WORST = 10 }; ///< steps of greatest latency that are listed one by one

/// Names of an experiment's steps, and its own tables, records of which are bb_realtime_summary,
/// bb_realtime_kind and bb_realtime_worst.
typedef struct bb_realtime_form {
    const char *step;               ///< "frame"
    int kinds, stages;              ///< at most BB_STEP_KINDS_MOST, BB_STEP_PARTS
    const char *const *kind_names;  ///< [kinds] the first is all, the next kind 0
    const char *const *stage_names; ///< [stages]
    const bb_output_table *axes;    ///< root axes kind, stage and those of shares
    const bb_output_table *kind_table, *worst_table;
} bb_realtime_form;

/// Steps of one kind; s.
typedef struct bb_realtime_kind {
    bb_latency latency;                                ///< of any share
    double stages[BB_REALTIME_SHARES * BB_STEP_PARTS]; ///< [shares][stages] medians
} bb_realtime_kind;

/// One of the steps of greatest latency; s.
typedef struct bb_realtime_worst {
    double rank, release, exposure, step, latency;
    const char *kind;
    double stages[BB_REALTIME_SHARES * BB_STEP_PARTS]; ///< [shares][stages]
} bb_realtime_worst;

/// Figures of a run; form and measurement are borrowed. The experiment fills what it knows.
typedef struct bb_realtime_summary {
    const bb_realtime_form *form;
    const bb_realtime_measurement *measured;
    bb_realtime_schedule schedule;
    bb_index shares;
    bb_realtime_kind kind[BB_STEP_KINDS_MOST];
    bb_realtime_worst worst[BB_REALTIME_WORST];
    bb_index worst_count;
    double deadline_us, period_us; ///< NaN: back to back
    double operator_bytes, encode_seconds, wall_seconds;
} bb_realtime_summary;

/// Tables of every summary, beside those of its form.
extern const bb_output_table bb_realtime_report_kinds, bb_realtime_report_figures,
    bb_realtime_report_latencies, bb_realtime_report_worst;

/// Sums up a run; `bytes` and `encode_seconds` are of its matrices. Errors: BB_MEMORY, BB_INVALID
/// (no step was measured).
BB_CHECKED bb_status bb_realtime_summary_make(const bb_realtime_form *form,
                                              const bb_realtime_measurement *measured,
                                              const bb_realtime_schedule *schedule,
                                              double deadline_ms, double bytes,
                                              double encode_seconds, bb_realtime_summary *out);

/// Writes all tables and the attributes of /results and /host. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_realtime_summary_publish(const bb_realtime_summary *summary,
                                                 const char *pipeline, bb_results *results);

/// Appends one of three parts of the table: how many steps were released when; latencies, misses
/// and medians of stages; the worst steps. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_realtime_summary_print_head(const bb_realtime_summary *summary,
                                                    bb_text *out);
BB_CHECKED bb_status bb_realtime_summary_print_latencies(const bb_realtime_summary *summary,
                                                         bb_text *out);
BB_CHECKED bb_status bb_realtime_summary_print_worst(const bb_realtime_summary *summary,
                                                     bb_text *out);

/// Appends the lines on the host, its thread and the devices. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_realtime_measurement_print_host(const bb_realtime_measurement *measured,
                                                        bb_text *out);

#endif
