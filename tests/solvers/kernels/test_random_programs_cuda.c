// SPDX-License-Identifier: Apache-2.0
//
// Random programs through CUDA; skipped where there is no GPU.
#include "tests/solvers/kernels/random_on_device.h"

int main(int argc, char **argv)
{
    return run_random_on(BB_DEVICE_CUDA, argc, argv);
}
