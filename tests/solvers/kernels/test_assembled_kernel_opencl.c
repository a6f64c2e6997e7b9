// SPDX-License-Identifier: Apache-2.0
//
// Shipped kernels through OpenCL; skipped where there is no such device.
#include "tests/solvers/kernels/kernel_cases.h"

static void shipped_kernels_give_the_bits_of_the_evaluator(void **state)
{
    (void)state;
    bb_device *device = NULL;
    check_ok(bb_device_open(BB_DEVICE_OPENCL, 0, &device));
    run_cases(device);
    bb_device_close(&device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shipped_kernels_give_the_bits_of_the_evaluator),
    };
    char reason[256];
    if (bb_device_count(BB_DEVICE_OPENCL, reason, sizeof reason) == 0) {
        print_message("skipped: %s\n", reason);
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
