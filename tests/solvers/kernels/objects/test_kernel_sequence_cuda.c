// SPDX-License-Identifier: Apache-2.0
//
// Sequences of launches through CUDA; skipped without such a device.
#include "tests/solvers/kernels/objects/sequence_cases.h"

static int begin(void)
{
    return sequence_cases_begin(BB_DEVICE_CUDA);
}

TEST_GROUP(.begin = begin, .end = sequence_cases_end);
