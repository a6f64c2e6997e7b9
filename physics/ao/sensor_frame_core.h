// SPDX-License-Identifier: Apache-2.0
//
// Where a point of a lenslet grid falls in the pupil and on a layer: the scalar code that host and
// device share, so that both get the same bits.
#ifndef BB_PHYSICS_AO_SENSOR_FRAME_CORE_H
#define BB_PHYSICS_AO_SENSOR_FRAME_CORE_H

#include "core/portable.h"

/// A lenslet grid in the pupil.
typedef struct bb_sensor_frame {
    double half_lenslet_m;
    double shift_x_m, shift_y_m;
} bb_sensor_frame;

/// One layer as a sensor sees it.
typedef struct bb_sensor_layer {
    double scale;                  ///< 1 - h / H, 0 for a layer above the star
    double offset_x_m, offset_y_m; ///< h alpha
} bb_sensor_layer;

/// Position on a layer of grid point (x, y), counted in half lenslets from the grid's middle.
BB_DEVICE_FUNCTION
void bb_sensor_frame_place(const bb_sensor_frame *frame, const bb_sensor_layer *layer, int x, int y,
                           double *x_m, double *y_m)
{
    const double along = frame->half_lenslet_m * (double)x + frame->shift_x_m;
    const double across = frame->half_lenslet_m * (double)y + frame->shift_y_m;
    *x_m = layer->scale * along + layer->offset_x_m;
    *y_m = layer->scale * across + layer->offset_y_m;
}

#endif
