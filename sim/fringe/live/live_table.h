// SPDX-License-Identifier: Apache-2.0
//
// Results of a stream: the table for the user, and datasets.
//
// Latencies of a stream, of all frames and of those since the last line: from when the frames of a
// phase were whole (of a source that waits: were handed over) to when the phase is in the host's
// memory. Of more than BB_LIVE_LATENCIES the last ones are kept.
#ifndef BB_SIM_FRINGE_LIVE_LIVE_TABLE_H
#define BB_SIM_FRINGE_LIVE_LIVE_TABLE_H

#include "sim/realtime/realtime_report.h"

enum { BB_LIVE_LATENCIES = 1 << 22 };

/// Zero-initialise; release with bb_live_meter_release.
typedef struct bb_live_meter {
    double *latencies; ///< [room] s, a ring once BB_LIVE_LATENCIES are there
    bb_index room;
    bb_index count; ///< of all
    bb_index since; ///< of them, when the last line was made
    double max;     ///< s, of all
} bb_live_meter;

/// Errors: BB_MEMORY.
BB_CHECKED bb_status bb_live_meter_add(bb_live_meter *meter, double seconds);
void bb_live_meter_release(bb_live_meter *meter);

/// Latencies that are kept.
bb_index bb_live_meter_count(const bb_live_meter *meter);

/// Of all that are kept. Errors of both: BB_MEMORY.
BB_CHECKED bb_status bb_live_meter_all(const bb_live_meter *meter, bb_latency *out);

/// Of those since it was last called; `*count` of them, at most as many as are kept.
BB_CHECKED bb_status bb_live_meter_recent(bb_live_meter *meter, bb_index *count, bb_latency *out);

/// Of one pipeline.
typedef struct bb_live_answer {
    const char *name, *device;
    bb_live_meter meter;
    bb_latency latency;
    double rejected_share;       ///< of the last phase; NaN without rejection
    double unsolved;             ///< phases whose last correction exceeds half a turn
    double scored, wrong_points; ///< phases that were held to the truth, and their wrong points
} bb_live_answer;

/// Of the stream.
typedef struct bb_live_summary {
    const char *source;
    double frames, columns, rows, bits; ///< of a phase, the last one's
    double overlap;                     ///< phases that were on their way at once
    double phases, dropped, stalls, sizes, seconds;
    double rate_hz; ///< phases a second, from the first frames to the last phase
    bool interrupted;
    bb_live_answer *answers; ///< [count]; borrowed
    bb_index count;
} bb_live_summary;

/// Fills the quantiles, appends the table and, with results, publishes all of it. Errors:
/// BB_MEMORY, those of bb_output_table_publish.
BB_CHECKED bb_status bb_live_table_publish(bb_live_summary *summary, bb_results *results,
                                           bb_text *table);

#endif
