// SPDX-License-Identifier: Apache-2.0
#include "core/random.h"
#include "core/thread.h"
#include "physics/ao/ao_constants.h"
#include "tests/physics/ao/chain.h"

#include <gsl/gsl_integration.h>

// A measurement, located by counting: position in the pupil, axis, and direction.
typedef struct slope {
    double x, y, size, alpha_x, alpha_y, inverse_altitude;
    int axis;
    int sensor;
} slope;

static int append(slope *list, int count, const ao_case *c, slope like, bb_index lenslets,
                  double shift_x, double shift_y)
{
    const double d = c->telescope.diameter_m / (double)lenslets;
    const double edge = 0.5 * c->telescope.diameter_m;
    for (like.axis = 0; like.axis < 2; ++like.axis) {
        for (bb_index j = 0; j < lenslets; ++j) {
            for (bb_index i = 0; i < lenslets; ++i) {
                like.x = ((double)i - 0.5 * (double)(lenslets - 1)) * d;
                like.y = ((double)j - 0.5 * (double)(lenslets - 1)) * d;
                const double r = hypot(like.x, like.y);
                if (r >= c->telescope.obstruction * edge && r < edge) {
                    like.x += shift_x;
                    like.y += shift_y;
                    like.size = d;
                    list[count++] = like;
                }
            }
        }
    }
    return count;
}

static int guide_slopes(const ao_case *c, slope *list)
{
    int count = 0;
    const double airmass = 1.0 / cos(c->telescope.zenith_angle_deg * BB_PI / 180.0);
    for (int s = 0; s < c->star_count; ++s) {
        const bb_guide_star_config *g = &c->stars[s];
        const slope like = {.alpha_x = g->x_arcsec * BB_PI / 648000.0,
                            .alpha_y = g->y_arcsec * BB_PI / 648000.0,
                            .inverse_altitude =
                                g->kind == BB_GUIDE_STAR_LGS
                                    ? 1.0 / (1000.0 * g->settings.altitude_km * airmass)
                                    : 0.0,
                            .sensor = s};
        count = append(list, count, c, like,
                       g->lenslets == BB_INTEGER_UNSET ? c->sensors.lenslets : g->lenslets,
                       g->shift_x_m, g->shift_y_m);
    }
    return count;
}

static int truth_slopes(const ao_case *c, slope *list)
{
    const slope like = {.alpha_x = c->targets[0].x_arcsec * BB_PI / 648000.0,
                        .alpha_y = c->targets[0].y_arcsec * BB_PI / 648000.0,
                        .sensor = -1};
    return append(list, 0, c, like, c->targets[0].lenslets, 0.0, 0.0);
}

static double distance_function(double u, double v, double outer_scale)
{
    return bb_structure_function(hypot(u, v), outer_scale);
}

