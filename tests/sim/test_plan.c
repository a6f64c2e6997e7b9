// SPDX-License-Identifier: Apache-2.0
//
// Plans held against the machine: in words, and through `check` and `run` as a user reads them.
#include "sim/plan.h"
#include "tests/check.h"
#include "tests/sim/driver.h"
#include "tests/sim/fixture.h"
#include "tests/sim/program.h"

static program_run run;

static void what_does_not_fit_is_said(void **state)
{
    (void)state;
    char line[BB_PLAN_LINE] = "?";
    static const struct {
        double asked, there;
        const char *line;
    } cases[] = {
        {2.7e12, 8.2e9,  "memory: 2.7 TB, this machine has 8.2 GB"  },
        {9.1e9,  0.5e9,  "memory: 9.1 GB, this machine has 500.0 MB"},
        {8.2e9,  8.2e9,  ""                                         },
        {20e6,   2.7e12, ""                                         },
        {NAN,    8.2e9,  ""                                         }
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const bb_plan plan = {.host_bytes = cases[i].asked};
        bb_plan_shortage(&plan, cases[i].there, line);
        assert_string_equal(line, cases[i].line);
    }
}

static void a_machine_has_memory(void **state)
{
    (void)state;
    double bytes = 0.0;
    check_ok(bb_plan_machine_bytes(&bytes));
    assert_true(bytes > 1e8 && bytes < 1e15);
}

// Two matrices of 8 bytes x 4e8 cells x over 1e6 points: more than any machine has.
static void check_and_run_warn_of_what_no_machine_has(void **state)
{
    (void)state;
    static const char grid[] = "response.grid={columns: 20000, rows: 20000}";
    static const char slit[] = "response.slit_points={columns: 1000, rows: 1000}";
    const char *const check[PROGRAM_ARGUMENTS] = {"check", CONFIG_WAFER_SMALL, grid, slit, NULL};
    // It stops before it computes, at a checkpoint that is not there.
    const char *const start[PROGRAM_ARGUMENTS] = {
        "run", CONFIG_WAFER_SMALL, grid, slit, "-q", "--resume", "missing", "-o", "a.h5", NULL};
    const char *const small[PROGRAM_ARGUMENTS] = {"check", CONFIG_WAFER_SMALL, NULL};
    program_call(check, &run);
    program_expect(&run, 0, "TB, this machine has ");
    program_expect(&run, 0, "  memory: ");
    program_call(start, &run);
    program_expect(&run, 3, "TB, this machine has ");
    program_call(small, &run);
    program_expect(&run, 0, "memory on the host");
    assert_null(strstr(run.printed, "this machine has"));
}

static int enter(void **state)
{
    (void)state;
    return fixture_enter();
}

static int leave(void **state)
{
    return driver_leave(state) + fixture_leave();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_does_not_fit_is_said),
        cmocka_unit_test(a_machine_has_memory),
        cmocka_unit_test(check_and_run_warn_of_what_no_machine_has),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
