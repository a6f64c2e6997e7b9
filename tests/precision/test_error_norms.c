// SPDX-License-Identifier: Apache-2.0
#include "core/random.h"
#include "precision/error_norms.h"
#include "tests/check.h"

// By hand: errors 0, 1, -2, 3 on originals 0, 4, 8, 10.
TEST(norms_by_hand)
{
    double original[4] = {0, 4, 8, 10};
    double approximation[4] = {0, 5, 6, 13};
    bb_error_norms norms = bb_error_norms_start();
    bb_error_norms_add(&norms, original, approximation, 1);
    bb_error_norms_add(&norms, original + 1, approximation + 1, 3);
    check_relative(bb_error_norms_rmse(&norms), sqrt(14.0 / 4.0), 1e-15);
    check_relative(bb_error_norms_nrmse(&norms), sqrt(14.0 / 4.0) / 10.0, 1e-15);
    check_relative(bb_error_norms_bias(&norms), 0.5, 1e-15);
    check_relative(norms.max_error, 3.0, 1e-15);
    check_relative(bb_error_norms_psnr_db(&norms), 20.0 * log10(10.0 / sqrt(3.5)), 1e-14);
}

// Table 2 of the wafer feed-forward paper: fixed rate, x axis: rmse 3.510e-13, half range 7.45e-9.
TEST(half_range_psnr_is_six_decibels_less)
{
    double original[2] = {-7.45e-9, 7.45e-9};
    double approximation[2] = {-7.45e-9 + 3.510e-13, 7.45e-9 - 3.510e-13};
    bb_error_norms norms = bb_error_norms_start();
    bb_error_norms_add(&norms, original, approximation, 2);
    check_close(bb_error_norms_psnr_zfp_db(&norms), 86.5, 0.05, 1.0);
    check_close(bb_error_norms_psnr_db(&norms) - bb_error_norms_psnr_zfp_db(&norms),
                20.0 * log10(2.0), 1e-12, 1.0);
}

TEST(without_a_range_nothing_is_relative_to_it)
{
    double original[2] = {3, 3};
    double approximation[2] = {3, 3.5};
    bb_error_norms norms = bb_error_norms_start();
    bb_error_norms_add(&norms, original, approximation, 2);
    assert_true(isnan(bb_error_norms_nrmse(&norms)));
    assert_true(isnan(bb_error_norms_psnr_db(&norms)));
    assert_true(isnan(bb_error_norms_psnr_zfp_db(&norms)));
    check_relative(norms.max_error, 0.5, 1e-15);
}

TEST(exact_is_infinite_and_nan_is_not_lost)
{
    double original[3] = {1, 2, 3};
    double with_nan[3] = {1, NAN, 3};
    bb_error_norms norms = bb_error_norms_start();
    bb_error_norms_add(&norms, original, original, 3);
    assert_true(isinf(bb_error_norms_psnr_db(&norms)));
    bb_error_norms_add(&norms, original, with_nan, 3);
    assert_true(isnan(bb_error_norms_rmse(&norms)));
    assert_true(isnan(norms.max_error));
}

// Many values against a plain sum in long double; parts merged in order agree with one struct if
// the parts are the calls.
TEST(lanes_and_merges_agree_with_a_plain_sum)
{
    enum { COUNT = 10007, PART = 1000 };
    static double original[COUNT], approximation[COUNT];
    bb_error_norms norms = bb_error_norms_start();
    bb_error_norms merged = bb_error_norms_start();
    long double sum = 0.0L;
    long double squares = 0.0L;
    double maximum = 0.0;
    for (bb_index i = 0; i < COUNT; ++i) {
        original[i] = bb_random_normal(1, BB_STREAM_SELF_TEST, (uint64_t)i);
        double u = bb_random_normal(2, BB_STREAM_SELF_TEST, (uint64_t)i);
        approximation[i] = original[i] + 1e-3 * (u + 0.1);
        double error = approximation[i] - original[i];
        sum += error;
        squares += (long double)error * error;
        maximum = fmax(maximum, fabs(error));
    }
    for (bb_index begin = 0; begin < COUNT; begin += PART) {
        bb_index count = COUNT - begin < PART ? COUNT - begin : PART;
        bb_error_norms part = bb_error_norms_start();
        bb_error_norms_add(&part, original + begin, approximation + begin, count);
        bb_error_norms_merge(&merged, &part);
        bb_error_norms_add(&norms, original + begin, approximation + begin, count);
    }
    assert_true(norms.sum_squares == merged.sum_squares && norms.sum == merged.sum);
    assert_true(norms.max_error == merged.max_error && norms.exponent == 0);
    check_relative(bb_error_norms_rmse(&norms), (double)sqrtl(squares / COUNT), 1e-14);
    check_relative(bb_error_norms_bias(&norms), (double)(sum / COUNT), 1e-12);
    assert_true(norms.max_error == maximum && norms.count == COUNT);
    assert_true(bb_error_norms_range(&norms) == norms.maximum - norms.minimum);
}

