// SPDX-License-Identifier: Apache-2.0
//
// What a run of the wafer study says on stderr of pipelines whose numbers came to nothing.
#include "tests/sim/driver.h"
#include "tests/sim/fixture.h"
#include "tests/sim/program.h"

// Steps of 1e-15 of the range: coefficients beyond 32 bits, which poison their blocks.
static void a_pipeline_that_fails_is_warned_of(void **state)
{
    (void)state;
    static program_run run;
    const char *const arguments[PROGRAM_ARGUMENTS] = {
        "run",
        CONFIG_WAFER_SMALL,
        "scan.fields=[0]",
        "pipelines=[{name: reference, storage: fp64, multiply: fp64, accumulate: fp64}, {name: "
        "fine, "
        "storage: {codec: transform, tolerance_of_range: 1.0e-15}, multiply: fp32, accumulate: "
        "fp64}]",
        "-q",
        "-o",
        "failed.h5",
        NULL};
    program_call(arguments, &run);
    program_expect(&run, 0, "warning: pipeline fine: non_finite, displacement x, field 0");
    program_expect(&run, 0, "warning: pipeline fine: its codec cannot hold ");
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
        cmocka_unit_test(a_pipeline_that_fails_is_warned_of),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
