// SPDX-License-Identifier: Apache-2.0
#include "core/random.h"
#include "physics/fringe/wavefront.h"
#include "tests/physics/fringe/cases.h"

static const double RAD_PER_NM = 0.02;

TEST(parts_lose_their_means)
{
    static const double phase[] = {1.0, 3.0, 105.0, 97.0, 101.0, 101.0, 7.0};
    static const int32_t labels[] = {0, 0, 1, 1, 1, 1, -1};
    bb_wavefront w;
    // Residuals -1, 1 and 4, -4, 0, 0.
    check_ok(bb_wavefront_measure(7, phase, NULL, labels, 2, RAD_PER_NM, &w));
    check_relative(w.rms_nm, sqrt(34.0 / 6.0) / RAD_PER_NM, 1e-14);
    check_relative(w.pv_nm, 8.0 / RAD_PER_NM, 1e-14);
    assert_int_equal(w.pixels, 6);
    assert_int_equal(w.missing, 0);
    check_ok(bb_wavefront_measure(2, phase, NULL, NULL, 1, RAD_PER_NM, &w));
    check_relative(w.rms_nm, 1.0 / RAD_PER_NM, 1e-14);
}

TEST(differences_are_counted_where_both_are)
{
    static const double truth[] = {1.0, NAN, 3.0, 4.0, NAN};
    static const double phase[] = {1.5, 2.0, 3.1, -INFINITY, NAN};
    bb_wavefront w;
    check_ok(bb_wavefront_measure(5, phase, truth, NULL, 1, RAD_PER_NM, &w));
    assert_int_equal(w.pixels, 2);
    assert_int_equal(w.missing, 1);
    check_relative(w.rms_nm, 0.2 / RAD_PER_NM, 1e-14);
    check_relative(w.pv_nm, 0.4 / RAD_PER_NM, 1e-14);
    check_ok(bb_wavefront_measure(5, phase, NULL, NULL, 1, RAD_PER_NM, &w));
    assert_int_equal(w.pixels, 3);
    assert_int_equal(w.missing, 2);
    check_ok(bb_wavefront_measure(1, phase + 3, NULL, NULL, 1, RAD_PER_NM, &w));
    assert_true(isnan(w.rms_nm) && isnan(w.pv_nm) && w.pixels == 0);
    static const int32_t label = 4;
    check_fails(bb_wavefront_measure(1, phase, NULL, &label, 4, RAD_PER_NM, &w), BB_INVALID,
                "pixel 0 has label 4, expected less than 4");
    check_fails(bb_wavefront_measure(1, phase, NULL, NULL, 3, RAD_PER_NM, &w), BB_INVALID,
                "3 parts without labels");
}

// A large piston must not hide a small rms.
TEST(small_errors_survive_large_pistons)
{
    enum { PIXELS = 1000000 };
    autofree double *phase = doubles(PIXELS);
    fill_array(phase, PIXELS, i, 1e6 / 3.0 + (i % 2 == 0 ? 1e-6 : -1e-6));
    bb_wavefront w;
    check_ok(bb_wavefront_measure(PIXELS, phase, NULL, NULL, 1, 1.0, &w));
    check_relative(w.rms_nm, 1e-6, 6e-5); // 1e6 / 3 is accurate to 6e-11
}

static bb_fringe_config polynomial_case(bb_zernike_term *terms, bb_index count)
{
    bb_fringe_config c = fringe_case(90, 64);
    c.surface.zernike = (bb_list){.items = terms, .count = count};
    c.pupil.kind = BB_FRINGE_PUPIL_ANNULUS;
    c.pupil.obstruction = 0.3;
    c.pupil.diameter = 0.95;
    c.pupil.holes = (bb_hole_config){.count = 3, .radius_px = 4.0};
    c.pupil.dead_share = 0.05;
    return c;
}

static void fit(const bb_fringe_config *c, const bb_scene *scene, bb_index terms, double *out,
                const char **reason)
{
    check_ok(bb_wavefront_fit(scene->columns, scene->rows, bb_fringe_config_radius_px(c),
                              scene->phase, bb_fringe_config_rad_per_nm(c), terms, out, reason));
}

TEST(polynomials_come_back_from_a_damaged_pupil)
{
    bb_zernike_term terms[] = {{1, 500.0}, {2, -300.0}, {7, 25.0}, {12, 0.5}, {28, -3.0}};
    const bb_fringe_config c = polynomial_case(terms, 5);
    autoptr(bb_scene) scene = make_scene(&c, 4, 0);
    double got[36];
    const char *reason = "";
    fit(&c, scene, 36, got, &reason);
    assert_null(reason);
    for (bb_index j = 1; j <= 36; ++j) {
        double expected = 0.0;
        for (int t = 0; t < 5; ++t) {
            expected = terms[t].j == j ? terms[t].rms_nm : expected;
        }
        check_close(got[j - 1], expected, 1e-9, 1.0);
    }
    // Pixels beyond the disc do not count: a rectangle gives the same polynomials.
    bb_scene_destroy(&scene);
    bb_fringe_config rectangle = c;
    rectangle.pupil.kind = BB_FRINGE_PUPIL_RECTANGLE;
    rectangle.pupil.obstruction = 0.0;
    scene = make_scene(&rectangle, 4, 0);
    scene->phase[32 * 90 + 45] = INFINITY; // nor do overflowed pixels
    fit(&rectangle, scene, 36, got, &reason);
    check_close(got[6], 25.0, 1e-9, 1.0);
}

