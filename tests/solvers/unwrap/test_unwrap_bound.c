// SPDX-License-Identifier: Apache-2.0
//
// Error bound of least squares: equal to the error's energy if the mask is a path, never below it
// otherwise, and close to it on an open map.
#include "core/thread.h"
#include "solvers/unwrap/unwrap_descent.h"
#include "tests/check.h"
#include "tests/solvers/unwrap/phase_maps.h"

// Also more points on a path than the ranges that threads sum, 16,384.
enum { COLUMNS = 240, ROWS = 180, POINTS = COLUMNS * ROWS };

// Weights, an error and its residual on a mask.
typedef struct error_case {
    unsigned char mask[POINTS];
    double wx[POINTS], wy[POINTS], error[POINTS], residual[POINTS];
    bb_unwrap_parts parts;
    bb_unwrap_bound bound;
} error_case;

static error_case made;

static double draw(uint64_t seed, bb_index p)
{
    return bb_random_uniform(seed, BB_STREAM_SELF_TEST, (uint64_t)p);
}

// Adds the edge from p to its neighbour to the residual L e; returns the edge's energy.
static double add_edge(bb_index p, bb_index next, double weight)
{
    const double difference = made.error[p] - made.error[next];
    made.residual[p] += weight * difference;
    made.residual[next] -= weight * difference;
    return weight * difference * difference;
}

// The residual of the error, and the error's energy.
static double fill_residual(void)
{
    double energy = 0.0;
    memset(made.residual, 0, sizeof made.residual);
    for (bb_index p = 0; p < POINTS; ++p) {
        if (made.mask[p] && p % COLUMNS + 1 < COLUMNS && made.mask[p + 1]) {
            energy += add_edge(p, p + 1, made.wx[p]);
        }
        if (made.mask[p] && p / COLUMNS + 1 < ROWS && made.mask[p + COLUMNS]) {
            energy += add_edge(p, p + COLUMNS, made.wy[p]);
        }
    }
    return energy;
}

// Weights of the edges of a point, 0 where there is none.
static void set_weights(bb_index p, double right, double below)
{
    const bool has_right = p % COLUMNS + 1 < COLUMNS && made.mask[p + 1];
    const bool has_below = p / COLUMNS + 1 < ROWS && made.mask[p + COLUMNS];
    made.wx[p] = made.mask[p] && has_right ? right : 0.0;
    made.wy[p] = made.mask[p] && has_below ? below : 0.0;
}

// Trees for a mask and weights between `least` and 1; returns the error's energy.
static double make(bool (*in)(bb_index x, bb_index y), double least)
{
    for (bb_index p = 0; p < POINTS; ++p) {
        made.mask[p] = in(p % COLUMNS, p / COLUMNS);
        made.error[p] = draw(3, p) + sin(0.05 * (double)(p % COLUMNS));
    }
    for (bb_index p = 0; p < POINTS; ++p) {
        set_weights(p, pow(least, draw(1, p)), pow(least, draw(2, p)));
    }
    check_ok(bb_unwrap_parts_create(made.mask, COLUMNS, ROWS, &made.parts));
    check_ok(bb_unwrap_bound_create(&made.parts, true, &made.bound));
    check_ok(bb_unwrap_bound_build(&made.bound, made.wx, made.wy));
    return fill_residual();
}

static double bound_error(void)
{
    double error = NAN;
    check_ok(bb_unwrap_bound_error(&made.bound, made.residual, &error));
    return error;
}

static void release(void)
{
    bb_unwrap_bound_release(&made.bound);
    bb_unwrap_parts_release(&made.parts);
}

// A serpentine one point wide.
static bool in_path(bb_index x, bb_index y)
{
    return y % 2 == 0 || x == (y % 4 == 1 ? COLUMNS - 1 : 0);
}

static bool in_map(bb_index x, bb_index y)
{
    (void)x, (void)y;
    return true;
}

// 40 % of the points are missing, so there are many parts.
static bool in_sponge(bb_index x, bb_index y)
{
    return draw(4, y * COLUMNS + x) > 0.4;
}

// The flow of a residual along a path is unique. The bound is the energy times the resistance of
// almost all of its 21,690 points, up to a quarter of an octave and the distance from the middle.
TEST(a_path_has_its_energy_as_bound)
{
    const double energy = make(in_path, 1.0);
    const double steps = (double)(made.parts.point_count - 1);
    check_relative(bound_error(), made.bound.widest * energy, 1e-12);
    assert_true(made.bound.widest >= 0.99 * steps && made.bound.widest <= 1.26 * steps);
    release();
}

// Energies are never below the error's, also with weights of contrast 1e4 and in many parts; a
// constant of a part has no residual.
TEST(bounds_are_bounds)
{
    static bool (*const masks[])(bb_index, bb_index) = {in_path, in_map, in_sponge};
    for (int i = 0; i < 6; ++i) {
        const double energy = make(masks[i / 2], i % 2 == 0 ? 1.0 : 1e-4);
        const double bound = bound_error();
        assert_true(bound >= 0.999999 * energy * made.bound.widest);
        for (bb_index p = 0; p < POINTS; ++p) {
            made.residual[p] += made.mask[p] ? 0.5 + (double)made.parts.labels[p] : 0.0;
        }
        check_relative(bound_error(), bound, 1e-9);
        release();
    }
}

