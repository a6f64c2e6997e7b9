// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/ao_constants.h"
#include "physics/ao/covariance/displacement_table.h"
#include "tests/physics/ao/cases.h"

static const bb_layer_config layers[] = {
    {100.0, 9.0, NAN, NAN}, {4000.0, 3.5, NAN, NAN}, {12500.0, 1.7, NAN, NAN}};

typedef struct scene {
    ao_case config;
    bb_atmosphere atmosphere;
    bb_sensor_array sensors;
} scene;

// Sensors 0 and 1: natural, one grid shifted; 2 and 3: laser at 90 km; 4: laser at 80 km; 5:
// natural, other lenslets.
static void enter(scene *s)
{
    s->config = case_without_stars(8.0, 9);
    ao_case *c = &s->config;
    c->atmosphere.profile = -1;
    c->atmosphere.layers = (bb_list){.items = (void *)(uintptr_t)layers, .count = 3};
    add_star(c, BB_GUIDE_STAR_NGS, -12.0, 44.0);
    add_star(c, BB_GUIDE_STAR_NGS, 20.0, 5.0);
    c->stars[1].shift_x_m = 0.21;
    c->stars[1].shift_y_m = -0.08;
    add_star(c, BB_GUIDE_STAR_LGS, 31.0, 7.0);
    add_star(c, BB_GUIDE_STAR_LGS, -9.0, -26.0);
    add_star(c, BB_GUIDE_STAR_LGS, -9.0, -26.0);
    c->stars[2].settings.altitude_km = c->stars[3].settings.altitude_km = 90.0;
    c->stars[4].settings.altitude_km = 80.0;
    add_star(c, BB_GUIDE_STAR_NGS, 3.0, 3.0);
    c->stars[5].lenslets = 8;
    add_target(c, 0.0, 0.0);
    const bb_ao_config config = case_config(c);
    check_ok(bb_atmosphere_create(config.atmosphere, 0.0, &s->atmosphere));
    check_ok(bb_sensor_array_create_guides(&config, &s->atmosphere, &s->sensors));
}

static void leave(scene *s)
{
    bb_sensor_array_release(&s->sensors);
    bb_atmosphere_release(&s->atmosphere);
}

static double exact(const bb_atmosphere *atmosphere, double u, double v)
{
    return bb_structure_function(hypot(u, v), atmosphere->outer_scale_m);
}

// Covariance of slopes along axes i and j from the formulas of section 2.4, s1 = s2 = s.
static double direct(const scene *k, const bb_sensor *a, int i, bb_index p, const bb_sensor *b,
                     int j, bb_index q)
{
    const bb_atmosphere *atmosphere = &k->atmosphere;
    double sum = 0.0;
    for (bb_index l = 0; l < atmosphere->layer_count; ++l) {
        const double h = atmosphere->height_m[l];
        const double s = 0.5 * a->size_m * a->layer[l].scale;
        const double u = a->layer[l].scale * a->x_m[p] + h * a->star.x_rad -
                         (b->layer[l].scale * b->x_m[q] + h * b->star.x_rad);
        const double v = a->layer[l].scale * a->y_m[p] + h * a->star.y_rad -
                         (b->layer[l].scale * b->y_m[q] + h * b->star.y_rad);
        // Ends of a and b relative to the centres: +-(ax, ay) and +-(bx, by).
        const double ax = i == BB_AXIS_X ? s : 0.0;
        const double ay = s - ax;
        const double bx = j == BB_AXIS_X ? s : 0.0;
        const double factor = s - bx;
        sum += 0.5 * atmosphere->strength[l] *
               (exact(atmosphere, u + ax + bx, v + ay + factor) +
                exact(atmosphere, u - ax - bx, v - ay - factor) -
                exact(atmosphere, u + ax - bx, v + ay - factor) -
                exact(atmosphere, u - ax + bx, v - ay + factor));
    }
    const double angle = BB_R0_WAVELENGTH_M * BB_ARCSEC_PER_RADIAN / (2.0 * BB_PI);
    return sum * angle * angle / (a->size_m * b->size_m);
}

TEST(tables_match_a_direct_evaluation)
{
    static const int pairs[][2] = {{0, 0}, {0, 1}, {2, 3}, {4, 4}};
    autocall(leave) scene k = {0};
    enter(&k);
    for (size_t t = 0; t < sizeof pairs / sizeof pairs[0]; ++t) {
        const bb_sensor *a = &k.sensors.sensors[pairs[t][0]];
        const bb_sensor *b = &k.sensors.sensors[pairs[t][1]];
        double worst = 0.0;
        double peak = 0.0;
        assert_true(bb_displacement_table_applies(a, b, 3));
        autorelease(bb_displacement_table) table =
            new_struct(bb_displacement_table, &k.atmosphere, a, b);
        for (bb_index p = 0; p < a->count; p += 3) {
            for (bb_index q = 0; q < b->count; ++q) {
                const bb_index index = table.centre + a->site[p] - b->site[q];
                const double wanted[] = {
                    direct(&k, a, BB_AXIS_X, p, b, BB_AXIS_X, q),
                    direct(&k, a, BB_AXIS_Y, p, b, BB_AXIS_Y, q),
                    direct(&k, a, BB_AXIS_X, p, b, BB_AXIS_Y, q),
                    direct(&k, a, BB_AXIS_Y, p, b, BB_AXIS_X, q),
                };
                const double got[] = {table.parallel[BB_AXIS_X][index],
                                      table.parallel[BB_AXIS_Y][index], table.crossed[index],
                                      table.crossed[index]};
                for (int e = 0; e < 4; ++e) {
                    peak = fmax(peak, fabs(wanted[e]));
                    worst = fmax(worst, fabs(got[e] - wanted[e]));
                }
            }
        }
        print_message("sensors %d and %d: %.2g of the peak\n", pairs[t][0], pairs[t][1],
                      worst / peak);
        assert_true(worst < 1e-12 * peak);
    }
}

TEST(the_table_of_a_sensor_and_itself_is_even)
{
    autocall(leave) scene k = {0};
    enter(&k);
    for (int s = 0; s < 3; s += 2) {
        const bb_sensor *sensor = &k.sensors.sensors[s];
        autorelease(bb_displacement_table) table =
            new_struct(bb_displacement_table, &k.atmosphere, sensor, sensor);
        for (bb_index d = 0; d <= table.centre; ++d) {
            const bb_index forth = table.centre + d;
            const bb_index back = table.centre - d;
            assert_true(table.crossed[forth] == table.crossed[back]);
            for (int axis = BB_AXIS_X; axis <= BB_AXIS_Y; ++axis) {
                assert_true(table.parallel[axis][forth] == table.parallel[axis][back]);
            }
        }
    }
}

TEST(only_equal_grids_and_cones_are_served)
{
    autocall(leave) scene k = {0};
    enter(&k);
    const bb_sensor *s = k.sensors.sensors;
    assert_true(bb_displacement_table_applies(&s[3], &s[2], 3));
    assert_false(bb_displacement_table_applies(&s[0], &s[2], 3)); // natural, laser
    assert_false(bb_displacement_table_applies(&s[3], &s[4], 3)); // altitudes
    assert_false(bb_displacement_table_applies(&s[0], &s[5], 3)); // lenslets
    assert_true(bb_displacement_table_resident(9).host_bytes == 3.0 * 17.0 * 17.0 * 8.0);
}
