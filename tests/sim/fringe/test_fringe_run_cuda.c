// SPDX-License-Identifier: Apache-2.0
//
// `auto` unwraps on a cuda device if there is one, however small the phase.
#include "tests/first_device.h"
#include "tests/sim/driver.h"

#define CONFIG CONFIG_FRINGE_SMALL

TEST(auto_takes_cuda)
{
    autoptr(bb_results) results = driver_results(CASE(CONFIG, {"device=auto"}));
    const bb_dataset *device = driver_dataset(results, "device");
    for (bb_index p = 0; p < device->count; ++p) {
        assert_string_equal(device->texts[p], "cuda");
    }
}

TEST_GROUP(.begin = needs_cuda);
