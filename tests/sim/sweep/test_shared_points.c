// SPDX-License-Identifier: Apache-2.0
//
// Data shared by the points of a shard, through the program as a user runs it.
#include "tests/sim/fixture.h"
#include "tests/sim/program.h"

static void write_plan(const char *study, const char *sweep)
{
    FILE *file = fopen("plan.yaml", "w");
    assert_non_null(file);
    assert_true(fprintf(file, "base: %s/tests/configs/small/%s\nsweep: %s\n", BB_SOURCE_DIR, study,
                        sweep) > 0);
    assert_int_equal(fclose(file), 0);
}

// The reference of the second point is that of the first, including its time: a shard stores it.
TEST(a_shard_keeps_what_its_points_share)
{
    static char lines[1 << 17];
    char times[2][40] = {"", "-"};
    write_plan("ao.yaml", "{axes: {pipelines.hp3.policy.width: [1, 3]}}");
    CALL_EXPECT(0, "2 points", "sweep", "plan", "plan.yaml", "kept");
    CALL_EXPECT(0, "2 points completed", "sweep", "run", "kept", "--jobs", "1");
    assert_int_equal(system("cat kept/shards/*.jsonl > lines"), 0);
    FILE *file = fopen("lines", "r");
    assert_non_null(file);
    lines[fread(lines, 1, sizeof lines - 1, file)] = '\0';
    assert_int_equal(fclose(file), 0);
    const char *place = lines;
    for (int point = 0; point < 2; ++point) {
        place = strstr(place, "\"solve_time_s\":[");
        assert_non_null(place);
        place += strlen("\"solve_time_s\":[");
        (void)snprintf(times[point], sizeof times[point], "%.*s", (int)strcspn(place, ","), place);
    }
    assert_string_equal(times[0], times[1]);
}

// Their axis has the former name of a sweep's point number.
TEST(what_stands_over_points_of_the_wafer_is_kept)
{
    write_plan("wafer.yaml", "{axes: {scan.dose_mj_per_cm2: [20, 30]}, keep: [displacement_nm]}");
    CALL_EXPECT(0, "results: all.h5", "sweep", "plan.yaml", "-o", "all.h5");
    CALL_EXPECT(0, "failed", "show", "all.h5");
}

// An earlier sweep is shown as a result; results of another plan, or incomplete ones, are not
// replaced.
TEST(a_finished_sweep_is_shown)
{
    write_plan("fringe.yaml", "{seeds: 1..2}");
    CALL_EXPECT(0, "results: done.h5", "sweep", "plan.yaml", "-o", "done.h5");
    CALL("sweep", "plan.yaml", "-o", "done.h5", "--csv", "done.csv");
    program_expect(&run, 0, "all 2 runs are complete in done.h5");
    program_expect(&run, 0, "2 of 2 done");
    assert_int_equal(access("done.csv", F_OK), 0);
    CALL_EXPECT(0, "results: done.h5", "sweep", "plan.yaml", "-o", "done.h5", "--force");
    assert_int_equal(system("rm done/shards/*"), 0);
    CALL_EXPECT(3, "output 'done.h5' exists", "sweep", "plan.yaml", "-o", "done.h5");
    assert_int_equal(system("echo no results >done.h5"), 0);
    CALL_EXPECT(3, "output 'done.h5' exists", "sweep", "plan.yaml", "-o", "done.h5");
    write_plan("fringe.yaml", "{seeds: 1..3}");
    CALL_EXPECT(3, "'done' has plan", "sweep", "plan.yaml", "-o", "done.h5");
}

TEST_GROUP(.has_folder = true);
