// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/covariance/measurement_noise.h"
#include "tests/physics/ao/cases.h"

typedef struct noisy {
    bb_atmosphere atmosphere;
    bb_sensor_array guides;
    bb_measurement_noise noise;
} noisy;

static noisy make(const ao_case *c)
{
    noisy made = {0};
    const bb_ao_config config = case_config(c);
    check_ok(
        bb_atmosphere_create(config.atmosphere, c->telescope.zenith_angle_deg, &made.atmosphere));
    check_ok(bb_sensor_array_create_guides(&config, &made.atmosphere, &made.guides));
    check_ok(bb_measurement_noise_create(&made.guides, &made.atmosphere, &made.noise));
    return made;
}

static void release(noisy *made)
{
    bb_measurement_noise_release(&made->noise);
    bb_sensor_array_release(&made->guides);
    bb_atmosphere_release(&made->atmosphere);
}

TEST(natural_star_by_hand)
{
    ao_case c = case_without_stars(8.0, 8);
    c.atmosphere.r0_m = 0.1;
    add_star(&c, BB_GUIDE_STAR_NGS, 1.0, 2.0);
    autocall(release) noisy made = make(&c);
    // 10^(2.9 - 5.2) x 0.425 x 1 m^2 x 4 ms x 3300 A x 1e4.
    const double electrons = 281.166038;
    check_relative(bb_measurement_electrons(&made.guides.sensors[0], 0.84), electrons, 1e-6);
    // s = 206264.806 x 500e-9 / 0.1 x (500 / 650)^0.2 = 0.978603 arcsec.
    const double s = 0.978603;
    const double photon = 0.32 * s * s / electrons;
    const double read = 0.82 * pow(3.0 / (electrons * 0.3), 2.0) * pow(s, 4.0);
    for (bb_index i = 0; i < made.noise.count; ++i) {
        check_relative(made.noise.subaperture[i].xx, photon + read, 1e-5);
        assert_true(made.noise.subaperture[i].yy == made.noise.subaperture[i].xx);
        assert_true(made.noise.subaperture[i].xy == 0.0);
    }
}

// 100 photons on an EMCCD (F^2 = 2) with 1 e- of background and read noise of 0.5 e-, by hand.
TEST(photons_of_a_detector_by_hand)
{
    ao_case c = case_without_stars(8.0, 8);
    c.atmosphere.r0_m = 0.1;
    c.sensors.read_noise_e = 0.5;
    add_star(&c, BB_GUIDE_STAR_NGS, 1.0, 2.0);
    bb_star_settings *star = &c.stars[0].settings;
    star->magnitude = NAN;
    star->photons_per_frame = 100.0;
    star->excess_noise = 2.0;
    star->background_e = 1.0;
    autocall(release) noisy made = make(&c);
    assert_true(bb_measurement_electrons(&made.guides.sensors[0], 0.84) == 100.0);
    const double s = 0.978603;
    const double photon = 0.32 * s * s * 2.0 / 100.0;
    const double read = 0.82 * (0.25 + 2.0 * 1.0) / pow(100.0 * 0.3, 2.0) * pow(s, 4.0);
    check_relative(made.noise.subaperture[0].xx, photon + read, 1e-5);
}

TEST(noise_equivalent_angle_replaces_the_model)
{
    ao_case c = case_without_stars(8.0, 8);
    add_star(&c, BB_GUIDE_STAR_LGS, 30.0, 0.0);
    c.stars[0].settings.noise_mas = 27.0;
    autocall(release) noisy made = make(&c);
    for (bb_index i = 0; i < made.noise.count; ++i) {
        check_relative(made.noise.subaperture[i].xx, 0.027 * 0.027, 1e-14);
        assert_true(made.noise.subaperture[i].yy == made.noise.subaperture[i].xx);
        assert_true(made.noise.subaperture[i].xy == 0.0);
    }
}

TEST(laser_star_is_long_away_from_its_launch_telescope)
{
    ao_case c = case_without_stars(40.0, 20);
    add_star(&c, BB_GUIDE_STAR_LGS, 3.0, 4.0);
    autocall(release) noisy made = make(&c);
    const bb_sensor *sensor = &made.guides.sensors[0];
    const double electrons = 6.0e7 * 4e-3 * 4.0 * 0.382 / 0.84;
    check_relative(bb_measurement_electrons(sensor, 0.84), electrons, 1e-12);
    const double s = bb_atmosphere_seeing_arcsec(&made.atmosphere, 589e-9);
    const double spot = s * s + 1.0;
    const double read = 0.82 * pow(3.0 / electrons, 2.0);
    for (bb_index i = 0; i < sensor->count; ++i) {
        // Launch at 20 m (3, 4) / 5.
        const double dx = sensor->x_m[i] - 12.0;
        const double dy = sensor->y_m[i] - 16.0;
        const double d2 = dx * dx + dy * dy;
        const double e = 206264.806247 * 5000.0 * sqrt(d2) / 1e10;
        const double narrow = 0.32 * spot / electrons + read * spot * spot;
        const double wide = 0.32 * (spot + e * e) / electrons +
                            read * (spot + e * e) * sqrt(spot + e * e) * sqrt(spot);
        const bb_slope_noise *got = &made.noise.subaperture[i];
        // The quadratic form along and across the elongation, and the trace.
        check_relative((got->xx * dx * dx + 2.0 * got->xy * dx * dy + got->yy * dy * dy) / d2, wide,
                       1e-10);
        check_relative((got->xx * dy * dy - 2.0 * got->xy * dx * dy + got->yy * dx * dx) / d2,
                       narrow, 1e-10);
        check_relative(got->xx + got->yy, wide + narrow, 1e-10);
    }
}

