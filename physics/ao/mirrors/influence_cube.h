// SPDX-License-Identifier: Apache-2.0
//
// Measured or computed influence functions of a mirror: samples on a square grid of the mirror's
// conjugate, with interpolation.
//
// Sample (row, column) is at x = (column - (columns - 1) / 2) spacing, and y likewise by the row:
// the centre of the grid is on the axis, at a sample if the count is odd and halfway between two if
// it is even. Between samples the value is the product of two cubics, each through the four nearest
// samples of its axis; with the step h its error is below 0.024 h^4 of the fourth derivative along
// an axis, summed over both axes (with a factor of 1.25 on one of them). In the first and last
// interval, and half a step beyond the outermost samples, the outermost cubic is extrapolated:
// there 0.27 h^4. Farther out the value is 0.
//
// The unit is that of the Gaussian functions (deformable_mirror.h): m of wavefront per volt, twice
// the mirror's surface, because of the reflection.
#ifndef BB_PHYSICS_AO_MIRRORS_INFLUENCE_CUBE_H
#define BB_PHYSICS_AO_MIRRORS_INFLUENCE_CUBE_H

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { BB_INFLUENCE_POINTS = 4 }; ///< samples along an axis for a value; minimum

typedef struct bb_influence_cube {
    bb_index actuator_count; ///< 0: the mirror has none
    bb_index rows, columns;  ///< along y, along x
    double spacing_m;        ///< spacing of samples on the conjugate
    double *values;          ///< [actuator_count][rows][columns], m per volt; owned by the loader
} bb_influence_cube;

/// Position of a point among the samples of any cube of one size.
typedef struct bb_influence_place {
    bb_index first;                ///< sample [first row][first column] of a map
    double x[BB_INFLUENCE_POINTS]; ///< weights of columns, 0 off the grid
    double y[BB_INFLUENCE_POINTS]; ///< weights of rows, 0 off the grid
} bb_influence_place;

/// Checks a cube: at least one actuator and BB_INFLUENCE_POINTS samples a side, a positive spacing,
/// finite values, not all 0. `path` prefixes the message. Errors: BB_INVALID.
BB_CHECKED bb_status bb_influence_cube_check(const bb_influence_cube *cube, const char *path);

/// Compute the position of (x, y) relative to the axis, and the value of one actuator there.
bb_influence_place bb_influence_cube_find(const bb_influence_cube *cube, double x_m, double y_m);
double bb_influence_cube_value(const bb_influence_cube *cube, bb_index actuator,
                               const bb_influence_place *place);

/// Returns the distance of the grid's edge from the axis: half a step beyond its outermost samples.
double bb_influence_cube_reach_x(const bb_influence_cube *cube);
double bb_influence_cube_reach_y(const bb_influence_cube *cube);

/// Largest magnitude of all samples, and of those at the rim of the grid, m per volt.
double bb_influence_cube_peak(const bb_influence_cube *cube);
double bb_influence_cube_rim(const bb_influence_cube *cube);

/// Counts the actuators whose samples are all 0.
bb_index bb_influence_cube_idle(const bb_influence_cube *cube);

/// Positions of actuators, [actuator_count] each: the centroid of their squared influence; the axis
/// for idle ones.
void bb_influence_cube_centres(const bb_influence_cube *cube, double *x_m, double *y_m);

#ifdef __cplusplus
}
#endif

#endif
