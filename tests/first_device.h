// SPDX-License-Identifier: Apache-2.0
//
// The first device of a kind, for test programs that are skipped without one.
#ifndef BB_TESTS_FIRST_DEVICE_H
#define BB_TESTS_FIRST_DEVICE_H

#include "core/device/device.h"
#include "tests/check.h"

/// Returns 0 if a device of the kind exists; otherwise prints the reason and returns TEST_SKIPPED.
static inline int needs_device(bb_device_kind kind)
{
    char reason[256] = "";
    if (bb_device_count(kind, reason, sizeof reason) == 0) {
        print_message("skipped: %s\n", reason);
        return TEST_SKIPPED;
    }
    return 0;
}

static inline int needs_cuda(void)
{
    return needs_device(BB_DEVICE_CUDA);
}

static inline int needs_opencl(void)
{
    return needs_device(BB_DEVICE_OPENCL);
}

/// Owner: the caller.
static inline bb_device *open_device(bb_device_kind kind)
{
    bb_device *device = NULL;
    check_ok(bb_device_open(kind, 0, &device));
    return device;
}

/// Owner: the caller, who calls bb_device_release.
static inline void *allocate_on(bb_device *device, size_t bytes)
{
    void *block = NULL;
    check_ok(bb_device_allocate(device, bytes, &block));
    return block;
}

/// Returns 0 and the device, which the caller closes; otherwise prints the reason and returns the
/// exit code.
static inline int first_device_open(bb_device_kind kind, bb_device **out)
{
    if (needs_device(kind) != 0) {
        return TEST_SKIPPED;
    }
    if (bb_device_open(kind, 0, out) != BB_OK) {
        print_error("%s\n%s", bb_status_message(), bb_status_trace_text());
        return 1;
    }
    return 0;
}

#endif
