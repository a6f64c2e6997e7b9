// SPDX-License-Identifier: Apache-2.0
//
// Nights through the whole driver: Strehl ratios from an independent computation in fp64 (numpy, on
// dumped matrices) for reconstructors of one profile in another, exact limits, and the same bits on
// any number of threads.
#include "tests/sim/allocation_walk.h"
#include "tests/sim/ao/night/of_night.h"

#define SMALL BB_SOURCE_DIR "/tests/configs/small/night.yaml"

// Reconstructor of one profile used six hours later in another, against the latter's own.
TEST_FULL(one_profile_in_another)
{
    static const struct {
        const char *first, *last;
        double own, strehl;
    } cases[] = {
        {"night.from=eris-10", "night.to=eso-median-9", 0.589632, 0.578690},
        {"night.from=eso-q4", "night.to=eso-q1", 0.703094, 0.691384},
        {"night.from=eso-median", "night.to=eso-q4", 0.506928, 0.498921},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
        autoptr(bb_results) results = driver_results(
            CASE(CONFIG_NX456, {"device=cpu", ALONE, "night.source=drift", cases[k].first,
                                cases[k].last, "night.hours=6.0", "night.sample_minutes=360.0",
                                "night.scored_hours=1.0", "night.policies=[snapshot]",
                                "night.ages_minutes=[360.0]", "night.latency_s=[0.0]"}));
        const double own = of_night(results, "strehl_moment")->numbers[0];
        const double strehl = own - of_night(results, "aged_loss")->numbers[0];
        print_message("%s in %s: %.7f, its own %.7f\n", cases[k].first + 11, cases[k].last + 9,
                      strehl, own);
        check_close(own, cases[k].own, 2e-6, 1.0);
        check_close(strehl, cases[k].strehl, 2e-6, 1.0);
    }
}

// Smooth drift: the loss is proportional to the square of the age. The bounds come from an
// independent computation, which mixes matrices including noise; from 1.5 h on both agree within 15
// %.
TEST_FULL(a_smooth_drift_costs_the_square_of_the_age)
{
    const double expected[] = {8e-7, 2e-5, 2.2e-4, 1.1e-3};
    autoptr(bb_results) results = driver_results(CASE(
        CONFIG_NX456, {"device=cpu", ALONE, "night.source=drift", "night.from=eso-q1",
                       "night.to=eso-q4", "night.hours=6.0", "night.sample_minutes=90.0",
                       "night.scored_hours=4.5", "night.policies=[snapshot]",
                       "night.ages_minutes=[2.0, 10.0, 30.0, 60.0]", "night.latency_s=[0.0]"}));
    const double *worst = of_night(results, "worst_aged_loss")->numbers;
    for (int a = 0; a < 4; ++a) {
        print_message("at most %.2e, expected %.1e\n", worst[a], expected[a]);
        check_relative(worst[a], expected[a], 0.15);
    }
    check_relative(worst[1] / worst[0], 25.0, 0.1);
}

