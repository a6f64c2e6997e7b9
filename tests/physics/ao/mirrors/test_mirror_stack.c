// SPDX-License-Identifier: Apache-2.0
#include "core/memory.h"
#include "physics/ao/ao_check.h"
#include "physics/ao/ao_constants.h"
#include "physics/ao/mirrors/deformable_mirror.h"
#include "physics/ao/mirrors/mirror_stack.h"
#include "tests/physics/ao/cases.h"

static const double arcsec = 1.0 / 206264.80624709636;

typedef struct scene {
    bb_ao_config config;
    bb_atmosphere atmosphere;
    bb_mirror_stack stack;
    bb_sensor_array truth[MOST_TARGETS];
} scene;

static void enter(const ao_case *c, scene *s)
{
    *s = (scene){.config = case_config(c)};
    check_ok(bb_ao_check(&s->config));
    check_ok(bb_atmosphere_create(&c->atmosphere, 0.0, &s->atmosphere));
    check_ok(bb_mirror_stack_create(&s->config, &s->stack));
    for (bb_index t = 0; t < c->target_count; ++t) {
        check_ok(bb_sensor_array_create_truth(&s->config, t, &s->atmosphere, &s->truth[t]));
    }
}

static void leave(scene *s)
{
    for (bb_index t = 0; t < s->config.target_count; ++t) {
        bb_sensor_array_release(&s->truth[t]);
    }
    bb_mirror_stack_release(&s->stack);
    bb_atmosphere_release(&s->atmosphere);
}

static double *interaction(const scene *s, bb_index target)
{
    const bb_sensor *sensor = &s->truth[target].sensors[0];
    double *matrix = doubles(2 * sensor->count * s->stack.actuator_count);
    check_ok(bb_mirror_stack_interaction(&s->stack, sensor, matrix));
    return matrix;
}

// Counts of an independent computation: 100 at 0 m, 149 at 11 km, 121 at 4.5 km.
TEST(actuators_cover_the_corrected_field)
{
    ao_case c = case_mcao();
    autocall(leave) scene s;
    add_mirror(&c, 0.0, NAN);
    add_mirror(&c, 4500.0, 0.8);
    add_mirror(&c, 11000.0, 0.8);
    enter(&c, &s);
    assert_int_equal(s.stack.mirrors[0].count, 100);
    assert_int_equal(s.stack.mirrors[1].count, 121);
    assert_int_equal(s.stack.mirrors[2].count, 149);
    assert_int_equal(s.stack.actuator_count, 370);
    assert_int_equal(s.stack.mirrors[2].first, 221);
    check_relative(bb_mirror_stack_actuators(&s.config), 370.0, 1e-15);
    for (bb_index k = 1; k < 3; ++k) {
        const bb_conjugate_mirror *mirror = &s.stack.mirrors[k];
        const double radius = 4.0 + 20.0 * arcsec * mirror->height_m + 0.7 * 0.8;
        bool axis = false;
        for (bb_index a = 0; a < mirror->count; ++a) {
            axis = axis || (mirror->x_m[a] == 0.0 && mirror->y_m[a] == 0.0);
            assert_true(hypot(mirror->x_m[a], mirror->y_m[a]) <= radius);
        }
        assert_true(axis);
    }
    leave(&s);
    // A direction that is only scored does not enlarge any mirror.
    c.targets[1].x_arcsec = 100.0;
    c.targets[1].weight = 0.0;
    enter(&c, &s);
    assert_int_equal(s.stack.actuator_count, 370);
    leave(&s);
    c.targets[1].weight = 1e-3;
    enter(&c, &s);
    assert_true(s.stack.mirrors[2].count > 200);
}

TEST(a_mirror_at_the_pupil_is_the_same_in_all_directions)
{
    ao_case c = case_mcao();
    autocall(leave) scene s;
    const bb_pupil pupil = {.obstruction = 0.2};
    add_mirror(&c, 0.0, NAN);
    enter(&c, &s);
    autorelease(bb_deformable_mirror) mirror =
        new_struct(bb_deformable_mirror, 8.0, &pupil, 10, NAN);
    const bb_index items = mirror.measurement_count * mirror.actuator_count;
    autofree double *expected = doubles(items);
    check_ok(bb_deformable_mirror_interaction(&mirror, &pupil, expected));
    autofree double *axis = interaction(&s, 0);
    for (bb_index t = 1; t < 5; ++t) {
        autofree double *other = interaction(&s, t);
        assert_memory_equal(axis, other, (size_t)items * sizeof *axis);
    }
    // Slopes are up to 0.25 arcsec per volt.
    check_all_close(axis, expected, items, 1e-14, 1.0);
}

