// SPDX-License-Identifier: Apache-2.0
//
// For files of OpenCL only: what an open device holds.
#ifndef BB_CORE_DEVICE_DEVICE_OPENCL_H
#define BB_CORE_DEVICE_DEVICE_OPENCL_H

#include "core/device/opencl_library.h"

/// The state of an open device, that of bb_device_state.
typedef struct bb_opencl_state {
    const bb_opencl_library *library;
    cl_platform_id platform;
    cl_device_id device;
    cl_context context;
    cl_command_queue queue; ///< in order, with times
    cl_event marks[2];
    size_t held_bytes; ///< of blocks that live
} bb_opencl_state;

/// A text of the device or of its platform, cut to `bytes`; "" where it has none.
void bb_opencl_state_read(const bb_opencl_state *state, cl_device_info what, char *out,
                          size_t bytes);
void bb_opencl_state_read_platform(const bb_opencl_state *state, cl_platform_info what, char *out,
                                   size_t bytes);

#endif
