// SPDX-License-Identifier: Apache-2.0
//
// Closed forms: 0.2740 and 0.2313 (d/r0)^(5/3) of fitting, (tau/tau0)^(5/3) of lag, 0.08 of
// aliasing, and the seeing-limited image (Strehl ratio (r0/D)^2/(1 - obs^2); Tokovinin's FWHM).
#include "physics/ao/ao_constants.h"
#include "physics/ao/covariance/structure_function.h"
#include "physics/ao/score/error_terms.h"
#include "physics/ao/score/point_spread.h"
#include "tests/physics/doubles.h"

static const double wave_m = BB_R0_WAVELENGTH_M / (2.0 * BB_PI);

static bb_atmosphere make_atmosphere(int profile, double outer_scale_m, double r0_m)
{
    const bb_atmosphere_config config = {
        .profile = profile, .outer_scale_m = outer_scale_m, .r0_m = r0_m};
    bb_atmosphere atmosphere = {0};
    check_ok(bb_atmosphere_create(&config, 0.0, &atmosphere));
    return atmosphere;
}

// int_f>fc W df of Kolmogorov's spectrum for r0 = d = 1: beyond a circle and beyond a square.
TEST(the_whole_fitting_variance)
{
    const double circle = 2.0 * BB_PI * BB_SPECTRUM * 0.6 * pow(0.5, -5.0 / 3.0);
    check_close(circle, 0.2740, 5e-4, 1.0);
    // A square of half-width fc extends to fc / cos(a) in direction a.
    double square = 0.0;
    enum { ANGLES = 20000 };
    for (int k = 0; k < ANGLES; ++k) {
        const double angle = 0.25 * BB_PI * (k + 0.5) / ANGLES;
        square += circle * pow(1.0 / cos(angle), -5.0 / 3.0) / ANGLES;
    }
    check_close(square, 0.2313, 5e-4, 1.0);
    check_relative(bb_error_terms_fitting_coefficient(), circle, 1e-14);
    // At large distance the structure function is twice the variance; a finite outer scale reduces
    // it.
    for (int k = 0; k < 2; ++k) {
        const double outer = k == 0 ? 3e3 : 4.0;
        const double far = bb_structure_function(100.0 * outer, outer) -
                           bb_structure_function_corrected_far(outer, 1.0);
        const double share = pow(1.0 + pow(2.0 / outer, 2.0), -5.0 / 6.0);
        check_relative(0.5 * far, circle * share, k == 0 ? 1e-6 : 1e-10);
    }
}

// int_0^fc 4 pi f W (1 - J0) df with many nodes, and all of D if the cutoff is high.
TEST(what_a_mirror_corrects)
{
    enum { CELLS = 400000 };
    static const double distances[] = {0.01, 0.3, 0.9, 4.0, 25.4, 25.6, 37.0, 150.0};
    const double outer = 25.0;
    const double pitch = 0.8;
    autorelease(bb_structure_table) table = {0};
    check_ok(bb_structure_function_corrected_table(outer, pitch, &table));
    for (size_t d = 0; d < sizeof distances / sizeof *distances; ++d) {
        double sum = 0.0;
        for (int k = 0; k < CELLS; ++k) {
            const double f = 0.5 / pitch * (k + 0.5) / CELLS;
            sum += 4.0 * BB_PI * f * BB_SPECTRUM * pow(f * f + 1.0 / (outer * outer), -11.0 / 6.0) *
                   (1.0 - j0(2.0 * BB_PI * f * distances[d])) * 0.5 / pitch / CELLS;
        }
        const double got = bb_structure_function_corrected(distances[d], outer, pitch);
        check_close(got, sum, 1e-8, bb_structure_function_corrected_far(outer, pitch));
        check_close(bb_structure_table_value(table, distances[d] * distances[d]), got, 1e-8,
                    bb_structure_function_corrected_far(outer, pitch));
    }
    check_relative(bb_structure_function_corrected(3.0, outer, 1e-3),
                   bb_structure_function(3.0, outer), 1e-4);
    // At large distance, and far from the outer scale: 2 pi fc r is 1e6.
    check_relative(bb_structure_function_corrected(2e5, 1e7, 0.6), bb_structure_function(2e5, 1e7),
                   1e-9);
    // Smooth near zero: as r^2, whereas D is proportional to r^(5/3).
    check_relative(bb_structure_function_corrected(2e-3, outer, pitch),
                   4.0 * bb_structure_function_corrected(1e-3, outer, pitch), 1e-5);
}

TEST(aliasing_is_a_third_of_fitting)
{
    const double coefficient = bb_error_terms_aliasing_coefficient();
    print_message("aliasing: %.4f (d/r0)^(5/3)\n", coefficient);
    check_close(coefficient, 0.08, 0.01, 1.0);
}