// In direction (20, 0) a mirror at 11 km is shifted by 1.07 m: equivalent to moving its actuators
// by minus that, and to half the height in direction (40, 0).
TEST(a_direction_shifts_a_mirror)
{
    ao_case c = case_mcao();
    autocall(leave) scene s;
    c.targets[1].x_arcsec = 12.0;
    c.targets[1].y_arcsec = 16.0;
    add_mirror(&c, 11000.0, 0.8);
    enter(&c, &s);
    autofree double *slanted = interaction(&s, 1);
    const bb_index items = s.truth[0].measurement_count * s.stack.actuator_count;
    bb_conjugate_mirror *mirror = &s.stack.mirrors[0];
    mirror->height_m *= 0.5;
    s.truth[1].sensors[0].star.x_rad *= 2.0;
    s.truth[1].sensors[0].star.y_rad *= 2.0;
    autofree double *half = interaction(&s, 1);
    for (bb_index a = 0; a < mirror->count; ++a) {
        mirror->x_m[a] -= 11000.0 * 12.0 * arcsec;
        mirror->y_m[a] -= 11000.0 * 16.0 * arcsec;
    }
    autofree double *moved = interaction(&s, 0);
    double peak = 0.0;
    for (bb_index i = 0; i < items; ++i) {
        check_close(slanted[i], half[i], 1e-14, 1.0);
        check_close(slanted[i], moved[i], 1e-12, 1.0);
        peak = fmax(peak, fabs(slanted[i]));
    }
    assert_true(peak > 0.1);
}

// An actuator needed only by the opposite side of the field, at 11 km and 40 arcsec, is 8 m away.
TEST(an_actuator_out_of_sight_has_no_slope)
{
    ao_case c = case_mcao();
    scene s;
    c.targets[1].x_arcsec = 150.0;
    c.targets[3].x_arcsec = -150.0;
    add_mirror(&c, 11000.0, 0.8);
    enter(&c, &s);
    autofree double *matrix = interaction(&s, 1);
    const bb_conjugate_mirror *mirror = &s.stack.mirrors[0];
    bb_index distant = 0;
    for (bb_index a = 0; a < mirror->count; ++a) {
        if (mirror->x_m[a] > 0.0) {
            continue;
        }
        ++distant;
        for (bb_index i = 0; i < s.truth[1].measurement_count; ++i) {
            assert_true(fabs(matrix[i * s.stack.actuator_count + a]) < 1e-9);
        }
    }
    assert_true(distant > 100);
    leave(&s);
}

// One entry by hand: pitch 2 m, coupling 0.3, subaperture of 0.8 m.
TEST(a_slope_is_the_point_difference_of_the_influence)
{
    ao_case c = case_mcao();
    autocall(leave) scene s;
    add_mirror(&c, 11000.0, 2.0);
    c.mirrors[0].coupling = 0.3;
    enter(&c, &s);
    const bb_conjugate_mirror *mirror = &s.stack.mirrors[0];
    check_relative(bb_mirror_stack_influence(mirror, 0.0, 0.0), 1e-6, 1e-15);
    check_relative(bb_mirror_stack_influence(mirror, 0.0, -2.0), 0.3e-6, 1e-13);
    check_relative(bb_mirror_stack_influence(mirror, 1.2, 1.6), 0.3e-6, 1e-13);
    autofree double *matrix = interaction(&s, 1);
    const bb_sensor *truth = &s.truth[1].sensors[0];
    const bb_index actuators = s.stack.actuator_count;
    const bb_index i = 17;
    const bb_index a = 9;
    const double x = truth->x_m[i] + 11000.0 * 20.0 * arcsec - mirror->x_m[a];
    const double y = truth->y_m[i] - mirror->y_m[a];
    const double fall = log(0.3) / 4.0;
    const double along = 1e-6 * exp(fall * y * y) *
                         (exp(fall * (x + 0.4) * (x + 0.4)) - exp(fall * (x - 0.4) * (x - 0.4))) /
                         0.8 / arcsec;
    const double across = 1e-6 * exp(fall * x * x) *
                          (exp(fall * (y + 0.4) * (y + 0.4)) - exp(fall * (y - 0.4) * (y - 0.4))) /
                          0.8 / arcsec;
    check_close(matrix[i * actuators + a], along, 1e-13, 1.0);
    check_close(matrix[(truth->count + i) * actuators + a], across, 1e-13, 1.0);
}