// One entry directly from the four formulas of section 2.4, with the exact D.
static double direct(const ao_case *c, const slope *a, const slope *b)
{
    const double outer = c->atmosphere.outer_scale_m;
    const double airmass = 1.0 / cos(c->telescope.zenith_angle_deg * BB_PI / 180.0);
    const bb_layer_config *layers = c->atmosphere.layers.items;
    double sum = 0.0;
    for (bb_index l = 0; l < c->atmosphere.layers.count; ++l) {
        const double h = layers[l].height_m * airmass;
        const double ga = 1.0 - h * a->inverse_altitude;
        const double gb = 1.0 - h * b->inverse_altitude;
        if (ga <= 0.0 || gb <= 0.0) {
            continue;
        }
        const double du = ga * a->x + h * a->alpha_x - (gb * b->x + h * b->alpha_x);
        const double dv = ga * a->y + h * a->alpha_y - (gb * b->y + h * b->alpha_y);
        const double s1 = 0.5 * a->size * ga;
        const double s2 = 0.5 * b->size * gb;
        double four = 0.0;
        if (a->axis == 0 && b->axis == 0) {
            four = -distance_function(du + s1 - s2, dv, outer) +
                   distance_function(du + s1 + s2, dv, outer) +
                   distance_function(du - s1 - s2, dv, outer) -
                   distance_function(du - s1 + s2, dv, outer);
        } else if (a->axis == 1 && b->axis == 1) {
            four = -distance_function(du, dv + s1 - s2, outer) +
                   distance_function(du, dv + s1 + s2, outer) +
                   distance_function(du, dv - s1 - s2, outer) -
                   distance_function(du, dv - s1 + s2, outer);
        } else if (a->axis == 0) {
            four = -distance_function(du + s1, dv - s2, outer) +
                   distance_function(du + s1, dv + s2, outer) +
                   distance_function(du - s1, dv - s2, outer) -
                   distance_function(du - s1, dv + s2, outer);
        } else {
            four = -distance_function(du - s2, dv + s1, outer) +
                   distance_function(du + s2, dv + s1, outer) +
                   distance_function(du - s2, dv - s1, outer) -
                   distance_function(du + s2, dv - s1, outer);
        }
        sum += 0.5 * four * layers[l].strength * airmass;
    }
    // (500 nm x 206264.806... / 2 pi)^2 in arcsec^2 m^2.
    const double angle = 500e-9 * (648000.0 / BB_PI) / (2.0 * BB_PI);
    return sum * angle * angle / (a->size * b->size);
}

// Random entries of the block of star 0 with star 1, each filled separately, relative to the peak
// of the block, where two subapertures overlap.
static double worst_lone_entry(const ao_case *c, const bb_ao_config *config, const slope *guides,
                               int n)
{
    autorelease(bb_sensor_array) sensors = {0};
    autorelease(bb_atmosphere) atmosphere = new_struct(bb_atmosphere, config->atmosphere, 0.0);
    check_ok(bb_sensor_array_create_guides(config, &atmosphere, &sensors));
    const bb_slope_covariance_parts parts = {
        .name = "Cmm", .atmosphere = &atmosphere, .rows = &sensors, .columns = &sensors};
    autoptr(bb_slope_covariance) covariance = new_object(bb_slope_covariance, &parts);
    const bb_matrix_source *source = bb_slope_covariance_source(covariance);
    assert_int_equal(source->rows, n);
    const bb_index half = sensors.sensors[1].first;
    double worst = 0.0;
    double peak = 0.0;
    for (uint64_t i = 0; i < 600; ++i) {
        const bb_index row =
            (bb_index)((double)half * bb_random_uniform(1, BB_STREAM_SELF_TEST, 2 * i));
        // Every third entry is paired with the same lenslet of the other sensor.
        const bb_index column =
            i % 3 == 0 ? half + row
                       : half + (bb_index)((double)half *
                                           bb_random_uniform(1, BB_STREAM_SELF_TEST, 2 * i + 1));
        double entry = NAN;
        check_ok(bb_matrix_source_fill(source, row, column, bb_view_matrix(&entry, 1, 1)));
        const double wanted = direct(c, &guides[row], &guides[column]);
        peak = fmax(peak, fabs(wanted));
        worst = fmax(worst, fabs(entry - wanted));
    }
    return worst / peak;
}

static void compare(const ao_case *c, const double *matrix, const slope *rows, int row_count,
                    const slope *columns, int column_count)
{
    double worst = 0.0;
    double peak = 0.0;
    for (int i = 0; i < row_count; ++i) {
        for (int j = 0; j < column_count; ++j) {
            double wanted = direct(c, &rows[i], &columns[j]);
            if (rows[i].sensor == columns[j].sensor && rows[i].sensor >= 0 &&
                rows[i].axis == columns[j].axis &&
                c->stars[rows[i].sensor].kind == BB_GUIDE_STAR_LGS) {
                const double own = c->stars[rows[i].sensor].settings.tilt_variance_arcsec2;
                wanted += isnan(own) ? c->sensors.lgs.tilt_variance_arcsec2 : own;
            } else {
                peak = fmax(peak, fabs(wanted));
            }
            worst = fmax(worst, fabs(wanted - matrix[i * column_count + j]));
        }
    }
    print_message("largest difference from the direct evaluation: %.2g of the peak\n",
                  worst / peak);
    assert_true(worst < 1e-12 * peak);
}

