// SPDX-License-Identifier: Apache-2.0
//
// Checkpoints of another subject are refused with the differing groups, and saves that take long
// are postponed.
#include "core/clock.h"
#include "sim/output/checkpoint.h"
#include "tests/sim/fixture.h"

TEST(others_are_refused)
{
    static const struct {
        const char *there, *here, *message;
    } cases[] = {
        {"mesh:\n  step_ms: 1.0\nprobes: []\n", "mesh:\n  step_ms: 2.0\nprobes: []\n",
         "'a' belongs to another configuration: mesh ('step_ms: 1.0' there, 'step_ms: 2.0' here)"},
        {"experiment: wafer\nseed: 1\n", "experiment: wafers\nseed: 1\n",
         "'a' belongs to experiment wafer, but the study is wafers"},
        {"experiment: wafer\nseed: 1\n", "experiment: wafer\nseed: 2\n",
         "'a' belongs to another configuration: seed ("},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
        bb_store *checkpoint = NULL;
        check_ok(bb_store_write("a", "checkpoint", cases[c].there, NULL, 0));
        check_fails(bb_checkpoint_open("a", cases[c].here, &checkpoint), BB_INVALID,
                    cases[c].message);
        assert_null(checkpoint);
        check_ok(bb_checkpoint_open("a", cases[c].there, &checkpoint));
        bb_store_close(&checkpoint);
    }
}

// Clock that advances by a second with each reading: a save takes one second.
static int64_t seconds;

static int64_t count_seconds(void)
{
    return ++seconds * 1000000000;
}

// By default, or with an interval in seconds, a save is postponed by nine times the duration of the
// last one.
TEST(dear_saves_are_put_off)
{
    static const bb_clock counting = {count_seconds, NULL};
    static const struct {
        double every_s;
        int64_t wait; // seconds between saves that are due
    } cases[] = {
        {NAN, 9},
        {0.0, 1},
        {2.0, 9},
        {40., 40},
    };
    bb_clock_set(&counting);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
        const bb_run_options options = {.checkpoint = "dear",
                                        .checkpoint_every_s = cases[c].every_s};
        autorelease(bb_restart) restart;
        bb_text subject = {0};
        int64_t begin = 0;
        check_ok(bb_restart_open(&options, 0.0, &subject, &restart));
        check_ok(bb_restart_write(&restart, NULL, 0));
        begin = seconds;
        while (!bb_restart_is_due(&restart, false)) {
            assert_true(seconds < begin + 100);
        }
        // If a save is always due, the clock need not be read.
        assert_true(seconds - begin == cases[c].wait || (cases[c].wait == 1 && seconds == begin));
        check_ok(bb_restart_write(&restart, NULL, 0));
        assert_true(bb_restart_is_due(&restart, true));
    }
    bb_clock_set(NULL);
}

TEST_GROUP(.has_folder = true);