// Photons only, r0 0.1 m: s = 0.9980816692619077 arcsec, P = s^2 + 1, F = 109142.857. The
// subaperture at (0.5, 3.5) m is 3.5 sqrt(2) m from the launch telescope at (4, 0), in the
// direction
// (-1, 1) / sqrt(2): e = 0.5104793512610792 arcsec, xx = yy = (long + short) / 2 and xy = (short -
// long) / 2 with short = 5.852636284656106e-6 and long = 6.616667353325228e-6.
TEST(elongation_along_a_diagonal_by_hand)
{
    ao_case c = case_without_stars(8.0, 8);
    c.telescope.obstruction = 0.0;
    c.atmosphere.r0_m = 0.1;
    c.sensors.read_noise_e = 0.0;
    add_star(&c, BB_GUIDE_STAR_LGS, 30.0, 0.0);
    add_star(&c, BB_GUIDE_STAR_LGS, 30.0, 0.0);
    c.stars[1].rotation_deg = 90.0;
    autocall(release) noisy made = make(&c);
    int found = 0;
    for (bb_index i = 0; i < made.noise.count; ++i) {
        const bb_sensor *sensor = &made.guides.sensors[i / made.guides.sensors[0].count];
        const bb_index k = i % made.guides.sensors[0].count;
        if (fabs(sensor->x_m[k] - 0.5) < 1e-12 && fabs(sensor->y_m[k] - 3.5) < 1e-12) {
            const bb_slope_noise *got = &made.noise.subaperture[i];
            // A grid rotated by a quarter turn has its axes along +y and -x.
            const double sign = sensor == made.guides.sensors ? 1.0 : -1.0;
            check_relative(got->xx, 6.234651818990667e-06, 1e-12);
            check_relative(got->yy, 6.234651818990667e-06, 1e-12);
            check_relative(got->xy, -3.820155343345608e-07 * sign, 1e-10);
            ++found;
        }
    }
    assert_int_equal(found, 2);
}

// The default for a star on the axis is the edge at +x; a central launch is the centre for any
// star.
TEST(launch_places)
{
    ao_case c = case_without_stars(8.0, 8);
    const double directions[][2] = {
        {0.0, 0.0}, {-7.0, 0.0}, {0.0, -12.0}, {30.0, 40.0}, {30.0, 40.0}};
    const double places[][2] = {{4.0, 0.0}, {-4.0, 0.0}, {0.0, -4.0}, {2.4, 3.2}, {0.0, 0.0}};
    for (int s = 0; s < 5; ++s) {
        add_star(&c, BB_GUIDE_STAR_LGS, directions[s][0], directions[s][1]);
    }
    c.stars[4].launch = BB_LAUNCH_CENTRAL;
    autocall(release) noisy made = make(&c);
    for (int s = 0; s < 5; ++s) {
        check_close(made.guides.sensors[s].star.launch_x_m, places[s][0], 1e-15, 4.0);
        check_close(made.guides.sensors[s].star.launch_y_m, places[s][1], 1e-15, 4.0);
    }
    // Launched from the centre, noise is even: opposite subapertures have the same.
    const bb_sensor *central = &made.guides.sensors[4];
    const bb_slope_noise *first = &made.noise.subaperture[central->first / 2];
    for (bb_index i = 0; i < central->count; ++i) {
        check_relative(first[i].xx, first[central->count - 1 - i].xx, 1e-13);
        check_close(first[i].xy, first[central->count - 1 - i].xy, 1e-13, first[i].xx);
    }
}

TEST(star_on_the_axis_and_lens_at_the_launch_are_finite)
{
    ao_case c = case_without_stars(8.0, 9);
    c.telescope.obstruction = 0.0;
    add_star(&c, BB_GUIDE_STAR_LGS, 0.0, 0.0);
    add_star(&c, BB_GUIDE_STAR_LGS, 0.0, 0.0);
    c.stars[1].launch_x_m = 0.0; // behind the secondary: at the central subaperture's centre
    c.stars[1].launch_y_m = 0.0;
    autocall(release) noisy made = make(&c);
    for (bb_index i = 0; i < made.noise.count; ++i) {
        const bb_slope_noise *n = &made.noise.subaperture[i];
        assert_true(isfinite(n->xx) && isfinite(n->yy) && isfinite(n->xy));
        assert_true(n->xx > 0.0 && n->yy > 0.0 && n->xx * n->yy > n->xy * n->xy);
    }
    const bb_sensor *central = &made.guides.sensors[1];
    const bb_slope_noise *middle = &made.noise.subaperture[central->first / 2 + central->count / 2];
    assert_true(middle->xx == middle->yy && middle->xy == 0.0);
}

// depth sec z over (altitude sec z)^2: the spot shortens as the zenith angle grows.
TEST(elongation_shrinks_with_the_airmass)
{
    ao_case c = case_without_stars(40.0, 20);
    add_star(&c, BB_GUIDE_STAR_LGS, 5.0, 0.0);
    c.sensors.read_noise_e = 0.0;
    c.sensors.lgs.spot_arcsec = 0.0;
    c.atmosphere.r0_m = 100.0; // negligible seeing
    autocall(release) noisy zenith = make(&c);
    c.telescope.zenith_angle_deg = 60.0;
    autocall(release) noisy low = make(&c);
    check_relative(low.noise.subaperture[50].xx, 0.25 * zenith.noise.subaperture[50].xx, 1e-3);
}
