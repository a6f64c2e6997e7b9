// SPDX-License-Identifier: Apache-2.0
//
// The wavefront that a deformable mirror makes on the points of a grid.
//
// Influence functions are Gaussian, f(dx, dy) = f(0) g(dx) g(dy): the shape on a separable grid is
// two matrix products, G V G^T, V the voltages on the lenslet corners.
#ifndef BB_PHYSICS_AO_MIRRORS_MIRROR_SHAPE_H
#define BB_PHYSICS_AO_MIRRORS_MIRROR_SHAPE_H

#include "physics/ao/mirrors/deformable_mirror.h"

/// Plain owner; borrows the mirror. Constant after creation.
typedef struct bb_mirror_shape {
    const bb_deformable_mirror *mirror;
    bb_index points; ///< along an edge
    double *fall;    ///< g [points][lenslets + 1]
} bb_mirror_shape;

/// The grid's points stand at `position_m` [points] along both axes, from the middle of the pupil.
/// Errors: BB_MEMORY. Release with bb_mirror_shape_release.
BB_CHECKED bb_status bb_mirror_shape_create(const bb_deformable_mirror *mirror, bb_index points,
                                            const double *position_m, bb_mirror_shape *out);
void bb_mirror_shape_release(bb_mirror_shape *shape);

/// Actuators on a grid with Gaussian influence towards a grid of points.
typedef struct bb_influence_axes {
    bb_index points, rows, columns;
    const double *along_y; ///< g [points][rows]
    const double *along_x; ///< g [points][columns]
    double peak;           ///< f(0), m of wavefront per volt
} bb_influence_axes;

/// Adds f(0) Gy V Gx^T to `wavefront` [points][points] (y by x, m); `volts` [rows][columns], 0
/// where no actuator is. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_mirror_shape_add(const bb_influence_axes *axes, const double *volts,
                                         double *wavefront);

/// `wavefront` [points][points] (y by x, m) from voltages [actuators]. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_mirror_shape_make(const bb_mirror_shape *shape, const double *volts,
                                          double *wavefront);

/// The influence of actuator `k` at point (i, j), m of wavefront per volt.
double bb_mirror_shape_influence(const bb_mirror_shape *shape, bb_index k, bb_index i, bb_index j);

#endif
