// SPDX-License-Identifier: Apache-2.0
//
// Lenslet grids that are rotated, magnified and shifted relative to the pupil.
#include "physics/ao/ao_constants.h"
#include "physics/ao/covariance/displacement_table.h"
#include "tests/physics/ao/chain.h"

static void turn(double angle_deg, double *x, double *y)
{
    const double angle = angle_deg * BB_PI / 180.0;
    const double from_x = *x;
    *x = cos(angle) * from_x - sin(angle) * *y;
    *y = sin(angle) * from_x + cos(angle) * *y;
}

// Rotates a star and its sensor together.
static void turn_star(bb_guide_star_config *star, double angle_deg)
{
    turn(angle_deg, &star->x_arcsec, &star->y_arcsec);
    turn(angle_deg, &star->shift_x_m, &star->shift_y_m);
    star->rotation_deg += angle_deg;
}

static void check_equal(const chain *k, const chain *other, double tolerance)
{
    double peak = 0.0;
    double worst = 0.0;
    for (bb_index i = 0; i < k->n * k->n; ++i) {
        peak = fmax(peak, fabs(k->cmm[i]));
        worst = fmax(worst, fabs(k->cmm[i] - other->cmm[i]));
    }
    print_message("largest difference: %.2g of the peak\n", worst / peak);
    assert_true(worst <= tolerance * peak);
}

// Ends of a measurement on a layer, from the config only: plus x, plus y, minus x, minus y.
static double place(const ao_case *c, const bb_sensor_array *array, bb_index index, double height,
                    double ends[4])
{
    bb_index s = 0;
    while (index >= array->sensors[s].first + 2 * array->sensors[s].count) {
        ++s;
    }
    const bb_sensor *sensor = &array->sensors[s];
    const bb_guide_star_config *guide = &c->stars[s];
    const bb_index inside = index - sensor->first;
    const int axis = inside < sensor->count ? 0 : 1;
    const bb_index stride = 2 * sensor->lenslets - 1;
    const bb_index site = sensor->site[inside % sensor->count];
    const double pitch = c->telescope.diameter_m / (double)sensor->lenslets * guide->magnification;
    const double middle = 0.5 * (double)(sensor->lenslets - 1);
    const double cone = guide->kind == BB_GUIDE_STAR_LGS
                            ? 1.0 - height / (1000.0 * guide->settings.altitude_km)
                            : 1.0;
    for (int side = 0; side < 2; ++side) {
        const double half = side == 0 ? 0.5 : -0.5;
        double x = pitch * ((double)(site % stride) - middle + (axis == 0 ? half : 0.0));
        double y = pitch * ((double)(site / stride) - middle + (axis == 1 ? half : 0.0));
        turn(guide->rotation_deg, &x, &y);
        ends[2 * side] = cone * (x + guide->shift_x_m) + height * guide->x_arcsec * BB_PI / 648e3;
        ends[2 * side + 1] =
            cone * (y + guide->shift_y_m) + height * guide->y_arcsec * BB_PI / 648e3;
    }
    return pitch;
}

// Covariance of two phase differences between their ends, from the exact D.
static double direct(const ao_case *c, const bb_atmosphere *atmosphere,
                     const bb_sensor_array *array, bb_index i, bb_index j)
{
    double sum = 0.0;
    for (bb_index l = 0; l < atmosphere->layer_count; ++l) {
        double a[4], b[4];
        const double h = atmosphere->height_m[l];
        const double sizes = place(c, array, i, h, a) * place(c, array, j, h, b);
        for (int k = 0; k < 4; ++k) {
            const int start = k / 2;
            const int target = k % 2;
            const double sign = start == target ? -0.5 : 0.5;
            const double r =
                hypot(a[2 * start] - b[2 * target], a[2 * start + 1] - b[2 * target + 1]);
            sum += sign * atmosphere->strength[l] / sizes *
                   bb_structure_function(r, atmosphere->outer_scale_m);
        }
    }
    const double angle = 500e-9 * 648e3 / BB_PI / (2.0 * BB_PI);
    return angle * angle * sum;
}

static ao_case misregistered(void)
{
    ao_case c = case_without_stars(8.0, 6);
    add_star(&c, BB_GUIDE_STAR_NGS, 21.0, -8.0);
    add_star(&c, BB_GUIDE_STAR_NGS, -15.0, 30.0);
    add_star(&c, BB_GUIDE_STAR_LGS, 4.0, 25.0);
    add_star(&c, BB_GUIDE_STAR_NGS, -33.0, -2.0);
    c.stars[0].rotation_deg = 17.0;
    c.stars[0].shift_x_m = 0.11;
    c.stars[1].rotation_deg = -3.5;
    c.stars[1].magnification = 1.04;
    c.stars[2].rotation_deg = 130.0;
    c.stars[2].magnification = 0.97;
    c.stars[2].shift_y_m = -0.2;
    c.stars[2].settings.tilt_variance_arcsec2 = 0.0;
    c.stars[3].rotation_deg = 17.0;
    add_target(&c, 3.0, 5.0);
    return c;
}

TEST(unequal_angles_and_sizes_match_the_exact_function)
{
    const ao_case c = misregistered();
    autocall(chain_release) chain k = chain_assemble(&c, false);
    double worst = 0.0;
    const double peak = k.cmm[0];
    for (bb_index i = 0; i < k.n; ++i) {
        for (bb_index j = 0; j <= i; ++j) {
            const double wanted = direct(&c, &k.atmosphere, &k.guides, i, j);
            worst = fmax(worst, fabs(wanted - k.cmm[i * k.n + j]));
            assert_true(k.cmm[i * k.n + j] == k.cmm[j * k.n + i]);
        }
    }
    print_message("largest difference from the exact function: %.2g of the variance\n",
                  worst / peak);
    assert_true(worst < 1e-12 * peak);
}

