// SPDX-License-Identifier: Apache-2.0
//
// Influence functions from samples: between them, and on mirrors at a height, against the sampled
// functions.
#include "core/memory.h"
#include "physics/ao/ao_check.h"
#include "physics/ao/ao_constants.h"
#include "physics/ao/mirrors/mirror_commands.h"
#include "tests/physics/ao/cases.h"

// The influence of an actuator at a point of the conjugate, m.
typedef double (*shape)(bb_index actuator, double x, double y);

static bb_influence_cube sample(shape f, bb_index actuators, bb_index rows, bb_index columns,
                                double spacing_m)
{
    bb_influence_cube cube = {actuators, rows, columns, spacing_m, NULL};
    check_ok(BB_ALLOCATE(actuators * rows * columns, &cube.values));
    for (bb_index i = 0; i < actuators * rows * columns; ++i) {
        const double row = (double)(i / columns % rows);
        const double column = (double)(i % columns);
        cube.values[i] = f(i / (rows * columns), spacing_m * (column - 0.5 * (double)(columns - 1)),
                           spacing_m * (row - 0.5 * (double)(rows - 1)));
    }
    return cube;
}

static double value(const bb_influence_cube *cube, bb_index actuator, double x, double y)
{
    const bb_influence_place place = bb_influence_cube_find(cube, x, y);
    return bb_influence_cube_value(cube, actuator, &place);
}

static double cubic(bb_index actuator, double x, double y)
{
    return (double)(actuator + 1) * (0.3 + x - 2.0 * x * x * x) * (1.0 + y * y - 0.7 * y * y * y);
}

// Rows and columns differ, one count is even; half a step beyond the samples is still within the
// grid.
TEST(cubics_are_met_everywhere_on_the_grid)
{
    bb_influence_cube cube = sample(cubic, 2, 9, 6, 0.25);
    assert_true(bb_influence_cube_reach_x(&cube) == 0.75);
    assert_true(bb_influence_cube_reach_y(&cube) == 1.125);
    for (int i = -75; i <= 75; ++i) {
        for (int j = -112; j <= 112; j += 7) {
            const double x = 0.01 * i;
            const double y = 0.01 * j;
            check_close(value(&cube, 1, x, y), cubic(1, x, y), 1e-13, 10.0);
        }
    }
    assert_true(value(&cube, 1, 0.7501, 0.0) == 0.0 && value(&cube, 1, 0.0, -1.1251) == 0.0);
    assert_true(value(&cube, 1, -9.0, 30.0) == 0.0);
    BB_RELEASE(&cube.values);
}

// Elongated along x, one actuator off the axis: no symmetry that could hide a swap of the axes.
static double oblong(bb_index actuator, double x, double y)
{
    const double u = x - 1.7 + 2.1 * (double)actuator;
    const double v = y + 0.9 - 0.4 * (double)actuator;
    return 2.0e-6 * exp(-u * u / 1.8 - v * v / 0.7 + 0.3 * u * v);
}

static double round_one(bb_index actuator, double x, double y)
{
    (void)actuator;
    return 1e-6 * exp(-(x * x + y * y) * log(5.0));
}

// Fourth order in the spacing, and within the stated fraction of the fourth derivatives: for exp(-k
// x^2) 12 k^2 along an axis, here with k = ln 5.
TEST(errors_fall_with_the_fourth_power_of_the_spacing)
{
    double before = 0.0;
    for (int step = 0; step < 4; ++step) {
        const double spacing = ldexp(0.25, -step);
        const bb_index edge = 24 * ((bb_index)1 << step) + 1;
        bb_influence_cube cube = sample(round_one, 1, edge, edge, spacing);
        double worst = 0.0;
        for (int i = 0; i <= 200; ++i) {
            for (int j = 0; j <= 200; ++j) {
                const double x = 0.0123 * i - 1.2;
                const double y = 0.0117 * j - 1.1;
                worst = fmax(worst, fabs(value(&cube, 0, x, y) - round_one(0, x, y)));
            }
        }
        const double bound = 1e-6 * 0.024 * (1.0 + 1.25) * 12.0 * log(5.0) * log(5.0);
        print_message("spacing %.4f of the pitch: %.1e of the peak, %.1f times less\n", spacing,
                      1e6 * worst, before / worst);
        assert_true(worst < bound * pow(spacing, 4.0));
        assert_true(step == 0 || before > 11.0 * worst);
        before = worst;
        BB_RELEASE(&cube.values);
    }
    assert_true(before < 1e-6 * 2e-5);
}

