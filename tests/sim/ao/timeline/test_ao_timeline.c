// SPDX-License-Identifier: Apache-2.0
//
// Controller in time through the whole driver, with three corrections, against the analytic score
// with its delay; commands of closed and open loops; refused settings.
#include "physics/ao/frames/frame_score.h"
#include "tests/sim/driver.h"

#define CONFIG BB_SOURCE_DIR "/tests/configs/small/time.yaml"
#define ALONE  "pipelines=[{name: reference, arithmetic: dp}]"
#define QUICK  "time_domain.realisations=3"
// Three frames of delay in a closed loop; the first scored frame is the fifth.
#define CLOSED "time_domain.loop=closed", "time_domain.rate_hz=500.0", "time_domain.settle_frames=4"

enum { DIRECTIONS = 2, PIPELINES = 3, COUNT = PIPELINES * DIRECTIONS };

static bb_results *run(const char *const *overrides, bb_index threads)
{
    driver_case study = {.path = CONFIG};
    bb_results *results = NULL;
    for (int i = 0; overrides[i] != NULL; ++i) {
        study.overrides[i] = overrides[i];
    }
    autoptr(bb_config) config = driver_config(&study);
    check_ok(driver_run_loaded(config, threads, &results));
    return results;
}

static const double *numbers(const bb_results *results, const char *name)
{
    return driver_dataset(results, name)->numbers;
}

// For every pipeline and target, the correctable residual is compared with the covariance of slopes
// with delayed truth, and the whole one with the exact whole residual. Neither is approximated, so
// only sampling errors remain. Independent terms are 0.010 to 0.020 higher (physics-ao.md, 3.11).
static void check_interval(const bb_results *results, bb_index realisations)
{
    const double *mean = numbers(results, "strehl_time_domain");
    const double *error = numbers(results, "strehl_time_domain_error");
    const double *sigmas = numbers(results, "strehl_time_domain_sigmas");
    const double *delayed = numbers(results, "strehl_pairs_delayed");
    const double *instant = numbers(results, "strehl_pairs");
    const double *loss = numbers(results, "strehl_time_domain_loss");
    const double *loss_error = numbers(results, "strehl_time_domain_loss_error");
    const double *whole_mean = numbers(results, "strehl_time_domain_whole");
    const double *whole_error = numbers(results, "strehl_time_domain_whole_error");
    const double *analytic = numbers(results, "strehl_pairs_whole");
    for (bb_index i = 0; i < COUNT; ++i) {
        print_message("%td: in time %.4f +- %.4f, by pairs %.4f (%.1f sigma), without delay %.4f; "
                      "whole %.4f +- %.4f, with terms %.4f\n",
                      i, mean[i], error[i], delayed[i], sigmas[i], instant[i], whole_mean[i],
                      whole_error[i], analytic[i]);
        assert_true(fabs(sigmas[i]) < 3.0);
        check_close(
            sigmas[i],
            bb_frame_mean_sigmas(&(bb_frame_mean){mean[i], error[i]}, delayed[i], realisations),
            1e-9, 1.0);
        assert_true(error[i] > 0.0 && error[i] < 0.03);
        assert_true(delayed[i] < instant[i] - 0.015);
        check_close(whole_mean[i], analytic[i], 3.0 * whole_error[i], 1.0);
        assert_true(whole_mean[i] < mean[i]);
    }
    // On the same skies the stored matrix loses as much as its covariance predicts: almost nothing
    // with eight bits in the sweep, and much with five to nearest.
    for (bb_index i = DIRECTIONS; i < COUNT; ++i) {
        print_message("%td: loses %.5f +- %.5f, by pairs %.5f\n", i, loss[i], loss_error[i],
                      delayed[i % DIRECTIONS] - delayed[i]);
        check_close(loss[i], delayed[i % DIRECTIONS] - delayed[i], 3.0 * loss_error[i], 1.0);
        assert_true(loss_error[i] > 0.0);
        if (i < 2 * DIRECTIONS) {
            assert_true(fabs(loss[i]) < 3e-3 && loss_error[i] < 0.2 * error[i]);
        } else {
            assert_true(loss[i] > 3.0 * loss_error[i]);
        }
    }
}

TEST_FULL(moao_in_open_loop)
{
    static const char *const overrides[] = {NULL};
    autoptr(bb_results) results = run(overrides, 2);
    check_interval(results, 64);
    // 1.65 um for the first target: six sigma from the value without delay.
    assert_true(numbers(results, "strehl_pairs")[0] - numbers(results, "strehl_time_domain")[0] >
                4.0 * numbers(results, "strehl_time_domain_error")[0]);
    assert_true(numbers(results, "time_domain_delay_ms")[0] == 6.0);
    check_relative(numbers(results, "layer_wind_x_m_per_s")[1],
                   18.0 * cos(137.50776405003785 * M_PI / 180.0), 1e-14);
    check_relative(numbers(results, "layer_wind_y_m_per_s")[1],
                   18.0 * sin(137.50776405003785 * M_PI / 180.0), 1e-14);
}

