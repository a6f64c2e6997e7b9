// SPDX-License-Identifier: Apache-2.0
//
// Random programs as steps of sequences on the cpu, whose thread takes the place of the one
// work-group.
#include "tests/solvers/kernels/random_sequences.h"

static int run(void)
{
    return run_random_sequences_on(BB_DEVICE_CPU);
}

TEST_GROUP(.run = run);
