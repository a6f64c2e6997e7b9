// SPDX-License-Identifier: Apache-2.0
//
// The two devices that a GPU test compares, and a flag to run fewer cases.
#ifndef BB_TESTS_DEVICE_PAIR_H
#define BB_TESTS_DEVICE_PAIR_H

#include "core/device/device.h"
#include "tests/first_device.h"

#ifdef BB_HAVE_CUDA
#include <cuda_runtime_api.h>
#endif

static bb_device *cpu, *gpu;
static bool few; // fewer cases, for slow tools: the argument "few"

// Returns 0, or the exit code of the group: 77 without a GPU.
static inline int open_devices(void)
{
    few = test_is_few();
    const int code = first_device_open(BB_DEVICE_CUDA, &gpu);
    return code != 0 ? code : first_device_open(BB_DEVICE_CPU, &cpu);
}

static inline void close_devices(void)
{
    bb_device_close(&gpu);
    bb_device_close(&cpu);
}

#ifdef BB_HAVE_CUDA
static inline void cuda_ok(cudaError_t error)
{
    assert_string_equal(cudaGetErrorString(error), cudaGetErrorString(cudaSuccess));
}
#endif

#endif
