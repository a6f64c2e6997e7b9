// SPDX-License-Identifier: Apache-2.0
//
// Shipped kernels through C, on 1 and 3 threads.
#include "tests/solvers/kernels/kernel_cases.h"

static void shipped_kernels_give_the_bits_of_the_evaluator(void **state)
{
    (void)state;
    bb_device *device = NULL;
    check_ok(bb_device_open(BB_DEVICE_CPU, 0, &device));
    for (bb_index threads = 1; threads <= 3; threads += 2) {
        check_ok(bb_threads_set(threads));
        run_cases(device);
    }
    bb_device_close(&device);
    bb_threads_stop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shipped_kernels_give_the_bits_of_the_evaluator),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
