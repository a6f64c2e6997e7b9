// SPDX-License-Identifier: Apache-2.0
//
// Where a point of a lenslet grid falls in the pupil and on a layer: the scalar code that host and
// device share, so that both get the same bits.
//
// A grid of pitch d is turned, then shifted: p = Rot G q + shift with G its magnification, and seen
// on a layer at (1 - h / H) p + h alpha.
#ifndef BB_PHYSICS_AO_SENSOR_FRAME_CORE_H
#define BB_PHYSICS_AO_SENSOR_FRAME_CORE_H

#include "core/portable.h"

/// A lenslet grid in the pupil.
typedef struct bb_sensor_frame {
    double half_lenslet_m; ///< magnified
    double half_edge_m;    ///< of the edge that a slope averages; 0: it ends at points
    double cosine, sine;   ///< of the angle from the pupil's x axis to the grid's
    double shift_x_m, shift_y_m;
} bb_sensor_frame;

/// One layer as a sensor sees it.
typedef struct bb_sensor_layer {
    double scale;                  ///< 1 - h / H, 0 for a layer above the star
    double offset_x_m, offset_y_m; ///< h alpha, and the drift
    double drift_x_m, drift_y_m;   ///< how far the sensor looks beside it: bb_sensor_array_drift
} bb_sensor_layer;

/// Turns a vector of the grid into one of the pupil.
BB_DEVICE_FUNCTION
void bb_sensor_frame_turn(const bb_sensor_frame *frame, double along, double across, double *x,
                          double *y)
{
    *x = frame->cosine * along - frame->sine * across;
    *y = frame->sine * along + frame->cosine * across;
}

/// Position on a layer of grid point (x, y), counted in half lenslets from the grid's middle.
BB_DEVICE_FUNCTION
void bb_sensor_frame_place(const bb_sensor_frame *frame, const bb_sensor_layer *layer, int x, int y,
                           double *x_m, double *y_m)
{
    double pupil_x;
    double pupil_y;
    bb_sensor_frame_turn(frame, frame->half_lenslet_m * (double)x,
                         frame->half_lenslet_m * (double)y, &pupil_x, &pupil_y);
    *x_m = layer->scale * (pupil_x + frame->shift_x_m) + layer->offset_x_m;
    *y_m = layer->scale * (pupil_y + frame->shift_y_m) + layer->offset_y_m;
}

/// Half of the edge that a slope along an axis (0: x) ends at, on a layer; 0 of a point.
BB_DEVICE_FUNCTION
void bb_sensor_frame_edge(const bb_sensor_frame *frame, const bb_sensor_layer *layer, int axis,
                          double *x_m, double *y_m)
{
    const double half = layer->scale * frame->half_edge_m;
    bb_sensor_frame_turn(frame, axis == 0 ? 0.0 : half, axis == 0 ? half : 0.0, x_m, y_m);
}

#endif