TEST_FULL(glao_in_closed_loop)
{
    static const char *const overrides[] = {"correction=glao", CLOSED,
                                            "time_domain.realisations=40", NULL};
    autoptr(bb_results) results = run(overrides, 2);
    check_interval(results, 40);
}

TEST_FULL(mcao_in_closed_loop)
{
    static const char *const overrides[] = {
        "correction=mcao",
        "mirrors=[{height_m: 0.0}, {height_m: 6000.0, pitch_m: 1.0}]",
        "mirrors_condition=60.0",
        CLOSED,
        "time_domain.realisations=40",
        NULL};
    autoptr(bb_results) results = run(overrides, 2);
    check_interval(results, 40);
}

// Commands of one mirror including dropped modes, and slopes of few bits whose products are summed
// in fp16, with and without filtered means.
TEST_FULL(stored_commands_and_narrow_products)
{
    static const char *const commands =
        "{name: commands, arithmetic: dp, operator: commands, storage: {codec: integer, bits: 8, "
        "rounding: sweep}}";
    static const char *const narrow[] = {"filter: means, slopes: {bits: 4}", "slopes: {bits: 6}"};
    for (int k = 0; k < 2; ++k) {
        char pipelines[512];
        (void)snprintf(pipelines, sizeof pipelines,
                       "pipelines=[{name: reference, arithmetic: dp}, %s, {name: narrow, "
                       "arithmetic: dp, %s, storage: fp16, accumulate: fp16, accumulate_run: 16, "
                       "multiply: fp16}]",
                       commands, narrow[k]);
        const char *const open[] = {pipelines, NULL};
        const char *const closed[] = {pipelines, "correction=glao", CLOSED,
                                      "time_domain.realisations=40", NULL};
        autoptr(bb_results) results = run(k == 0 ? open : closed, 2);
        check_interval(results, k == 0 ? 64 : 40);
    }
}

// For any gain and exposure: the controller adds back the mirrors' correction.
TEST_FULL(closed_and_open_loops_score_alike)
{
    static const char *const kinds[][2] = {
        {"correction=ltao", "targets=[{x_arcsec: 6.0, y_arcsec: -4.0}]"},
        {"correction=mcao", "mirrors=[{height_m: 0.0}, {height_m: 6000.0, pitch_m: 1.0}]"}};
    static const char *const gains[] = {"time_domain.gain=1.0", "time_domain.gain=0.4"};
    for (int k = 0; k < 4; ++k) {
        const char *const closed[] = {
            kinds[k / 2][0], kinds[k / 2][1], gains[k % 2], "time_domain.exposure_ms=1.5",
            CLOSED,          QUICK,           NULL};
        const char *const open[] = {kinds[k / 2][0],
                                    kinds[k / 2][1],
                                    gains[k % 2],
                                    ALONE,
                                    "time_domain.exposure_ms=1.5",
                                    CLOSED,
                                    QUICK,
                                    "time_domain.loop=open",
                                    NULL};
        autoptr(bb_results) a = run(closed, 1);
        autoptr(bb_results) b = run(open, 1);
        const bb_dataset *dataset = driver_dataset(a, "strehl_time_domain_whole");
        for (bb_index i = 0; i < (k < 2 ? 1 : DIRECTIONS); ++i) {
            check_relative(dataset->numbers[i], numbers(b, "strehl_time_domain_whole")[i], 1e-12);
        }
        // The analytic score models the integrator, not the loop.
        assert_true(isfinite(numbers(a, "strehl_time_domain_whole_sigmas")[0]));
        check_relative(numbers(a, "strehl_pairs_delayed")[0], numbers(b, "strehl_pairs_delayed")[0],
                       1e-12);
        check_relative(numbers(a, "strehl_whole_delayed")[0], numbers(b, "strehl_whole_delayed")[0],
                       1e-12);
    }
}

// By numpy with lagged covariances, slopes of 27 frames at 250 Hz, on a comb of 31 points. Fewer
// settling frames use fewer slopes: none is equivalent to a gain of 1.
TEST(a_gain_is_a_sum_over_frames)
{
    static const char *const settled[] = {ALONE,
                                          "time_domain.gain=0.4",
                                          "time_domain.rate_hz=250.0",
                                          "time_domain.delay_ms=4.0",
                                          "time_domain.settle_frames=40",
                                          QUICK,
                                          NULL};
    static const char *const started[] = {ALONE,
                                          "time_domain.gain=0.4",
                                          "time_domain.rate_hz=250.0",
                                          "time_domain.delay_ms=4.0",
                                          "time_domain.settle_frames=0",
                                          QUICK,
                                          NULL};
    static const char *const direct[] = {ALONE,
                                         "time_domain.gain=1.0",
                                         "time_domain.rate_hz=250.0",
                                         "time_domain.delay_ms=4.0",
                                         QUICK,
                                         NULL};
    static const double correctable[] = {0.70057, 0.65282};
    static const double whole[] = {0.49460, 0.46198};
    autoptr(bb_results) a = run(settled, 1);
    autoptr(bb_results) b = run(started, 1);
    autoptr(bb_results) c = run(direct, 1);
    for (int t = 0; t < DIRECTIONS; ++t) {
        check_close(numbers(a, "strehl_pairs_delayed")[t], correctable[t], 5e-4, 1.0);
        check_close(numbers(a, "strehl_whole_delayed")[t], whole[t], 3e-4, 1.0);
        check_relative(numbers(b, "strehl_whole_delayed")[t], numbers(c, "strehl_whole_delayed")[t],
                       1e-12);
    }
}

