// SPDX-License-Identifier: Apache-2.0
//
// The pipelines of a stream on their devices. Where phases overlap, a pipeline is there as many
// times over, each on an open device of its own, whose work runs beside that of the others: they
// take phases in turn.
//
// A pipeline of the study as a stream has it: frames in, unwrapped phase out, in a graph of kernels
// (core/device/device.h) with no work of the host's between them.
#ifndef BB_SIM_FRINGE_LIVE_LIVE_LANES_H
#define BB_SIM_FRINGE_LIVE_LIVE_LANES_H

#include "sim/fringe/live/live_source.h"
#include "sim/kernels/kernel_variants.h"
#include "solvers/unwrap/unwrap.h"
#include "solvers/unwrap/unwrap_detection.h"

/// Finds the mask [rows][columns] of a stream by its first frames: the study's pupil at their size,
/// without pixels whose modulation is below detection.least_modulation. Where the phase is known,
/// `truth` [rows][columns] says which pixels have data, else NULL. Errors: BB_INVALID (no pixel is
/// left), BB_MEMORY.
BB_CHECKED bb_status bb_live_pipeline_mask(const bb_fringe_study *study,
                                           const bb_live_frames *frames, const double *truth,
                                           unsigned char *mask);

typedef struct bb_live_pipeline {
    bb_device *device; ///< borrowed
    bb_unwrap *unwrap;
    bb_unwrap_detection *detection;
    bb_device_graph *graph;
} bb_live_pipeline;

/// Queues all that makes a phase of frames, which are borrowed until bb_unwrap_read of `unwrap`,
/// which waits for the phase; once before each. Errors: BB_DEVICE, those of bb_unwrap_queue.
BB_CHECKED bb_status bb_live_pipeline_start(bb_live_pipeline *pipeline,
                                            const bb_live_frames *frames);

/// One pipeline of the stream.
typedef struct bb_live_lane {
    bb_index index; ///< in the study
    bb_device_kind kind;
    const char *name;
    bb_live_pipeline *turns[BB_LIVE_MOST_OVERLAP]; ///< [overlap], for frames of the present shape
} bb_live_lane;

/// An open device and its kernels.
typedef struct bb_live_place {
    bb_device *device;
    bb_kernel_context *context;
} bb_live_place;

/// Read-only to users.
typedef struct bb_live_lanes {
    const bb_fringe_study *study;
    bb_kernel_variants *variants;
    bb_live_lane *items; ///< [count]
    bb_index count;
    bb_index overlap; ///< phases that are on their way at once
    bb_live_place places[BB_DEVICE_KIND_COUNT][BB_LIVE_MOST_OVERLAP];
} bb_live_lanes;

/// Opens the devices of pipelines `names` (with commas; NULL: the first that is not the reference).
/// `overlap` phases are on their way at once; 0: as is usual, 3 of one pipeline on cuda, else 1.
/// Study and variants are borrowed. Errors: BB_INVALID (no such pipeline, one named twice, more
/// than one phase at once of several, or than BB_LIVE_MOST_OVERLAP), BB_DEVICE, BB_MEMORY. Owner:
/// the caller.
BB_CHECKED bb_status bb_live_lanes_create(const bb_fringe_study *study, const char *names,
                                          bb_index overlap, bb_kernel_variants *variants,
                                          bb_live_lanes **out);
void bb_live_lanes_destroy(bb_live_lanes **lanes);

/// The device whose host memory frames are best in: the first that has a memory of its own.
bb_device *bb_live_lanes_device(const bb_live_lanes *lanes);

/// Makes all pipelines anew for frames of a shape. Errors: those of bb_live_pipeline_create.
BB_CHECKED bb_status bb_live_lanes_make(bb_live_lanes *lanes, const bb_live_frames *frames,
                                        const unsigned char *mask);

/// Destroys the pipelines, once what was started is done.
void bb_live_lanes_clear(bb_live_lanes *lanes);

#endif
