// SPDX-License-Identifier: Apache-2.0
//
// Shipped kernels through CUDA; skipped where there is no such device.
#include "tests/solvers/kernels/kernel_cases.h"

int main(void)
{
    return run_cases_on(BB_DEVICE_CUDA);
}
