// SPDX-License-Identifier: Apache-2.0
//
// Random programs through OpenCL; skipped where there is no such device.
#include "tests/solvers/kernels/random_on_device.h"

int main(int argc, char **argv)
{
    (void)setenv("POCL_CACHE_DIR", BB_BINARY_DIR "/tests/pocl", 0);
    return run_random_on(BB_DEVICE_OPENCL, argc, argv);
}