// Trees bound errors for any weights; trees for the weights themselves have tighter bounds.
TEST(trees_of_other_weights_have_bounds)
{
    const double energy = make(in_map, 1e-4);
    const double near = bound_error();
    for (bb_index p = 0; p < POINTS; ++p) {
        set_weights(p, pow(1e-4, draw(5, p)), pow(1e-4, draw(2, p)));
    }
    check_ok(bb_unwrap_bound_build(&made.bound, made.wx, made.wy));
    for (bb_index p = 0; p < POINTS; ++p) {
        set_weights(p, pow(1e-4, draw(1, p)), pow(1e-4, draw(2, p)));
    }
    check_ok(bb_unwrap_bound_measure(&made.bound, made.wx, made.wy));
    const double bound = bound_error();
    assert_true(bound >= 0.999999 * energy * made.bound.widest);
    assert_true(bound > near);
    release();
}

// Trees have the same words in fp32 and fp64: weights of 1, and integer residuals.
TEST(words_may_be_single)
{
    static float weights[2][POINTS], residual[POINTS];
    double error = NAN;
    make(in_sponge, 1.0);
    for (bb_index p = 0; p < POINTS; ++p) {
        weights[0][p] = (float)made.wx[p];
        weights[1][p] = (float)made.wy[p];
        residual[p] = (float)rint(9.0 * made.error[p]);
        made.residual[p] = (double)residual[p];
    }
    const double expected = bound_error();
    made.bound.is_double = false;
    check_ok(bb_unwrap_bound_build(&made.bound, weights[0], weights[1]));
    check_ok(bb_unwrap_bound_error(&made.bound, residual, &error));
    assert_true(error == expected && error > 0.0);
    for (bb_index p = 0; p < POINTS; ++p) {
        assert_true(residual[p] == (float)made.residual[p]);
    }
    release();
}

TEST(threads_change_no_bit_of_a_bound)
{
    static double first[POINTS];
    double bounds[2];
    for (int threads = 1; threads <= 2; ++threads) {
        check_ok(bb_threads_set(threads));
        make(in_map, 1e-4);
        bounds[threads - 1] = bound_error();
        memcpy(threads == 1 ? first : made.error, made.residual, sizeof first);
        release();
    }
    assert_true(bounds[0] == bounds[1]);
    assert_memory_equal(first, made.error, sizeof first);
}

// Rows carry the residual to the first column: 171 times the energy.
TEST(an_open_map_has_a_near_bound)
{
    const double energy = make(in_map, 1.0);
    const double bound = bound_error();
    assert_true(bound < 200.0 * energy * made.bound.widest);
    assert_true(made.bound.widest >= COLUMNS + ROWS && made.bound.widest <= 2 * (COLUMNS + ROWS));
    release();
}

// Trees avoid a wall of weak edges if there is another way, because they prefer large weights.
TEST(trees_prefer_large_weights)
{
    make(in_map, 1.0);
    const double open = made.bound.widest;
    // 1e-3 between columns 29 and 30, except in the last row
    for (bb_index p = 0; p < POINTS; ++p) {
        set_weights(p, p % COLUMNS == 29 && p / COLUMNS + 1 < ROWS ? 1e-3 : 1.0, 1.0);
    }
    check_ok(bb_unwrap_bound_build(&made.bound, made.wx, made.wy));
    assert_true(made.bound.widest < 3.0 * open);
    release();
}

// Edges without weight separate points as the mask does: no flow crosses them.
TEST(edges_without_weight_part_points)
{
    make(in_map, 1.0);
    for (bb_index y = 0; y < ROWS; ++y) {
        made.wx[y * COLUMNS + 29] = 0.0;
    }
    check_ok(bb_unwrap_bound_build(&made.bound, made.wx, made.wy));
    for (bb_index p = 0; p < POINTS; ++p) {
        made.residual[p] = p % COLUMNS < 30 ? 1.0 : -1.0;
    }
    assert_true(bound_error() == 0.0);
    release();
}

// Five points, four edges of flow 1 and resistance 2.
TEST(a_column_has_edges_below)
{
    const unsigned char mask[5] = {1, 1, 1, 1, 1};
    const double wx[5] = {0.0}, wy[5] = {0.5, 0.5, 0.5, 0.5, 0.0};
    double residual[5] = {1.0, 0.0, 0.0, 0.0, -1.0}, error = NAN;
    check_ok(bb_unwrap_parts_create(mask, 1, 5, &made.parts));
    check_ok(bb_unwrap_bound_create(&made.parts, true, &made.bound));
    check_ok(bb_unwrap_bound_build(&made.bound, wx, wy));
    check_ok(bb_unwrap_bound_error(&made.bound, residual, &error));
    check_relative(error, made.bound.widest * 8.0, 1e-12);
    release();
}

TEST(residuals_that_are_no_numbers_have_no_bound)
{
    make(in_map, 1.0);
    made.residual[POINTS / 2] = NAN;
    assert_true(isnan(bound_error()));
    release();
}