TEST(asymmetric_asterism_matches_a_direct_evaluation)
{
    const ao_case c = case_asymmetric();
    slope guides[400];
    slope truth[100];
    const int n = guide_slopes(&c, guides);
    const int m = truth_slopes(&c, truth);
    autocall(chain_release) chain k = chain_assemble(&c, false);
    assert_int_equal(k.n, n);
    assert_int_equal(k.m, m);
    compare(&c, k.cmm, guides, n, guides, n);
    compare(&c, k.ctm, truth, m, guides, n);
    compare(&c, k.ctt, truth, m, truth, m);
}

// Single entries of large telescopes, laser with natural, against the exact D: across 2 pi r / L0 =
// 4.7 and far beyond, d / L0 from 1/500 to 1/10.
TEST(far_entries_match_the_exact_function)
{
    static const struct {
        double diameter_m, outer_scale_m, radius_arcsec;
        bb_index lenslets;
    } sizes[] = {
        {8.0, 10.0, 30.0, 38},   {8.0, 100.0, 30.0, 38},   {39.0, 10.0, 222.0, 39},
        {39.0, 25.0, 222.0, 74}, {39.0, 100.0, 222.0, 74},
    };
    static slope guides[40000];
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; ++k) {
        ao_case c = case_without_stars(sizes[k].diameter_m, sizes[k].lenslets);
        c.atmosphere.profile = -1;
        c.atmosphere.outer_scale_m = sizes[k].outer_scale_m;
        c.atmosphere.layers = (bb_list){.items = (void *)(uintptr_t)case_layers, .count = 3};
        add_star(&c, BB_GUIDE_STAR_LGS, sizes[k].radius_arcsec, 3.0);
        add_star(&c, BB_GUIDE_STAR_NGS, 1.0 - sizes[k].radius_arcsec, -8.0);
        const bb_ao_config config = case_config(&c);
        const int n = guide_slopes(&c, guides);
        const double worst = worst_lone_entry(&c, &config, guides, n);
        print_message("%.0f m, L0 %.0f m: %.2g of the block's peak\n", sizes[k].diameter_m,
                      sizes[k].outer_scale_m, worst);
        assert_true(worst < 1e-12);
    }
}

// Every diagonal entry of natural stars is the slope variance; 40 digits, r0 = 0.157 m.
TEST(natural_stars_have_the_known_slope_variance)
{
    ao_case c = case_without_stars(8.0, 16); // d = 0.5 m, L0 = 25 m
    c.atmosphere.profile = BB_PROFILE_MOAO_10;
    add_star(&c, BB_GUIDE_STAR_NGS, -16.0, -36.0);
    add_target(&c, 0.0, 0.0);
    autocall(chain_release) chain k = chain_assemble(&c, false);
    double strength = 0.0;
    for (bb_index l = 0; l < k.atmosphere.layer_count; ++l) {
        strength += k.atmosphere.strength[l];
    }
    assert_int_equal(k.m, 392);
    check_relative(trace(k.ctt, k.m), 392.0 * 0.0306019725156067 * strength * pow(0.157, 5.0 / 3.0),
                   1e-12);
    check_relative(trace(k.cmm, k.n), trace(k.ctt, k.m), 1e-14);
}

