// SPDX-License-Identifier: Apache-2.0
//
// Learning through the driver: results without it, its cost, and the round trip of a covariance
// through a file.
#include "tests/sim/allocation_walk.h"
#include "tests/sim/driver.h"
#include "tests/sim/program.h"

// moao-2 at a zenith angle: strengths at zenith must be those of the profile.
static void check_strengths(const bb_results *results, double tolerance)
{
    const double *height = numbers_at(results, "learn/height");
    const double *strength = numbers_at(results, "learn/strength");
    const double *truth = numbers_at(results, "learn/strength_true");
    check_relative(height[0], 30.0, 1e-12);
    check_relative(height[1], 12500.0, 1e-12);
    check_relative(truth[0], 28.5115, 1e-12);
    check_relative(truth[1], 1.88506, 1e-12);
    check_relative(strength[0], truth[0], tolerance);
    check_relative(strength[1], truth[1], tolerance);
    check_relative(numbers_at(results, "learn/r0")[0], numbers_at(results, "learn/r0_true")[0],
                   tolerance);
}

// The reconstructor of an exactly learned profile equals that of the true profile.
TEST(a_profile_that_is_learned_exactly_costs_nothing)
{
    autoptr(bb_results) without = driver_results(CASE(CONFIG_AO_SMALL, {NULL}));
    autoptr(bb_results) results = driver_results(CASE(CONFIG_AO_SMALL, {"learn.source=profile"}));
    assert_null(bb_results_find(without, "learn/height"));
    assert_string_equal(bb_results_note_text(results, "learn", "status"), "ok");
    check_strengths(results, 1e-8);
    const double *known = numbers_at(results, "learn/strehl_known");
    const double *loss = numbers_at(results, "learn/strehl_loss");
    const double *strehl = driver_row(without, "strehl_by", "reference");
    for (int i = 0; i < 4; ++i) {
        assert_true(known[i] == strehl[i]);
        check_close(loss[i], 0.0, 1e-10, 1.0);
    }
}

// Layers at wrong heights: the best fit to the slopes, and a loss well above rounding.
TEST_FULL(wrong_heights_cost_strehl)
{
    autoptr(bb_results) without = driver_results(CASE(CONFIG_AO_SMALL, {NULL}));
    autoptr(bb_results) results = driver_results(
        CASE(CONFIG_AO_SMALL, {"learn.source=profile", "learn.heights_m=[30.0, 8000.0]"}));
    assert_true(isnan(numbers_at(results, "learn/strength_true")[1]));
    assert_true(numbers_at(results, "learn/strength")[1] > 0.1);
    assert_true(numbers_at(results, "learn/residual")[0] > 1e-3);
    print_message("Strehl ratio lost by a wrong height: %.2e\n",
                  numbers_at(results, "learn/strehl_loss")[0]);
    assert_true(numbers_at(results, "learn/strehl_loss")[0] > 1e-6);
    check_close(numbers_at(results, "learn/strehl_known")[0] -
                    driver_number(results, "strehl", "reference"),
                numbers_at(results, "learn/strehl_loss")[0], 1e-15, 1.0);
    bb_results_destroy(&results);
    results = driver_results(
        CASE(CONFIG_AO_SMALL,
             {"learn.source=profile", "learn.heights_m=[30.0, 8000.0]", "learn.apply=false"}));
    assert_true(driver_number(results, "strehl", "hp2") == driver_number(without, "strehl", "hp2"));
    assert_null(bb_results_find(results, "learn/strehl_loss"));
}

TEST(what_cannot_be_told_apart_is_an_outcome)
{
    autoptr(bb_results) results = driver_results(CASE(
        CONFIG_AO_SMALL, {"learn.source=profile", "learn.heights_m=[30.0, 12500.0, 12501.0]"}));
    assert_string_equal(driver_text(results, "status", "reference"), "underdetermined");
    assert_string_equal(driver_text(results, "status", "hp3"), "underdetermined");
    assert_true(isnan(driver_number(results, "strehl", "reference")));
    assert_string_equal(bb_results_note_text(results, "learn", "status"), "underdetermined");
    assert_non_null(strstr(bb_results_note_text(results, "learn", "status_detail"),
                           "cannot separate the layer at 1250"));
    assert_true(isnan(numbers_at(results, "learn/strength")[0]));
}

