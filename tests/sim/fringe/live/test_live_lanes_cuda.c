// SPDX-License-Identifier: Apache-2.0
#include "sim/fringe/fringe_experiment.h"
#include "tests/first_device.h"
#include "tests/sim/fringe/live/lanes.h"

TEST(phases_do_not_depend_on_how_many_are_on_their_way)
{
    lanes_check_overlap("device=cuda");
}

// With three phases in flight, the default there, all phases are processed and correct.
TEST(a_stream_overlaps)
{
    const bb_live_options options = {.frames = 201, .rate_hz = NAN, .patience_s = 20.0};
    autorelease(bb_text) table = {0};
    autoptr(bb_config) config =
        driver_config(CASE(CONFIG_FRINGE_SMALL, {lanes_few, "device=cuda"}));
    autoptr(bb_results) results = empty_results();
    check_ok(bb_fringe_experiment_live(bb_config_study(config), &options, results, &table));
    assert_true(numbers_at(results, "live/phases")[0] == 201.0);
    assert_true(numbers_at(results, "live/overlap")[0] == 3.0);
    assert_true(numbers_at(results, "live/wrong_points")[0] == 0.0);
}

TEST_GROUP(.begin = needs_cuda, .is_quiet = true, .threads = 2);
