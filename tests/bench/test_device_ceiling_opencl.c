// SPDX-License-Identifier: Apache-2.0
//
// Ceilings of a device by its own compiler: reads and copies take time, chains of fma give a rate.
#include "bench/device_ceiling.h"
#include "tests/first_device.h"

TEST(reads_copies_and_chains_are_measured)
{
    bb_device_ceiling *ceiling = NULL;
    double seconds = 0.0, flops_per_s = 0.0;
    autoclose(bb_device) device = open_device(BB_DEVICE_OPENCL);
    check_ok(bb_device_ceiling_create(device, 1e6, &ceiling));
    for (int reads = 0; reads < 2; ++reads) {
        check_ok(bb_device_ceiling_measure(ceiling, reads == 1, &seconds));
        assert_true(seconds > 0.0);
    }
    check_ok(bb_device_ceiling_peak(ceiling, false, &flops_per_s));
    assert_true(flops_per_s > 1e6 && isfinite(flops_per_s));
    bb_device_ceiling_destroy(&ceiling);
}

TEST_GROUP(.begin = needs_opencl);
