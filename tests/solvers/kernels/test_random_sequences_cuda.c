// SPDX-License-Identifier: Apache-2.0
//
// Random programs as steps of sequences through CUDA; skipped without such a device.
#include "tests/solvers/kernels/random_sequences.h"

static int run(void)
{
    return run_random_sequences_on(BB_DEVICE_CUDA);
}

TEST_GROUP(.run = run);