// A slope's variance is D(projected size) over the square of the size in the pupil, so that the
// trace of the noiseless Cmm is a sum over layers in closed form.
TEST(vlt_3136_has_the_trace_of_its_layers)
{
    const ao_case c = case_vlt3136();
    autocall(chain_release) chain k = chain_assemble(&c, false);
    const double angle = BB_R0_WAVELENGTH_M * BB_ARCSEC_PER_RADIAN / (2.0 * BB_PI);
    double natural = 0.0;
    double laser = 0.0;
    for (bb_index l = 0; l < k.atmosphere.layer_count; ++l) {
        const double cone = 1.0 - k.atmosphere.height_m[l] / 100.0e3;
        natural += k.atmosphere.strength[l] * bb_structure_function(0.5, 25.0);
        laser += k.atmosphere.strength[l] * bb_structure_function(0.5 * cone, 25.0);
    }
    assert_int_equal(k.n, 3136);
    assert_int_equal(k.m, 392);
    // The tilt variance of 0.1 arcsec^2 is in every diagonal entry of the five laser stars.
    const double wanted = 392.0 * (angle * angle / 0.25 * (3.0 * natural + 5.0 * laser) + 0.5);
    check_relative(trace(k.cmm, k.n), wanted, 1e-12);
}

TEST(unequal_sizes_make_xy_and_yx_blocks_differ)
{
    const ao_case c = case_asymmetric();
    autocall(chain_release) chain k = chain_assemble(&c, false);
    const bb_sensor *a = &k.guides.sensors[0];
    const bb_sensor *b = &k.guides.sensors[1];
    double difference = 0.0;
    for (bb_index i = 0; i < a->count; ++i) {
        for (bb_index j = 0; j < b->count; ++j) {
            const double xy = k.cmm[(a->first + i) * k.n + b->first + b->count + j];
            const double yx = k.cmm[(a->first + a->count + i) * k.n + b->first + j];
            difference = fmax(difference, fabs(xy - yx));
        }
    }
    assert_true(difference > 1e-5);
}

TEST(symmetric_bit_for_bit)
{
    ao_case cases[] = {case_asymmetric(), case_nx456(), case_asymmetric(), case_mixed_slopes()};
    cases[2].sensors.slope_model = BB_SLOPE_AVERAGED_GRADIENT;
    for (int i = 0; i < 4; ++i) {
        autocall(chain_release) chain k = chain_assemble(&cases[i], true);
        for (bb_index a = 0; a < k.n; ++a) {
            for (bb_index b = 0; b < a; ++b) {
                assert_true(k.cmm[a * k.n + b] == k.cmm[b * k.n + a]);
            }
        }
    }
}

static slope moved(const slope *gradient, double factor)
{
    slope s = *gradient;
    s.x += gradient->axis == 0 ? 0.0 : 0.5 * factor * gradient->size;
    s.y += gradient->axis == 0 ? 0.5 * factor * gradient->size : 0.0;
    return s;
}

// The point difference averaged over positions of either slope along its edges, if its sensor's
// model is averaged gradients.
static double averaged(const ao_case *c, const slope *a, const slope *b, size_t nodes)
{
    gsl_integration_glfixed_table *rule = gsl_integration_glfixed_table_alloc(nodes);
    const double along = c->stars[a->sensor].slope_model == BB_SLOPE_POINT_DIFFERENCE ? 0.0 : 1.0;
    const double along_b = c->stars[b->sensor].slope_model == BB_SLOPE_POINT_DIFFERENCE ? 0.0 : 1.0;
    double sum = 0.0;
    for (size_t i = 0; i < nodes; ++i) {
        double t, weight;
        (void)gsl_integration_glfixed_point(-1.0, 1.0, i, &t, &weight, rule);
        const slope gradient = moved(a, along * t);
        for (size_t j = 0; j < nodes; ++j) {
            double t_b, weight_b;
            (void)gsl_integration_glfixed_point(-1.0, 1.0, j, &t_b, &weight_b, rule);
            const slope target = moved(b, along_b * t_b);
            sum += 0.25 * weight * weight_b * direct(c, &gradient, &target);
        }
    }
    gsl_integration_glfixed_table_free(rule);
    return sum;
}