TEST(lag_has_the_coherence_time)
{
    autorelease(bb_atmosphere) atmosphere = make_atmosphere(BB_PROFILE_ESO_MEDIAN, 1e7, NAN);
    const double tau0 = bb_atmosphere_coherence_s(&atmosphere);
    // The published 5.35 ms of the median profile.
    check_close(tau0, 5.35e-3, 0.03e-3, 1.0);
    double variance = 0.0;
    for (bb_index l = 0; l < atmosphere.layer_count; ++l) {
        variance +=
            atmosphere.strength[l] *
            bb_error_terms_lag(atmosphere.structure, 2e-3 * atmosphere.wind_m_per_s[l], 1e4);
    }
    // Slow to converge, as (drift / distance)^(1/3).
    print_message("lag of 2 ms: %.4f of (tau/tau0)^(5/3)\n",
                  variance / pow(2e-3 / tau0, 5.0 / 3.0));
    check_relative(variance, pow(2e-3 / tau0, 5.0 / 3.0), 0.02);
    check_close(bb_error_terms_lag(atmosphere.structure, 0.0, 3.0), 0.0, 1e-12, 43.0);
    assert_true(fabs(bb_error_terms_lag(atmosphere.structure, 0.1, 0.0)) < 1e-12);
}

TEST(winds_of_profiles)
{
    assert_true(bb_profile_has_wind(BB_PROFILE_ERIS_10) && bb_profile_has_wind(BB_PROFILE_ESO_Q4));
    assert_false(bb_profile_has_wind(BB_PROFILE_MOAO_10));
    autorelease(bb_atmosphere) atmosphere = make_atmosphere(BB_PROFILE_ESO_Q1, 25.0, NAN);
    check_relative(atmosphere.wind_m_per_s[18], 0.925 * 32.0, 1e-15);
    check_relative(atmosphere.wind_m_per_s[34], 0.925 * 10.0, 1e-15);
}

// The plane of all terms: its limit is the sum of the variances, and it is even and symmetric.
TEST(terms_add_on_the_grid)
{
    autorelease(bb_atmosphere) atmosphere = make_atmosphere(BB_PROFILE_ERIS_10, 25.0, NAN);
    const bb_displacement_grid grid = {128, 0.1};
    autofree double *half = doubles(128 * 128);
    const double scale = wave_m * wave_m * pow(0.5 / atmosphere.r0_m, 5.0 / 3.0);
    autorelease(bb_structure_table) low = {0};
    check_ok(bb_structure_function_corrected_table(25.0, 0.5, &low));
    const double strength = wave_m * wave_m * pow(atmosphere.r0_m, -5.0 / 3.0);
    bb_error_terms_config config = {.fitting = true, .fitting_coefficient = 0.2740};
    check_ok(bb_error_terms_create(&config, &atmosphere, low, 0.5, grid, half));
    check_relative(half[64 * 128 + 64], 0.2740 * scale, 2e-2);
    check_relative(
        half[3 * 128 + 4],
        0.5 * strength * 0.2740 / bb_error_terms_fitting_coefficient() *
            (bb_structure_function(0.5, 25.0) - bb_structure_function_corrected(0.5, 25.0, 0.5)),
        1e-8);
    config = (bb_error_terms_config){.aliasing = true};
    check_ok(bb_error_terms_create(&config, &atmosphere, low, 0.5, grid, half));
    check_relative(half[64 * 128 + 64], bb_error_terms_aliasing_coefficient() * scale, 3e-2);
    config = (bb_error_terms_config){
        .fitting = true, .fitting_coefficient = 0.3, .aliasing = true, .frame_delay_ms = 3.0};
    check_ok(bb_error_terms_create(&config, &atmosphere, low, 0.5, grid, half));
    assert_true(half[0] == 0.0 && half[5] > 0.0);
    for (bb_index j = 0; j < 128; ++j) {
        for (bb_index i = 0; i < 128; ++i) {
            assert_true(half[j * 128 + i] == half[i * 128 + j]);
            assert_true(half[j * 128 + i] == half[(128 - j) % 128 * 128 + i]);
        }
    }
}

