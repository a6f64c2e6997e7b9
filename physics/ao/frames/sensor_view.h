// SPDX-License-Identifier: Apache-2.0
//
// What a geometric Shack-Hartmann sensor sees of phase screens.
//
// A slope is the difference of the phase between two opposite edges of a subaperture's image on the
// layer, over its size in the pupil: at the edges' midpoints (point difference) or averaged along
// the edges, which is the gradient averaged over the subaperture. Laser stars see layers shrunk by
// the cone, all stars displaced by their direction. The images of a sensor's subapertures on a
// layer must stand on a grid parallel to the axes.
#ifndef BB_PHYSICS_AO_FRAMES_SENSOR_VIEW_H
#define BB_PHYSICS_AO_FRAMES_SENSOR_VIEW_H

#include "physics/ao/frames/phase_screen.h"
#include "physics/ao/sensor_array.h"

/// One sensor on one layer, as axes of the screens. Plain owner.
typedef struct bb_sensor_view {
    const bb_sensor *sensor;  ///< borrowed
    bb_screen_axis across[2]; ///< by axis of the slope: differences along it
    bb_screen_axis along[2];  ///< the positions, or means over the edges, across it
} bb_sensor_view;

/// Errors: BB_UNSUPPORTED (a sensor that stands askew), BB_MEMORY. Release with
/// bb_sensor_view_release.
BB_CHECKED bb_status bb_sensor_view_create(const bb_phase_screen *screen, const bb_sensor *sensor,
                                           bb_index layer, bb_sensor_view *out);
void bb_sensor_view_release(bb_sensor_view *view);

/// Adds the layer's part to the slopes [2 sensor count] (x then y, arcsec). Errors: BB_MEMORY.
BB_CHECKED bb_status bb_sensor_view_add(const bb_sensor_view *view, const bb_phase_screen *screen,
                                        const bb_amplitude *amplitudes, double *slopes);

#endif
