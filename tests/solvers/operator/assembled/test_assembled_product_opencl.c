// SPDX-License-Identifier: Apache-2.0
//
// Products by a kernel of the language, through OpenCL; skipped without such a device.
#include "tests/solvers/operator/assembled/product_cases.h"

static int run(void)
{
    return product_cases_on(BB_DEVICE_OPENCL);
}

TEST_GROUP(.run = run);