// Learning from a file of --dump Cmm gives the same as from the analytic covariance.
TEST_FULL(a_dumped_covariance_teaches_the_same)
{
    const driver_case absent = {CONFIG_AO_SMALL,
                                {"learn.source=covariance_file", "learn.covariance.file=none.h5",
                                 "learn.covariance.dataset=/operators/Cmm"}};
    const driver_case other = {CONFIG_AO_SMALL,
                               {"learn.source=covariance_file", "learn.covariance.file=c.h5",
                                "learn.covariance.dataset=/operators/Cmm", "sensors.lenslets=5"}};
    bb_results *results = NULL;
    CALL_EXPECT(0, "c.h5", "run", CONFIG_AO_SMALL, "-q", "--dump", "Cmm", "-o", "c.h5");
    results = driver_results(
        CASE(CONFIG_AO_SMALL, {"learn.source=covariance_file", "learn.covariance.file=c.h5",
                               "learn.covariance.dataset=/operators/Cmm"}));
    check_strengths(results, 1e-8);
    check_close(numbers_at(results, "learn/strehl_loss")[0], 0.0, 1e-10, 1.0);
    bb_results_destroy(&results);
    check_fails(driver_run(&absent, 2, &results), BB_IO, "'none.h5': No such file");
    check_fails(driver_run(&other, 2, &results), BB_INVALID, "(slopes of the guide stars)");
}

// A plan refuses the same files as a run: a covariance of other stars, and a missing file.
TEST(plans_refuse_what_a_run_would)
{
    static const char *const commands[] = {"check", "run"};
    CALL_EXPECT(0, "stars.h5", "run", CONFIG_AO_SMALL, "-q", "--dump", "Cmm", "-o", "stars.h5");
    for (int c = 0; c < 2; ++c) {
        CALL_EXPECT(2, "learn: the covariance is ", commands[c], CONFIG_AO_SMALL,
                    "learn.source=covariance_file", "learn.covariance.file=stars.h5",
                    "learn.covariance.dataset=/operators/Cmm", "sensors.lenslets=5", "-o",
                    "five.h5");
        assert_non_null(strstr(run.printed, "(slopes of the guide stars)"));
        CALL_EXPECT(3, "no dataset '/operators/none'", commands[c], CONFIG_AO_SMALL,
                    "learn.source=covariance_file", "learn.covariance.file=stars.h5",
                    "learn.covariance.dataset=/operators/none", "-o", "none.h5");
    }
}

TEST_FULL(frames_teach_on_any_number_of_threads)
{
    const driver_case study = {
        CONFIG_AO_SMALL,
        {"learn.source=frames", "learn.frames=160", "monte_carlo.pixels_per_subaperture=16",
         "monte_carlo.screen_oversize=2.0", "seed=5", "learn.outer_scale_range_m=[10.0, 80.0]"}};
    autoptr(bb_results) results = driver_results(&study);
    for (int l = 0; l < 2; ++l) {
        check_close(numbers_at(results, "learn/strength")[l],
                    numbers_at(results, "learn/strength_true")[l], 3.5,
                    numbers_at(results, "learn/strength_sigma")[l]);
    }
    print_message("outer scale %.1f +- %.1f m, Strehl ratio lost %.1e\n",
                  numbers_at(results, "learn/outer_scale")[0],
                  numbers_at(results, "learn/outer_scale_sigma")[0],
                  numbers_at(results, "learn/strehl_loss")[0]);
    assert_true(fabs(numbers_at(results, "learn/strehl_loss")[0]) < 1e-2);
    driver_check_threads(&study);
}

// Allocation failures at intervals that cover every part of learning.
TEST_FULL(memory_that_runs_out_is_an_error)
{
    autoptr(bb_config) config = driver_config(
        CASE(CONFIG_AO_SMALL,
             {"sensors.lenslets=3", "guide_stars.2.lenslets=3", "solver.tile=12",
              "targets=[{x_arcsec: 3.0, y_arcsec: 1.0}]", "learn.source=frames", "learn.frames=32",
              "monte_carlo.pixels_per_subaperture=8", "monte_carlo.screen_oversize=1.5",
              "learn.outer_scale_range_m=[24.9, 25.1]", "learn.separation=1.0e-6",
              "pipelines=[{name: reference, arithmetic: dp}]"}));
    bb_threads_stop();
    allocation_walk("ao with learn", driver_run_alone, config, 1499, 5);
}

TEST(keys_are_held_to_each_other)
{
    const driver_case nowhere = {CONFIG_AO_SMALL, {"learn.source=covariance_file"}};
    const driver_case range = {CONFIG_AO_SMALL, {"learn.outer_scale_range_m=[30.0, 10.0]"}};
    bb_config *config = NULL;
    assert_int_equal(driver_load(&nowhere, &config), BB_INVALID);
    assert_int_equal(driver_load(&range, &config), BB_INVALID);
}

TEST_GROUP(.begin = fixture_start_hdf5, .has_folder = true, .is_quiet = true);
