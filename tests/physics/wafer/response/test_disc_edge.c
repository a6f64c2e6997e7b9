// SPDX-License-Identifier: Apache-2.0
//
// Edge part missing in rows of the infinite plate: against the closed forms of the disc and of the
// infinite plate, by quadrature, and on springs of any stiffness.
#include "physics/wafer/response/plate.h"
#include "tests/physics/wafer/response/disc_closed_forms.h"
#include "tests/physics/wafer/wafer_defaults.h"

// The uniformly heated circle of an infinite plate: item 4 without its edge term, m for 0.1 K.
static double endless(double r, double scale)
{
    const double inner = disc_integral(1, 0.0, scale, 0.0, r);
    const double outer = disc_integral(2, 0.0, scale, r, DISC_RADIUS);
    return (1.0 + DISC_POISSON) * DISC_EXPANSION / scale *
           (gsl_sf_bessel_K1(r / scale) * inner - gsl_sf_bessel_I1(r / scale) * outer);
}

TEST(sizes_are_those_of_the_closed_forms)
{
    const bb_disc_edge edge = bb_disc_edge_make(&SILICON, &CLAMP);
    check_relative(0.1 * edge.disc, 12.488308e-9, 1e-6); // docs 2.3 item 2
    check_relative(0.1 * edge.plate, 5.956e-9, 1e-4);
    for (int k = 1; k <= 10; ++k) {
        const double r = DISC_RADIUS * k / 10.0;
        const double lacking = sprung_disc(r, 0.0, edge.length) -
                               (r < DISC_RADIUS ? endless(r, edge.length) : 0.1 * edge.plate);
        check_relative(bb_disc_edge_part(&edge, r), lacking / (0.1 * edge.disc), 1e-6);
    }
}

// From springs that barely support the wafer to springs that hold every point of it.
TEST(any_springs_give_a_part)
{
    bb_clamp_config clamp = CLAMP;
    for (int power = 0; power <= 14; ++power) {
        clamp.tangential_stiffness_n_per_m3 = pow(10.0, power);
        const bb_disc_edge edge = bb_disc_edge_make(&SILICON, &clamp);
        double before = 0.0;
        for (int k = 0; k <= 4; ++k) {
            const double part = bb_disc_edge_part(&edge, DISC_RADIUS * k / 4.0);
            assert_true(part >= before && part < 1.0);
            before = part;
        }
        assert_true(before > 0.3);
    }
}

// Height by the law of slow waves: the reduction by the disc's strain, over all of it.
TEST(height_lacks_what_its_strain_does)
{
    const bb_disc_edge edge = bb_disc_edge_make(&SILICON, &CLAMP);
    const double step = 1e-5;
    const double slope = (sprung_disc(DISC_RADIUS, 0.0, edge.length) -
                          sprung_disc(DISC_RADIUS - 2.0 * step, 0.0, edge.length)) /
                         (2.0 * step);
    const double strain =
        slope + sprung_disc(DISC_RADIUS - step, 0.0, edge.length) / (DISC_RADIUS - step);
    const double c = DISC_POISSON / (1.0 - DISC_POISSON);
    const double taken = (c * 775e-6 - 0.5 * 1e11 * 775e-6 / 1e12) * strain;
    check_relative(0.1 * edge.strain, taken, 1e-3);
    check_relative(0.1 * edge.height, 0.1 * DISC_EXPANSION * 775e-6 * (1.0 + 2.0 * c) - taken,
                   1e-3);
    const double lacking = bb_disc_edge_part(&edge, DISC_RADIUS) * edge.strain / edge.height;
    check_relative(bb_disc_edge_height_part(&edge, DISC_RADIUS), lacking, 1e-12);
    assert_true(bb_disc_edge_height_part(&edge, 0.5 * DISC_RADIUS) < 0.3 * lacking);
}
