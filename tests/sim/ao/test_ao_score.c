// SPDX-License-Identifier: Apache-2.0
//
// Scores of the ao driver beyond the Strehl ratio of slopes: independent frames, error terms,
// boxes, and whose reconstructor corrects which target.
#include "tests/sim/driver.h"

#define CONFIG(name) BB_SOURCE_DIR "/configs/ao/" name ".yaml"
#define FEW          "pipelines=[{name: reference, arithmetic: dp}, {name: hp2, arithmetic: hp2}]"
#define TWINS        "targets=[{x_arcsec: 3.0, y_arcsec: 1.0}, {x_arcsec: 3.0, y_arcsec: 1.0}]"
#define ALONE        "targets=[{x_arcsec: 3.0, y_arcsec: 1.0}]"

static void check_same(const bb_results *a, const bb_results *b, const char *name)
{
    const bb_dataset *one = driver_dataset(a, name);
    const bb_dataset *two = driver_dataset(b, name);
    assert_int_equal(one->count, two->count);
    assert_memory_equal(one->numbers, two->numbers, (size_t)one->count * sizeof *one->numbers);
}

// Within 3 standard errors at both wavelengths and towards every target: frames are few here, the
// presets have more.
static void check_frames(const char *path, const char *frames)
{
    const driver_case of = {
        path, {"device=cpu", frames, "monte_carlo.pixels_per_subaperture=24"}
    };
    bb_results *results = driver_results(&of);
    const bb_dataset *sigmas = driver_dataset(results, "strehl_monte_carlo_sigmas");
    const bb_dataset *frame = driver_dataset(results, "strehl_monte_carlo");
    const bb_dataset *pairs = driver_dataset(results, "strehl_pairs");
    const bb_dataset *stationary = driver_dataset(results, "strehl_by");
    for (bb_index i = 0; i < sigmas->count; ++i) {
        print_message("Strehl %.4f, by pairs %.4f (%.1f sigma), stationary %.4f\n",
                      frame->numbers[i], pairs->numbers[i], sigmas->numbers[i],
                      stationary->numbers[i]);
        assert_true(fabs(sigmas->numbers[i]) < 3.0);
        assert_true(stationary->numbers[i] < pairs->numbers[i]);
    }
    const bb_dataset *ratio = driver_dataset(results, "structure_ratio");
    const bb_dataset *error = driver_dataset(results, "structure_ratio_error");
    for (bb_index s = 0; s < ratio->count; ++s) {
        assert_true(fabs(ratio->numbers[s] - 1.0) < 0.02 + 3.0 * error->numbers[s]);
    }
    bb_results_destroy(&results);
}

static void frames_agree_with_covariances(void **state)
{
    (void)state;
    check_frames(CONFIG("monte-carlo-asymmetric"), "monte_carlo.frames=40");
    check_frames(CONFIG("monte-carlo-moao"), "monte_carlo.frames=8");
}

// What this mirror leaves, given as the coefficient of the fitting error, makes the whole.
static void the_whole_residual_has_the_fitting_error(void **state)
{
    (void)state;
    const driver_case of = {
        CONFIG("monte-carlo-single"), {"device=cpu", "monte_carlo.frames=40"}
    };
    bb_results *results = driver_results(&of);
    const double coefficient =
        driver_dataset(results, "fitting_coefficient_monte_carlo")->numbers[0];
    const double *sigmas = driver_row(results, "strehl_monte_carlo_whole_sigmas", "reference");
    print_message("fitting coefficient %.3f, whole residual %.1f and %.1f sigma\n", coefficient,
                  sigmas[0], sigmas[1]);
    check_close(coefficient, 0.37, 0.02, 1.0);
    assert_true(fabs(sigmas[0]) < 4.0 && fabs(sigmas[1]) < 4.0);
    bb_results_destroy(&results);
}

static void frames_do_not_depend_on_threads(void **state)
{
    (void)state;
    const driver_case of = {
        CONFIG_AO_SMALL,
        {"monte_carlo.frames=5", "monte_carlo.pixels_per_subaperture=8",
          "monte_carlo.screen_oversize=1.5", "ensquared_mas=[100.0]", "error_terms.fitting=true",
          "error_terms.aliasing=true", FEW}
    };
    driver_check_threads(&of);
    bb_results *results = driver_results(&of);
    driver_check_output_plan(&of, results);
    bb_results_destroy(&results);
}

