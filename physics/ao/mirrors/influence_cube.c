// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/mirrors/influence_cube.h"

#include <math.h>
#include <stdbool.h>

static bb_index points_of(const bb_influence_cube *cube)
{
    return cube->rows * cube->columns;
}

bb_status bb_influence_cube_check(const bb_influence_cube *cube, const char *path)
{
    bb_status status = BB_OK;
    const bb_index points = points_of(cube);
    BB_REQUIRE(cube->actuator_count > 0, BB_INVALID, "%s: no actuators, expected at least one",
               path);
    BB_REQUIRE(cube->rows >= BB_INFLUENCE_POINTS && cube->columns >= BB_INFLUENCE_POINTS,
               BB_INVALID, "%s: %td rows and %td columns, expected at least %d of each", path,
               cube->rows, cube->columns, BB_INFLUENCE_POINTS);
    BB_REQUIRE(cube->spacing_m > 0.0 && isfinite(cube->spacing_m), BB_INVALID,
               "%s: samples %g m apart, expected a positive distance", path, cube->spacing_m);
    for (bb_index i = 0; i < cube->actuator_count * points; ++i) {
        BB_REQUIRE(isfinite(cube->values[i]), BB_INVALID,
                   "%s: actuator %td, row %td, column %td is %g, expected a finite value", path,
                   i / points, i % points / cube->columns, i % cube->columns, cube->values[i]);
    }
    BB_REQUIRE(bb_influence_cube_idle(cube) < cube->actuator_count, BB_INVALID,
               "%s: the values of all %td actuators are 0, expected some that move the mirror",
               path, cube->actuator_count);
done:
    return status;
}

// Lagrange weights of the cubic through four samples at 0, 1, 2, 3, `t` from the first.
static void lagrange_weights(double t, double weight[BB_INFLUENCE_POINTS])
{
    weight[0] = -(t - 1.0) * (t - 2.0) * (t - 3.0) / 6.0;
    weight[1] = t * (t - 2.0) * (t - 3.0) / 2.0;
    weight[2] = -t * (t - 1.0) * (t - 3.0) / 2.0;
    weight[3] = t * (t - 1.0) * (t - 2.0) / 6.0;
}

// First of the four samples of an axis; weights are 0 off the grid, with a tolerance for rounding.
static bb_index find_axis(bb_index count, double spacing_m, double distance_m,
                          double weight[BB_INFLUENCE_POINTS])
{
    const double sample = distance_m / spacing_m + 0.5 * (double)(count - 1);
    const double last = (double)(count - BB_INFLUENCE_POINTS);
    if (fabs(distance_m) > 0.5 * (double)count * spacing_m * (1.0 + 1e-9)) {
        for (int k = 0; k < BB_INFLUENCE_POINTS; ++k) {
            weight[k] = 0.0;
        }
        return 0;
    }
    const double first = fmin(fmax(floor(sample) - 1.0, 0.0), last);
    lagrange_weights(sample - first, weight);
    return (bb_index)first;
}

bb_influence_place bb_influence_cube_find(const bb_influence_cube *cube, double x_m, double y_m)
{
    bb_influence_place place;
    const bb_index column = find_axis(cube->columns, cube->spacing_m, x_m, place.x);
    const bb_index row = find_axis(cube->rows, cube->spacing_m, y_m, place.y);
    place.first = row * cube->columns + column;
    return place;
}

double bb_influence_cube_value(const bb_influence_cube *cube, bb_index actuator,
                               const bb_influence_place *place)
{
    const double *corner = cube->values + actuator * points_of(cube) + place->first;
    double sum = 0.0;
    for (int j = 0; j < BB_INFLUENCE_POINTS; ++j) {
        const double *line = corner + j * cube->columns;
        sum += place->y[j] * (place->x[0] * line[0] + place->x[1] * line[1] +
                              place->x[2] * line[2] + place->x[3] * line[3]);
    }
    return sum;
}

double bb_influence_cube_reach_x(const bb_influence_cube *cube)
{
    return 0.5 * (double)cube->columns * cube->spacing_m;
}

double bb_influence_cube_reach_y(const bb_influence_cube *cube)
{
    return 0.5 * (double)cube->rows * cube->spacing_m;
}

double bb_influence_cube_peak(const bb_influence_cube *cube)
{
    double peak = 0.0;
    for (bb_index i = 0; i < cube->actuator_count * points_of(cube); ++i) {
        peak = fmax(peak, fabs(cube->values[i]));
    }
    return peak;
}

double bb_influence_cube_rim(const bb_influence_cube *cube)
{
    double rim = 0.0;
    for (bb_index a = 0; a < cube->actuator_count; ++a) {
        const double *map = cube->values + a * points_of(cube);
        for (bb_index i = 0; i < points_of(cube); ++i) {
            const bb_index row = i / cube->columns;
            const bb_index column = i % cube->columns;
            if (row == 0 || row == cube->rows - 1 || column == 0 || column == cube->columns - 1) {
                rim = fmax(rim, fabs(map[i]));
            }
        }
    }
    return rim;
}

static bool is_idle(const double *map, bb_index points)
{
    bb_index i = 0;
    while (i < points && map[i] == 0.0) {
        ++i;
    }
    return i == points;
}

bb_index bb_influence_cube_idle(const bb_influence_cube *cube)
{
    bb_index idle = 0;
    for (bb_index a = 0; a < cube->actuator_count; ++a) {
        idle += is_idle(cube->values + a * points_of(cube), points_of(cube)) ? 1 : 0;
    }
    return idle;
}

void bb_influence_cube_centres(const bb_influence_cube *cube, double *x_m, double *y_m)
{
    const double middle_column = 0.5 * (double)(cube->columns - 1);
    const double middle_row = 0.5 * (double)(cube->rows - 1);
    const double peak = bb_influence_cube_peak(cube);
    for (bb_index a = 0; a < cube->actuator_count; ++a) {
        const double *map = cube->values + a * points_of(cube);
        double weight = 0.0;
        double sums[2] = {0.0, 0.0};
        for (bb_index i = 0; i < points_of(cube); ++i) {
            const double share = map[i] / peak; // its square is finite in any unit
            const bb_index column = i % cube->columns;
            const bb_index row = i / cube->columns;
            weight += share * share;
            sums[0] += share * share * ((double)column - middle_column);
            sums[1] += share * share * ((double)row - middle_row);
        }
        x_m[a] = weight > 0.0 ? cube->spacing_m * sums[0] / weight : 0.0;
        y_m[a] = weight > 0.0 ? cube->spacing_m * sums[1] / weight : 0.0;
    }
}