// Within 0.024 h^4 of the fourth derivatives, 12 (1 / 0.7)^2 2 um along y and less along x, at both
// ends of a slope: 1e-4 arcsec. The slopes of guide stars, rotated, shifted, magnified and with a
// cone effect, and of truth sensors off the axis, from the function itself.
static double slope_by_hand(const bb_sensor *sensor, double height_m, bb_index k, bb_index actuator)
{
    const double cone = 1.0 - height_m / sensor->star.altitude_m;
    const bb_index i = k % sensor->count;
    const double angle = k < sensor->count ? 0.0 : 0.5 * BB_PI;
    double way[2];
    bb_sensor_frame_turn(&sensor->frame, 0.5 * cone * sensor->size_m * cos(angle),
                         0.5 * cone * sensor->size_m * sin(angle), &way[0], &way[1]);
    const double x = cone * sensor->x_m[i] + height_m * sensor->star.x_rad;
    const double y = cone * sensor->y_m[i] + height_m * sensor->star.y_rad;
    return (oblong(actuator, x + way[0], y + way[1]) - oblong(actuator, x - way[0], y - way[1])) /
           sensor->size_m * BB_ARCSEC_PER_RADIAN;
}

static void check_slopes(const bb_mirror_stack *stack, const bb_sensor *sensor, double *worst)
{
    const bb_conjugate_mirror *mirror = &stack->mirrors[1];
    autofree double *matrix = doubles(2 * sensor->count * stack->actuator_count);
    check_ok(bb_mirror_stack_interaction(stack, sensor, matrix));
    for (bb_index k = 0; k < 2 * sensor->count; ++k) {
        for (bb_index a = 0; a < mirror->count; ++a) {
            const double expected = slope_by_hand(sensor, mirror->height_m, k, a);
            const double got = matrix[k * stack->actuator_count + mirror->first + a];
            *worst = fmax(*worst, fabs(got - expected));
        }
    }
}

TEST(slopes_are_those_of_the_function_that_was_sampled)
{
    ao_case c = case_mcao();
    bb_influence_cube cubes[2] = {{0}};
    bb_sensor_array arrays[2] = {{0}};
    bb_mirror_stack stack = {0};
    double worst = 0.0;
    double swapped = 0.0;
    c.stars[0].rotation_deg = 17.0;
    c.stars[1].shift_x_m = 0.13;
    c.stars[2].magnification = 1.02;
    add_mirror(&c, 0.0, NAN);
    add_own_mirror(&c, 4500.0);
    cubes[1] = sample(oblong, 3, 141, 131, 0.1);
    c.influences = cubes;
    const bb_ao_config config = case_config(&c);
    check_ok(bb_ao_check(&config));
    autorelease(bb_atmosphere) atmosphere = new_struct(bb_atmosphere, &c.atmosphere, 0.0);
    check_ok(bb_mirror_stack_create(&config, &stack));
    assert_int_equal(stack.actuator_count, 103);
    check_relative(bb_mirror_stack_actuators(&config), 103.0, 1e-15);
    check_ok(bb_sensor_array_create_guides(&config, &atmosphere, &arrays[0]));
    for (bb_index s = 0; s < arrays[0].sensor_count; ++s) {
        check_slopes(&stack, &arrays[0].sensors[s], &worst);
    }
    check_ok(bb_sensor_array_create_truth(&config, 2, &atmosphere, &arrays[1]));
    const bb_sensor *truth = &arrays[1].sensors[0];
    check_slopes(&stack, truth, &worst);
    assert_true(bb_mirror_stack_moves(&stack, truth));
    check_ok(bb_mirror_stack_check_coverage(&stack, truth, true, "it"));
    // The same samples with the axes swapped are another mirror.
    bb_influence_cube turned = cubes[1];
    turned.rows = turned.columns = 131;
    cubes[1] = turned;
    for (bb_index i = 0; i < 131 * 131; ++i) {
        turned.values[i] = oblong(0, 0.1 * (double)(i / 131 - 65), 0.1 * (double)(i % 131 - 65));
    }
    check_slopes(&stack, truth, &swapped);
    print_message("slopes off by %.1e arcsec a volt, %.2f with the axes swapped\n", worst, swapped);
    assert_true(worst < 1e-4 && swapped > 0.1);
    bb_sensor_array_release(&arrays[0]);
    bb_sensor_array_release(&arrays[1]);
    bb_mirror_stack_release(&stack);
    BB_RELEASE(&cubes[1].values);
}

