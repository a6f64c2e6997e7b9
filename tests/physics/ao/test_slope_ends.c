// SPDX-License-Identifier: Apache-2.0
#include "core/memory.h"
#include "physics/ao/sensor_array.h"
#include "physics/ao/subapertures.h"
#include "tests/check.h"

enum { MOST = 2000 };

typedef struct grid {
    bb_index lenslets, count;
    bb_index column[MOST], row[MOST];
} grid;

static grid grid_of(bb_index lenslets, double obstruction)
{
    grid g = {.lenslets = lenslets,
              .count = bb_subapertures_count(lenslets, &(bb_pupil){.obstruction = obstruction})};
    bb_subapertures_lenslets(lenslets, &(bb_pupil){.obstruction = obstruction}, g.column, g.row);
    return g;
}

static bb_slope_ends ends_of(const grid *g, int axis)
{
    bb_slope_ends ends = {0};
    check_ok(bb_slope_ends_create(axis, g->lenslets, g->count, g->column, g->row, 3, &ends));
    return ends;
}

TEST(ends_stand_half_a_lenslet_from_the_centre)
{
    const grid g = grid_of(16, 0.2);
    double x[MOST];
    double y[MOST];
    bb_subapertures_centres(16, &(bb_pupil){.obstruction = 0.2}, x, y);
    for (int axis = BB_AXIS_X; axis <= BB_AXIS_Y; ++axis) {
        autorelease(bb_slope_ends) ends = ends_of(&g, axis);
        const double step_x = axis == BB_AXIS_X ? 0.25 : 0.0;
        const double step_y = axis == BB_AXIS_Y ? 0.25 : 0.0;
        for (bb_index i = 0; i < g.count; ++i) {
            // d = 0.5 m: the positions are exact.
            assert_true(0.25 * ends.x[ends.plus[i]] == 4.0 * x[i] + step_x);
            assert_true(0.25 * ends.x[ends.minus[i]] == 4.0 * x[i] - step_x);
            assert_true(0.25 * ends.y[ends.plus[i]] == 4.0 * y[i] + step_y);
            assert_true(0.25 * ends.y[ends.minus[i]] == 4.0 * y[i] - step_y);
        }
    }
}

// A line of n has n + 1 ends along it; a line interrupted by the obstruction has one more.
TEST(neighbours_share_an_end)
{
    const grid g = grid_of(16, 0.2);
    bb_index segments = 0;
    for (bb_index i = 0; i < g.count; ++i) {
        segments += i == 0 || g.row[i] != g.row[i - 1] || g.column[i] != g.column[i - 1] + 1;
    }
    assert_int_equal(g.count, 196);
    for (int axis = BB_AXIS_X; axis <= BB_AXIS_Y; ++axis) {
        autorelease(bb_slope_ends) ends = ends_of(&g, axis);
        // The pupil is symmetric under swapping the axes.
        assert_int_equal(ends.count, g.count + segments);
        for (bb_index i = 1; i < g.count; ++i) {
            assert_true(ends.minus[i] > ends.minus[i - 1] && ends.plus[i] > ends.plus[i - 1]);
        }
    }
}

TEST(a_part_holds_each_end_once)
{
    const grid g = grid_of(13, 0.3);
    for (int axis = BB_AXIS_X; axis <= BB_AXIS_Y; ++axis) {
        autorelease(bb_slope_ends) ends = ends_of(&g, axis);
        for (bb_index first = 0; first < g.count; first += 11) {
            const bb_index slopes = g.count - first < 29 ? g.count - first : 29;
            autorelease(bb_slope_ends_part) part = {0};
            check_ok(bb_slope_ends_part_create(&ends, first, slopes, &part));
            for (bb_index p = 1; p < part.count; ++p) {
                assert_true(part.point[p] > part.point[p - 1]);
            }
            for (bb_index i = 0; i < slopes; ++i) {
                assert_int_equal(part.point[part.minus[i]], ends.minus[first + i]);
                assert_int_equal(part.point[part.plus[i]], ends.plus[first + i]);
            }
            assert_true(part.count > slopes && part.count <= 2 * slopes);
        }
    }
}

TEST(memory_failures_leave_nothing_behind)
{
    const grid g = grid_of(5, 0.0);
    const bb_index before = bb_memory_blocks();
    for (bb_index k = 1; k <= 7; ++k) {
        bb_slope_ends ends = {0};
        bb_memory_fail_at(k);
        assert_int_equal(bb_slope_ends_create(BB_AXIS_X, 5, g.count, g.column, g.row, 1, &ends),
                         BB_MEMORY);
        bb_memory_fail_at(0);
        assert_null(ends.minus);
        assert_int_equal(bb_memory_blocks(), before);
    }
}
