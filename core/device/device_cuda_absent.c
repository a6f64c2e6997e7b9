// SPDX-License-Identifier: Apache-2.0
//
// Stands in for device_cuda.cu in a build without CUDA: no devices, and the reason.
#include "core/device/device.h"

#include <stdio.h>

static bb_index absent_count(char *reason, size_t reason_bytes)
{
    (void)snprintf(reason, reason_bytes,
                   "this build has no CUDA (configure with BB_CUDA=ON and nvcc on the PATH)");
    return 0;
}

// bb_device_open looks at the count first, so nothing else is ever called.
const bb_device_ops bb_device_cuda_ops = {
    .name = "cuda",
    .space = BB_SPACE_CUDA,
    .count = absent_count,
};
