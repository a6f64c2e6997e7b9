// SPDX-License-Identifier: Apache-2.0
//
// Latencies of a stream, of all frames and of those since the last line: from when the frames of a
// phase were whole (of a source that waits: were handed over) to when the phase is in the host's
// memory. Quantiles are nearest ranks. Of more than BB_LIVE_LATENCIES the last ones are kept.
#ifndef BB_SIM_FRINGE_LIVE_LIVE_METER_H
#define BB_SIM_FRINGE_LIVE_LIVE_METER_H

#include "core/status.h"

enum { BB_LIVE_LATENCIES = 1 << 22 };

/// Zero-initialise; release with bb_live_meter_release.
typedef struct bb_live_meter {
    double *latencies; ///< [room] s, a ring once BB_LIVE_LATENCIES are there
    bb_index room;
    bb_index count;  ///< of all
    bb_index since;  ///< of them, when the last line was made
    double sum, max; ///< s, of all
} bb_live_meter;

/// NaN without a latency; s.
typedef struct bb_live_quantiles {
    double p50, p99, max;
} bb_live_quantiles;

/// Errors: BB_MEMORY.
BB_CHECKED bb_status bb_live_meter_add(bb_live_meter *meter, double seconds);
void bb_live_meter_release(bb_live_meter *meter);

/// Latencies that are kept.
bb_index bb_live_meter_kept(const bb_live_meter *meter);

/// Of all that are kept. Errors of both: BB_MEMORY.
BB_CHECKED bb_status bb_live_meter_all(const bb_live_meter *meter, bb_live_quantiles *out);

/// Of those since it was last called; `*count` of them, at most as many as are kept.
BB_CHECKED bb_status bb_live_meter_recent(bb_live_meter *meter, bb_index *count,
                                          bb_live_quantiles *out);

#endif
