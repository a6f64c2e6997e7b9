// SPDX-License-Identifier: Apache-2.0
//
// A thread that takes frames from a source as they come. Two buffers beside those that are being
// worked on: frames that come before the last ones are taken replace them, and those are dropped.
// Sources whose frames wait (live_source.h) and that no rate releases drop nothing.
#ifndef BB_SIM_FRINGE_LIVE_LIVE_ACQUISITION_H
#define BB_SIM_FRINGE_LIVE_LIVE_ACQUISITION_H

#include "sim/fringe/live/live_source.h"

typedef struct bb_live_acquisition bb_live_acquisition;

/// Opens a source and starts its thread. `rate_hz` releases phases at fixed times, 0: as they come;
/// `held`, 1 to BB_LIVE_MOST_OVERLAP, frames are worked on at once. Request and kind are borrowed.
/// Errors: those of the source, BB_MEMORY, BB_INTERNAL. Owner: the caller.
BB_CHECKED bb_status bb_live_acquisition_start(const bb_live_source_kind *kind,
                                               const bb_live_request *request, double rate_hz,
                                               bb_index held, bb_live_acquisition **out);

/// Stops the thread and closes the source.
void bb_live_acquisition_stop(bb_live_acquisition **acquisition);

/// Waits up to `seconds` for frames, which stand until `held` - 1 further ones were taken and the
/// next are asked for: `*frames` is NULL where none came, `*event` says which of the three it is.
/// Errors: those of the source, which then ended.
BB_CHECKED bb_status bb_live_acquisition_take(bb_live_acquisition *acquisition, double seconds,
                                              const bb_live_frames **frames, bb_live_event *event);

/// Phases that were replaced, or that the source let pass, so far.
bb_index bb_live_acquisition_dropped(bb_live_acquisition *acquisition);

/// What a synthetic source knows of a draw (live_source.h); NULL: nothing.
const double *bb_live_acquisition_truth(const bb_live_acquisition *acquisition, bb_index draw);

#endif
