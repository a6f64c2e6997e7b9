// SPDX-License-Identifier: Apache-2.0
#include "tests/core/device/device_conformance.h"
#include "tests/first_device.h"
#include "tests/manual_clock.h"

TEST(absent_devices_say_why)
{
    bb_device *device = NULL;
    char reason[256] = "";
    if (bb_device_count(BB_DEVICE_CUDA, reason, sizeof reason) == 0) {
        assert_true(strlen(reason) > 10);
        check_fails(bb_device_open(BB_DEVICE_CUDA, 0, &device), BB_DEVICE,
                    "device cuda is absent: ");
    }
    if (bb_device_count(BB_DEVICE_OPENCL, reason, sizeof reason) == 0) {
        assert_true(strlen(reason) > 10);
        check_fails(bb_device_open(BB_DEVICE_OPENCL, 0, &device), BB_DEVICE,
                    "device opencl is absent: ");
    }
    check_fails(bb_device_open(BB_DEVICE_CPU, 1, &device), BB_DEVICE, "expected 0..0");
    assert_null(device);
}

TEST(the_timer_reads_the_clock)
{
    double seconds = NAN;
    autoclose(bb_device) device = open_device(BB_DEVICE_CPU);
    manual_clock_start();
    check_ok(bb_device_timer_start(device));
    manual_clock_advance(250000000);
    check_ok(bb_device_timer_stop(device, &seconds));
    manual_clock_stop();
    check_close(seconds, 0.25 + 1e-9 * MANUAL_READING_NS, 1e-12, 1.0);
}

static int begin(void)
{
    return device_tests_begin(BB_DEVICE_CPU);
}

TEST_GROUP(.begin = begin, .end = device_tests_end, .threads = 2);
