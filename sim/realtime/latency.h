// SPDX-License-Identifier: Apache-2.0
//
// Latencies of released steps: from the release time to the end of the step, a late start counted
// in. Kinds and stages of steps are the experiment's. Quantiles are nearest ranks: p99 is a latency
// that was measured.
#ifndef BB_SIM_REALTIME_LATENCY_H
#define BB_SIM_REALTIME_LATENCY_H

#include "core/status.h"

#include <stdbool.h>
#include <stdint.h>

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
typedef struct bb_latency_summary {
    double count;
    double mean, p50, p99, p999, p9999, max; ///< s
    double max_over_median;
    double misses;                      ///< latencies over the deadline
    double miss_rate, miss_bound;       ///< bb_latency_miss_bound
    double stage_median[BB_STEP_PARTS]; ///< s
} bb_latency_summary;

/// Summary of one kind of steps, or BB_STEP_ALL. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_latency_summarise(bb_index count, const bb_step_record *records, int kind,
                                          double deadline, bb_latency_summary *out);

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

#endif
