// SPDX-License-Identifier: Apache-2.0
//
// Scores of the ao driver other than the Strehl ratio of slopes: independent frames, error terms,
// boxes, and the assignment of reconstructors to targets.
#include "tests/sim/driver.h"

#define CONFIG(name)   BB_SOURCE_DIR "/configs/ao/" name ".yaml"
#define FEW            "pipelines=[{name: reference, arithmetic: dp}, {name: hp2, arithmetic: hp2}]"
#define CONFIG_TIME    BB_SOURCE_DIR "/tests/configs/small/time.yaml"
#define ALONE_PIPELINE "pipelines=[{name: reference, arithmetic: dp}]"
#define TWINS          "targets=[{x_arcsec: 3.0, y_arcsec: 1.0}, {x_arcsec: 3.0, y_arcsec: 1.0}]"
#define ALONE          "targets=[{x_arcsec: 3.0, y_arcsec: 1.0}]"

// Except for the order of sums: the part shared by several targets is multiplied with Cmm once.
static void check_same(const bb_results *a, const bb_results *b, const char *name)
{
    const bb_dataset *one = driver_dataset(a, name);
    const bb_dataset *two = driver_dataset(b, name);
    assert_int_equal(one->count, two->count);
    check_all_close(one->numbers, two->numbers, one->count, 1e-12, 1.0);
}

// Within 3 standard errors at both wavelengths and for every target; the presets have more frames.
static void check_frames(const char *path, const char *frames)
{
    autoptr(bb_results) results =
        driver_results(CASE(path, {"device=cpu", frames, "monte_carlo.pixels_per_subaperture=24"}));
    const bb_dataset *sigmas = driver_dataset(results, "strehl_monte_carlo_sigmas");
    const bb_dataset *frame = driver_dataset(results, "strehl_monte_carlo");
    const bb_dataset *pairs = driver_dataset(results, "strehl_pairs");
    const bb_dataset *stationary = driver_dataset(results, "strehl_stationary");
    const bb_dataset *dataset = driver_dataset(results, "strehl_pairs_whole");
    const bb_dataset *frames_whole = driver_dataset(results, "strehl_monte_carlo_whole");
    const bb_dataset *error = driver_dataset(results, "strehl_monte_carlo_whole_error");
    const bb_dataset *headline = driver_dataset(results, "strehl_by");
    for (bb_index i = 0; i < sigmas->count; ++i) {
        print_message(
            "Strehl %.4f, by pairs %.4f (%.1f sigma); with fitting %.4f +- %.4f, by pairs "
            "%.4f, stationary %.4f\n",
            frame->numbers[i], pairs->numbers[i], sigmas->numbers[i], frames_whole->numbers[i],
            error->numbers[i], dataset->numbers[i], stationary->numbers[i]);
        assert_true(fabs(sigmas->numbers[i]) < 3.0);
        assert_true(headline->numbers[i] == dataset->numbers[i]);
        assert_true(stationary->numbers[i] < pairs->numbers[i]);
        check_close(frames_whole->numbers[i], dataset->numbers[i], 3.0 * error->numbers[i], 1.0);
    }
    const bb_dataset *ratio = driver_dataset(results, "structure_ratio");
    const bb_dataset *ratio_error = driver_dataset(results, "structure_ratio_error");
    for (bb_index s = 0; s < ratio->count; ++s) {
        assert_true(fabs(ratio->numbers[s] - 1.0) < 0.02 + 3.0 * ratio_error->numbers[s]);
    }
}

TEST_FULL(frames_agree_with_covariances)
{
    check_frames(CONFIG("monte-carlo-asymmetric"), "monte_carlo.frames=40");
    check_frames(CONFIG("monte-carlo-moao"), "monte_carlo.frames=8");
}

static const char *const three_stars =
    "guide_stars=[{kind: ngs, x_arcsec: 16.0, y_arcsec: -6.0, magnitude: 10.0}, "
    "{kind: ngs, x_arcsec: -22.0, y_arcsec: 8.0, magnitude: 10.0}, "
    "{kind: ngs, x_arcsec: 2.0, y_arcsec: 25.0, magnitude: 10.0}]";

