// SPDX-License-Identifier: Apache-2.0
//
// Results of an ao run besides the Strehl ratio: seeing parameters, flux and noise of sensors, the
// error budget, the mirror, images, and positions of slopes.
#include "tests/sim/driver.h"

#define ALONE "pipelines=[{name: reference, arithmetic: dp}]"

static double number(const bb_results *results, const char *path)
{
    return dataset_at(results, path)->numbers[0];
}

// Published for ESO's median profile: 0.644 arcsec, 2.30 arcsec, 5.35 ms.
TEST(the_atmosphere_has_its_usual_numbers)
{
    autoptr(bb_results) results = driver_results(
        CASE(CONFIG_AO_SMALL,
             {ALONE, "atmosphere={profile: eso-median, outer_scale_m: 25.0}",
              "telescope.zenith_angle_deg=0.0", "sensors.lenslets=4", "guide_stars.2.lenslets=4"}));
    check_close(number(results, "system/r0_m"), 0.157, 1e-6, 1.0);
    check_close(number(results, "system/seeing_arcsec"), 0.644, 1e-3, 1.0);
    check_close(number(results, "system/theta0_arcsec"), 2.30, 0.01, 1.0);
    check_close(number(results, "system/tau0_ms"), 5.35, 0.03, 1.0);
    bb_results_destroy(&results);
    // Without wind the coherence time is unknown, and the dataset says why.
    results = driver_results(CASE(CONFIG_AO_SMALL, {ALONE}));
    assert_true(isnan(number(results, "system/tau0_ms")));
    assert_non_null(strstr(dataset_at(results, "system/tau0_ms")->long_name, "NaN without either"));
    bb_results_destroy(&results);
    const driver_case wind = {CONFIG_AO_SMALL, {ALONE, "error_terms.wind_m_per_s=[10.0, 10.0]"}};
    results = driver_results(&wind);
    check_relative(number(results, "system/tau0_ms"),
                   1e3 * 0.314 * number(results, "system/r0_m") / 10.0, 1e-12);
}

static void check_says_so_before(const driver_case *study, const char *line)
{
    autorelease(bb_plan) plan = {0};
    check_ok(driver_plan(study, 1, &plan));
    if (strstr(bb_text_string(&plan.lines), line) == NULL) {
        fail_msg("no '%s' in\n%s", line, bb_text_string(&plan.lines));
    }
}

TEST(the_plan_has_them)
{
    const driver_case median = {CONFIG_AO_SMALL,
                                {"atmosphere={profile: eso-median, outer_scale_m: 25.0}",
                                 "telescope.zenith_angle_deg=0.0"}};
    const driver_case calm = {CONFIG_AO_SMALL, {NULL}};
    check_says_so_before(&median, "0.644 arcsec, r0 0.1570 m, theta0 2.30 arcsec");
    check_says_so_before(&median, "5.35 ms");
    check_says_so_before(&calm, "unknown: the layers have no wind");
    check_says_so_before(&calm, "pairs, with fitting");
}

// By hand: F = 10^(2.9 - 0.4 m) T d^2 t B 1e4, var = 0.32 s^2 / F + 0.82 (ron / (F pixel))^2 s^4.
TEST(sensors_have_flux_and_noise)
{
    autoptr(bb_results) results = driver_results(CASE(CONFIG_AO_SMALL, {ALONE}));
    const double size = 8.0 / 5.0;
    const double flux = pow(10.0, 2.9 - 0.4 * 12.5) * 0.425 * size * size * 4e-3 * 3300.0 * 1e4;
    check_relative(dataset_at(results, "system/flux_e")->numbers[2], flux, 1e-12);
    const double seeing =
        500e-9 / number(results, "system/r0_m") * pow(500.0 / 650.0, 0.2) * 180.0 / M_PI * 3600.0;
    const double read = 0.82 * pow(3.0 / (flux * 0.3), 2.0);
    const double variance = 0.32 * seeing * seeing / flux + read * pow(seeing, 4.0);
    check_relative(dataset_at(results, "system/slope_noise_mas")->numbers[2], 1e3 * sqrt(variance),
                   1e-9);
}

