// SPDX-License-Identifier: Apache-2.0
//
// Profiles over a night: rows to layers and times by hand, the walk against the closed forms of an
// Ornstein-Uhlenbeck process, on its steps and between them, and learned profiles.
#include "core/memory.h"
#include "physics/ao/night/profile_series.h"
#include "tests/check.h"

enum { LAYERS = 400, STEPS = 200 };

static const double tau_s = 1800.0;
static const double step_s = 120.0;
static const double sigma = 0.6;

TEST(rows_of_one_height_and_scale_are_a_layer)
{
    const bb_profile_row rows[] = {
        {3600.0, 5000.0, 4.0, 30.0, 25.0}, {0.0, 100.0, 10.0, NAN, 25.0},
        {0.0, 5000.0, 2.0, 10.0, 25.0},    {3600.0, 100.0, 20.0, 5.0, 25.0},
        {3600.0, 100.0, 3.0, NAN, 40.0},
    };
    bb_profile_series series = {0};
    double strength[3], wind[3];
    check_ok(bb_profile_series_create(rows, 5, &series));
    assert_int_equal(series.layer_count, 3);
    assert_int_equal(series.time_count, 2);
    const double heights[] = {100.0, 100.0, 5000.0};
    const double scales[] = {25.0, 40.0, 25.0};
    assert_memory_equal(series.height_m, heights, sizeof heights);
    assert_memory_equal(series.outer_scale_m, scales, sizeof scales);
    // A quarter of the way: 10 to 20, 0 to 3, 2 to 4; winds 5 (from a later time), none, 10 to 30.
    bb_profile_series_at(&series, 900.0, strength, wind);
    check_close(strength[0], 12.5, 1e-15, 12.5);
    check_close(strength[1], 0.75, 1e-15, 0.75);
    check_close(strength[2], 2.5, 1e-15, 2.5);
    check_close(wind[0], 5.0, 1e-15, 5.0);
    assert_true(isnan(wind[1]));
    check_close(wind[2], 15.0, 1e-15, 15.0);
    // Beyond the ends it is constant.
    bb_profile_series_at(&series, -50.0, strength, wind);
    assert_true(strength[0] == 10.0 && strength[1] == 0.0 && strength[2] == 2.0);
    bb_profile_series_at(&series, 1e5, strength, NULL);
    assert_true(strength[0] == 20.0 && strength[1] == 3.0 && strength[2] == 4.0);
    bb_profile_series_release(&series);
    check_fails(bb_profile_series_create(rows, 0, &series), BB_INVALID, "at least one row");
    const bb_profile_row twice[] = {{0.0, 100.0, 1.0, NAN, 25.0}, {0.0, 100.0, 2.0, NAN, 25.0}};
    check_fails(bb_profile_series_create(twice, 2, &series), BB_INVALID, "two rows for the layer");
}

// Unit strengths of many layers, independent walks: averages over layers replace averages over
// nights.
static void start_walk(uint64_t seed, bb_profile_series *out)
{
    static bb_profile_row rows[LAYERS];
    for (int l = 0; l < LAYERS; ++l) {
        rows[l] = (bb_profile_row){0.0, 10.0 * l, 1.0, NAN, 25.0};
    }
    check_ok(bb_profile_series_create(rows, LAYERS, out));
    check_ok(bb_profile_series_walk(out, sigma, tau_s, step_s, STEPS, seed));
}

static void logs_at(const bb_profile_series *series, double time_s, double *out)
{
    bb_profile_series_at(series, time_s, out, NULL);
    fill_array(out, LAYERS, l, log(out[l]));
}

// Mean over layers and pairs of times of x(t) x(t + lag), t every half hour from `first_s` on.
static double autocorrelation(const bb_profile_series *series, double first_s, double lag_s)
{
    static double early[LAYERS], late[LAYERS];
    double sum = 0.0;
    int count = 0;
    for (double t = first_s; t + lag_s <= STEPS * step_s; t += tau_s) {
        logs_at(series, t, early);
        logs_at(series, t + lag_s, late);
        for (int l = 0; l < LAYERS; ++l, ++count) {
            sum += early[l] * late[l];
        }
    }
    return sum / count;
}

// sigma^2 exp(-lag / tau), at any lag, on steps and off them. About 13 x 400 products, not all
// independent: 4 deviations of a mean of 1600 independent ones are 4 sqrt(2 / 1600) = 0.14 of the
// variance at most.
TEST(the_walk_has_the_variance_and_correlation_of_its_process)
{
    const double lags_s[] = {0.0, 12.0, 60.0, 120.0, 600.0, 1800.0, 5400.0};
    autorelease(bb_profile_series) series = {0};
    start_walk(5, &series);
    for (int k = 0; k < 7; ++k) {
        for (int off = 0; off < 2; ++off) {
            const double expected = sigma * sigma * exp(-lags_s[k] / tau_s);
            const double got = autocorrelation(&series, off * 37.0, lags_s[k]);
            print_message("lag %5.0f s%s: %.4f, expected %.4f\n", lags_s[k],
                          off ? " off steps" : "", got, expected);
            check_close(got, expected, 0.08, sigma * sigma);
        }
    }
}