// Entries of every kind of pair. The plain product rule of the comparison is affected by the cusp
// of D where subapertures meet; entries are compared where its two orders agree.
static void compare_averages(const ao_case *c)
{
    slope guides[400];
    const int n = guide_slopes(c, guides);
    autocall(chain_release) chain k = chain_assemble(c, false);
    double worst[2] = {0.0, 0.0};
    int settled = 0;
    for (uint64_t draw = 0; draw < 300; ++draw) {
        const int i = (int)(n * bb_random_uniform(2, BB_STREAM_SELF_TEST, 2 * draw));
        const int j = (int)(n * bb_random_uniform(2, BB_STREAM_SELF_TEST, 2 * draw + 1));
        if (guides[i].sensor == guides[j].sensor && guides[i].axis == guides[j].axis) {
            continue; // contains the tilts of laser stars
        }
        const double wanted = averaged(c, &guides[i], &guides[j], 16);
        const double rough = averaged(c, &guides[i], &guides[j], 11);
        const int near = fabs(wanted - rough) > 3e-7 * k.ctt[0];
        const double off = fabs(wanted - k.cmm[(bb_index)i * k.n + j]) / k.ctt[0];
        worst[near] = fmax(worst[near], off);
        settled += 1 - near;
    }
    print_message("%d entries: %.2g of the variance, near the cusp %.2g\n", settled, worst[0],
                  worst[1]);
    assert_true(settled > 150 && worst[0] < 1e-6 && worst[1] < 5e-5);
}

TEST(averaged_gradients_are_averages_of_point_differences)
{
    ao_case c = case_asymmetric();
    c.sensors.slope_model = BB_SLOPE_AVERAGED_GRADIENT;
    compare_averages(&c);
}

TEST(averaged_gradients_meet_point_differences)
{
    const ao_case c = case_mixed_slopes();
    compare_averages(&c);
}

// Two natural stars on one layer of r0 = 1 m and L0 = 30 m: 2 x 2 lenslets of 15 m, averaged by
// default, and 6 x 6 of 5 m with point differences. Covariances from D of von Karman by adaptive
// quadrature of scipy, averaged along the edges of the slopes: of two 15 m edges with the
// triangular density along them (xx) or over both (xy). The point difference over 15 m has a
// variance of 5.4849e-5, 1.8 times as large.
TEST(tilt_sensors_have_the_integrated_covariance)
{
    static const bb_layer_config ground[] = {{0.0, 1.0, NAN, NAN}};
    enum { N = 2 * (4 + 32) };
    static const struct {
        int row, column;
        double wanted;
    } entries[] = {
        {0, 0, 3.0247814798158537e-05},
        {0, 1, -1.3171081629156696e-05},
        {0, 2, 7.153294231744069e-06},
        {0, 3, -2.7346374149498653e-06},
        {3, 4, -5.448245459710269e-06},
        // With the lenslets of the second star at (-2.5, -12.5), (2.5, -12.5) and (2.5, 2.5) m.
        {0, 8 + 1, 2.655042638586876e-05},
        {0, 8 + 2, -1.4530538673694192e-05},
        {0, 8 + 19, -4.196738017972541e-06},
        {0, 40 + 1, 1.3016283022382623e-05},
        {0, 40 + 2, 1.4525430690153394e-05},
        {0, 40 + 19, -1.661203055978503e-05},
    };
    ao_case c = case_without_stars(30.0, 6);
    c.telescope.obstruction = 0.0;
    c.atmosphere.profile = -1;
    c.atmosphere.layers = (bb_list){.items = (void *)(uintptr_t)ground, .count = 1};
    c.atmosphere.outer_scale_m = 30.0;
    c.sensors.slope_model = -1;
    add_star(&c, BB_GUIDE_STAR_NGS, 10.0, 0.0);
    add_star(&c, BB_GUIDE_STAR_NGS, 0.0, 20.0);
    c.stars[0].lenslets = 2;
    c.stars[1].slope_model = BB_SLOPE_POINT_DIFFERENCE;
    add_target(&c, 0.0, 0.0);
    autocall(chain_release) chain k = chain_assemble(&c, false);
    assert_int_equal(k.n, N);
    for (size_t i = 0; i < sizeof entries / sizeof *entries; ++i) {
        const bb_index place = entries[i].row * k.n + entries[i].column;
        check_close(k.cmm[place], entries[i].wanted, 3e-7, entries[0].wanted);
    }
}

