// SPDX-License-Identifier: Apache-2.0
//
// Where the slopes of a sensor begin and end.
//
// A slope is the phase at the midpoint of one edge of a subaperture minus the phase at the midpoint
// of the opposite edge. Neighbours share the edge between them, so that a sensor of n slopes has
// little more than n such points. They are numbered row by row, x fastest.
#ifndef BB_PHYSICS_AO_SLOPE_ENDS_H
#define BB_PHYSICS_AO_SLOPE_ENDS_H

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { BB_AXIS_X, BB_AXIS_Y };

/// The ends of all slopes of one sensor along one axis, on every layer.
typedef struct bb_slope_ends {
    bb_index count;
    bb_index *minus;   ///< [subapertures] point at the lower coordinate, strictly increasing
    bb_index *plus;    ///< [subapertures] point at the higher coordinate, strictly increasing
    int *x;            ///< [count] in half lenslets from the middle of the grid
    int *y;            ///< [count]
    double *layer_x_m; ///< [layers][count]
    double *layer_y_m; ///< [layers][count]
} bb_slope_ends;

/// Finds the points of `subapertures` lenslets in `column` and `row` (0 <= k < lenslets), listed
/// row by row; the positions on layers are for the caller to fill. Errors: BB_MEMORY. Release with
/// bb_slope_ends_release.
BB_CHECKED bb_status bb_slope_ends_create(int axis, bb_index lenslets, bb_index subapertures,
                                          const bb_index *column, const bb_index *row,
                                          bb_index layers, bb_slope_ends *out);
void bb_slope_ends_release(bb_slope_ends *ends);

/// The points behind `count` consecutive slopes, each once and in order.
typedef struct bb_slope_ends_part {
    bb_index count;
    bb_index *point; ///< [count] number among all points of the sensor and axis
    bb_index *minus; ///< [slopes] place in `point`
    bb_index *plus;  ///< [slopes]
} bb_slope_ends_part;

/// Errors: BB_MEMORY. Release with bb_slope_ends_part_release.
BB_CHECKED bb_status bb_slope_ends_part_create(const bb_slope_ends *ends, bb_index first,
                                               bb_index slopes, bb_slope_ends_part *out);
void bb_slope_ends_part_release(bb_slope_ends_part *part);

#ifdef __cplusplus
}
#endif

#endif
