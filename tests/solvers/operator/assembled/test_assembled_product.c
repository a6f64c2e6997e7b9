// SPDX-License-Identifier: Apache-2.0
//
// Products by a kernel of the language, in C.
#include "tests/solvers/operator/assembled/product_cases.h"

static int run(void)
{
    return product_cases_on(BB_DEVICE_CPU);
}

TEST_GROUP(.run = run);