// An actuator is at the centroid of its squared influence; one without any on the axis.
TEST(actuators_stand_where_they_move_most)
{
    bb_influence_cube cube = sample(oblong, 3, 96, 120, 0.1);
    double x[3], y[3];
    memset(cube.values + 2 * 96 * 120, 0, sizeof(double) * 96 * 120);
    bb_influence_cube_centres(&cube, x, y);
    for (int a = 0; a < 2; ++a) {
        check_close(x[a], 1.7 - 2.1 * a, 1e-3, 1.0);
        check_close(y[a], -0.9 + 0.4 * a, 1e-3, 1.0);
    }
    assert_true(x[2] == 0.0 && y[2] == 0.0);
    assert_int_equal(bb_influence_cube_idle(&cube), 1);
    check_relative(bb_influence_cube_peak(&cube), 2.0e-6, 1e-2);
    assert_true(bb_influence_cube_rim(&cube) < 1e-3 * bb_influence_cube_peak(&cube));
    BB_RELEASE(&cube.values);
}

TEST(odd_cubes_are_refused)
{
    ao_case c = case_mcao();
    bb_influence_cube cube = sample(oblong, 2, 5, 6, 0.1);
    add_own_mirror(&c, 4500.0);
    bb_ao_config config = case_config(&c);
    check_ok(bb_ao_check(&config)); // not yet loaded
    assert_true(bb_mirror_stack_actuators(&config) == 0.0);
    bb_mirror_stack stack;
    check_fails(bb_mirror_stack_create(&config, &stack), BB_INTERNAL, "have not been loaded");
    config.influences = &cube;
    check_ok(bb_ao_check(&config));
    cube.values[2 * 30 - 4] = NAN;
    check_fails(bb_ao_check(&config), BB_INVALID,
                "mirrors[0].influence: actuator 1, row 4, column 2 is nan, expected a finite");
    memset(cube.values, 0, 60 * sizeof *cube.values);
    check_fails(bb_ao_check(&config), BB_INVALID, "the values of all 2 actuators are 0");
    cube.columns = 3;
    check_fails(bb_ao_check(&config), BB_INVALID, "5 rows and 3 columns, expected at least 4");
    cube.columns = 6;
    cube.spacing_m = -0.1;
    check_fails(bb_ao_check(&config), BB_INVALID, "samples -0.1 m apart, expected a positive");
    cube.actuator_count = 0;
    check_fails(bb_ao_check(&config), BB_INVALID, "mirrors[0].influence: no actuators");
    c.mirrors[0].pitch_m = 1.0;
    check_fails(bb_ao_check(&config), BB_INVALID,
                "mirrors[0].pitch_m = 1: influence is set too; set one of them");
    c.mirrors[0].pitch_m = NAN;
    c.mirrors[0].coupling = 0.2;
    check_fails(bb_ao_check(&config), BB_INVALID,
                "mirrors[0].coupling = 0.2: influence is set too");
    c.mirrors[0] = (bb_conjugate_config){0.0, NAN, NAN, {NULL, NULL, 0.1}};
    check_fails(bb_ao_check(&config), BB_INVALID,
                "mirrors[0].influence.file is missing: spacing_m has no effect without it");
    BB_RELEASE(&cube.values);
}

// Directions up to 20 arcsec reach 4 m + 11 km 20 arcsec = 5.0666 m of the conjugate.
TEST(a_grid_reaches_what_is_corrected)
{
    ao_case c = case_mcao();
    bb_influence_cube cube = sample(oblong, 2, 101, 102, 0.1);
    autorelease(bb_sensor_array) truth = {0};
    autorelease(bb_mirror_stack) stack = {0};
    add_own_mirror(&c, 11000.0);
    c.influences = &cube;
    const bb_ao_config config = case_config(&c);
    autorelease(bb_atmosphere) atmosphere = new_struct(bb_atmosphere, &c.atmosphere, 0.0);
    check_ok(bb_mirror_stack_create(&config, &stack));
    check_ok(bb_sensor_array_create_truth(&config, 2, &atmosphere, &truth)); // along y
    check_fails(bb_mirror_stack_check_coverage(&stack, truth.sensors, true, "targets[2]"),
                BB_INVALID,
                "mirrors[0].influence: the grid of 101 x 102 samples 0.1 m apart reaches 5.05 m "
                "from the axis along y, expected 5.06659 m: the footprint of targets[2] "
                "on the conjugate at 11000 m");
    check_ok(bb_mirror_stack_check_coverage(&stack, truth.sensors, false, "targets[2]")); // now 0
    cube.values[7] = 1e-7;
    check_fails(bb_mirror_stack_check_coverage(&stack, truth.sensors, false, "targets[2]"),
                BB_INVALID,
                "0.05 of the peak at the rim of the grid, 5.05 m from the axis along y, expected "
                "at most 0.01: the footprint of targets[2] on the conjugate at 11000 m extends to "
                "5.06659 m");
    bb_sensor_array_release(&truth);
    check_ok(bb_sensor_array_create_truth(&config, 1, &atmosphere, &truth)); // along x, 5.1 m
    check_ok(bb_mirror_stack_check_coverage(&stack, truth.sensors, true, "targets[1]"));
    truth.sensors[0].star.altitude_m = 10.0e3; // the mirror is above it
    truth.sensors[0].star.x_rad = 1.0;
    check_ok(bb_mirror_stack_check_coverage(&stack, truth.sensors, true, "targets[1]"));
    BB_RELEASE(&cube.values);
}