// A telescope without correction, with the turbulence as its residual.
TEST(the_image_without_correction_is_the_seeing)
{
    const double diameter = 8.0;
    const double obstruction = 0.3;
    autoptr(bb_point_spread) spread = NULL;
    check_ok(
        bb_point_spread_create(diameter, &(bb_pupil){.obstruction = obstruction}, 8, NAN, &spread));
    const bb_point_spread_grid *grid = bb_point_spread_layout(spread);
    const bb_index n = grid->pixels;
    autofree double *correlation = doubles(n * n);
    autofree double *image = doubles(n * n);
    const double wavelength = 500e-9;
    const double r0 = 0.25;
    static const double outer_scales[] = {1e9, 25.0};
    for (int k = 0; k < 2; ++k) {
        const double outer = outer_scales[k];
        for (bb_index j = 0; j < n; ++j) {
            for (bb_index i = 0; i < n; ++i) {
                const double x = (double)(i <= n / 2 ? i : n - i);
                const double y = (double)(j <= n / 2 ? j : n - j);
                const double r = grid->pixel_m * hypot(x, y);
                const double structure =
                    k == 0 ? 6.88387718 * pow(r / r0, 5.0 / 3.0)
                           : pow(r0, -5.0 / 3.0) * bb_structure_function(r, outer);
                correlation[j * n + i] = -0.5 * wave_m * wave_m * structure;
            }
        }
        if (k == 0) {
            check_relative(bb_point_spread_strehl(spread, correlation, wavelength),
                           pow(r0 / diameter, 2.0) / (1.0 - obstruction * obstruction), 0.03);
        }
        check_ok(bb_point_spread_image(spread, correlation, wavelength, image));
        bb_index half = 0;
        const double *line = image + n / 2 * n + n / 2;
        while (line[half + 1] > 0.5 * line[0]) {
            ++half;
        }
        const double part = (line[half] - 0.5 * line[0]) / (line[half] - line[half + 1]);
        const double fwhm = 2.0 * ((double)half + part) * wavelength / ((double)n * grid->pixel_m);
        const double damping = k == 0 ? 1.0 : sqrt(1.0 - 2.183 * pow(r0 / outer, 0.356));
        print_message("FWHM over 0.98 lambda/r0 and outer scale: %.3f\n",
                      fwhm / (0.976 * wavelength / r0 * damping));
        check_relative(fwhm, 0.98 * wavelength / r0 * damping, 0.03);
        double width = NAN; // over all directions, not along one line of pixels
        check_ok(bb_point_spread_width(spread, correlation, wavelength, &width));
        check_relative(width, fwhm, 5e-3);
        // All the energy is in a box of the image's period, and the energy increases with the box.
        check_close(
            bb_point_spread_ensquared(spread, correlation, wavelength, wavelength / grid->pixel_m),
            1.0, 1e-9, 1.0);
        assert_true(bb_point_spread_ensquared(spread, correlation, wavelength, fwhm) <
                    bb_point_spread_ensquared(spread, correlation, wavelength, 2.0 * fwhm));
    }
    assert_true(isnan(bb_point_spread_ensquared(spread, correlation, wavelength, 1.0)));
}

// With the fitting error the lag uses Dlow: between two distant points the variance of two
// independent delays, and far below that of the whole turbulence, whose fine waves decorrelate
// fastest.
TEST(what_is_not_corrected_is_not_late)
{
    autorelease(bb_atmosphere) atmosphere = make_atmosphere(BB_PROFILE_MOAO_2, 25.0, NAN);
    const bb_displacement_grid grid = {256, 0.1};
    const double pitch = 0.8;
    static const double wind[] = {40.0, 90.0};
    autorelease(bb_structure_table) low = {0};
    autofree double *half = doubles(256 * 256);
    check_ok(bb_structure_function_corrected_table(25.0, pitch, &low));
    const bb_error_terms_config config = {
        .frame_delay_ms = 5.0, .wind_m_per_s = {.items = (void *)(uintptr_t)wind, .count = 2}};
    const double r = 0.1 * 120.0;
    for (int k = 0; k < 2; ++k) { // of all, of what is corrected
        double expected = 0.0;
        for (bb_index l = 0; l < 2; ++l) {
            const double drift = 5e-3 * wind[l];
            double mean = 0.0;
            for (int a = 0; a < 24; ++a) {
                const double angle = BB_PI * (a + 0.5) / 24.0;
                const double away = sqrt(r * r + drift * drift + 2.0 * r * drift * cos(angle));
                const double back = sqrt(r * r + drift * drift - 2.0 * r * drift * cos(angle));
                mean += k == 0
                            ? bb_structure_function(away, 25.0) + bb_structure_function(back, 25.0)
                            : bb_structure_function_corrected(away, 25.0, pitch) +
                                  bb_structure_function_corrected(back, 25.0, pitch);
            }
            const double near =
                k == 0 ? bb_structure_function(drift, 25.0) + bb_structure_function(r, 25.0)
                       : bb_structure_function_corrected(drift, 25.0, pitch) +
                             bb_structure_function_corrected(r, 25.0, pitch);
            expected += wave_m * wave_m * atmosphere.strength[l] * (near - mean / 48.0);
        }
        check_ok(bb_error_terms_create(&config, &atmosphere, k == 0 ? (bb_structure_table){0} : low,
                                       pitch, grid, half));
        print_message("lag %.2f nm\n", 1e9 * sqrt(half[120]));
        check_relative(half[120], expected, 1e-7);
    }
}
