// SPDX-License-Identifier: Apache-2.0
//
// Phases detected in frames by a device.
#ifndef BB_TESTS_DETECTED_H
#define BB_TESTS_DETECTED_H

#include "solvers/unwrap/unwrap_detection.h"
#include "tests/solvers/unwrap/unwrap_context.h"

/// The phase of frames [frames][rows][columns] on the device, in rad. Owner: the caller.
static inline double *detect(const bb_unwrap_detection_config *config, const unsigned char *mask,
                             bb_index columns, bb_index rows, const uint16_t *frames)
{
    bb_unwrap_field wrapped = {0};
    double *phase = new_zeros(double, columns *rows);
    autofree float *floats = new_zeros(float, columns *rows);
    check_ok(bb_unwrap_field_create(context, config->arithmetic, columns, rows, &wrapped));
    bb_unwrap_detection *detection =
        new_object(bb_unwrap_detection, context, config, mask, &wrapped);
    check_ok(bb_unwrap_detection_load(detection, frames));
    check_ok(bb_unwrap_detection_queue(detection));
    if (config->arithmetic == BB_FORMAT_FP64) {
        check_ok(bb_device_download(device, phase, wrapped.block, wrapped.bytes));
    } else {
        check_ok(bb_device_download(device, floats, wrapped.block, wrapped.bytes));
        fill_array(phase, columns * rows, p, (double)floats[p]);
    }
    bb_unwrap_detection_destroy(&detection);
    bb_unwrap_field_release(context, &wrapped);
    return phase;
}

#endif
