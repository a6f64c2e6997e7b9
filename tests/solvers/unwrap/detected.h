// SPDX-License-Identifier: Apache-2.0
//
// Phases that a device detects in frames.
#ifndef BB_TESTS_DETECTED_H
#define BB_TESTS_DETECTED_H

#include "solvers/unwrap/unwrap_detection.h"
#include "tests/solvers/unwrap/unwrap_context.h"

/// The phase of frames [frames][rows][columns] on the device, in rad.
static inline double *detect(const bb_unwrap_detection_config *config, const unsigned char *mask,
                             bb_index columns, bb_index rows, const uint16_t *frames)
{
    bb_unwrap_field wrapped = {0};
    bb_unwrap_detection *detection = NULL;
    double *phase = calloc((size_t)(columns * rows), sizeof *phase);
    float *floats = calloc((size_t)(columns * rows), sizeof *floats);
    check_ok(bb_unwrap_field_create(context, config->arithmetic, columns, rows, &wrapped));
    check_ok(bb_unwrap_detection_create(context, config, mask, &wrapped, &detection));
    check_ok(bb_unwrap_detection_load(detection, frames));
    check_ok(bb_unwrap_detection_queue(detection));
    if (config->arithmetic == BB_FORMAT_FP64) {
        check_ok(bb_device_download(device, phase, wrapped.block, wrapped.bytes));
    } else {
        check_ok(bb_device_download(device, floats, wrapped.block, wrapped.bytes));
        for (bb_index p = 0; p < columns * rows; ++p) {
            phase[p] = (double)floats[p];
        }
    }
    bb_unwrap_detection_destroy(&detection);
    bb_unwrap_field_release(context, &wrapped);
    free(floats);
    return phase;
}

#endif
