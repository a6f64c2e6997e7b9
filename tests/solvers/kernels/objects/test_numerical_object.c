// SPDX-License-Identifier: Apache-2.0
//
// Numerical objects in C.
#include "tests/solvers/kernels/objects/numerical_cases.h"

static int run(void)
{
    return numerical_cases_on(BB_DEVICE_CPU);
}

TEST_GROUP(.run = run);
