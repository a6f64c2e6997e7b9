// SPDX-License-Identifier: Apache-2.0
//
// Wrapped phase from a camera's frames, on the device: kernels fringe_pixels, which takes pixels of
// 16 bits apart, then fringe_four_step, or fringe_mean, fringe_carrier_rows and fringe_carrier. The
// angle of a pixel's sums (c, s) is atan2(s, c) within 8e-12 rad in fp64 and 5e-7 rad in fp32; (0,
// 0) has the angle 0.
#ifndef BB_SOLVERS_UNWRAP_UNWRAP_DETECTION_H
#define BB_SOLVERS_UNWRAP_UNWRAP_DETECTION_H

#include "solvers/unwrap/unwrap_step.h"

enum { BB_UNWRAP_FRAMES = 4, BB_UNWRAP_LONGEST_WINDOW = 63 };

/// How a phase is got from frames.
typedef struct bb_unwrap_detection_config {
    bb_format arithmetic; ///< fp32 or fp64
    bb_index frames;      ///< that make a phase: BB_UNWRAP_FRAMES, or 1 with a carrier
    /// Of four frames: sum_n cosines[n] I_n and sum_n sines[n] I_n are cosine and sine of the phase
    /// times one factor.
    double cosines[BB_UNWRAP_FRAMES], sines[BB_UNWRAP_FRAMES];
    double carrier_x, carrier_y;             ///< cycles a pixel
    bb_index window_px;                      ///< odd, at most BB_UNWRAP_LONGEST_WINDOW
    double window[BB_UNWRAP_LONGEST_WINDOW]; ///< weights, along both axes
} bb_unwrap_detection_config;

typedef struct bb_unwrap_detection bb_unwrap_detection;

/// Detection into `wrapped` [rows][columns] from pixels of `mask`, of the same shape; a carrier's
/// window leaves out what the mask does, four frames are taken everywhere. Context and field are
/// borrowed for as long as it lives. Errors: BB_INVALID (another number of frames, a window),
/// BB_MEMORY, those of bb_kernel_launch_create. Owner: the caller.
BB_CHECKED bb_status bb_unwrap_detection_create(bb_kernel_context *context,
                                                const bb_unwrap_detection_config *config,
                                                const unsigned char *mask,
                                                const bb_unwrap_field *wrapped,
                                                bb_unwrap_detection **out);
void bb_unwrap_detection_destroy(bb_unwrap_detection **detection);

/// Puts frames [frames][rows][columns] on the device, in its order of work; they are borrowed as
/// bb_device_upload says. Errors: BB_DEVICE.
BB_CHECKED bb_status bb_unwrap_detection_load(bb_unwrap_detection *detection,
                                              const uint16_t *frames);

/// Queues the phase of what was loaded: kernels alone, for a bb_device_graph too. The field is not
/// rounded to a narrow format: bb_unwrap_queue does. Errors: those of bb_kernel_launch_queue.
BB_CHECKED bb_status bb_unwrap_detection_queue(bb_unwrap_detection *detection);

#endif
