// SPDX-License-Identifier: Apache-2.0
//
// Queues, graphs and runs of an unwrapper on OpenCL; skipped where there is no such device.
#include "tests/solvers/unwrap/queue_cases.h"

static int run(void)
{
    return queue_cases_on(BB_DEVICE_OPENCL);
}

TEST_GROUP(.run = run);