// An exposure of a whole frame smears a small part of a pupil; another delay is another score.
TEST_FULL(times_count)
{
    static const char *const instant[] = {ALONE, QUICK, NULL};
    static const char *const smeared[] = {ALONE, QUICK, "time_domain.exposure_ms=8.0", NULL};
    static const char *const late[] = {ALONE, QUICK, "time_domain.delay_ms=12.0", NULL};
    autoptr(bb_results) a = run(instant, 1);
    autoptr(bb_results) b = run(smeared, 1);
    autoptr(bb_results) c = run(late, 1);
    const double *residual = numbers(a, "residual_rms_time_domain_nm");
    assert_true(numbers(b, "residual_rms_time_domain_nm")[0] != residual[0]);
    check_relative(numbers(b, "residual_rms_time_domain_nm")[0], residual[0], 0.1);
    assert_true(numbers(c, "residual_rms_time_domain_nm")[0] > 1.1 * residual[0]);
    assert_true(numbers(c, "strehl_pairs_delayed")[0] < numbers(a, "strehl_pairs_delayed")[0]);
    assert_true(numbers(c, "strehl_whole_delayed")[0] < numbers(a, "strehl_whole_delayed")[0]);
    check_relative(numbers(a, "strehl_whole_delayed")[0], numbers(a, "strehl_pairs_whole")[0],
                   1e-12);
}

// With a single layer at height h, a delay is equivalent to a direction. The correction of the
// first target scores after the delay as it does now in the upwind direction, minus wind times
// delay over h, and not downwind.
TEST(a_delay_is_a_direction_upwind)
{
    const double height = 8000.0;
    const double angle = 20.0 * 0.02 / height * 180.0 * 3600.0 / M_PI; // arcsec
    const double x = angle * cos(35.0 * M_PI / 180.0);
    const double y = angle * sin(35.0 * M_PI / 180.0);
    char targets[256];
    (void)snprintf(targets, sizeof targets,
                   "targets=[{x_arcsec: 6.0, y_arcsec: -4.0}, {x_arcsec: %.12f, y_arcsec: %.12f}, "
                   "{x_arcsec: %.12f, y_arcsec: %.12f}]",
                   6.0 - x, -4.0 - y, 6.0 + x, -4.0 + y);
    const char *const overrides[] = {ALONE,
                                     QUICK,
                                     "correction=ltao",
                                     "telescope.zenith_angle_deg=0.0",
                                     "atmosphere.layers=[{height_m: 8000.0, strength: 1.0}]",
                                     "error_terms={frame_delay_ms: 20.0, wind_m_per_s: [20.0]}",
                                     "time_domain.wind_direction_deg=[35.0]",
                                     targets,
                                     NULL};
    autoptr(bb_results) results = run(overrides, 2);
    const double *pairs = numbers(results, "strehl_pairs");
    const double delayed = numbers(results, "strehl_pairs_delayed")[0];
    print_message("delayed %.6f; now %.6f, upwind %.6f, downwind %.6f\n", delayed, pairs[0],
                  pairs[1], pairs[2]);
    check_relative(delayed, pairs[1], 1e-8);
    assert_true(fabs(pairs[2] - pairs[1]) > 5e-4 && delayed < pairs[0] - 0.01);
}

TEST_FULL(threads_change_nothing)
{
    static const char *const overrides[] = {"correction=ltao", CLOSED, QUICK, NULL};
    autoptr(bb_results) one = run(overrides, 1);
    autoptr(bb_results) two = run(overrides, 2);
    const size_t bytes = COUNT * sizeof(double);
    assert_memory_equal(numbers(one, "strehl_time_domain"), numbers(two, "strehl_time_domain"),
                        bytes);
    assert_memory_equal(numbers(one, "strehl_pairs_delayed"), numbers(two, "strehl_pairs_delayed"),
                        bytes);
}

TEST(nothing_is_run_unasked)
{
    static const char *const overrides[] = {ALONE, "time_domain.frames=0", NULL};
    autoptr(bb_results) results = run(overrides, 1);
    for (bb_index i = 0; i < bb_results_count(results); ++i) {
        assert_null(strstr(bb_results_dataset(results, i)->name, "time_domain"));
        assert_null(strstr(bb_results_dataset(results, i)->name, "delayed"));
    }
}
