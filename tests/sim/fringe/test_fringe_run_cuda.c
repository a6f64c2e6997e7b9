// SPDX-License-Identifier: Apache-2.0
//
// `auto` unwraps on a cuda device where there is one, however small the phase.
#include "tests/first_device.h"
#include "tests/sim/driver.h"

#define CONFIG BB_SOURCE_DIR "/tests/configs/small/fringe.yaml"

TEST(auto_takes_cuda)
{
    const driver_case study = {CONFIG, {"device=auto"}};
    bb_results *results = driver_results(&study);
    const bb_dataset *device = driver_dataset(results, "device");
    for (bb_index p = 0; p < device->count; ++p) {
        assert_string_equal(device->texts[p], "cuda");
    }
    bb_results_destroy(&results);
}

TEST_GROUP(.begin = needs_cuda, .leave = driver_leave);