// A night without change equals the study, for all corrections, scores and terms of the small case,
// and within fp64 rounding for its pipelines.
TEST_FULL(a_night_that_stays_is_the_study)
{
    static const char layers[] =
        "night.layers=[{time_s: 0.0, height_m: 30.0, strength: 28.5115, wind_m_per_s: 7.0}, "
        "{time_s: 0.0, height_m: 12500.0, strength: 1.88506, wind_m_per_s: 21.0}]";
    static const char *const cases[][5] = {
        {"correction=moao", "score=pairs"},
        {"correction=ltao", "solver.lgs_tilt=unknown"},
        {"correction=glao", "score=stationary", "solver.lgs_tilt=constant_block"},
        {"correction=mcao", "mirrors=[{height_m: 0.0}, {height_m: 9000.0, pitch_m: 1.6}]",
         "targets=[{x_arcsec: 0.0, y_arcsec: 0.0}, {x_arcsec: 7.0, y_arcsec: -4.0, weight: 0.5}]"},
        {"error_terms.fitting=true", "error_terms.frame_delay_ms=3.0",
         "error_terms.shake_arcsec=0.1", "atmosphere.profile=eris-10"},
        {"error_terms.aliasing=true", "error_terms.fitting=false"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
        const bool walks = k == 4; // with the winds of eris-10 and no random walk
        autoptr(bb_results) results = driver_results(CASE(
            SMALL,
            {"solver.scale=unit_diagonal", "night.ages_minutes=[]", "night.sample_minutes=30.0",
             "error_terms.combination=independent", // as in a night
             "pipelines=[{name: reference, arithmetic: dp}, {name: bits, arithmetic: dp, "
             "storage: {codec: quantiser, tolerance: 1.0e-3}, slopes: {bits: 8}}, "
             "{name: commands, arithmetic: dp, operator: commands, "
             "storage: {codec: integer, bits: 10, rounding: sweep}, accumulate: fp16, "
             "accumulate_run: 16}]",
             walks ? "night.walk_deviation=1.0e-12" : "night.source=file",
             walks ? "night.source=walk" : layers, cases[k][0],
             cases[k][1] != NULL ? cases[k][1] : cases[k][0],
             cases[k][2] != NULL ? cases[k][2] : cases[k][0],
             cases[k][3] != NULL ? cases[k][3] : cases[k][0]}));
        const bb_dataset *moment = of_night(results, "strehl_moment");
        const bb_index samples = moment->shape[1];
        const double *stale = of_night(results, "worst_staleness_loss")->numbers;
        for (int p = 0; p < 3; ++p) {
            const double strehl = driver_dataset(results, "strehl")->numbers[p];
            print_message("%s: %.9f, in the night %+.1e\n", cases[k][0], strehl,
                          moment->numbers[p * samples] - strehl);
            check_close(moment->numbers[p * samples], strehl, p == 0 ? 1e-9 : 1e-4, 1.0);
            for (int q = 0; q < 3; ++q) {
                assert_true(fabs(stale[p * 3 + q]) < (p == 0 ? 1e-9 : 1e-4));
            }
        }
    }
}

TEST_FULL(no_age_and_no_wait_cost_nothing_exactly)
{
    autoptr(bb_results) results = driver_results(CASE(SMALL, {NULL}));
    const bb_dataset *stale = of_night(results, "staleness_loss");
    const bb_dataset *worst = of_night(results, "worst_staleness_loss");
    const bb_dataset *aged = of_night(results, "aged_loss");
    const bb_dataset *failed = of_night(results, "failed");
    assert_int_equal(stale->shape[1], 3);
    for (bb_index p = 0; p < stale->shape[0]; ++p) {
        assert_true(failed->numbers[3 * p] == 0.0);
        assert_true(stale->numbers[3 * p] == 0.0 && worst->numbers[3 * p] == 0.0); // snapshot
        assert_true(aged->numbers[9 * p] == 0.0 && aged->numbers[9 * p + 6] == 0.0);
        assert_true(aged->numbers[9 * p + 1] > 0.0);
        assert_true(aged->numbers[9 * p + 2] > aged->numbers[9 * p + 1]);
    }
    assert_true(of_night(results, "precision_loss")->numbers[0] == 0.0);
    assert_false(of_night(results, "latency")->measured);
}

TEST_FULL(bits_do_not_depend_on_threads)
{
    const driver_case study = {SMALL, {"night.learning_frames=1000", "night.latency_s=[45.0]"}};
    autoptr(bb_results) one = NULL;
    autoptr(bb_results) two = driver_results(&study);
    bb_index compared = 0;
    check_ok(driver_run(&study, 1, &one));
    for (bb_index i = 0; i < bb_results_count(one); ++i) {
        const bb_dataset *expected = bb_results_dataset(one, i);
        if (strcmp(expected->group, "night") == 0 && !expected->is_text) {
            const bb_dataset *got = of_night(two, expected->name);
            assert_int_equal(got->count, expected->count);
            assert_memory_equal(got->numbers, expected->numbers,
                                (size_t)got->count * sizeof(double));
            ++compared;
        }
    }
    assert_true(compared > 12);
}

TEST_FULL(a_measured_latency_is_marked_so)
{
    autoptr(bb_results) results = driver_results(CASE(SMALL, {"night.latency_s=[]", ALONE}));
    static const char *const measured[] = {"latency", "strehl", "staleness_loss", "aged_loss"};
    for (size_t k = 0; k < sizeof measured / sizeof *measured; ++k) {
        assert_true(of_night(results, measured[k])->measured);
    }
    assert_true(of_night(results, "latency")->numbers[0] ==
                driver_number(results, "solve_time_s", "reference"));
    assert_false(of_night(results, "strehl_moment")->measured);
}

// A pipeline that breaks down has no Strehl ratio in the night; others have.
TEST(failures_are_counted)
{
    autoptr(bb_results) results = driver_results(
        CASE(SMALL, {"solver.scale=none", "solver.lgs_tilt=constant_block", "night.ages_minutes=[]",
                     "pipelines=[{name: reference, arithmetic: dp}, {name: lost, arithmetic: hp3}]",
                     "sensors.read_noise_e=0.0", "sensors.lgs.flux_ph_per_m2_s=1.0e12",
                     "sensors.lgs.tilt_variance_arcsec2=1.0e3"}));
    const bb_dataset *failed = of_night(results, "failed");
    const double samples = (double)of_night(results, "time")->count;
    assert_string_not_equal(driver_text(results, "status", "lost"), "ok");
    for (int q = 0; q < 3; ++q) {
        assert_true(failed->numbers[q] == 0.0 && failed->numbers[3 + q] == samples);
        assert_true(isnan(of_night(results, "staleness_loss")->numbers[3 + q]));
    }
}

TEST_FULL(memory_may_run_out_anywhere)
{
    bb_threads_stop(); // the allocation walk counts without their blocks
    autoptr(bb_config) config = driver_config(
        CASE(SMALL, {"sensors.lenslets=2", "guide_stars.2.lenslets=2", "solver.tile=12",
                     "wavelengths_um=[1.65]", "targets=[{x_arcsec: 3.0, y_arcsec: 1.0}]",
                     "night.sample_minutes=30.0", "night.ages_minutes=[30.0]",
                     "error_terms.fitting=false", ALONE}));
    allocation_walk("a night", driver_run_alone, config, 151, 4);
}

// The plan includes the layers' covariances, and every solve and pass.
TEST(a_night_is_planned)
{
    const driver_case cases[] = {
        {CONFIG_NX456, {"device=cpu", "atmosphere.profile=eris-10", ALONE}},
        {CONFIG_NX456,
         {"device=cpu", "atmosphere.profile=eris-10", ALONE, "night.source=walk",
          "night.latency_s=[0.0]", "night.scored_hours=2.0", "night.mean=scored",
          "night.ages_minutes=[2.0, 4.0]"}},
        {BB_SOURCE_DIR "/configs/ao/elt-49664.yaml",
         {"device=cpu", "night.source=walk", "night.latency_s=[0.0]"}},
    };
    bb_plan plan[3];
    for (int k = 0; k < 3; ++k) {
        check_ok(driver_plan(&cases[k], 1, &plan[k]));
    }
    // Of 61 scored samples, the moments and snapshots of 118 to 240 min have 63 profiles. Shrunk
    // profiles have 61 at each age, and 61 at the cadence, which has no age and so equals moments.
    // The mean has one.
    assert_non_null(strstr(bb_text_string(&plan[1].lines),
                           "121 samples of 10 layers, 186 profiles solved, 366 passes of scoring"));
    assert_non_null(strstr(bb_text_string(&plan[2].lines), "none: over 3.0 GB"));
    const double held = 8.0 * 10.0 * (912.0 * 912.0 + 152.0 * 912.0 + 152.0 * 152.0);
    print_message("%.1f MB more for %.1f MB held, %.1f s more\n",
                  1e-6 * (plan[1].host_bytes - plan[0].host_bytes), 1e-6 * held,
                  plan[1].estimated_seconds - plan[0].estimated_seconds);
    assert_true(plan[1].host_bytes - plan[0].host_bytes > 0.8 * held);
    assert_true(plan[1].host_bytes - plan[0].host_bytes < 1.5 * held);
    assert_true(plan[1].estimated_seconds > plan[0].estimated_seconds + 1.0);
    for (int k = 0; k < 3; ++k) {
        bb_plan_release(&plan[k]);
    }
}
