// SPDX-License-Identifier: Apache-2.0
//
// Shipped kernels through CUDA; skipped without such a device.
#include "tests/solvers/kernels/kernel_cases.h"

static int run(void)
{
    return run_cases_on(BB_DEVICE_CUDA);
}

TEST_GROUP(.run = run);
