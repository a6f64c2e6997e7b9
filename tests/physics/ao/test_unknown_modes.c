// SPDX-License-Identifier: Apache-2.0
//
// Modes outside the covariance: slopes of every mode against differences of its wavefront, on
// aligned grids and on one that is magnified, rotated and shifted, with both slope models; the
// drift of a sodium layer against the elongation of its spot; modes by kind of star.
#include "physics/ao/ao_constants.h"
#include "physics/ao/laser_star.h"
#include "physics/ao/unknown_modes.h"
#include "physics/zernike.h"
#include "tests/physics/ao/cases.h"

enum { SENSORS = 3, LENSLETS = 10 };

static const bb_unknown_modes_config every_kind = {0.3, 400.0, 25.0};

// A natural star, a laser star on a rotated grid, and a Rayleigh star.
typedef struct rig {
    ao_case c;
    bb_atmosphere atmosphere;
    bb_sensor_array guides;
    bb_unknown_modes modes;
} rig;

static ao_case three_stars(double zenith_angle_deg, bb_slope_model model)
{
    ao_case c = case_without_stars(8.0, LENSLETS);
    c.telescope.zenith_angle_deg = zenith_angle_deg;
    c.sensors.slope_model = (int)model;
    add_star(&c, BB_GUIDE_STAR_NGS, 10.0, 20.0);
    add_star(&c, BB_GUIDE_STAR_LGS, 0.0, 30.0);
    c.stars[1].settings.altitude_km = 90.0;
    c.stars[1].magnification = 1.1;
    c.stars[1].rotation_deg = 20.0;
    c.stars[1].shift_x_m = 0.3;
    c.stars[1].shift_y_m = -0.2;
    add_star(&c, BB_GUIDE_STAR_RAYLEIGH, 0.0, -30.0);
    c.stars[2].settings = bb_guide_star_kind_unset();
    return c;
}

static bb_status make(double zenith_angle_deg, bb_slope_model model,
                      const bb_unknown_modes_config *config, rig *out)
{
    bb_status status = BB_OK;
    *out = (rig){.c = three_stars(zenith_angle_deg, model)};
    const bb_ao_config physics = case_config(&out->c);
    BB_TRY(bb_atmosphere_create(physics.atmosphere, zenith_angle_deg, &out->atmosphere));
    BB_TRY(bb_sensor_array_create_guides(&physics, &out->atmosphere, &out->guides));
    BB_TRY(bb_unknown_modes_create(&out->guides, out->atmosphere.airmass, config, &out->modes));
done:
    return status;
}

static void release(rig *self)
{
    bb_unknown_modes_release(&self->modes);
    bb_sensor_array_release(&self->guides);
    bb_atmosphere_release(&self->atmosphere);
}

static double slope_of(const rig *self, bb_index sensor, int axis, bb_index i, bb_index column)
{
    const bb_sensor *s = &self->guides.sensors[sensor];
    return self->modes.vectors[(s->first + axis * s->count + i) * self->modes.columns + column];
}

// Wavefronts in m at a position along the axes of a sensor's grid, from its centre.
typedef double (*wavefront)(const bb_sensor *sensor, double airmass, bb_index mode, double x_m,
                            double y_m);

static double focus(const bb_sensor *sensor, double airmass, bb_index mode, double x_m, double y_m)
{
    (void)mode;
    double x;
    double y;
    bb_sensor_frame_turn(&sensor->frame, x_m, y_m, &x, &y);
    x += sensor->frame.shift_x_m;
    y += sensor->frame.shift_y_m;
    return -airmass * (x * x + y * y) / (2.0 * sensor->star.altitude_m * sensor->star.altitude_m);
}

static double aberration(const bb_sensor *sensor, double airmass, bb_index mode, double x_m,
                         double y_m)
{
    (void)airmass;
    const double radius_m = 0.5 * (double)sensor->lenslets * sensor->size_m;
    return 1e-9 * bb_zernike_value(4 + mode, x_m / radius_m, y_m / radius_m);
}

