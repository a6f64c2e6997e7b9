// SPDX-License-Identifier: Apache-2.0
//
// Random programs through OpenCL; skipped without such a device.
#include "tests/solvers/kernels/random_on_device.h"

static int run(void)
{
    (void)setenv("POCL_CACHE_DIR", BB_BINARY_DIR "/tests/pocl", 0);
    return run_random_on(BB_DEVICE_OPENCL);
}

TEST_GROUP(.run = run);