// Three natural stars with a 4 m telescope of 5 lenslets. A truth sensor that measures turbulence
// beyond the mirror's modes, together with a fitting error, gives an error of 0.1 here, and of 0.07
// in the other direction elsewhere.
TEST_FULL(the_whole_residual_is_that_of_frames)
{
    const driver_case study = {CONFIG("monte-carlo-single"),
                               {"telescope.diameter_m=4.0", "sensors.lenslets=5",
                                "wavelengths_um=[1.65]", three_stars, "ensquared_mas=[100.0]",
                                "monte_carlo.frames=100", "monte_carlo.pixels_per_subaperture=24"}};
    autoptr(bb_results) results = driver_results(&study);
    const double total = driver_number(results, "strehl", "reference");
    const double frames = driver_dataset(results, "strehl_monte_carlo_whole")->numbers[0];
    const double error = driver_dataset(results, "strehl_monte_carlo_whole_error")->numbers[0];
    const double sigmas = driver_dataset(results, "strehl_monte_carlo_sigmas")->numbers[0];
    const double coefficient =
        driver_dataset(results, "fitting_coefficient_monte_carlo")->numbers[0];
    print_message("whole residual %.4f +- %.4f, by pairs %.4f; correctable %.1f sigma; fitting "
                  "coefficient %.3f\n",
                  frames, error, total, sigmas, coefficient);
    assert_true(fabs(sigmas) < 3.0);
    check_close(frames, total, 3.0 * error, 1.0);
    assert_true(error < 0.01);
    // 0.2740 beyond the cutoff, plus the part that influence functions cannot correct below it.
    check_close(coefficient, 0.31, 0.02, 1.0);
}

