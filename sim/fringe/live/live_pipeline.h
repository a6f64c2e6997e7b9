// SPDX-License-Identifier: Apache-2.0
//
// A pipeline of the study as a stream has it: frames in, unwrapped phase out, in a graph of kernels
// (core/device/device.h) with no work of the host's between them.
#ifndef BB_SIM_FRINGE_LIVE_LIVE_PIPELINE_H
#define BB_SIM_FRINGE_LIVE_LIVE_PIPELINE_H

#include "sim/fringe/live/live_source.h"
#include "solvers/kernels/objects/kernel_context.h"
#include "solvers/unwrap/unwrap.h"

/// Finds the mask [rows][columns] of a stream by its first frames: the study's pupil at their size,
/// without pixels whose modulation is below detection.least_modulation. Where the phase is known,
/// `truth` [rows][columns] says which pixels have data, else NULL. Errors: BB_INVALID (no pixel is
/// left), BB_MEMORY.
BB_CHECKED bb_status bb_live_pipeline_mask(const bb_fringe_study *study,
                                           const bb_live_frames *frames, const double *truth,
                                           unsigned char *mask);

typedef struct bb_live_pipeline bb_live_pipeline;

/// Pipeline `index` of the study for frames of the shape of `frames`; compiles what it needs. The
/// context is borrowed, the rest during the call. Errors: those of bb_unwrap_create and
/// bb_unwrap_detection_create. Owner: the caller.
BB_CHECKED bb_status bb_live_pipeline_create(bb_kernel_context *context,
                                             const bb_fringe_study *study, bb_index index,
                                             const bb_live_frames *frames,
                                             const unsigned char *mask, bb_live_pipeline **out);
void bb_live_pipeline_destroy(bb_live_pipeline **pipeline);

/// Queues all that makes a phase of frames, which are borrowed until bb_live_pipeline_finish; once
/// before each. Errors: BB_DEVICE, those of bb_unwrap_queue.
BB_CHECKED bb_status bb_live_pipeline_start(bb_live_pipeline *pipeline,
                                            const bb_live_frames *frames);

/// Whether bb_live_pipeline_finish need not wait, or the device cannot tell.
bool bb_live_pipeline_is_done(const bb_live_pipeline *pipeline);

/// Waits for the phase [rows][columns] of what was started, in rad, NaN outside the mask. Errors:
/// BB_DEVICE.
BB_CHECKED bb_status bb_live_pipeline_finish(bb_live_pipeline *pipeline, double *phase,
                                             bb_unwrap_report *report);

const bb_unwrap_parts *bb_live_pipeline_parts(const bb_live_pipeline *pipeline);

#endif