TEST(fits_are_least_squares)
{
    // Noise of sigma in N pixels scatters a coefficient by sigma / sqrt(N) on a full disc.
    bb_fringe_config c = fringe_case(100, 100);
    c.pupil.kind = BB_FRINGE_PUPIL_DISC;
    c.surface.noise_rad = 0.3;
    double squares = 0.0;
    double pixels = 0.0;
    for (bb_index draw = 0; draw < 20; ++draw) {
        autoptr(bb_scene) scene = make_scene(&c, 1, draw);
        double got[21];
        const char *reason = NULL;
        fit(&c, scene, 21, got, &reason);
        pixels = (double)count_pixels(scene);
        for (int j = 0; j < 21; ++j) {
            squares += got[j] * got[j] / (20.0 * 21.0);
        }
    }
    const double sigma = 0.3 / bb_fringe_config_rad_per_nm(&c);
    check_relative(squares, sigma * sigma / pixels, 6.0 * sqrt(2.0 / 420.0));
}

TEST(what_is_not_determined_is_nan_with_its_reason)
{
    bb_fringe_config c = fringe_case(40, 40);
    autoptr(bb_scene) scene = make_scene(&c, 1, 0);
    double got[10];
    const char *reason = NULL;
    for (bb_index i = 0; i < 1600; ++i) { // 9 pixels, then a line
        scene->phase[i] = i >= 820 && i < 829 ? 1.0 : NAN;
    }
    fit(&c, scene, 10, got, &reason);
    assert_string_equal(reason, "fewer pixels than polynomials");
    assert_true(isnan(got[0]) && isnan(got[9]));
    fill_array(scene->phase, 1600, i, i / 40 == 20 ? 1.0 : NAN);
    fit(&c, scene, 10, got, &reason);
    assert_string_equal(reason, "the pixels do not determine the polynomials");
    assert_true(isnan(got[0]) && isnan(got[9]));
    fit(&c, scene, 2, got, &reason); // piston and x tilt are determined on a line
    assert_null(reason);
    check_relative(got[0], 1.0 / bb_fringe_config_rad_per_nm(&c), 1e-12);
    for (bb_index row = 1; row < 39; ++row) { // any row by itself determines a piston
        fill_array(scene->phase, 1600, i, i / 40 == row ? 2.0 : NAN);
        fit(&c, scene, 1, got, &reason);
        assert_null(reason);
        check_relative(got[0], 2.0 / bb_fringe_config_rad_per_nm(&c), 1e-12);
    }
    for (bb_index i = 0; i < 1600; ++i) { // enough pixels, too close to each other
        scene->phase[i] = i / 40 >= 20 && i / 40 < 24 && i % 40 >= 30 && i % 40 < 34 ? 1.0 : NAN;
    }
    check_ok(bb_wavefront_fit(40, 40, 100.0, scene->phase, 1.0, 10, got, &reason));
    assert_string_equal(reason, "the pixels do not determine the polynomials");
    fill_array(scene->phase, 1600, i, NAN);
    fit(&c, scene, 1, got, &reason);
    assert_string_equal(reason, "fewer pixels than polynomials");
    check_fails(bb_wavefront_fit(40, 40, 20.0, scene->phase, 1.0, 0, got, &reason), BB_INVALID,
                "0 polynomials, expected 1..500");
    check_fails(bb_wavefront_fit(40, 40, 20.0, scene->phase, 1.0, 501, got, &reason), BB_INVALID,
                "501 polynomials");
}

TEST(threads_do_not_matter)
{
    bb_zernike_term terms[] = {{4, 100.0}};
    bb_fringe_config c = polynomial_case(terms, 1);
    c.surface.noise_rad = 0.1;
    autoptr(bb_scene) scene = make_scene(&c, 4, 0);
    double one[28];
    double three[28];
    const char *reason = NULL;
    fit(&c, scene, 28, one, &reason);
    check_ok(bb_threads_set(3));
    fit(&c, scene, 28, three, &reason);
    bb_threads_stop();
    assert_memory_equal(one, three, sizeof one);
    for (bb_index k = 1; k <= 3; ++k) {
        bb_memory_fail_at(k);
        assert_int_equal(bb_wavefront_fit(90, 64, 30.0, scene->phase, 1.0, 28, one, &reason),
                         BB_MEMORY);
        bb_memory_fail_at(0);
    }
}