// 0.09228 lambda^2 d^(-1/3) r0^(-5/3) at d = 0.5 m, L0 = 25 m, where the point difference has
// 0.10434.
TEST(averaged_gradients_have_the_known_variance)
{
    ao_case c = case_without_stars(8.0, 16);
    add_star(&c, BB_GUIDE_STAR_NGS, 4.0, -3.0);
    add_target(&c, 0.0, 0.0);
    const double wanted[] = {0.10434, 0.09228};
    for (int model = 0; model < 2; ++model) {
        c.sensors.slope_model = model;
        autocall(chain_release) chain k = chain_assemble(&c, false);
        const double strength = pow(k.atmosphere.r0_m, -5.0 / 3.0);
        const double angle = 500e-9 * 648000.0 / BB_PI;
        const double unit = angle * angle * pow(0.5, -1.0 / 3.0) * strength;
        check_close(k.cmm[0] / unit, wanted[model], 1.0, 5e-6);
        check_close(k.cmm[k.n * k.n - 1] / unit, wanted[model], 1.0, 5e-6);
    }
}

typedef struct pieces {
    const bb_matrix_source *source;
    double *out;
    bb_index tile;
} pieces;

static bb_status fill_tile(void *context, bb_index index)
{
    const pieces *p = context;
    const bb_index n = p->source->rows;
    const bb_index across = (n + p->tile - 1) / p->tile;
    const bb_index row = index / across * p->tile;
    const bb_index column = index % across * p->tile;
    const bb_view view = bb_view_matrix(p->out, n, n);
    return bb_matrix_source_fill(p->source, row, column,
                                 bb_view_block(view, row, row + p->tile < n ? p->tile : n - row,
                                               column,
                                               column + p->tile < n ? p->tile : n - column));
}

static void compare_tiles(int slope_model)
{
    ao_case c = case_asymmetric();
    c.sensors.slope_model = slope_model;
    const bb_ao_config config = case_config(&c);
    autorelease(bb_sensor_array) guides = {0};
    autorelease(bb_measurement_noise) noise = {0};
    autorelease(bb_atmosphere) atmosphere = new_struct(bb_atmosphere, config.atmosphere, 25.0);
    check_ok(bb_sensor_array_create_guides(&config, &atmosphere, &guides));
    check_ok(bb_measurement_noise_create(&guides, &atmosphere, &noise));
    const bb_slope_covariance_parts parts = {.name = "Cmm",
                                             .atmosphere = &atmosphere,
                                             .rows = &guides,
                                             .columns = &guides,
                                             .noise = &noise,
                                             .tilt_blocks = true};
    autoptr(bb_slope_covariance) covariance = new_object(bb_slope_covariance, &parts);
    const bb_matrix_source *source = bb_slope_covariance_source(covariance);
    assert_true(source->symmetric);
    assert_string_equal(source->unit, "arcsec^2");
    autofree double *all_values = chain_dense(covariance);
    const bb_index n = source->rows;
    autofree double *tiled = zeros(n * n);
    static const bb_index tiles[] = {1, 7, 64};
    check_ok(bb_threads_set(3));
    for (int t = 0; t < 3; ++t) {
        pieces p = {.source = source, .out = tiled, .tile = tiles[t]};
        const bb_index across = (n + p.tile - 1) / p.tile;
        memset(tiled, 0, (size_t)(n * n) * sizeof *tiled);
        check_ok(bb_thread_for(across * across, fill_tile, &p));
        assert_memory_equal(tiled, all_values, (size_t)(n * n) * sizeof *tiled);
    }
    bb_threads_stop();
}

