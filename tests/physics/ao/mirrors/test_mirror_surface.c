// SPDX-License-Identifier: Apache-2.0
//
// Surfaces of a stack of mirrors in a direction, against the sum over actuators.
#include "physics/ao/mirrors/mirror_surface.h"
#include "tests/check.h"

enum { POINTS = 5, WIDTH = 9, GRID = 6 };

static const double position[POINTS] = {-3.0, -1.4, 0.1, 1.7, 2.9};
static const double direction[2] = {9e-5, -2e-4}; // rad

// Actuators on a three by two grid with a corner missing, and two with their own functions.
static double x_grid[GRID] = {-1.5, 0.0, 1.5, -1.5, 0.0}, y_grid[GRID] = {0.5, 0.5, 0.5, 2.0, 2.0};
static double x_own[2] = {0.0, 1.0}, y_own[2] = {0.0, -1.0};

static double sum_grid(const bb_conjugate_mirror *mirror, const double *volts, double x, double y)
{
    double sum = 0.0;
    for (bb_index a = 0; a < mirror->count; ++a) {
        sum += volts[mirror->first + a] *
               bb_mirror_stack_influence(mirror, x - mirror->x_m[a], y - mirror->y_m[a]);
    }
    return sum;
}

static double sum_own(const bb_conjugate_mirror *mirror, const double *volts, double x, double y)
{
    double sum = 0.0;
    const bb_influence_place place = bb_influence_cube_find(mirror->cube, x, y);
    for (bb_index a = 0; a < mirror->count; ++a) {
        sum += volts[mirror->first + a] * bb_influence_cube_value(mirror->cube, a, &place);
    }
    return sum;
}

TEST(every_mirror_is_seen_where_the_beam_meets_it)
{
    static double values[2][WIDTH][WIDTH];
    for (int k = 0; k < 2 * WIDTH * WIDTH; ++k) {
        (&values[0][0][0])[k] = 1e-6 * sin(0.3 * k + 0.01 * k * k);
    }
    const bb_influence_cube cube = {.actuator_count = 2,
                                    .rows = WIDTH,
                                    .columns = WIDTH,
                                    .spacing_m = 1.2,
                                    .values = &values[0][0][0]};
    bb_conjugate_mirror mirrors[] = {
        {.height_m = 4000.0,
         .pitch_m = 1.5,
         .coupling = 0.2,
         .stroke_m = 1e-6,
         .count = 5,
         .x_m = x_grid,
         .y_m = y_grid},
        {.height_m = 9000.0,
         .pitch_m = NAN,
         .cube = &cube,
         .count = 2,
         .first = 5,
         .x_m = x_own,
         .y_m = y_own},
    };
    const bb_mirror_stack stack = {.mirror_count = 2, .actuator_count = 7, .mirrors = mirrors};
    const double volts[7] = {0.3, -1.2, 0.8, 2.0, -0.4, 1.1, -0.7};
    autorelease(bb_mirror_surface) surface = {0};
    double wavefront[POINTS][POINTS];
    check_ok(
        bb_mirror_surface_create(&stack, direction[0], direction[1], POINTS, position, &surface));
    check_ok(bb_mirror_surface_make(&surface, volts, &wavefront[0][0]));
    for (int j = 0; j < POINTS; ++j) {
        for (int i = 0; i < POINTS; ++i) {
            const double x[2] = {position[i] + 4000.0 * direction[0],
                                 position[i] + 9000.0 * direction[0]};
            const double y[2] = {position[j] + 4000.0 * direction[1],
                                 position[j] + 9000.0 * direction[1]};
            const double expected =
                sum_grid(&mirrors[0], volts, x[0], y[0]) + sum_own(&mirrors[1], volts, x[1], y[1]);
            check_close(wavefront[j][i], expected, 1e-13, 1e-6);
        }
    }
}
