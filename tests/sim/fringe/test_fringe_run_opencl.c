// SPDX-License-Identifier: Apache-2.0
//
// A study on an OpenCL device has the cpu's numbers, bit for bit.
#include "core/device/device.h"
#include "tests/sim/driver.h"

#define CONFIG BB_SOURCE_DIR "/tests/configs/small/fringe.yaml"

TEST_FULL(opencl_has_the_bits_of_the_cpu)
{
    char reason[256] = "";
    if (bb_device_count(BB_DEVICE_OPENCL, reason, sizeof reason) == 0) {
        print_message("skipped: %s\n", reason);
        skip();
    }
    const driver_case cpu = {CONFIG, {"surface.noise_rad=0.7", "pipelines.1.draws=1"}};
    const driver_case opencl = {CONFIG,
                                {"surface.noise_rad=0.7", "pipelines.1.draws=1", "device=opencl"}};
    bb_results *first = driver_results(&cpu);
    bb_results *second = driver_results(&opencl);
    bb_index compared = 0;
    for (bb_index i = 0; i < bb_results_count(first); ++i) {
        const bb_dataset *one = bb_results_dataset(first, i);
        const bb_dataset *two = bb_results_dataset(second, i);
        assert_string_equal(one->name, two->name);
        if (!one->measured && !one->is_text) {
            assert_memory_equal(one->numbers, two->numbers,
                                (size_t)one->count * sizeof *one->numbers);
            compared += one->count;
        }
    }
    assert_true(compared > 100);
    bb_results_destroy(&first);
    bb_results_destroy(&second);
}

TEST_GROUP(.leave = driver_leave);
