// SPDX-License-Identifier: Apache-2.0
//
// The pipelines of a stream on their devices. Where phases overlap, a pipeline is there as many
// times over, each on an open device of its own, whose work runs beside that of the others: they
// take phases in turn.
#ifndef BB_SIM_FRINGE_LIVE_LIVE_LANES_H
#define BB_SIM_FRINGE_LIVE_LIVE_LANES_H

#include "sim/fringe/live/live_pipeline.h"
#include "sim/kernels/kernel_variants.h"

/// One pipeline of the stream.
typedef struct bb_live_lane {
    bb_index index; ///< in the study
    bb_device_kind kind;
    const char *name;
    bb_live_pipeline *turns[BB_LIVE_MOST_OVERLAP]; ///< [overlap], for frames of the present shape
} bb_live_lane;

typedef struct bb_live_lanes bb_live_lanes;

/// Opens the devices of pipelines `names` (with commas; NULL: the first that is not the reference).
/// `overlap` phases are on their way at once; 0: as is usual, 3 of one pipeline on cuda, else 1.
/// Study and variants are borrowed. Errors: BB_INVALID (no such pipeline, one named twice, more
/// than one phase at once of several, or than BB_LIVE_MOST_OVERLAP), BB_DEVICE, BB_MEMORY. Owner:
/// the caller.
BB_CHECKED bb_status bb_live_lanes_create(const bb_fringe_study *study, const char *names,
                                          bb_index overlap, bb_kernel_variants *variants,
                                          bb_live_lanes **out);
void bb_live_lanes_destroy(bb_live_lanes **lanes);

bb_index bb_live_lanes_count(const bb_live_lanes *lanes);
bb_index bb_live_lanes_overlap(const bb_live_lanes *lanes);

/// Lane `i`, valid as long as the object.
const bb_live_lane *bb_live_lanes_at(const bb_live_lanes *lanes, bb_index i);

/// The device whose host memory frames are best in: the first that has a memory of its own.
bb_device *bb_live_lanes_device(const bb_live_lanes *lanes);

/// Makes all pipelines anew for frames of a shape. Errors: those of bb_live_pipeline_create.
BB_CHECKED bb_status bb_live_lanes_make(bb_live_lanes *lanes, const bb_live_frames *frames,
                                        const unsigned char *mask);

/// Destroys the pipelines, once what was started is done.
void bb_live_lanes_clear(bb_live_lanes *lanes);

#endif