static bb_mirror_stack copied; // with a sampled upper mirror
static double copied_stroke;

static double as_upper(bb_index actuator, double x, double y)
{
    const bb_conjugate_mirror *mirror = &copied.mirrors[1];
    return copied_stroke *
           bb_mirror_stack_influence(mirror, x - mirror->x_m[actuator], y - mirror->y_m[actuator]);
}

// Reported modes, and the ratio of the first.
static bb_index tell(const ao_case *c, bb_plate_mode *first)
{
    const bb_ao_config config = case_config(c);
    bb_sensor_array truth[MOST_TARGETS] = {{0}};
    const bb_sensor *truths[MOST_TARGETS];
    autofree bb_plate_mode *modes = NULL;
    bb_index count = 0;
    autorelease(bb_atmosphere) atmosphere = new_struct(bb_atmosphere, &c->atmosphere, 0.0);
    for (bb_index t = 0; t < c->target_count; ++t) {
        check_ok(bb_sensor_array_create_truth(&config, t, &atmosphere, &truth[t]));
        truths[t] = truth[t].sensors;
    }
    bb_mirror_commands *commands = new_object(bb_mirror_commands, &config, truths);
    check_ok(bb_plate_modes_find(commands, &modes, &count));
    *first = count > 0 ? modes[0] : (bb_plate_mode){0};
    bb_mirror_commands_destroy(&commands);
    for (bb_index t = 0; t < c->target_count; ++t) {
        bb_sensor_array_release(&truth[t]);
    }
    return count;
}

// The opposed tilts at 1/49.9 of two Gaussian mirrors agree with those of their samples. If a volt
// has three times the effect on the upper one, it opposes by a third of the volts: at 1/77, and
// still reported as opposed.
TEST(plate_scale_is_found_on_samples)
{
    static const double strokes[2] = {1.0, 3.0};
    static const double conditions[2] = {45.0, 80.0};
    ao_case c = case_mcao();
    bb_influence_cube cubes[2] = {{0}};
    bb_plate_mode expected, mode;
    add_mirror(&c, 0.0, NAN);
    add_mirror(&c, 11000.0, 0.8);
    c.mirrors_condition = conditions[0];
    const bb_ao_config gaussian = case_config(&c);
    check_ok(bb_mirror_stack_create(&gaussian, &copied));
    assert_int_equal(tell(&c, &expected), 2);
    c.mirror_count = 1;
    add_own_mirror(&c, 11000.0);
    c.influences = cubes;
    for (int k = 0; k < 2; ++k) {
        copied_stroke = strokes[k];
        cubes[1] = sample(as_upper, copied.mirrors[1].count, 53, 53, 0.2);
        c.mirrors_condition = conditions[k];
        const bb_index found = tell(&c, &mode);
        print_message("stroke %g: %td modes, the first at 1/%.1f, tilts %.4f, of one mirror %.3f\n",
                      strokes[k], found, 1.0 / mode.ratio, mode.share[BB_PLATE_TILTS], mode.alone);
        assert_true(found >= 1);
        if (k == 0) {
            assert_int_equal(found, 2);
            check_relative(mode.ratio, expected.ratio, 1e-3);
            check_close(mode.share[BB_PLATE_TILTS], expected.share[BB_PLATE_TILTS], 1e-3, 1.0);
            check_close(mode.alone, expected.alone, 1e-3, 1.0);
        }
        assert_true(mode.shape == BB_PLATE_TILTS && mode.opposed);
        BB_RELEASE(&cubes[1].values);
    }
    bb_mirror_stack_release(&copied);
}