// Whole residuals by numpy, with covariances of phase and slopes on combs of 41 to 61 points, and
// the corresponding sum of independent terms. 1500 and 3000 frames give 0.4696(15) and 0.4459(12)
// for the first two; 60 skies at 6 ms 0.5417(48). One sensor of the second averages its gradients
// unless told otherwise.
TEST(strehl_ratios_are_of_the_whole_residual)
{
    static const struct {
        const char *path, *delay;
        double whole, independent;
    } cases[] = {
        {CONFIG("monte-carlo-single"), "seed=1", 0.46758, 0.47964},
        {CONFIG("monte-carlo-asymmetric"), "sensors.slope_model=point_difference", 0.44304, NAN},
        {CONFIG_TIME, "error_terms.frame_delay_ms=6.0", 0.54075, 0.56101},
        {CONFIG_TIME, "error_terms.frame_delay_ms=2.0", 0.58280, NAN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        for (int k = 0; k < (isnan(cases[i].independent) ? 1 : 2); ++k) {
            autoptr(bb_results) results = driver_results(
                CASE(cases[i].path, {"device=cpu", "monte_carlo.frames=0", "time_domain.frames=0",
                                     ALONE_PIPELINE, cases[i].delay,
                                     k == 0 ? "error_terms.combination=exact"
                                            : "error_terms.combination=independent"}));
            const double strehl = driver_number(results, "strehl", "reference");
            check_close(strehl, k == 0 ? cases[i].whole : cases[i].independent, 3e-4, 1.0);
            assert_string_equal(bb_results_note_text(results, "results/strehl", "definition"),
                                k == 0 ? "whole residual"
                                       : "correctable residual and independent error terms");
        }
    }
}

// By numpy on a comb of 71 points, whose value is still 1e-4 above that of 61.
TEST(the_least_variance_has_a_strehl_ratio_of_its_own)
{
    autoptr(bb_results) results =
        driver_results(CASE(CONFIG("monte-carlo-single"), {"device=cpu", "monte_carlo.frames=0",
                                                           "error_terms.minimum_variance=true"}));
    const double best = driver_dataset(results, "strehl_minimum_variance")->numbers[0];
    check_close(best, 0.5076, 3e-4, 1.0);
    assert_true(best > driver_number(results, "strehl", "reference") + 0.03);
}

TEST(frames_do_not_depend_on_threads)
{
    const driver_case study = {CONFIG_AO_SMALL,
                               {"monte_carlo.frames=5", "monte_carlo.pixels_per_subaperture=8",
                                "monte_carlo.screen_oversize=1.5", "ensquared_mas=[100.0]", FEW}};
    driver_check_threads(&study);
    autoptr(bb_results) results = driver_results(&study);
    driver_check_output_plan(&study, results);
}

TEST(boxes_are_off_by_default)
{
    const driver_case boxed = {CONFIG_AO_SMALL, {FEW, "ensquared_mas=[50.0, 100.0, 400.0]"}};
    autoptr(bb_results) a = driver_results(CASE(CONFIG_AO_SMALL, {FEW}));
    autoptr(bb_results) b = driver_results(&boxed);
    check_same(a, b, "strehl_by");
    check_same(a, b, "psf");
    assert_null(bb_results_find(a, "results/ensquared_energy"));
    assert_null(bb_results_find(a, "results/strehl_pairs"));
    const bb_dataset *energy = driver_dataset(b, "ensquared_energy");
    assert_int_equal(energy->rank, 4);
    assert_string_equal(energy->axes[3], "ensquared_box");
    for (bb_index i = 0; i < energy->count; i += 3) {
        const double *values = energy->numbers + i;
        assert_true(0.0 < values[0] && values[0] < values[1] && values[1] < values[2] &&
                    values[2] < 1.0);
    }
}

// The residual is consistent with the Strehl ratio: Marechal's exp(-sigma^2) is near, and every
// term raises the one and lowers the other, with either score.
static void check_terms(const char *score)
{
    static const char *const terms[] = {"error_terms={fitting: true, frame_delay_ms: 0.0}",
                                        "error_terms={fitting: false, aliasing: true}",
                                        ("error_terms={fitting: false, frame_delay_ms: 2.0, "
                                         "wind_m_per_s: [10.0, 25.0]}")};
    const driver_case none = {CONFIG_AO_SMALL, {FEW, score, "error_terms.fitting=false"}};
    autoptr(bb_results) without = driver_results(&none);
    const double best = driver_number(without, "strehl", "reference");
    const double minimum = driver_number(without, "residual_rms_nm", "reference");
    for (int k = -1; k < 3; ++k) {
        autoptr(bb_results) results = driver_results(
            CASE(CONFIG_AO_SMALL, {FEW, score, k < 0 ? "error_terms.fitting=false" : terms[k]}));
        const double strehl = driver_number(results, "strehl", "reference");
        const double residual = driver_number(results, "residual_rms_nm", "reference");
        const double wavenumber = 2.0 * M_PI / 1650.0;
        const double expected = exp(-wavenumber * wavenumber * residual * residual);
        const char *note = bb_results_note_text(results, "", "loss_note");
        print_message("%s, %s: %.4f at %.1f nm, Marechal %.4f\n  %s\n", score,
                      k < 0 ? "slopes alone" : terms[k], strehl, residual, expected, note);
        check_close(strehl, expected, 0.05, 1.0);
        assert_true(k < 0 || (strehl < best && residual > minimum));
        assert_true((strstr(note, "without fitting") == NULL) == (k == 0));
    }
}

TEST_FULL(the_residual_belongs_to_the_strehl_ratio)
{
    check_terms("score=pairs");
    check_terms("score=stationary");
}

// Fewer lenslets correct less: two across 8 m are no better than four.
TEST(more_lenslets_are_no_worse)
{
    static const char *const lenslets[] = {"sensors.lenslets=2", "sensors.lenslets=4",
                                           "sensors.lenslets=6"};
    double strehl[3];
    double residual[3];
    for (int k = 0; k < 3; ++k) {
        autoptr(bb_results) results =
            driver_results(CASE(CONFIG_AO_SMALL, {FEW, lenslets[k], "guide_stars.2.lenslets=4",
                                                  "telescope.obstruction=0.0"}));
        strehl[k] = driver_number(results, "strehl", "reference");
        residual[k] = driver_number(results, "residual_rms_nm", "reference");
        print_message("%s: %.4f, %.0f nm\n", lenslets[k], strehl[k], residual[k]);
        assert_true(k == 0 || (strehl[k] > strehl[k - 1] && residual[k] < residual[k - 1]));
    }
}

TEST_FULL(one_target_is_corrected_alike)
{
    static const char *const others[] = {"correction=ltao", "correction=glao"};
    static const char *const targets[] = {ALONE, TWINS};
    for (int t = 0; t < 2; ++t) {
        autoptr(bb_results) a = driver_results(CASE(CONFIG_AO_SMALL, {FEW, targets[t]}));
        for (int k = 0; k < 2; ++k) {
            const driver_case other = {CONFIG_AO_SMALL, {FEW, targets[t], others[k]}};
            autoptr(bb_results) b = driver_results(&other);
            check_same(a, b, "strehl_by");
            check_same(a, b, "residual_rms_by_nm");
        }
    }
}

// Each target's own reconstructor is best for it; that of the first is as good for the first; the
// mean of all lies in between and evens out the targets.
TEST(moao_is_best_for_every_target)
{
    static const char *const wide = "targets=[{x_arcsec: 0.0, y_arcsec: 0.0}, {x_arcsec: 40.0, "
                                    "y_arcsec: -30.0}]";
    static const char *const names[] = {"correction=moao", "correction=ltao", "correction=glao"};
    double strehl[3][2];
    for (int k = 0; k < 3; ++k) {
        autoptr(bb_results) results = driver_results(CASE(CONFIG_AO_SMALL, {FEW, wide, names[k]}));
        const double *values = driver_row(results, "strehl_by", "reference");
        strehl[k][0] = values[0];
        strehl[k][1] = values[2];
        print_message("%s: %.4f and %.4f\n", names[k], values[0], values[2]);
    }
    check_relative(strehl[1][0], strehl[0][0], 1e-12); // R Cmm R^T of the target, for all targets
    assert_true(strehl[1][1] < strehl[0][1]);
    assert_true(strehl[2][0] < strehl[0][0] && strehl[2][1] < strehl[0][1]);
    assert_true(fabs(strehl[2][0] - strehl[2][1]) < fabs(strehl[1][0] - strehl[1][1]));
}
