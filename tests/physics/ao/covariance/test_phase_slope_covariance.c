// SPDX-License-Identifier: Apache-2.0
//
// Covariance of phase and slopes, compared with that of slopes and slopes: a slope of a truth
// sensor is a difference of phases.
#include "physics/ao/ao_constants.h"
#include "physics/ao/covariance/phase_slope_covariance.h"
#include "tests/physics/ao/chain.h"

enum { NODES = 200 }; // along an edge

// A laser star with a rotated, shifted grid and a natural one, away from the target.
static ao_case scene(int model)
{
    ao_case c = case_without_stars(4.0, 5);
    add_star(&c, BB_GUIDE_STAR_LGS, 17.0, 3.0);
    add_star(&c, BB_GUIDE_STAR_NGS, -9.0, 21.0);
    c.stars[0].settings.altitude_km = 12.6; // the cone's apex is just above the upper layer
    c.stars[0].rotation_deg = 20.0;
    c.stars[0].shift_x_m = 0.1;
    c.stars[1].lenslets = 4;
    c.sensors.slope_model = model;
    add_target(&c, 6.0, -4.0);
    return c;
}

// Points of an end of a truth slope: its midpoint, or points along the edge.
static void place(const bb_sensor *truth, int axis, bb_index end, bb_index nodes, double *x,
                  double *y)
{
    const bb_slope_ends *ends = &truth->ends[axis];
    const double half = truth->frame.half_lenslet_m;
    for (bb_index k = 0; k < nodes; ++k) {
        const double along = half * (((double)k + 0.5) * 2.0 / (double)nodes - 1.0);
        x[k] = half * ends->x[end] + (axis == BB_AXIS_Y ? along : 0.0);
        y[k] = half * ends->y[end] + (axis == BB_AXIS_X ? along : 0.0);
    }
}

// Rows of slopes i and of both axes by differences of phases, against Ctm.
static void check_slopes(int model, bb_index nodes, double tolerance)
{
    const ao_case c = scene(model);
    autocall(chain_release) chain k = chain_assemble(&c, false);
    const bb_sensor *truth = &k.truth.sensors[0];
    autofree double *x = doubles(nodes);
    autofree double *y = doubles(nodes);
    autofree double *rows = doubles(nodes * k.n);
    double largest = 0.0;
    for (bb_index i = 0; i < k.m; i += 3) {
        const int axis = i < truth->count ? BB_AXIS_X : BB_AXIS_Y;
        const bb_slope_ends *ends = &truth->ends[axis];
        const bb_index own = i % truth->count;
        autofree double *slope = zeros(k.n);
        for (int side = -1; side <= 1; side += 2) {
            place(truth, axis, side < 0 ? ends->minus[own] : ends->plus[own], nodes, x, y);
            const bb_phase_points points = {nodes, x, y, truth->layer};
            memset(rows, 0, (size_t)(nodes * k.n) * sizeof *rows);
            check_ok(bb_phase_slope_covariance_add(&k.atmosphere, &points, &k.guides, 1.0, 0, nodes,
                                                   rows));
            for (bb_index j = 0; j < nodes * k.n; ++j) {
                slope[j % k.n] +=
                    side * rows[j] * BB_ARCSEC_PER_RADIAN / (truth->size_m * (double)nodes);
            }
        }
        for (bb_index j = 0; j < k.n; ++j) {
            check_close(slope[j], k.ctm[i * k.n + j], tolerance, k.ctt[0]);
            largest = fmax(largest, fabs(slope[j]));
        }
    }
    assert_true(largest > 0.1 * k.ctt[0]);
}

TEST(differences_of_phases_are_slopes)
{
    check_slopes(BB_SLOPE_POINT_DIFFERENCE, 1, 1e-12);
}

// The edge of the truth sensor by its midpoints, whose error decreases with the 8/3 power.
TEST(means_over_edges_are_averaged_gradients)
{
    check_slopes(BB_SLOPE_AVERAGED_GRADIENT, NODES, 2e-6);
}

// A block of rows equals all rows, to the bit.
TEST(rows_do_not_depend_on_their_block)
{
    const ao_case c = scene(BB_SLOPE_AVERAGED_GRADIENT);
    autocall(chain_release) chain k = chain_assemble(&c, false);
    const double x[3] = {0.3, -1.1, 1.9};
    const double y[3] = {0.2, 0.7, -0.4};
    const bb_phase_points points = {3, x, y, k.truth.sensors[0].layer};
    autofree double *all = zeros(3 * k.n);
    autofree double *one = zeros(k.n);
    check_ok(bb_phase_slope_covariance_add(&k.atmosphere, &points, &k.guides, 1.0, 0, 3, all));
    check_ok(bb_phase_slope_covariance_add(&k.atmosphere, &points, &k.guides, 1.0, 2, 1, one));
    assert_memory_equal(one, all + 2 * k.n, (size_t)k.n * sizeof *one);
}

// Blocks of the source with two directions equal the sum of both.
TEST(a_source_sums_its_looks)
{
    enum { POINTS = 3, LOOKS = 2 };
    const ao_case c = scene(BB_SLOPE_AVERAGED_GRADIENT);
    autocall(chain_release) chain k = chain_assemble(&c, false);
    const double x[POINTS] = {0.3, -1.1, 1.9};
    const double y[POINTS] = {0.2, 0.7, -0.4};
    const double weight[LOOKS] = {0.7, 0.3};
    const bb_index layers = k.atmosphere.layer_count;
    autofree bb_sensor_layer *layer = new_array(bb_sensor_layer, LOOKS * layers);
    autofree double *all = zeros(POINTS * k.n);
    autofree double *block = doubles(2 * (k.n - 5));
    for (bb_index l = 0; l < LOOKS * layers; ++l) {
        layer[l] = k.truth.sensors[0].layer[l % layers];
        layer[l].offset_x_m += l < layers ? 0.0 : 0.5;
    }
    for (bb_index l = 0; l < LOOKS; ++l) {
        const bb_phase_points points = {POINTS, x, y, layer + l * layers};
        check_ok(bb_phase_slope_covariance_add(&k.atmosphere, &points, &k.guides, weight[l], 0,
                                               POINTS, all));
    }
    const bb_phase_looks looks = {&k.atmosphere, &k.guides, {POINTS, x, y, layer}, LOOKS, weight};
    const bb_matrix_source source = bb_phase_slope_covariance_source(&looks);
    check_ok(bb_matrix_source_fill(&source, 1, 5, bb_view_matrix(block, 2, k.n - 5)));
    for (bb_index i = 0; i < 2; ++i) {
        assert_memory_equal(block + i * (k.n - 5), all + (i + 1) * k.n + 5,
                            (size_t)(k.n - 5) * sizeof *block);
    }
}
