// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/ao_check.h"
#include "physics/ao/ao_constants.h"
#include "physics/ao/sensor_array.h"
#include "physics/ao/subapertures.h"
#include "tests/physics/ao/cases.h"

// The counts that give the measurement numbers of moao's files and of the paper.
TEST(centre_rule_gives_the_published_counts)
{
    static const struct {
        bb_index lenslets, count;
        double obstruction;
    } expected[] = {
        {10, 76, .2},    {16, 196, .2},   {29, 640, .2},   {36, 976, .2},   {38, 1080, .2},
        {40, 1212, .2},  {41, 1264, .2},  {47, 1672, .2},  {61, 2812, .2},  {64, 3104, .2},
        {74, 4132, .2},  {80, 4816, .2},  {86, 5576, .2},  {38, 1036, .28}, {64, 2972, .28},
        {74, 3972, .28}, {80, 4632, .28}, {86, 5348, .28}, {1, 1, 0.0},     {1, 1, .2},
        {0, 0, 0.0},
    };
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; ++i) {
        assert_int_equal(bb_subapertures_count(expected[i].lenslets,
                                               &(bb_pupil){.obstruction = expected[i].obstruction}),
                         expected[i].count);
    }
}

TEST(subapertures_run_along_x_from_the_most_negative)
{
    // 4 x 4 over an open pupil: the corners, at 3/4 sqrt 2 > 1, are out.
    double x[12];
    double y[12];
    assert_int_equal(bb_subapertures_count(4, &(bb_pupil){.obstruction = 0.0}), 12);
    // A single lenslet counts while half of it is lit: pi/4 (1 - obstruction^2) >= 1/2.
    assert_int_equal(bb_subapertures_count(1, &(bb_pupil){.obstruction = 0.60}), 1);
    assert_int_equal(bb_subapertures_count(1, &(bb_pupil){.obstruction = 0.61}), 0);
    bb_subapertures_centres(4, &(bb_pupil){.obstruction = 0.0}, x, y);
    static const double expected_x[] = {-.25, .25,  -.75, -.25, .25,  .75,
                                        -.75, -.25, .25,  .75,  -.25, .25};
    static const double expected_y[] = {-.75, -.75, -.25, -.25, -.25, -.25,
                                        .25,  .25,  .25,  .25,  .75,  .75};
    assert_memory_equal(x, expected_x, sizeof x);
    assert_memory_equal(y, expected_y, sizeof y);
}

TEST(sensors_follow_one_another_with_their_own_lenslets)
{
    ao_case c = case_without_stars(8.0, 16);
    add_star(&c, BB_GUIDE_STAR_NGS, 10.0, 20.0);
    add_star(&c, BB_GUIDE_STAR_LGS, 0.0, 30.0);
    c.stars[1].lenslets = 10;
    c.stars[1].frame_ms = 2.0;
    c.stars[1].settings.spot_arcsec = 1.5;
    add_target(&c, -3.0, 4.0);
    c.targets[0].lenslets = 29;
    const bb_ao_config config = case_config(&c);
    autorelease(bb_sensor_array) guides = {0};
    autorelease(bb_sensor_array) truth = {0};
    autorelease(bb_atmosphere) atmosphere = new_struct(bb_atmosphere, config.atmosphere, 0.0);
    check_ok(bb_sensor_array_create_guides(&config, &atmosphere, &guides));
    check_ok(bb_sensor_array_create_truth(&config, 0, &atmosphere, &truth));
    assert_int_equal(guides.measurement_count, 2 * (196 + 76));
    assert_int_equal(guides.sensors[1].first, 2 * 196);
    assert_int_equal(truth.measurement_count, 2 * 640);
    const bb_sensor *lgs = &guides.sensors[1];
    check_relative(lgs->size_m, 0.8, 1e-15);
    check_relative(lgs->star.frame_s, 2e-3, 1e-15);
    assert_true(lgs->star.spot_arcsec == 1.5 && guides.sensors[0].star.pixel_arcsec == 0.3);
    // The launch telescope is at the edge, on the star's side.
    check_close(lgs->star.launch_x_m, 0.0, 1e-15, 4.0);
    check_relative(lgs->star.launch_y_m, 4.0, 1e-15);
    // Layer 1, 12.5 km up: the cone shrinks the pupil by 1/8 and the beam moves by h alpha.
    check_relative(lgs->layer[1].scale, 0.875, 1e-15);
    const double move = 12500.0 * 30.0 * BB_PI / 648000.0;
    const bb_slope_ends *ends = &lgs->ends[BB_AXIS_X];
    const double *x = ends->layer_x_m + ends->count;
    const double *y = ends->layer_y_m + ends->count;
    check_relative(y[ends->plus[7]], 0.875 * lgs->y_m[7] + move, 1e-14);
    check_relative(x[ends->plus[7]], 0.875 * (lgs->x_m[7] + 0.4), 1e-14);
    check_relative(x[ends->minus[7]], 0.875 * (lgs->x_m[7] - 0.4), 1e-14);
    check_fails(bb_sensor_array_create_truth(&config, 1, &atmosphere, &truth), BB_INVALID,
                "target 1, expected 0..0");
}