// The mean gradient over a subaperture by differences of 1e-4 of its size, 40 x 40 of them, or the
// difference between the midpoints of two edges.
static double numerical_slope(const bb_sensor *sensor, double airmass, bb_slope_model model,
                              wavefront front, bb_index mode, int axis, bb_index i)
{
    enum { POINTS = 40 };
    const double size = sensor->size_m;
    const double x =
        0.5 * size * (double)(sensor->ends[BB_AXIS_Y].x[sensor->ends[BB_AXIS_Y].plus[i]]);
    const double y =
        0.5 * size * (double)(sensor->ends[BB_AXIS_X].y[sensor->ends[BB_AXIS_X].plus[i]]);
    const double along_x = axis == BB_AXIS_X ? 1.0 : 0.0;
    const double along_y = 1.0 - along_x;
    double sum = 0.0;
    if (model == BB_SLOPE_POINT_DIFFERENCE) {
        const double half = 0.5 * size;
        return BB_ARCSEC_PER_RADIAN / size *
               (front(sensor, airmass, mode, x + half * along_x, y + half * along_y) -
                front(sensor, airmass, mode, x - half * along_x, y - half * along_y));
    }
    for (int a = 0; a < POINTS * POINTS; ++a) {
        const double step = 1e-4 * size;
        const double at_x = x + size * ((a % POINTS + 0.5) / POINTS - 0.5);
        const double at_y = y + size * ((a / POINTS + 0.5) / POINTS - 0.5);
        sum += (front(sensor, airmass, mode, at_x + step * along_x, at_y + step * along_y) -
                front(sensor, airmass, mode, at_x - step * along_x, at_y - step * along_y)) /
               (2.0 * step);
    }
    return BB_ARCSEC_PER_RADIAN * sum / (POINTS * POINTS);
}

static void hold(const rig *self, bb_slope_model model, wavefront front, bb_index sensor,
                 bb_index mode, bb_index column)
{
    const bb_sensor *s = &self->guides.sensors[sensor];
    double worst = 0.0;
    double largest = 0.0;
    for (int axis = 0; axis < 2; ++axis) {
        for (bb_index i = 0; i < s->count; ++i) {
            const double expected =
                numerical_slope(s, self->atmosphere.airmass, model, front, mode, axis, i);
            const double got = slope_of(self, sensor, axis, i, column);
            worst = fmax(worst, fabs(got - expected));
            largest = fmax(largest, fabs(expected));
        }
    }
    // Means over 40 x 40 squares have a relative error of 40^-2 for curvature within a subaperture.
    const double bound = model == BB_SLOPE_POINT_DIFFERENCE ? 1e-11 : 2e-5;
    if (worst > bound * largest) {
        print_error("sensor %td, mode %td: %g of %g\n", sensor, mode, worst, largest);
        fail();
    }
    for (bb_index row = 0; row < self->modes.rows; ++row) {
        const bool own = row >= s->first && row < s->first + 2 * s->count;
        assert_true(own || self->modes.vectors[row * self->modes.columns + column] == 0.0);
    }
}

TEST(slopes_are_those_of_the_wavefront)
{
    for (int model = 0; model < 2; ++model) {
        autocall(release) rig self;
        check_ok(make(40.0, (bb_slope_model)model, &every_kind, &self));
        assert_int_equal(self.modes.columns, 2 + 1 + BB_REFERENCE_MODES * SENSORS);
        hold(&self, (bb_slope_model)model, focus, 1, 0, 2);
        for (bb_index s = 0; s < SENSORS; ++s) {
            for (bb_index mode = 0; mode < BB_REFERENCE_MODES; ++mode) {
                hold(&self, (bb_slope_model)model, aberration, s, mode,
                     3 + BB_REFERENCE_MODES * s + mode);
            }
        }
    }
}