static void terms_and_boxes_are_off_by_default(void **state)
{
    (void)state;
    const driver_case plain = {CONFIG_AO_SMALL, {FEW}};
    const driver_case boxed = {
        CONFIG_AO_SMALL, {FEW, "ensquared_mas=[50.0, 100.0, 400.0]", "pair_strehl=true"}
    };
    bb_results *a = driver_results(&plain);
    bb_results *b = driver_results(&boxed);
    check_same(a, b, "strehl_by");
    check_same(a, b, "psf");
    assert_null(bb_results_find(a, "results/ensquared_energy"));
    assert_null(bb_results_find(a, "results/strehl_pairs"));
    const bb_dataset *energy = driver_dataset(b, "ensquared_energy");
    assert_int_equal(energy->rank, 4);
    assert_string_equal(energy->axes[3], "ensquared_box");
    for (bb_index i = 0; i < energy->count; i += 3) {
        const double *of = energy->numbers + i;
        assert_true(0.0 < of[0] && of[0] < of[1] && of[1] < of[2] && of[2] < 1.0);
    }
    bb_results_destroy(&a);
    bb_results_destroy(&b);
}

static void every_term_costs(void **state)
{
    (void)state;
    static const char *const terms[] = {"error_terms.fitting=true", "error_terms.aliasing=true",
                                        "error_terms.frame_delay_ms=2.0"};
    const driver_case none = {CONFIG_AO_SMALL, {FEW}};
    const driver_case all = {
        CONFIG_AO_SMALL,
        {FEW, terms[0], terms[1], terms[2], "error_terms.wind_m_per_s=[10.0, 25.0]"}
    };
    bb_results *without = driver_results(&none);
    bb_results *with = driver_results(&all);
    const double best = driver_number(without, "strehl", "reference");
    const double worst = driver_number(with, "strehl", "reference");
    double product = best;
    for (int k = 0; k < 3; ++k) {
        const driver_case one = {
            CONFIG_AO_SMALL, {FEW, terms[k], "error_terms.wind_m_per_s=[10.0, 25.0]"}
        };
        bb_results *results = driver_results(&one);
        const double strehl = driver_number(results, "strehl", "reference");
        print_message("%s: %.4f of %.4f\n", terms[k], strehl, best);
        assert_true(strehl < best && strehl > worst);
        check_same(without, results, "residual_rms_by_nm");
        product *= strehl / best;
        bb_results_destroy(&results);
    }
    // OTFs multiply: so do Strehl ratios, roughly.
    check_relative(worst, product, 0.1);
    bb_results_destroy(&without);
    bb_results_destroy(&with);
}

static void one_target_is_corrected_alike(void **state)
{
    (void)state;
    static const char *const others[] = {"correction=ltao", "correction=glao"};
    static const char *const targets[] = {ALONE, TWINS};
    for (int t = 0; t < 2; ++t) {
        const driver_case moao = {
            CONFIG_AO_SMALL, {FEW, targets[t]}
        };
        bb_results *a = driver_results(&moao);
        for (int k = 0; k < 2; ++k) {
            const driver_case other = {
                CONFIG_AO_SMALL, {FEW, targets[t], others[k]}
            };
            bb_results *b = driver_results(&other);
            check_same(a, b, "strehl_by");
            check_same(a, b, "residual_rms_by_nm");
            bb_results_destroy(&b);
        }
        bb_results_destroy(&a);
    }
}

// Each target's own reconstructor is best there; that of the first is as good for the first; the
// mean of all is between for no one, but evens them out.
static void moao_is_best_for_every_target(void **state)
{
    (void)state;
    static const char *const wide = "targets=[{x_arcsec: 0.0, y_arcsec: 0.0}, {x_arcsec: 40.0, "
                                    "y_arcsec: -30.0}]";
    static const char *const names[] = {"correction=moao", "correction=ltao", "correction=glao"};
    double strehl[3][2];
    for (int k = 0; k < 3; ++k) {
        const driver_case of = {
            CONFIG_AO_SMALL, {FEW, wide, names[k]}
        };
        bb_results *results = driver_results(&of);
        const double *by = driver_row(results, "strehl_by", "reference");
        strehl[k][0] = by[0];
        strehl[k][1] = by[2];
        print_message("%s: %.4f and %.4f\n", names[k], by[0], by[2]);
        bb_results_destroy(&results);
    }
    assert_true(strehl[1][0] == strehl[0][0]);
    assert_true(strehl[1][1] < strehl[0][1]);
    assert_true(strehl[2][0] < strehl[0][0] && strehl[2][1] < strehl[0][1]);
    assert_true(fabs(strehl[2][0] - strehl[2][1]) < fabs(strehl[1][0] - strehl[1][1]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_agree_with_covariances),
        cmocka_unit_test(the_whole_residual_has_the_fitting_error),
        cmocka_unit_test(frames_do_not_depend_on_threads),
        cmocka_unit_test(terms_and_boxes_are_off_by_default),
        cmocka_unit_test(every_term_costs),
        cmocka_unit_test(one_target_is_corrected_alike),
        cmocka_unit_test(moao_is_best_for_every_target),
    };
    return cmocka_run_group_tests(tests, NULL, driver_leave);
}