TEST(nan_survives_a_merge)
{
    static double original[40], with_nan[40];
    bb_error_norms bad = bb_error_norms_start();
    bb_error_norms all = bb_error_norms_start();
    with_nan[17] = NAN;
    bb_error_norms_add(&bad, original, with_nan, 40);
    bb_error_norms_add(&all, original, original, 40);
    bb_error_norms_merge(&all, &bad);
    bb_error_norms_add(&all, original, original, 40);
    assert_true(isnan(bad.max_error) && isnan(all.max_error) && isnan(bb_error_norms_rmse(&all)));
}

// Errors 3, -1, 0, 2 in any unit, alone, in parts and together with errors of another size.
TEST(gathered_norms_know_no_unit)
{
    static const double units[] = {1.0, 1e-161, 1e-300, 0x1p-1070, 1e160, 1e300};
    for (size_t i = 0; i < sizeof units / sizeof *units; ++i) {
        const double unit = units[i];
        const double original[4] = {0.0, 10.0 * unit, 5.0 * unit, -2.0 * unit};
        const double stored[4] = {3.0 * unit, 9.0 * unit, 5.0 * unit, 0.0};
        bb_error_norms norms = bb_error_norms_start();
        bb_error_norms_add(&norms, original, original, 4);
        bb_error_norms_add(&norms, original, stored, 2);
        bb_error_norms_add(&norms, original + 2, stored + 2, 2);
        const double tolerance = unit < 1e-300 ? 0.05 : 1e-15; // steps of 1 in rmse of 21
        check_relative(bb_error_norms_rmse(&norms), sqrt(14.0 / 8.0) * unit, tolerance);
        check_relative(bb_error_norms_bias(&norms), 0.5 * unit, tolerance);
        check_relative(bb_error_norms_psnr_db(&norms), 20.0 * log10(12.0 / sqrt(14.0 / 8.0)), 0.02);
    }
    const double zeros[2] = {0.0, 0.0};
    const double large[2] = {3e200, 4e200};
    const double small[2] = {3e-200, 4e-200};
    bb_error_norms norms = bb_error_norms_start();
    bb_error_norms_add(&norms, zeros, small, 2);
    check_relative(bb_error_norms_rmse(&norms), 5e-200 / sqrt(2.0), 1e-15);
    bb_error_norms_add(&norms, zeros, large, 2);
    bb_error_norms_add(&norms, zeros, small, 2);
    check_relative(bb_error_norms_rmse(&norms), 5e200 / sqrt(6.0), 1e-15);
    check_relative(bb_error_norms_bias(&norms), 7e200 / 6.0, 1e-15);
}

// (3, 4) against (3.3, 4.4) in any unit that doubles have: squares of 1e-161 are 0, of 1e160
// infinite.
TEST(a_relative_error_knows_no_unit)
{
    static const double units[] = {1.0, 1e-161, 1e160, 1e307, 0x1p-1060};
    for (size_t i = 0; i < sizeof units / sizeof *units; ++i) {
        const double truth[2] = {3.0 * units[i], 4.0 * units[i]};
        const double other[2] = {3.3 * units[i], 4.4 * units[i]};
        check_relative(bb_error_norms_relative(other, truth, 2), 0.1,
                       units[i] < 1e-300 ? 1e-3 : 1e-12);
        assert_true(bb_error_norms_relative(truth, truth, 2) == 0.0);
    }
    static const double zeros[2] = {0.0, 0.0};
    static const double small[2] = {0.0, 1e-300};
    static const double bad[2] = {NAN, 1.0};
    assert_true(bb_error_norms_relative(zeros, zeros, 2) == 0.0);
    assert_true(isinf(bb_error_norms_relative(small, zeros, 2)));
    assert_true(isnan(bb_error_norms_relative(bad, small, 2)));
    assert_true(isnan(bb_error_norms_relative(small, bad, 2)));
    assert_true(bb_error_norms_relative(zeros, small, 2) == 1.0);
}