// A layer that rises by a metre moves the spot by the elongation of a layer a metre deep; the
// airmass enters its range twice, and once the drift along it.
TEST(a_drift_moves_spots_as_depth_stretches_them)
{
    autocall(release) rig zenith, low;
    check_ok(make(0.0, BB_SLOPE_POINT_DIFFERENCE, &every_kind, &zenith));
    check_ok(make(60.0, BB_SLOPE_POINT_DIFFERENCE, &every_kind, &low));
    const bb_sensor *laser = &low.guides.sensors[1];
    bb_star star = laser->star;
    star.depth_m = low.atmosphere.airmass;
    check_relative(star.altitude_m, 180.0e3, 1e-12);
    for (bb_index i = 0; i < laser->count; ++i) {
        const double x = slope_of(&low, 1, BB_AXIS_X, i, 2);
        const double y = slope_of(&low, 1, BB_AXIS_Y, i, 2);
        const double distance = hypot(laser->x_m[i], laser->y_m[i]);
        check_relative(hypot(x, y), bb_laser_star_elongation_arcsec(&star, distance), 1e-12);
        check_relative(slope_of(&zenith, 1, BB_AXIS_X, i, 2), 2.0 * x, 1e-9);
    }
}

// Slopes of focus, both astigmatisms, and of those with the others by symmetry; coma and trefoil
// are orthogonal as wavefronts, not on a square grid of slopes.
TEST(modes_of_unlike_symmetry_are_orthogonal)
{
    autocall(release) rig self;
    check_ok(make(0.0, BB_SLOPE_POINT_DIFFERENCE, &every_kind, &self));
    for (int a = 0; a < BB_REFERENCE_MODES; ++a) {
        for (int b = 0; b < a; ++b) {
            double product = 0.0;
            double squares[2] = {0.0, 0.0};
            for (bb_index row = 0; row < self.modes.rows; ++row) {
                const double *values = self.modes.vectors + row * self.modes.columns + 3;
                product += values[a] * values[b];
                squares[0] += values[a] * values[a];
                squares[1] += values[b] * values[b];
            }
            assert_true(b >= 3 || fabs(product) < 1e-13 * sqrt(squares[0] * squares[1]));
        }
    }
}

// Natural stars have tilts, sodium stars foci, all sensors aberrations; a variance of 0 gives no
// modes.
TEST(stars_have_the_modes_of_their_kind)
{
    static const struct {
        bb_unknown_modes_config config;
        bb_index columns;
    } cases[] = {{{0.0, 0.0, 0.0}, 0},
                 {{0.3, 0.0, 0.0}, 2},
                 {{0.0, 400.0, 0.0}, 1},
                 {{0.0, 0.0, 25.0}, BB_REFERENCE_MODES * SENSORS},
                 {{0.3, 400.0, 25.0}, 3 + BB_REFERENCE_MODES * SENSORS}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
        autocall(release) rig self;
        check_ok(make(0.0, BB_SLOPE_POINT_DIFFERENCE, &cases[k].config, &self));
        assert_int_equal(self.modes.columns, cases[k].columns);
        assert_int_equal(bb_unknown_modes_count(&self.guides, &cases[k].config), cases[k].columns);
    }
    autocall(release) rig self;
    check_ok(make(0.0, BB_SLOPE_POINT_DIFFERENCE, &every_kind, &self));
    const bb_index count = self.guides.sensors[0].count;
    for (bb_index column = 0; column < self.modes.columns; ++column) {
        const double expected = column < 2    ? every_kind.tilt_arcsec2
                                : column == 2 ? every_kind.sodium_height_m2
                                              : every_kind.reference_nm2;
        assert_true(self.modes.variances[column] == expected);
    }
    for (bb_index row = 0; row < self.modes.rows; ++row) {
        const double *values = self.modes.vectors + row * self.modes.columns;
        assert_true(values[0] == (row < count ? 1.0 : 0.0));
        assert_true(values[1] == (row >= count && row < 2 * count ? 1.0 : 0.0));
    }
}

TEST_FULL(every_failed_allocation_is_reported)
{
    bb_status status = BB_OK;
    for (failing_allocation walk = {0}; fail_next(&walk, status);) {
        autocall(release) rig self;
        status = make(0.0, BB_SLOPE_POINT_DIFFERENCE, &every_kind, &self);
    }
}
