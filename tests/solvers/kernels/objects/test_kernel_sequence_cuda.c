// SPDX-License-Identifier: Apache-2.0
//
// Sequences of launches through CUDA; skipped where there is no such device.
#include "tests/solvers/kernels/objects/sequence_cases.h"

int main(void)
{
    return sequence_cases_on(BB_DEVICE_CUDA);
}
