// SPDX-License-Identifier: Apache-2.0
//
// Wrapped phase from camera frames, on the device. Kernel fringe_pixels unpacks pixels of 16 bits;
// then fringe_four_step, or fringe_mean, fringe_carrier_rows and fringe_carrier compute the phase.
// The angle of a pixel's sums (c, s) is atan2(s, c) within 8e-12 rad in fp64 and 5e-7 rad in fp32;
// (0, 0) has the angle 0.
#ifndef BB_SOLVERS_UNWRAP_UNWRAP_DETECTION_H
#define BB_SOLVERS_UNWRAP_UNWRAP_DETECTION_H

#include "solvers/unwrap/unwrap_step.h"

enum { BB_UNWRAP_FRAMES = 4, BB_UNWRAP_LONGEST_WINDOW = 63 };

/// Detection method.
typedef struct bb_unwrap_detection_config {
    bb_format arithmetic; ///< fp32 or fp64
    bb_index frames;      ///< per phase: BB_UNWRAP_FRAMES, or 1 with a carrier
    /// For four frames: sum_n cosines[n] I_n and sum_n sines[n] I_n are cosine and sine of the
    /// phase, up to a common factor.
    double cosines[BB_UNWRAP_FRAMES], sines[BB_UNWRAP_FRAMES];
    double carrier_x, carrier_y;             ///< carrier [cycles per pixel]
    bb_index window_px;                      ///< odd, at most BB_UNWRAP_LONGEST_WINDOW
    double window[BB_UNWRAP_LONGEST_WINDOW]; ///< weights, along both axes
} bb_unwrap_detection_config;

typedef struct bb_unwrap_detection bb_unwrap_detection;

/// Creates a detector into `wrapped` [rows][columns] for pixels of `mask`, of the same shape. A
/// carrier's window excludes points outside the mask; four frames are evaluated everywhere. Context
/// and field are borrowed for its lifetime. Errors: BB_INVALID (another number of frames, an
/// invalid window), BB_MEMORY, errors of bb_kernel_launch_create. Owner: the caller.
BB_CHECKED bb_status bb_unwrap_detection_create(bb_kernel_context *context,
                                                const bb_unwrap_detection_config *config,
                                                const unsigned char *mask,
                                                const bb_unwrap_field *wrapped,
                                                bb_unwrap_detection **out);
void bb_unwrap_detection_destroy(bb_unwrap_detection **detection);

/// Uploads frames [frames][rows][columns] in the device's order of work; they are borrowed as
/// described for bb_device_upload. Errors: BB_DEVICE.
BB_CHECKED bb_status bb_unwrap_detection_load(bb_unwrap_detection *detection,
                                              const uint16_t *frames);

/// Queues the phase computation of the loaded frames: kernels only, so a bb_device_graph can record
/// it. The field is not rounded to a narrow format; bb_unwrap_queue does that. Errors: those of
/// bb_kernel_launch_queue.
BB_CHECKED bb_status bb_unwrap_detection_queue(bb_unwrap_detection *detection);

#endif
