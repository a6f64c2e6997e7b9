// SPDX-License-Identifier: Apache-2.0
//
// Shipped kernels through C, on 1 and 3 threads.
#include "tests/solvers/kernels/kernel_cases.h"

static int run(void)
{
    int failed = 0;
    for (bb_index threads = 1; threads <= 3; threads += 2) {
        failed += bb_threads_set(threads) != BB_OK || run_cases_on(BB_DEVICE_CPU) != 0;
    }
    bb_threads_stop();
    return failed;
}

TEST_GROUP(.run = run);
