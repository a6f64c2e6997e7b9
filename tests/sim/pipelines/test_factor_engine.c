// SPDX-License-Identifier: Apache-2.0
//
// The engine and the location of tiles do not change results; unsupported settings are refused by
// name.
#include "tests/sim/driver.h"

// The small study has 126 kB of tiles in fp64, 63 kB in fp32.
#define SOME_TILES "solver.memory_limit_gb=0.00004"

static const char *const names[] = {"reference", "dp again", "sp", "hp2", "hp3"};

TEST_FULL(tiles_in_a_file_give_the_same_results)
{
    autoptr(bb_results) expected = driver_results(CASE(CONFIG_AO_SMALL, {NULL}));
    autoptr(bb_results) found = driver_results(CASE(CONFIG_AO_SMALL, {SOME_TILES}));
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        const char *digest = driver_text(found, "factor_digest", names[i]);
        assert_int_equal(strlen(digest), 16);
        assert_string_equal(digest, driver_text(expected, "factor_digest", names[i]));
        assert_true(driver_number(found, "strehl", names[i]) ==
                    driver_number(expected, "strehl", names[i]));
        assert_true(driver_number(found, "swap_read_bytes", names[i]) > 0.0);
        assert_true(driver_number(found, "swap_written_bytes", names[i]) > 0.0);
        assert_true(isnan(driver_number(expected, "swap_read_bytes", names[i])));
        assert_true(isnan(driver_number(found, "wire_bytes", names[i])));
    }
    assert_string_not_equal(driver_text(found, "factor_digest", "sp"),
                            driver_text(found, "factor_digest", "hp2"));
}

static void check_refused(const char *key, const char *sentence)
{
    autoptr(bb_config) config = NULL;
    autorelease(bb_problems) problems = {0};
    const char *const overrides[] = {key};
    assert_int_equal(
        bb_experiment_load(&bb_experiments, CONFIG_AO_SMALL, overrides, 1, &problems, &config),
        BB_INVALID);
    assert_non_null(strstr(bb_text_string(&problems.lines), sentence));
    bb_status_clear();
}

TEST(what_this_program_cannot_do_is_refused)
{
    check_refused("solver.engine=starpu", "this program has no StarPU-MPI");
    check_refused("solver.grid=2x", "solver.grid '2x', expected auto, or rows and columns");
    check_refused("solver.grid=0x2", "solver.grid '0x2'");
}

TEST(a_limit_that_is_too_small_is_refused_with_what_is_needed)
{
    autorelease(bb_plan) plan = {0};
    const driver_case study = {CONFIG_AO_SMALL, {"solver.memory_limit_gb=0.000001"}};
    check_fails(driver_plan(&study, 1, &plan), BB_INVALID,
                "pipeline reference: solver.memory_limit_gb = 1e-06, expected at least");
}