TEST(layers_above_a_laser_star_have_no_scale)
{
    ao_case c = case_without_stars(8.0, 8);
    c.telescope.zenith_angle_deg = 60.0;
    add_star(&c, BB_GUIDE_STAR_LGS, 0.0, 0.0);
    c.stars[0].settings.altitude_km = 10.0;
    const bb_ao_config config = case_config(&c);
    autorelease(bb_sensor_array) guides = {0};
    autorelease(bb_atmosphere) atmosphere = new_struct(bb_atmosphere, config.atmosphere, 60.0);
    check_ok(bb_sensor_array_create_guides(&config, &atmosphere, &guides));
    // Both height and altitude grow with the airmass.
    check_relative(guides.sensors[0].star.altitude_m, 20000.0, 1e-14);
    check_relative(guides.sensors[0].layer[0].scale, 1.0 - 0.003, 1e-14);
    assert_true(guides.sensors[0].layer[1].scale == 0.0);
    // A star on the axis has no azimuth: its launch telescope is at azimuth zero.
    assert_true(guides.sensors[0].star.launch_x_m == 4.0);
}

TEST(natural_stars_have_no_tilt_vectors)
{
    ao_case c = case_without_stars(8.0, 4);
    add_star(&c, BB_GUIDE_STAR_NGS, 0.0, 0.0);
    add_star(&c, BB_GUIDE_STAR_LGS, 9.0, 0.0);
    c.stars[1].settings.tilt_variance_arcsec2 = 0.0;
    const bb_ao_config config = case_config(&c);
    autorelease(bb_sensor_array) guides = {0};
    autorelease(bb_atmosphere) atmosphere = new_struct(bb_atmosphere, config.atmosphere, 0.0);
    check_ok(bb_sensor_array_create_guides(&config, &atmosphere, &guides));
    autorelease(bb_tilt_vectors) tilts = new_struct(bb_tilt_vectors, &guides, false);
    assert_int_equal(tilts.columns, 0);
}

// Lenslets of 1 m do not exceed the limit, five across are not a tilt sensor; a magnified grid has
// larger ones.
TEST(slopes_of_large_or_few_lenslets_are_averaged)
{
    enum { UNSET = -1, POINT = BB_SLOPE_POINT_DIFFERENCE, MEAN = BB_SLOPE_AVERAGED_GRADIENT };
    static const struct {
        double diameter_m, magnification;
        bb_index lenslets;
        int sensors, star;
        bool averages;
    } rows[] = {
        {8.0, 1.0, 8, UNSET, UNSET, false},  {8.0, 1.01, 8, UNSET, UNSET, true},
        {8.0, 1.0, 7, UNSET, UNSET, true},   {4.0, 1.0, 5, UNSET, UNSET, false},
        {1.0, 1.0, 4, UNSET, UNSET, true},   {30.0, 1.0, 2, UNSET, UNSET, true},
        {30.0, 1.0, 2, POINT, UNSET, false}, {30.0, 1.0, 2, POINT, MEAN, true},
        {30.0, 1.0, 2, MEAN, POINT, false},  {30.0, 1.0, 2, UNSET, POINT, false},
        {8.0, 1.0, 16, MEAN, UNSET, true},   {8.0, 1.0, 16, UNSET, MEAN, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        ao_case c = case_without_stars(rows[i].diameter_m, 10);
        c.telescope.obstruction = 0.0;
        c.sensors.slope_model = rows[i].sensors;
        add_star(&c, BB_GUIDE_STAR_NGS, 0.0, 0.0);
        c.stars[0].lenslets = rows[i].lenslets;
        c.stars[0].magnification = rows[i].magnification;
        c.stars[0].slope_model = rows[i].star;
        add_target(&c, 0.0, 0.0);
        const bb_ao_config config = case_config(&c);
        autorelease(bb_sensor_array) guides = {0};
        autorelease(bb_sensor_array) truth = {0};
        check_ok(bb_ao_check(&config));
        autorelease(bb_atmosphere) atmosphere = new_struct(bb_atmosphere, config.atmosphere, 0.0);
        check_ok(bb_sensor_array_create_guides(&config, &atmosphere, &guides));
        check_ok(bb_sensor_array_create_truth(&config, 0, &atmosphere, &truth));
        assert_int_equal(bb_sensor_averages(&guides.sensors[0]), rows[i].averages);
        // The truth sensor uses the sensors' model, and its own 10 lenslets.
        assert_int_equal(bb_sensor_averages(&truth.sensors[0]),
                         rows[i].sensors == MEAN ||
                             (rows[i].sensors == UNSET && rows[i].diameter_m > 10.0));
    }
    ao_case c = case_nx456();
    c.stars[2].slope_model = 7;
    const bb_ao_config config = case_config(&c);
    check_fails(bb_ao_check(&config), BB_INVALID, "guide_stars[2].slope_model = 7");
}

static bb_status create_all(const bb_ao_config *config, bb_atmosphere *atmosphere,
                            bb_sensor_array *guides, bb_tilt_vectors *tilts)
{
    bb_status status = BB_OK;
    BB_TRY(bb_atmosphere_create(config->atmosphere, 0.0, atmosphere));
    BB_TRY(bb_sensor_array_create_guides(config, atmosphere, guides));
    BB_TRY(bb_tilt_vectors_create(guides, false, tilts));
done:
    return status;
}

TEST_FULL(every_failed_allocation_is_reported)
{
    const ao_case c = case_nx456();
    const bb_ao_config config = case_config(&c);
    bb_status status = BB_OK;
    for (failing_allocation walk = {0}; fail_next(&walk, status);) {
        autorelease(bb_atmosphere) atmosphere = {0};
        autorelease(bb_sensor_array) guides = {0};
        autorelease(bb_tilt_vectors) tilts = {0};
        status = create_all(&config, &atmosphere, &guides, &tilts);
    }
}
