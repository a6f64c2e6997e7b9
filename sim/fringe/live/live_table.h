// SPDX-License-Identifier: Apache-2.0
//
// What a stream came to: the table for the user, and datasets.
#ifndef BB_SIM_FRINGE_LIVE_LIVE_TABLE_H
#define BB_SIM_FRINGE_LIVE_LIVE_TABLE_H

#include "sim/fringe/live/live_meter.h"
#include "sim/output/output_table.h"

/// Of one pipeline.
typedef struct bb_live_answer {
    const char *name, *device;
    bb_live_meter meter;
    bb_live_quantiles latency;
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
