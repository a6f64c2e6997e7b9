// SPDX-License-Identifier: Apache-2.0
#include "precision/error_norms.h"
#include "tests/check.h"

// By hand: errors 0, 1, -2, 3 on originals 0, 4, 8, 10.
static void norms_by_hand(void **state)
{
    (void)state;
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
static void half_range_psnr_is_six_decibels_less(void **state)
{
    (void)state;
    double original[2] = {-7.45e-9, 7.45e-9};
    double approximation[2] = {-7.45e-9 + 3.510e-13, 7.45e-9 - 3.510e-13};
    bb_error_norms norms = bb_error_norms_start();
    bb_error_norms_add(&norms, original, approximation, 2);
    check_close(bb_error_norms_psnr_zfp_db(&norms), 86.5, 0.05, 1.0);
    check_close(bb_error_norms_psnr_db(&norms) - bb_error_norms_psnr_zfp_db(&norms),
                20.0 * log10(2.0), 1e-12, 1.0);
}

static void exact_is_infinite_and_nan_is_not_lost(void **state)
{
    (void)state;
    double original[3] = {1, 2, 3};
    double with_nan[3] = {1, NAN, 3};
    bb_error_norms norms = bb_error_norms_start();
    bb_error_norms_add(&norms, original, original, 3);
    assert_true(isinf(bb_error_norms_psnr_db(&norms)));
    bb_error_norms_add(&norms, original, with_nan, 3);
    assert_true(isnan(bb_error_norms_rmse(&norms)));
    assert_true(isnan(norms.max_error));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(norms_by_hand),
        cmocka_unit_test(half_range_psnr_is_six_decibels_less),
        cmocka_unit_test(exact_is_infinite_and_nan_is_not_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
