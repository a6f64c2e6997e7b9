// SPDX-License-Identifier: Apache-2.0
//
// Random programs as steps of sequences on the CPU, with a thread as the single work-group.
#include "tests/solvers/kernels/random_sequences.h"

static int run(void)
{
    return run_random_sequences_on(BB_DEVICE_CPU);
}

TEST_GROUP(.run = run);