TEST(odd_mirrors_are_refused)
{
    ao_case c = case_mcao();
    add_mirror(&c, 0.0, NAN);
    add_mirror(&c, 500.0, NAN);
    bb_ao_config config = case_config(&c);
    check_fails(bb_ao_check(&config), BB_INVALID, "mirrors[1].pitch_m is missing");
    c.mirrors[1].pitch_m = 0.01;
    check_fails(bb_ao_check(&config), BB_INVALID, "expected at most 46340");
    c.mirrors[1].pitch_m = -1.0;
    check_fails(bb_ao_check(&config), BB_INVALID, "mirrors[1].pitch_m");
    c.mirrors[1].pitch_m = 1.0;
    check_ok(bb_ao_check(&config));
    for (bb_index t = 0; t < 5; ++t) {
        c.targets[t].weight = 0.0;
    }
    check_fails(bb_ao_check(&config), BB_INVALID, "the weights sum to 0");
}

// The slopes of a guide star's sensor, rotated, shifted, magnified and with a cone effect, are the
// differences of an actuator's influence between the ends of its slopes on a layer at the mirror's
// height. The stack of the pupil's mirror is that mirror.
TEST(guide_stars_see_mirrors_as_layers)
{
    ao_case c = case_mcao();
    autocall(leave) scene s;
    autorelease(bb_sensor_array) guides = {0};
    autorelease(bb_mirror_stack) ground = {0};
    autofree double *matrix = NULL;
    const bb_pupil pupil = {.obstruction = 0.2};
    const bb_index layer = 1; // at 4500 m
    c.stars[0].rotation_deg = 17.0;
    c.stars[1].rotation_deg = 180.0;
    c.stars[1].shift_x_m = 0.13;
    c.stars[2].magnification = 1.02;
    add_mirror(&c, 4500.0, 0.8);
    enter(&c, &s);
    check_ok(bb_sensor_array_create_guides(&s.config, &s.atmosphere, &guides));
    const bb_conjugate_mirror *high = &s.stack.mirrors[0];
    for (bb_index g = 0; g < guides.sensor_count; ++g) {
        const bb_sensor *sensor = &guides.sensors[g];
        const double scale = BB_ARCSEC_PER_RADIAN / sensor->size_m;
        BB_RELEASE(&matrix);
        check_ok(BB_ALLOCATE(2 * sensor->count * s.stack.actuator_count, &matrix));
        check_ok(bb_mirror_stack_interaction(&s.stack, sensor, matrix));
        for (bb_index k = 0; k < 2 * sensor->count; k += 3) {
            const bb_slope_ends *ends = &sensor->ends[k / sensor->count];
            const bb_index plus = layer * ends->count + ends->plus[k % sensor->count];
            const bb_index minus = layer * ends->count + ends->minus[k % sensor->count];
            for (bb_index a = 0; a < high->count; a += 7) {
                const double expected =
                    scale * (bb_mirror_stack_influence(high, ends->layer_x_m[plus] - high->x_m[a],
                                                       ends->layer_y_m[plus] - high->y_m[a]) -
                             bb_mirror_stack_influence(high, ends->layer_x_m[minus] - high->x_m[a],
                                                       ends->layer_y_m[minus] - high->y_m[a]));
                check_close(matrix[k * s.stack.actuator_count + a], expected, 1e-13, 0.25);
            }
        }
    }
    BB_RELEASE(&matrix);
    autorelease(bb_deformable_mirror) mirror =
        new_struct(bb_deformable_mirror, 8.0, &pupil, 10, NAN);
    check_ok(bb_mirror_stack_of_pupil(&mirror, &ground));
    const bb_index items = mirror.measurement_count * mirror.actuator_count;
    autofree double *expected = doubles(items);
    check_ok(BB_ALLOCATE(items, &matrix));
    check_ok(bb_deformable_mirror_interaction(&mirror, &pupil, expected));
    check_ok(bb_mirror_stack_interaction(&ground, &s.truth[3].sensors[0], matrix));
    check_all_close(matrix, expected, items, 1e-14, 1.0);
}