// Distinguishes a bridge from linear interpolation between steps: the increment over a part of a
// step has the variance 2 sigma^2 (1 - exp(-a / tau)), which is linear in a; that of interpolation
// is quadratic. Every layer and step is a nearly independent increment: 80,000 of them, to 0.5 %.
TEST(increments_within_a_step_are_those_of_the_process)
{
    static double step[LAYERS], part[LAYERS];
    autorelease(bb_profile_series) series = {0};
    start_walk(6, &series);
    const double parts_s[] = {6.0, 30.0, 90.0};
    for (int k = 0; k < 3; ++k) {
        double sum = 0.0;
        for (int s = 0; s < STEPS; ++s) {
            logs_at(&series, s * step_s, step);
            logs_at(&series, s * step_s + parts_s[k], part);
            for (int l = 0; l < LAYERS; ++l) {
                sum += (part[l] - step[l]) * (part[l] - step[l]);
            }
        }
        const double expected = -2.0 * sigma * sigma * expm1(-parts_s[k] / tau_s);
        print_message("%3.0f s: %.6f, expected %.6f\n", parts_s[k], sum / (STEPS * LAYERS),
                      expected);
        check_relative(sum / (STEPS * LAYERS), expected, 0.025);
    }
}

// The discretisation is exact: a walk with half the step has the same law, and a value depends only
// on its own address.
TEST(values_do_not_depend_on_what_else_is_asked)
{
    static double before[LAYERS], after[LAYERS], other[LAYERS];
    autorelease(bb_profile_series) series = {0};
    autorelease(bb_profile_series) again = {0};
    start_walk(7, &series);
    bb_profile_series_at(&series, 1000.0, before, NULL);
    bb_profile_series_at(&series, 999.0, other, NULL);
    start_walk(7, &again);
    bb_profile_series_at(&again, 1000.0, after, NULL);
    assert_memory_equal(before, after, sizeof before);
    bb_profile_series_release(&again);
    start_walk(8, &again);
    bb_profile_series_at(&again, 1000.0, after, NULL);
    for (int l = 0; l < LAYERS; ++l) {
        assert_true(before[l] != after[l] && before[l] != other[l]);
    }
}

// The mean square error of a guess w x(t - a) + (1 - w) 0 is smallest at w = exp(-a / tau).
TEST(a_snapshot_is_trusted_as_its_error_is_least)
{
    static double now[LAYERS], old[LAYERS];
    autorelease(bb_profile_series) series = {0};
    start_walk(9, &series);
    const double age_s = 1200.0;
    const double trust = bb_profile_series_weight(age_s, tau_s);
    const double weights[] = {trust, trust - 0.2, trust + 0.2};
    double error[3] = {0.0};
    for (double t = age_s; t <= STEPS * step_s; t += step_s) {
        logs_at(&series, t, now);
        logs_at(&series, t - age_s, old);
        for (int l = 0; l < LAYERS; ++l) {
            for (int w = 0; w < 3; ++w) {
                error[w] += pow(now[l] - weights[w] * old[l], 2.0);
            }
        }
    }
    print_message("weight %.3f: %.0f, less %.0f, more %.0f\n", trust, error[0], error[1], error[2]);
    assert_true(error[0] < error[1] && error[0] < error[2]);
    check_close(trust, 0.513417, 1e-6, 1.0); // exp(-2/3)
}

TEST(what_is_learned_has_independent_errors_of_its_law)
{
    static double strength[LAYERS];
    double sum = 0.0;
    double square = 0.0;
    const int times = 50;
    check_close(bb_profile_series_learning_deviation(480.0), 0.05, 1e-15, 0.05);
    check_close(bb_profile_series_learning_deviation(1920.0), 0.025, 1e-15, 0.025);
    for (int k = 0; k < times; ++k) {
        fill_array(strength, LAYERS, l, 3.0);
        bb_profile_series_learn(11, 0.05, 120.0 * k, LAYERS, strength);
        for (int l = 0; l < LAYERS; ++l) {
            sum += log(strength[l] / 3.0);
            square += pow(log(strength[l] / 3.0), 2.0);
        }
    }
    // For 20,000 normals: the mean to 0.05 / 141, the variance to 1 %.
    check_close(sum / (times * LAYERS), 0.0, 4.0 * 0.05 / 141.0, 1.0);
    check_relative(square / (times * LAYERS), 0.0025, 0.04);
}

TEST(memory_is_what_was_said_and_may_run_out)
{
    bb_profile_row rows[8];
    bb_profile_series series = {0};
    for (int i = 0; i < 8; ++i) {
        rows[i] = (bb_profile_row){60.0 * (i % 2), 100.0 * (i / 2), 1.0, NAN, 25.0};
    }
    const size_t before = bb_memory_bytes();
    bb_memory_peak_reset();
    check_ok(bb_profile_series_create(rows, 8, &series));
    check_ok(bb_profile_series_walk(&series, sigma, tau_s, step_s, 30, 1));
    const double peak = (double)(bb_memory_peak_bytes() - before);
    const double need = bb_profile_series_need(8.0, 4.0, 2.0, 30.0).host_bytes;
    print_message("peak %.0f, need %.0f bytes\n", peak, need);
    assert_true(peak <= need && need <= 2.0 * peak);
    bb_profile_series_release(&series);
    for (bb_index k = 1; k <= 6; ++k) {
        bb_memory_fail_at(k);
        bb_status status = bb_profile_series_create(rows, 8, &series);
        if (status == BB_OK) {
            status = bb_profile_series_walk(&series, sigma, tau_s, step_s, 30, 1);
        }
        assert_int_equal(status, BB_MEMORY);
        bb_memory_fail_at(0);
        bb_profile_series_release(&series);
        assert_true(bb_memory_bytes() == before);
    }
}