TEST(entries_do_not_depend_on_block_or_threads)
{
    compare_tiles(BB_SLOPE_POINT_DIFFERENCE);
    compare_tiles(BB_SLOPE_AVERAGED_GRADIENT);
}

// Cmm without tilt blocks plus V diag(c) V^T is Cmm with them.
TEST(tilt_vectors_are_the_tilt_blocks)
{
    const ao_case c = case_asymmetric();
    autocall(chain_release) chain k = chain_assemble(&c, true);
    autorelease(bb_tilt_vectors) tilts = new_struct(bb_tilt_vectors, &k.guides, false);
    assert_int_equal(tilts.rows, k.n);
    assert_int_equal(tilts.columns, 6);
    const bb_slope_covariance_parts parts = {.name = "Cmm",
                                             .atmosphere = &k.atmosphere,
                                             .rows = &k.guides,
                                             .columns = &k.guides,
                                             .noise = &k.noise};
    autoptr(bb_slope_covariance) bare_covariance = new_object(bb_slope_covariance, &parts);
    autofree double *bare = chain_dense(bare_covariance);
    for (bb_index i = 0; i < k.n; ++i) {
        for (bb_index j = 0; j < k.n; ++j) {
            double sum = bare[i * k.n + j];
            for (bb_index t = 0; t < tilts.columns; ++t) {
                sum += tilts.variance[t] * tilts.vectors[i * tilts.columns + t] *
                       tilts.vectors[j * tilts.columns + t];
            }
            assert_true(sum == k.cmm[i * k.n + j]);
        }
    }
    assert_true(tilts.variance[0] == 1.0 && tilts.variance[3] == 0.3);
}

// Touching subapertures: the sum of their slopes is the phase difference of the row's ends.
TEST(a_row_of_slopes_telescopes)
{
    ao_case c = case_without_stars(8.0, 8);
    c.telescope.obstruction = 0.0;
    add_star(&c, BB_GUIDE_STAR_NGS, 5.0, 0.0);
    add_target(&c, 0.0, 0.0);
    autocall(chain_release) chain k = chain_assemble(&c, false);
    const bb_sensor *sensor = &k.guides.sensors[0];
    double sum = 0.0;
    int members = 0;
    for (bb_index i = 0; i < sensor->count; ++i) {
        if (sensor->y_m[i] != 0.5) {
            continue;
        }
        ++members;
        for (bb_index j = 0; j < sensor->count; ++j) {
            sum += sensor->y_m[j] == 0.5 ? k.cmm[i * k.n + j] : 0.0;
        }
    }
    assert_int_equal(members, 8);
    const double angle = BB_R0_WAVELENGTH_M * BB_ARCSEC_PER_RADIAN / (2.0 * BB_PI);
    check_relative(sum * sensor->size_m * sensor->size_m,
                   angle * angle * (28.5115 + 1.88506) * bb_structure_function(8.0, 25.0), 1e-12);
}

TEST(refuses_noise_of_a_rectangle_and_foreign_sensors)
{
    const ao_case c = case_nx456();
    autocall(chain_release) chain k = chain_assemble(&c, false);
    bb_slope_covariance *covariance = NULL;
    bb_slope_covariance_parts parts = {.name = "Ctm",
                                       .atmosphere = &k.atmosphere,
                                       .rows = &k.truth,
                                       .columns = &k.guides,
                                       .noise = &k.noise};
    check_fails(bb_slope_covariance_create(&parts, &covariance), BB_INVALID,
                "noise and tilts require a symmetric matrix");
    parts.columns = &k.truth;
    check_fails(bb_slope_covariance_create(&parts, &covariance), BB_INVALID,
                "noise of 456 subapertures for 152 measurements");
    parts.noise = NULL;
    k.truth.layer_count = 3;
    check_fails(bb_slope_covariance_create(&parts, &covariance), BB_INVALID,
                "sensors have 3 and 3 layers, the atmosphere has 2");
    assert_null(covariance);
}
