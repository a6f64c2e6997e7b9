// SPDX-License-Identifier: Apache-2.0
//
// Random programs through CUDA; skipped without a GPU.
#include "tests/solvers/kernels/random_on_device.h"

static int run(void)
{
    return run_random_on(BB_DEVICE_CUDA);
}

TEST_GROUP(.run = run);
