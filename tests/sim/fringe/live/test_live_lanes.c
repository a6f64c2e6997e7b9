// SPDX-License-Identifier: Apache-2.0
#include "core/memory.h"
#include "tests/sim/fringe/live/lanes.h"

TEST(phases_do_not_depend_on_how_many_are_on_their_way)
{
    lanes_check_overlap("device=cpu");
}

TEST(lanes_are_those_that_are_named)
{
    autoptr(bb_config) config = driver_config(CASE(CONFIG_FRINGE_SMALL, {NULL}));
    const bb_fringe_study *fringe = bb_config_study(config);
    bb_live_lanes *lanes = new_object(bb_live_lanes, fringe, "fp16-u,fp32", 0, NULL);
    assert_int_equal(lanes->count, 2);
    assert_int_equal(lanes->overlap, 1);
    assert_string_equal(lanes->items[0].name, "fp16-u");
    assert_string_equal(lanes->items[1].name, "fp32");
    assert_int_equal(bb_device_kind_of(bb_live_lanes_device(lanes)), BB_DEVICE_CPU);
    bb_live_lanes_destroy(&lanes);
    check_fails(bb_live_lanes_create(fringe, "fp32,fp16-u", 2, NULL, &lanes), BB_INVALID,
                "--overlap 2 needs a single pipeline");
    check_fails(bb_live_lanes_create(fringe, "fp32", 5, NULL, &lanes), BB_INVALID,
                "--overlap 5, expected 1..4");
    assert_null(lanes);
}

TEST_GROUP(.is_quiet = true, .threads = 2);
