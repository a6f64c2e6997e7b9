// SPDX-License-Identifier: Apache-2.0
#include "core/thread.h"
#include "tests/core/device_conformance.h"

static void absent_devices_say_why(void **state)
{
    (void)state;
    bb_device *device = NULL;
    char reason[256] = "";
    if (bb_device_count(BB_DEVICE_CUDA, reason, sizeof reason) == 0) {
        assert_true(strlen(reason) > 10);
        check_fails(bb_device_open(BB_DEVICE_CUDA, 0, &device), BB_DEVICE,
                    "device cuda is absent: ");
    }
    check_fails(bb_device_open(BB_DEVICE_CPU, 1, &device), BB_DEVICE, "expected 0..0");
    assert_null(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(absent_devices_say_why)};
    int failures = cmocka_run_group_tests(tests, NULL, NULL);
    if (bb_threads_set(2) != BB_OK) {
        return 1;
    }
    failures += run_device_tests(BB_DEVICE_CPU);
    bb_threads_stop();
    return failures;
}