// Tables apply to grids with equal rotation, and no others.
TEST(tables_serve_grids_that_are_turned_alike)
{
    const ao_case c = misregistered();
    autocall(chain_release) chain k = chain_assemble(&c, false);
    const bb_sensor *s = k.guides.sensors;
    const bb_index layers = k.guides.layer_count;
    assert_true(bb_displacement_table_applies(&s[0], &s[3], layers));
    assert_false(bb_displacement_table_applies(&s[0], &s[1], layers));
    assert_false(bb_displacement_table_applies(&s[0], &s[2], layers));
    assert_true(bb_displacement_table_applies(&s[2], &s[2], layers));
}

// Stars, sensors and the laser's launch rotated together: nothing changes, by a quarter turn or by
// any angle, since layers are isotropic. Sensors alone rotated by a quarter turn permute: compared
// with unrotated grids under the same sky.
TEST_FULL(turning_everything_changes_nothing)
{
    const double angles[] = {90.0, 180.0, -90.0, 33.0};
    for (int model = 0; model < 2; ++model) {
        ao_case c = misregistered();
        c.sensors.slope_model = model;
        autocall(chain_release) chain k = chain_assemble(&c, true);
        for (int a = 0; a < 4; ++a) {
            ao_case other = c;
            for (bb_index s = 0; s < c.star_count; ++s) {
                turn_star(&other.stars[s], angles[a]);
            }
            autocall(chain_release) chain q = chain_assemble(&other, true);
            check_equal(&k, &q, 1e-12);
        }
    }
}

// A grid rotated by a quarter turn measures along y what the aligned one measures along x, and
// along -x what the latter measures along y.
TEST(a_quarter_turn_of_a_grid_permutes_its_slopes)
{
    ao_case c = case_without_stars(8.0, 7);
    c.telescope.obstruction = 0.14;
    add_star(&c, BB_GUIDE_STAR_NGS, 21.0, -8.0);
    add_star(&c, BB_GUIDE_STAR_LGS, -15.0, 30.0);
    c.stars[1].settings.tilt_variance_arcsec2 = 0.0;
    add_target(&c, 3.0, 5.0);
    ao_case quarter = c;
    quarter.stars[0].rotation_deg = 90.0;
    quarter.stars[1].rotation_deg = -270.0;
    autocall(chain_release) chain k = chain_assemble(&c, true);
    autocall(chain_release) chain q = chain_assemble(&quarter, true);
    bb_index target[400];
    double sign[400];
    for (bb_index i = 0; i < k.n; ++i) {
        const bb_sensor *sensor = &k.guides.sensors[i < 2 * k.guides.sensors[0].count ? 0 : 1];
        const bb_sensor *turned = &q.guides.sensors[sensor - k.guides.sensors];
        const bb_index inside = i - sensor->first;
        const bool along_x = inside < sensor->count;
        target[i] = -1;
        for (bb_index j = 0; j < sensor->count; ++j) {
            // The same position in the pupil.
            if (hypot(turned->x_m[inside % sensor->count] - sensor->x_m[j],
                      turned->y_m[inside % sensor->count] - sensor->y_m[j]) < 1e-9) {
                target[i] = sensor->first + (along_x ? sensor->count : 0) + j;
            }
        }
        sign[i] = along_x ? 1.0 : -1.0;
        assert_true(target[i] >= 0);
    }
    for (bb_index i = 0; i < k.n; ++i) {
        for (bb_index j = 0; j < k.n; ++j) {
            check_close(q.cmm[i * k.n + j], sign[i] * sign[j] * k.cmm[target[i] * k.n + target[j]],
                        1e-12, k.cmm[0]);
        }
    }
}

// Rotating one sensor on the axis equals rotating all others the other way.
TEST(turning_one_is_turning_the_others_back)
{
    for (int model = 0; model < 2; ++model) {
        ao_case c = case_without_stars(8.0, 6);
        c.sensors.slope_model = model;
        add_star(&c, BB_GUIDE_STAR_NGS, 0.0, 0.0);
        add_star(&c, BB_GUIDE_STAR_NGS, -15.0, 30.0);
        add_star(&c, BB_GUIDE_STAR_LGS, 4.0, 25.0);
        add_target(&c, 3.0, 5.0);
        ao_case others = c;
        c.stars[0].rotation_deg = 21.0;
        turn_star(&others.stars[1], -21.0);
        turn_star(&others.stars[2], -21.0);
        autocall(chain_release) chain k = chain_assemble(&c, true);
        autocall(chain_release) chain q = chain_assemble(&others, true);
        check_equal(&k, &q, 1e-12);
    }
}

// A magnified grid equals that of a telescope larger by the same factor, noise and launch included.
TEST(magnification_scales_as_the_diameter)
{
    for (int model = 0; model < 2; ++model) {
        ao_case c = case_without_stars(8.0, 6);
        c.sensors.slope_model = model;
        add_star(&c, BB_GUIDE_STAR_NGS, 9.0, -7.0);
        add_star(&c, BB_GUIDE_STAR_LGS, -15.0, 30.0);
        c.stars[1].launch_x_m = 3.0;
        c.stars[1].launch_y_m = 1.0;
        add_target(&c, 3.0, 5.0);
        ao_case larger = c;
        larger.telescope.diameter_m = 10.0;
        c.stars[0].magnification = 1.25;
        c.stars[1].magnification = 1.25;
        autocall(chain_release) chain k = chain_assemble(&c, true);
        autocall(chain_release) chain q = chain_assemble(&larger, true);
        check_equal(&k, &q, 1e-12);
    }
}
