// SPDX-License-Identifier: Apache-2.0
//
// The two devices that a gpu test compares, and whether it is to do fewer cases.
#ifndef BB_TESTS_DEVICE_PAIR_H
#define BB_TESTS_DEVICE_PAIR_H

#include "core/device/device.h"
#include "tests/check.h"

#include <stdbool.h>
#include <string.h>

#ifdef BB_HAVE_CUDA
#include <cuda_runtime_api.h>
#endif

static bb_device *cpu, *gpu;
static bool few; // cases, for slow tools: the argument "few"

// 0, or what the program is to return: 77 without a GPU.
static inline int open_devices(int argc, char **argv)
{
    char reason[256] = "";
    if (bb_device_count(BB_DEVICE_CUDA, reason, sizeof reason) == 0) {
        print_message("skipped: %s\n", reason);
        return 77;
    }
    few = argc > 1 && strcmp(argv[1], "few") == 0;
    if (bb_device_open(BB_DEVICE_CPU, 0, &cpu) != BB_OK ||
        bb_device_open(BB_DEVICE_CUDA, 0, &gpu) != BB_OK) {
        print_error("%s\n", bb_status_message());
        return 1;
    }
    return 0;
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
