// SPDX-License-Identifier: Apache-2.0
//
// The whole chain against an independent numpy computation of the 39 m check case, 5 digits
// (lambda_min 3, Strehl ratio 1e-5). That computation took an arcsecond as 1/206265 rad everywhere;
// ours is exact, 9.4e-7 apart. Quantities in arcsec^2 change by 1.9e-6, within five digits, so the
// numbers are unchanged.
#include "core/clock.h"
#include "tests/physics/ao/chain.h"

TEST(assembles_in_less_than_a_second)
{
    const ao_case c = case_nx456();
    const double start = bb_clock_seconds();
    autocall(chain_release) chain k = chain_assemble(&c, true);
    print_message("assembled Cmm, Ctm, Ctt in %.3f s\n", bb_clock_seconds() - start);
    assert_int_equal(k.n, 912);
    assert_int_equal(k.m, 152);
    assert_int_equal(k.guides.sensors[0].count, 76);
}

TEST(matches_the_reference)
{
    const ao_case c = case_nx456();
    autocall(chain_release) chain k = chain_run(&c, true);
    check_relative(k.cmm[0], 1.008953391, 1e-5);
    check_relative(trace(k.cmm, k.n), 464.2163584, 1e-5);
    check_relative(frobenius(k.cmm, k.n * k.n), 186.1780749, 1e-5);
    check_relative(trace(k.ctt, k.m), 1.371199849, 1e-5);
    check_relative(frobenius(k.ctm, k.m * k.n), 0.3331623475, 1e-5);
    check_relative(frobenius(k.r, k.m * k.n), 11.56128, 1e-5);
    check_relative(trace(k.cee, k.m), 0.00972807438, 1e-5);
    print_message(
        "Cmm[0,0] %.10g trace %.10g Frobenius %.10g Ctt %.10g Ctm %.10g R %.7g Cee %.9g\n",
        k.cmm[0], trace(k.cmm, k.n), frobenius(k.cmm, k.n * k.n), trace(k.ctt, k.m),
        frobenius(k.ctm, k.m * k.n), frobenius(k.r, k.m * k.n), trace(k.cee, k.m));
}

TEST(eigenvalues_match_the_reference)
{
    const ao_case c = case_nx456();
    autocall(chain_release) chain k = chain_assemble(&c, true);
    double values[912];
    assert_int_equal(LAPACKE_dsyev(LAPACK_COL_MAJOR, 'N', 'U', 912, k.cmm, 912, values), 0);
    check_relative(values[911], 76.02, 1e-4);
    check_relative(values[0], 3.31e-6, 2e-3);
    check_relative(values[911] / values[0], 2.3e7, 2e-2);
}

TEST(both_forms_of_the_residual_agree)
{
    const ao_case c = case_nx456();
    autocall(chain_release) chain k = chain_run(&c, true);
    double worst = 0.0;
    for (bb_index i = 0; i < k.m; ++i) {
        for (bb_index j = 0; j < k.m; ++j) {
            const double exact =
                k.ctt[i * k.m + j] - cblas_ddot((int)k.n, k.r + i * k.n, 1, k.ctm + j * k.n, 1);
            worst = fmax(worst, fabs(exact - k.cee[i * k.m + j]));
        }
        assert_true(k.cee[i * k.m + i] >= 0.0);
    }
    print_message("forms of Cee differ by %.2g of Ctt's diagonal\n", worst / k.ctt[0]);
    assert_true(worst < 1e-9 * k.ctt[0]);
}

typedef struct score {
    double rms_nm, h_band, k_band;
} score;

static score score_residual(const chain *k, double condition, bb_index dropped_modes)
{
    autoptr(bb_point_spread) spread =
        new_object(bb_point_spread, 39.0, &(bb_pupil){.obstruction = 0.2}, 10, condition);
    const bb_point_spread_grid *grid = bb_point_spread_layout(spread);
    assert_int_equal(grid->pixels, 512);
    assert_int_equal(grid->pixels_per_lenslet, 18);
    check_relative(grid->pixel_m, 39.0 / 180.0, 1e-15);
    assert_int_equal(grid->pupil_pixels, 24440);
    assert_int_equal(grid->actuator_count, 100);
    assert_int_equal(grid->dropped_modes, dropped_modes);
    autofree double *correlation = doubles(grid->pixels * grid->pixels);
    double rms_m = NAN;
    bb_outcome outcome = {0};
    chain_wavefront(spread, k->cee, correlation, &rms_m, &outcome);
    assert_int_equal(outcome.kind, BB_OUTCOME_OK);
    const score got = {.rms_nm = 1e9 * rms_m,
                       .h_band = bb_point_spread_strehl(spread, correlation, 1.65e-6),
                       .k_band = bb_point_spread_strehl(spread, correlation, 2.2e-6)};
    print_message("condition %.3f: rms %.4f nm, Strehl %.6f at 1.65 um, %.6f at 2.2 um\n",
                  condition, got.rms_nm, got.h_band, got.k_band);
    return got;
}

TEST(strehl_ratios_match_the_reference)
{
    const ao_case c = case_nx456();
    autocall(chain_release) chain k = chain_run(&c, true);
    const score got = score_residual(&k, NAN, 5);
    check_close(got.rms_nm, 121.0, 0.05, 1.0);
    check_close(got.h_band, 0.81350, 1e-5, 1.0);
    check_close(got.k_band, 0.89025, 1e-5, 1.0);
}

TEST(keeping_weaker_modes_lowers_the_strehl_ratio)
{
    const ao_case c = case_nx456();
    autocall(chain_release) chain k = chain_run(&c, true);
    const score got = score_residual(&k, 20.0, 2);
    // Not a reference: the first value of this program, to detect changes.
    check_close(got.h_band, 0.80727, 1e-5, 1.0);
    check_relative(got.rms_nm, 123.181, 1e-5);
}
