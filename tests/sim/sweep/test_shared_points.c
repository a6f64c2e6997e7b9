// SPDX-License-Identifier: Apache-2.0
//
// What the points of a shard share, through the program as a user runs it.
#include "tests/check.h"
#include "tests/sim/fixture.h"
#include "tests/sim/program.h"

#include <stdlib.h>

// The reference of the second point is that of the first, its time too: a shard keeps it.
static void a_shard_keeps_what_its_points_share(void **state)
{
    (void)state;
    static program_run run;
    static char lines[1 << 17];
    char times[2][40] = {"", "-"};
    assert_int_equal(fixture_enter(), 0);
    FILE *file = fopen("plan.yaml", "w");
    assert_non_null(file);
    assert_true(fprintf(file, "base: %s\nsweep: {axes: {pipelines.hp3.policy.width: [1, 3]}}\n",
                        BB_SOURCE_DIR "/tests/configs/small/ao.yaml") > 0);
    assert_int_equal(fclose(file), 0);
    program_call((const char *const[PROGRAM_ARGUMENTS]){"sweep", "plan", "plan.yaml", "kept"},
                 &run);
    program_expect(&run, 0, "2 points");
    program_call((const char *const[PROGRAM_ARGUMENTS]){"sweep", "run", "kept", "--jobs", "1"},
                 &run);
    program_expect(&run, 0, "2 points done");
    assert_int_equal(system("cat kept/shards/*.jsonl > lines"), 0);
    file = fopen("lines", "r");
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
    assert_int_equal(fixture_leave(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_shard_keeps_what_its_points_share),
    };
    return cmocka_run_group_tests_name("shared points", tests, NULL, NULL);
}
