// SPDX-License-Identifier: Apache-2.0
#include "sim/fringe/live/live_run.h"
#include "tests/first_device.h"
#include "tests/sim/fringe/live/lanes.h"

TEST(phases_do_not_depend_on_how_many_are_on_their_way)
{
    lanes_check_overlap("cuda");
}

// Three at once, as is usual there: all are taken and right.
TEST(a_stream_overlaps)
{
    const driver_case study = {LANES_CONFIG, {lanes_few, "device=cuda"}};
    const bb_live_options options = {.frames = 201, .rate_hz = NAN, .patience_s = 20.0};
    bb_text table = {0};
    double phases = NAN, overlap = NAN, wrong = NAN;
    const struct {
        const char *name;
        double *value;
    } wanted[] = {{"phases", &phases}, {"overlap", &overlap}, {"wrong_points", &wrong}};
    bb_config *config = driver_config(&study);
    bb_results *results = empty_results();
    check_ok(bb_live_run(bb_config_study(config), &options, results, &table));
    for (bb_index i = 0; i < bb_results_count(results); ++i) {
        const bb_dataset *dataset = bb_results_dataset(results, i);
        for (size_t k = 0; k < sizeof wanted / sizeof wanted[0]; ++k) {
            if (strcmp(dataset->group, "live") == 0 && strcmp(dataset->name, wanted[k].name) == 0) {
                *wanted[k].value = dataset->numbers[0];
            }
        }
    }
    assert_true(phases == 201.0);
    assert_true(overlap == 3.0);
    assert_true(wrong == 0.0);
    bb_text_release(&table);
    bb_results_destroy(&results);
    bb_config_destroy(&config);
}

TEST_GROUP(.begin = needs_cuda, .enter = lanes_enter, .leave = driver_leave);
