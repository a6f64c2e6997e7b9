// SPDX-License-Identifier: Apache-2.0
//
// A study on an OpenCL device gives the cpu's results, bit for bit.
#include "tests/first_device.h"
#include "tests/sim/driver.h"

TEST_FULL(opencl_has_the_bits_of_the_cpu)
{
#define NOISY "surface.noise_rad=0.7", "pipelines.1.draws=1"
    autoptr(bb_results) first = driver_results(CASE(CONFIG_FRINGE_SMALL, {NOISY}));
    autoptr(bb_results) second =
        driver_results(CASE(CONFIG_FRINGE_SMALL, {NOISY, "device=opencl"}));
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
}

TEST_GROUP(.begin = needs_opencl);
