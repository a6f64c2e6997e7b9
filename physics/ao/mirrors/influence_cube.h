// SPDX-License-Identifier: Apache-2.0
//
// Influence functions as those who built a mirror measured or computed them: samples on a square
// grid of the mirror's conjugate, and values between the samples.
//
// Sample (row, column) stands at x = (column - (columns - 1) / 2) spacing, y likewise by the row:
// the middle of the grid is on the axis, which has a sample where the count is odd and lies half
// way between two where it is even. Between samples the value is the product of two cubics, each
// through the four nearest samples of its axis; with the step h its error is below 0.024 h^4 of the
// fourth derivative along an axis, and of those along both axes the sum (the factor 1.25 on one of
// them). In the first and last interval, and for half a step beyond the outermost samples, the
// outermost cubic goes on: there 0.27 h^4. Farther out the value is 0.
//
// The unit is that of the Gaussian ones (deformable_mirror.h): m of wavefront per volt. A mirror's
// surface counts twice, since light meets it on its way there and back.
#ifndef BB_PHYSICS_AO_MIRRORS_INFLUENCE_CUBE_H
#define BB_PHYSICS_AO_MIRRORS_INFLUENCE_CUBE_H

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { BB_INFLUENCE_POINTS = 4 }; ///< samples along an axis that a value is made of, and the least

typedef struct bb_influence_cube {
    bb_index actuator_count; ///< 0: the mirror has none
    bb_index rows, columns;  ///< along y, along x
    double spacing_m;        ///< of samples on the conjugate
    double *values;          ///< [actuator_count][rows][columns], m per volt; whoever loaded owns
} bb_influence_cube;

/// Where a point lies among the samples of any cube of one size.
typedef struct bb_influence_place {
    bb_index first;                ///< sample [first row][first column] of a map
    double x[BB_INFLUENCE_POINTS]; ///< weights of columns, 0 off the grid
    double y[BB_INFLUENCE_POINTS]; ///< weights of rows, 0 off the grid
} bb_influence_place;

/// Holds a cube to what it has to be: at least one actuator and BB_INFLUENCE_POINTS samples a side,
/// a positive spacing, finite values, not all 0. `path` stands before the message. Errors:
/// BB_INVALID.
BB_CHECKED bb_status bb_influence_cube_check(const bb_influence_cube *cube, const char *path);

/// The place of (x, y) from the axis, and the value there of one actuator.
bb_influence_place bb_influence_cube_find(const bb_influence_cube *cube, double x_m, double y_m);
double bb_influence_cube_value(const bb_influence_cube *cube, bb_index actuator,
                               const bb_influence_place *place);

/// How far the grid reaches from the axis: half a step beyond its outermost samples.
double bb_influence_cube_reach_x(const bb_influence_cube *cube);
double bb_influence_cube_reach_y(const bb_influence_cube *cube);

/// Largest magnitude of all samples, and of those at the rim of the grid, m per volt.
double bb_influence_cube_peak(const bb_influence_cube *cube);
double bb_influence_cube_rim(const bb_influence_cube *cube);

/// Actuators whose samples are all 0.
bb_index bb_influence_cube_idle(const bb_influence_cube *cube);

/// Where actuators stand, [actuator_count] each: the mean place of their squared influence; of idle
/// ones the axis.
void bb_influence_cube_centres(const bb_influence_cube *cube, double *x_m, double *y_m);

#ifdef __cplusplus
}
#endif

#endif