// Independent check values: 100 actuators, 5 dropped modes. The squares of the parts sum up.
TEST(the_budget_adds_up)
{
    enum { CROSS = 5, TOTAL };
    static const char *const scores[] = {"score=pairs", "score=stationary", "score=pairs"};
    for (int k = 0; k < 3; ++k) {
        const bool exact = k == 2;
        autoptr(bb_results) results = driver_results(
            CASE(CONFIG_NX456,
                 {"device=cpu", ALONE, scores[k],
                  exact ? "error_terms.fitting=true" : "error_terms.fitting=false",
                  "error_terms.frame_delay_ms=2.0", "error_terms.wind_m_per_s=[8.0, 20.0]"}));
        assert_true(driver_dataset(results, "actuators")->numbers[0] == 100.0);
        assert_true(driver_dataset(results, "dropped_modes")->numbers[0] == 5.0);
        const double *budget = driver_dataset(results, "error_budget_nm")->numbers;
        double sum = 0.0;
        for (int term = 0; term < TOTAL; ++term) {
            sum += budget[term] * fabs(budget[term]);
        }
        print_message("%s: tomography %.1f, noise %.2f, lag %.2f, total %.1f nm\n", scores[k],
                      budget[0], budget[1], budget[4], budget[TOTAL]);
        check_relative(sum, budget[TOTAL] * budget[TOTAL], 1e-12);
        assert_true(budget[0] > 50.0 && budget[1] > 1.0 && budget[4] > 1.0);
        assert_true(budget[3] == 0.0 && (budget[2] > 0.0) == exact); // aliasing is off
        assert_true((budget[CROSS] != 0.0) == exact);
        assert_true(budget[TOTAL] == driver_number(results, "residual_rms_nm", "reference"));
    }
}

// The smallest image of an 8 m telescope is slightly wider than lambda / D.
TEST(images_of_every_target_and_wavelength)
{
    enum { EDGE = 128 };
    const driver_case all = {CONFIG_AO_SMALL, {ALONE, "images=all"}};
    autoptr(bb_results) a = driver_results(CASE(CONFIG_AO_SMALL, {ALONE}));
    autoptr(bb_results) b = driver_results(&all);
    assert_null(bb_results_find(a, "results/psf_target_0"));
    const bb_dataset *one = driver_dataset(a, "psf");
    const bb_dataset *images[2] = {dataset_at(b, "results/psf_target_0"),
                                   dataset_at(b, "results/psf_target_1")};
    assert_int_equal(images[0]->count, 2 * one->count);
    assert_memory_equal(one->numbers, images[0]->numbers, (size_t)one->count * sizeof(double));
    const double *values = driver_row(b, "strehl_by", "reference");
    const double *width = driver_row(b, "fwhm_by_mas", "reference");
    for (int i = 0; i < 4; ++i) {
        const double *image = images[i / 2]->numbers + i % 2 * EDGE * EDGE;
        const double limit = (i % 2 == 0 ? 1.65e-6 : 2.2e-6) / 8.0 * 180.0 / M_PI * 3600.0e3;
        check_relative(image[EDGE / 2 * EDGE + EDGE / 2], values[i], 1e-11);
        assert_true(width[i] > 0.98 * limit && width[i] < 1.2 * limit);
    }
    driver_check_output_plan(&all, b);
}

TEST(dumped_operators_have_coordinates)
{
    const driver_case study = {CONFIG_AO_SMALL, {ALONE}};
    const bb_run_options options = {.threads = 1, .dump = "Cmm,Ctm"};
    autoptr(bb_config) config = driver_config(&study);
    autoptr(bb_results) results = empty_results();
    check_ok(bb_threads_set(1));
    const bb_experiment *experiment =
        bb_experiment_find(&bb_experiments, bb_config_schema(config)->name);
    check_ok(experiment->run(bb_config_study(config), &options, results));
    const bb_dataset *star = dataset_at(results, "slopes/star");
    const bb_dataset *axis = dataset_at(results, "slopes/axis");
    const bb_dataset *x = dataset_at(results, "slopes/x_m");
    const bb_dataset *y = dataset_at(results, "slopes/y_m");
    const bb_dataset *count = dataset_at(results, "system/subapertures");
    bb_index k = 0;
    for (int s = 0; s < 3; ++s) {
        const bb_index half = (bb_index)count->numbers[s];
        for (bb_index i = 0; i < 2 * half; ++i, ++k) {
            assert_true(star->numbers[k] == s);
            assert_string_equal(axis->texts[k], i < half ? "x" : "y");
            assert_true(hypot(x->numbers[k], y->numbers[k]) < 4.0);
        }
    }
    assert_int_equal(k, star->count);
    // Row by row, x fastest, from the most negative: 6 lenslets of 4/3 m, without corners.
    check_close(x->numbers[0], -2.0, 1e-12, 1.0);
    check_close(y->numbers[0], -10.0 / 3.0, 1e-12, 1.0);
    check_close(x->numbers[1], -2.0 / 3.0, 1e-12, 1.0);
    assert_int_equal(dataset_at(results, "truth_slopes_1/axis")->count, 64);
    bb_results_destroy(&results);
    results = driver_results(&study);
    assert_null(bb_results_find(results, "slopes/star"));
}

