// SPDX-License-Identifier: Apache-2.0
//
// A device, the cpu unless said otherwise, and a kernel context on it, for tests of unwrapping.
#ifndef BB_TESTS_SOLVERS_UNWRAP_UNWRAP_CONTEXT_H
#define BB_TESTS_SOLVERS_UNWRAP_UNWRAP_CONTEXT_H

#include "core/thread.h"
#include "solvers/kernels/objects/kernel_context.h"
#include "tests/check.h"

static bb_device_kind device_kind = BB_DEVICE_CPU;
static bb_device *device;
static bb_kernel_context *context;

static inline int open_context(void **state)
{
    (void)state;
    check_ok(bb_threads_set(2));
    check_ok(bb_device_open(device_kind, 0, &device));
    check_ok(bb_kernel_context_create(device, &context));
    return 0;
}

static inline int close_context(void **state)
{
    (void)state;
    bb_kernel_context_destroy(&context);
    bb_device_close(&device);
    return 0;
}

#endif
