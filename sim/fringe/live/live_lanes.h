// SPDX-License-Identifier: Apache-2.0
//
// Pipelines of a stream on their devices. With overlapping phases each pipeline has several copies,
// each on its own open device; the copies run concurrently and process phases in turn.
//
// A pipeline of a stream maps frames to an unwrapped phase in one graph of kernels
// (core/device/device.h) without host work between them.
#ifndef BB_SIM_FRINGE_LIVE_LIVE_LANES_H
#define BB_SIM_FRINGE_LIVE_LIVE_LANES_H

#include "sim/fringe/live/live_source.h"
#include "sim/kernels/kernel_variants.h"
#include "solvers/unwrap/unwrap.h"
#include "solvers/unwrap/unwrap_detection.h"

/// Finds the mask [rows][columns] of a stream from its first frames: the study's pupil at their
/// size, without pixels whose modulation is below detection.least_modulation. If the phase is
/// known, `truth` [rows][columns] is finite at pixels with data, else NULL. Errors: BB_INVALID (no
/// pixel is left), BB_MEMORY.
BB_CHECKED bb_status bb_live_pipeline_mask(const bb_fringe_study *study,
                                           const bb_live_frames *frames, const double *truth,
                                           unsigned char *mask);

typedef struct bb_live_pipeline {
    bb_device *device; ///< borrowed
    bb_unwrap *unwrap;
    bb_unwrap_detection *detection;
    bb_device_graph *graph;
} bb_live_pipeline;

/// Queues the computation of a phase from frames. The frames are borrowed until bb_unwrap_read of
/// `unwrap`, which waits for the phase; call bb_unwrap_read once after each start. Errors:
/// BB_DEVICE, errors of bb_unwrap_queue.
BB_CHECKED bb_status bb_live_pipeline_start(bb_live_pipeline *pipeline,
                                            const bb_live_frames *frames);

/// One pipeline of the stream.
typedef struct bb_live_lane {
    bb_index index; ///< index in the study
    bb_device_kind kind;
    const char *name;
    bb_live_pipeline *turns[BB_LIVE_MOST_OVERLAP]; ///< [overlap], for the current frame shape
} bb_live_lane;

/// An open device and its kernels.
typedef struct bb_live_place {
    bb_device *device;
    bb_kernel_context *context;
} bb_live_place;

/// Pipelines of a stream; read-only to users.
typedef struct bb_live_lanes {
    const bb_fringe_study *study;
    bb_kernel_variants *variants;
    bb_live_lane *items; ///< [count]
    bb_index count;
    bb_index overlap; ///< number of phases in flight at once
    bb_live_place places[BB_DEVICE_KIND_COUNT][BB_LIVE_MOST_OVERLAP];
} bb_live_lanes;

/// Opens the devices of pipelines `names` (comma-separated; NULL: the first that is not the
/// reference). `overlap` is the number of phases in flight; 0: 3 for a single pipeline on cuda,
/// else 1. Study and variants are borrowed. Errors: BB_INVALID (unknown or repeated pipeline,
/// overlap above 1 for several pipelines or above BB_LIVE_MOST_OVERLAP), BB_DEVICE, BB_MEMORY.
/// Owner: the caller.
BB_CHECKED bb_status bb_live_lanes_create(const bb_fringe_study *study, const char *names,
                                          bb_index overlap, bb_kernel_variants *variants,
                                          bb_live_lanes **out);
void bb_live_lanes_destroy(bb_live_lanes **lanes);

/// Device whose pinned host memory suits the frames: the first with its own memory.
bb_device *bb_live_lanes_device(const bb_live_lanes *lanes);

/// Recreates all pipelines for frames of a given shape. Errors: from bb_live_pipeline_create.
BB_CHECKED bb_status bb_live_lanes_make(bb_live_lanes *lanes, const bb_live_frames *frames,
                                        const unsigned char *mask);

/// Destroys the pipelines after their queued work has finished.
void bb_live_lanes_clear(bb_live_lanes *lanes);

#endif