static bb_results *dump_reconstructors(const driver_case *study)
{
    const bb_run_options options = {.threads = 1, .dump = "R"};
    autoptr(bb_config) config = driver_config(study);
    bb_results *results = empty_results();
    const bb_experiment *experiment = bb_experiment_find(&bb_experiments, "ao");
    check_ok(bb_threads_set(1));
    check_ok(experiment->run(bb_config_study(config), &options, results));
    driver_check_declared(experiment, results);
    return results;
}

// Actuators [*k, ...) are the corners of 6 lenslets of 4/3 m selected by the rule of
// deformable_mirror.h, row by row, x fastest.
static void check_corners(const bb_results *results, bb_index *k)
{
    for (int j = 0; j <= 6; ++j) {
        for (int i = 0; i <= 6; ++i) {
            const double radius = hypot(i - 3, j - 3) / 3.0;
            if (radius <= 0.14 - 1.0 / 6.0 || radius >= 1.0 + 1.4 / 6.0) {
                continue;
            }
            check_close(dataset_at(results, "actuators_0/x_m")->numbers[*k], 4.0 / 3.0 * (i - 3),
                        1e-12, 1.0);
            check_close(dataset_at(results, "actuators_0/y_m")->numbers[*k], 4.0 / 3.0 * (j - 3),
                        1e-12, 1.0);
            assert_true(dataset_at(results, "actuators_0/mirror")->numbers[*k] == 0.0);
            assert_true(dataset_at(results, "actuators_0/height_m")->numbers[*k] == 0.0);
            ++*k;
        }
    }
}

TEST(dumped_commands_have_actuators)
{
    bb_index k = 0;
    autoptr(bb_results) results = dump_reconstructors(CASE(
        CONFIG_AO_SMALL, {"pipelines=[{name: reference, arithmetic: dp}, {name: rtc, arithmetic: "
                          "dp, operator: commands, storage: {codec: integer, bits: 12, rounding: "
                          "sweep}}]"}));
    check_corners(results, &k);
    assert_int_equal(k, dataset_at(results, "actuators_0/actuator")->count);
    assert_int_equal(dataset_at(results, "actuators_1/actuator")->count, k);
    assert_int_equal(dataset_at(results, "truth_slopes_0/slope")->count, 64);
    for (bb_index i = 0; i < bb_results_operator_count(results); ++i) {
        const bb_operator *r = bb_results_operator_at(results, i);
        const bool commands = strncmp(r->name, "R_1", 3) == 0;
        assert_string_equal(r->source->unit, commands ? "V/arcsec" : "1");
        assert_int_equal(r->source->rows, commands ? k : 64);
        assert_memory_equal(r->metadata.rows, commands ? "/actuators_" : "/truth_slopes_", 11);
        assert_string_equal(strrchr(r->metadata.rows, '_'), strrchr(r->name, '_'));
    }
    bb_results_destroy(&results);
    // Two mirrors, the second on a grid of 1.5 m.
    results = dump_reconstructors(
        CASE(CONFIG_AO_SMALL, {ALONE, "correction=mcao",
                               "mirrors=[{height_m: 0.0}, {height_m: 6000.0, pitch_m: 1.5}]"}));
    k = 0;
    check_corners(results, &k);
    const bb_index count = dataset_at(results, "actuators_0/actuator")->count;
    assert_true(count == bb_results_operator_at(results, 0)->source->rows && count > k);
    assert_non_null(strstr(bb_results_operator_at(results, 0)->long_name, "all targets"));
    for (; k < count; ++k) {
        const double steps = dataset_at(results, "actuators_0/x_m")->numbers[k] / 1.5;
        assert_true(dataset_at(results, "actuators_0/mirror")->numbers[k] == 1.0);
        assert_true(dataset_at(results, "actuators_0/height_m")->numbers[k] ==
                    dataset_at(results, "results/mirror_height_m")->numbers[1]);
        assert_true(steps == round(steps));
    }
    assert_null(bb_results_find(results, "actuators_1/actuator"));
}
