// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/score/error_terms.h"
#include "physics/ao/tomography.h"
#include "tests/physics/ao/chain.h"

static ao_case laser_case(void)
{
    ao_case c = case_without_stars(8.0, 5);
    add_star(&c, BB_GUIDE_STAR_LGS, 17.0, 3.0);
    add_star(&c, BB_GUIDE_STAR_NGS, 9.0, -21.0);
    c.stars[0].settings.altitude_km = 90.0;
    c.stars[1].settings.magnitude = 11.0;
    c.stars[1].lenslets = 4;
    add_target(&c, 6.0, -4.0);
    return c;
}

// The noise covariance is the difference of Cmm with and without it, entry by entry.
TEST(noise_is_what_it_adds_to_the_covariance)
{
    const ao_case c = laser_case();
    const bb_ao_config config = case_config(&c);
    autocall(chain_release) chain noisy = chain_assemble(&c, true);
    autocall(chain_release) chain clean = chain_assemble(&c, false);
    autoptr(bb_tomography) problem = new_object(bb_tomography, &config, BB_LGS_TILT_UPDATE);
    autorelease(bb_csr) sparse = {0};
    check_ok(bb_error_budget_noise(problem, &sparse));
    assert_int_equal(sparse.rows, noisy.n);
    autofree double *noise = zeros(noisy.n * noisy.n);
    for (bb_index row = 0; row < noisy.n; ++row) {
        for (bb_index e = sparse.row_start[row]; e < sparse.row_start[row + 1]; ++e) {
            noise[row * noisy.n + sparse.column[e]] = sparse.value[e];
        }
    }
    double largest = 0.0;
    double crossed = 0.0;
    for (bb_index k = 0; k < noisy.n * noisy.n; ++k) {
        check_close(noise[k], noisy.cmm[k] - clean.cmm[k], 1e-13, noisy.cmm[0]);
        largest = fmax(largest, noise[k]);
        crossed = fmax(crossed, k % (noisy.n + 1) != 0 ? fabs(noise[k]) : 0.0);
    }
    assert_true(largest > 1e-6 && crossed > 0.0); // elongated spots couple x and y
    // The rms of a star's slopes is the root of the mean of its diagonal.
    const bb_sensor *sensor = &problem->guides.sensors[1];
    double sum = 0.0;
    for (bb_index i = sensor->first; i < sensor->first + 2 * sensor->count; ++i) {
        sum += noise[i * noisy.n + i];
    }
    check_relative(bb_error_budget_slope_noise(problem, 1),
                   sqrt(sum / (2.0 * (double)sensor->count)), 1e-12);
}

// The variances of the terms add up to that of all of them together.
TEST(terms_add_up)
{
    ao_case c = laser_case();
    const double wind[] = {10.0, 25.0};
    const bb_error_terms_config terms = {
        .fitting = true,
        .fitting_coefficient = 0.2740,
        .frame_delay_ms = 2.0,
        .wind_m_per_s = {.items = (void *)(uintptr_t)wind, .count = 2}};
    bb_ao_config config = case_config(&c);
    config.error_terms = &terms;
    bb_error_budget budget;
    autoptr(bb_tomography) problem = new_object(bb_tomography, &config, BB_LGS_TILT_UPDATE);
    check_ok(bb_error_budget_of_terms(&terms, problem, 0, &budget));
    const bb_tomography_target *target = &problem->targets[0];
    assert_true(budget.fitting > 0.0 && budget.lag > 0.0 && budget.aliasing == 0.0);
    check_relative(budget.fitting + budget.lag,
                   bb_point_spread_variance(target->spread, target->terms), 1e-12);
    // 0.2740 (d / r0)^(5/3) rad^2 at 500 nm, minus the effect of the outer scale and the piston
    // part.
    const double radian = 500e-9 / (2.0 * M_PI);
    const double expected =
        0.2740 * pow(8.0 / 5.0 / problem->atmosphere.r0_m, 5.0 / 3.0) * radian * radian;
    check_relative(budget.fitting, expected, 0.06);
}
