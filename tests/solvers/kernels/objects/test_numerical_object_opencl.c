// SPDX-License-Identifier: Apache-2.0
//
// Numerical objects through OpenCL; skipped without such a device.
#include "tests/solvers/kernels/objects/numerical_cases.h"

static int run(void)
{
    return numerical_cases_on(BB_DEVICE_OPENCL);
}

TEST_GROUP(.run = run);
