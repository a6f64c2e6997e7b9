// SPDX-License-Identifier: Apache-2.0
//
// Latencies of real-time loops (realtime_loop.h): statistics by kind of step with missed deadlines
// and their bound, histogram, series, the worst steps, and tables and datasets common to all
// experiments. Quantiles are nearest ranks: p99 is a measured latency.
#ifndef BB_SIM_REALTIME_REALTIME_REPORT_H
#define BB_SIM_REALTIME_REALTIME_REPORT_H

#include "core/text.h"
#include "sim/output/output_table.h"
#include "sim/realtime/realtime_loop.h"

/// Statistics of steps of one kind; NaN without steps.
typedef struct bb_latency {
    double count;
    double mean, p50, p99, p999, p9999, max; ///< s
    double max_over_median;
    double misses;                      ///< number of latencies above the deadline
    double miss_rate, miss_bound;       ///< bb_latency_miss_bound
    double stage_median[BB_STEP_PARTS]; ///< s
} bb_latency;

/// Summarises latencies [count] in s, sorting them; stages remain NaN.
void bb_latency_of(bb_index count, double *latencies, double deadline, bb_latency *out);

/// Summarises one kind of steps, or BB_STEP_ALL. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_latency_summarise(bb_index count, const bb_step_record *records, int kind,
                                          double deadline, bb_latency *out);

/// Upper bound of the miss rate with 95 % confidence (Clopper and Pearson); 3 / count without a
/// miss, NaN without a step.
double bb_latency_miss_bound(bb_index misses, bb_index count);

/// Finds the `limit` largest latencies, largest first, in order of time if equal; returns their
/// number. out [limit].
bb_index bb_latency_worst(bb_index count, const bb_step_record *records, bb_index limit,
                          bb_index *out);

enum {
    BB_LATENCY_BINS = 2001, ///< number of bins of 1 us; the last one covers 2 ms and above
    BB_LATENCY_BINS_PER_SECOND = 1000000,
};

/// Histogram of one kind of steps, or BB_STEP_ALL: out [BB_LATENCY_BINS].
void bb_latency_histogram(bb_index count, const bb_step_record *records, int kind, double *out);

/// Median and maximum of `blocks` sequences of consecutive steps of nearly equal length, `count` at
/// least `blocks`: begin [blocks] first release, median, max [blocks]. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_latency_blocks(bb_index count, const bb_step_record *records,
                                       bb_index blocks, double *begin, double *median, double *max);

enum { BB_REALTIME_WORST = 10 }; ///< number of worst steps in lists

/// Names of an experiment's steps, and its tables; their records are bb_realtime_summary,
/// bb_realtime_kind and bb_realtime_worst.
typedef struct bb_realtime_form {
    const char *step;               ///< "frame"
    int kinds, stages;              ///< at most BB_STEP_KINDS_MOST, BB_STEP_PARTS
    const char *const *kind_names;  ///< [kinds] the first is "all", followed by kind 0
    const char *const *stage_names; ///< [stages]
    const bb_output_table *axes;    ///< root axes kind, stage and those of shares
    const bb_output_table *kind_table, *worst_table;
} bb_realtime_form;

/// Steps of one kind; s.
typedef struct bb_realtime_kind {
    bb_latency latency;                                ///< common to all shares
    double stages[BB_REALTIME_SHARES * BB_STEP_PARTS]; ///< [shares][stages] medians
} bb_realtime_kind;

/// One of the worst steps; s.
typedef struct bb_realtime_worst {
    double rank, release, exposure, step, latency;
    const char *kind;
    double stages[BB_REALTIME_SHARES * BB_STEP_PARTS]; ///< [shares][stages]
} bb_realtime_worst;

/// Results of a run; form and measurement are borrowed. The experiment sets the members that it
/// knows.
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

/// Tables common to all summaries, in addition to those of the form.
extern const bb_output_table bb_realtime_report_kinds, bb_realtime_report_figures,
    bb_realtime_report_latencies, bb_realtime_report_worst;

/// Summarises a run; `bytes` and `encode_seconds` are those of its matrices. Errors: BB_MEMORY,
/// BB_INVALID (no step was measured).
BB_CHECKED bb_status bb_realtime_summary_make(const bb_realtime_form *form,
                                              const bb_realtime_measurement *measured,
                                              const bb_realtime_schedule *schedule,
                                              double deadline_ms, double bytes,
                                              double encode_seconds, bb_realtime_summary *out);

/// Writes all tables and the attributes of /results and /host. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_realtime_summary_publish(const bb_realtime_summary *summary,
                                                 const char *pipeline, bb_results *results);

/// Append three parts of the table: number and release of steps; latencies, misses and medians of
/// stages; the worst steps. Errors: BB_MEMORY.
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
