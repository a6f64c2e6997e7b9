// SPDX-License-Identifier: Apache-2.0
//
// Results of a stream: the printed table and the datasets.
//
// Latency of a phase: from the time its frames are complete (for a source that waits: are taken) to
// the time its result is in host memory. Statistics cover the whole stream, or the time since the
// last status line. Only the last BB_LIVE_LATENCIES latencies are kept.
#ifndef BB_SIM_FRINGE_LIVE_LIVE_TABLE_H
#define BB_SIM_FRINGE_LIVE_LIVE_TABLE_H

#include "sim/realtime/realtime_report.h"

enum { BB_LIVE_LATENCIES = 1 << 22 };

/// Latencies of a stream. Zero-initialise; release with bb_live_meter_release.
typedef struct bb_live_meter {
    double *latencies; ///< [room] s, used as a ring after BB_LIVE_LATENCIES entries
    bb_index room;
    bb_index count; ///< number of latencies so far
    bb_index since; ///< `count` at the last status line
    double max;     ///< s, largest latency so far
} bb_live_meter;

/// Appends a latency. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_live_meter_add(bb_live_meter *meter, double seconds);
void bb_live_meter_release(bb_live_meter *meter);

/// Number of stored latencies.
bb_index bb_live_meter_count(const bb_live_meter *meter);

/// Statistics of all stored latencies. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_live_meter_all(const bb_live_meter *meter, bb_latency *out);

/// Statistics of the `*count` latencies since the last call, at most the stored ones. Errors:
/// BB_MEMORY.
BB_CHECKED bb_status bb_live_meter_recent(bb_live_meter *meter, bb_index *count, bb_latency *out);

/// Results of one pipeline.
typedef struct bb_live_answer {
    const char *name, *device;
    bb_live_meter meter;
    bb_latency latency;
    double rejected_share; ///< share of rejected edges in the last phase; NaN without rejection
    double unsolved;       ///< phases whose last correction exceeds half a cycle
    double scored, wrong_points; ///< phases checked against the truth, and their wrong points
} bb_live_answer;

/// Results of the stream.
typedef struct bb_live_summary {
    const char *source;
    double frames, columns, rows, bits; ///< size of the last phase
    double overlap;                     ///< number of phases in flight at once
    double phases, dropped, stalls, sizes, seconds;
    double rate_hz; ///< phases per second, from the first frames to the last phase
    bool interrupted;
    bb_live_answer *answers; ///< [count]; borrowed
    bb_index count;
} bb_live_summary;

/// Computes the quantiles, appends the table and publishes the datasets if `results` is given.
/// Errors: BB_MEMORY, errors of bb_output_table_publish.
BB_CHECKED bb_status bb_live_table_publish(bb_live_summary *summary, bb_results *results,
                                           bb_text *table);

#endif
