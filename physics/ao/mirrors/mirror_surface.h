// SPDX-License-Identifier: Apache-2.0
//
// Wavefront of a stack of mirrors in a direction, on the points of the pupil.
//
// Point x of the pupil maps to x + h p on a mirror at height h (mirror_stack.h): with f_a the
// influence of actuator a and v its voltage, W(x) = sum_mirrors sum_a f_a(x + h p) v_a. Gaussian
// mirrors with actuators on a square grid: two matrix products per mirror, as for one mirror.
// Mirrors with their own influence functions: the sum over actuators on their samples, then its
// interpolation.
#ifndef BB_PHYSICS_AO_MIRRORS_MIRROR_SURFACE_H
#define BB_PHYSICS_AO_MIRRORS_MIRROR_SURFACE_H

#include "physics/ao/mirrors/mirror_stack.h"

// Wavefront of one deformable mirror on the points of a grid.
//
// Influence functions are Gaussian, f(dx, dy) = f(0) g(dx) g(dy): the shape on a separable grid is
// two matrix products, G V G^T, V the voltages on the lenslet corners.

/// Plain owner; borrows the mirror. Constant after creation.
typedef struct bb_mirror_shape {
    const bb_deformable_mirror *mirror;
    bb_index points; ///< along an edge
    double *fall;    ///< g [points][lenslets + 1]
    bb_index *first; ///< [lenslets + 2] first actuator on each row of corners
} bb_mirror_shape;

/// The grid's points are at `position_m` [points] along both axes, from the centre of the pupil.
/// Errors: BB_MEMORY. Release with bb_mirror_shape_release.
BB_CHECKED bb_status bb_mirror_shape_create(const bb_deformable_mirror *mirror, bb_index points,
                                            const double *position_m, bb_mirror_shape *out);
void bb_mirror_shape_release(bb_mirror_shape *shape);

/// Actuators on a grid with Gaussian influence, evaluated on a grid of points.
typedef struct bb_influence_axes {
    bb_index points, rows, columns;
    const double *along_y; ///< g [points][rows]
    const double *along_x; ///< g [points][columns]
    double peak;           ///< f(0), m of wavefront per volt
} bb_influence_axes;

/// Adds f(0) Gy V Gx^T to `wavefront` [points][points] (y by x, m); `volts` [rows][columns], 0
/// without an actuator. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_mirror_shape_add(const bb_influence_axes *axes, const double *volts,
                                         double *wavefront);

/// Computes `wavefront` [points][points] (y by x, m) from voltages [actuators]. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_mirror_shape_make(const bb_mirror_shape *shape, const double *volts,
                                          double *wavefront);

/// Computes the influence of all actuators at point (i, j), `out` [actuators], m of wavefront per
/// volt.
void bb_mirror_shape_influences(const bb_mirror_shape *shape, bb_index i, bb_index j, double *out);

/// One mirror of the stack in the direction.
typedef struct bb_mirror_view {
    const bb_conjugate_mirror *mirror;
    bb_index columns, rows;      ///< size of the actuator grid; 0 for a cube
    bb_index *place;             ///< [count] row columns + column of an actuator in the grid
    double *along_x;             ///< g [points][columns]
    double *along_y;             ///< g [points][rows]
    double shift_x_m, shift_y_m; ///< h p
} bb_mirror_view;

/// Plain owner; borrows the stack. Constant after creation.
typedef struct bb_mirror_surface {
    const bb_mirror_stack *stack;
    bb_index points;       ///< along an edge
    double *position_m;    ///< [points]
    bb_mirror_view *views; ///< [mirrors]
} bb_mirror_surface;

/// The grid's points are at `position_m` [points] along both axes, from the centre of the pupil;
/// (x_rad, y_rad) is the direction. Errors: BB_MEMORY. Release with bb_mirror_surface_release.
BB_CHECKED bb_status bb_mirror_surface_create(const bb_mirror_stack *stack, double x_rad,
                                              double y_rad, bb_index points,
                                              const double *position_m, bb_mirror_surface *out);
void bb_mirror_surface_release(bb_mirror_surface *surface);

/// Computes `wavefront` [points][points] (y by x, m) from `volts` [actuators of the stack]. Errors:
/// BB_MEMORY.
BB_CHECKED bb_status bb_mirror_surface_make(const bb_mirror_surface *surface, const double *volts,
                                            double *wavefront);

/// Computes the influences of all actuators at point (i, j), m of wavefront per volt, into `out`
/// [actuators of the stack].
void bb_mirror_surface_influence(const bb_mirror_surface *surface, bb_index i, bb_index j,
                                 double *out);

#endif
