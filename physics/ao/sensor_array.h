// SPDX-License-Identifier: Apache-2.0
//
// Shack-Hartmann sensors: their directions, the positions of their subapertures in the pupil, and
// the projections on every turbulent layer.
//
// A grid of n lenslets across the diameter D has the pitch d = G D / n in the pupil, G its
// magnification; it is rotated by an angle and then shifted, p_i = Rot G q_i + shift. Slopes are
// measured along the grid's axes and divided by d. Valid subapertures are determined for the
// aligned grid.
//
// Subaperture i of a sensor projects on layer h to (1 - h / H) p_i + h alpha, its size times (1 - h
// / H): H the altitude of a laser star (infinite for a natural one), alpha its direction. A layer
// above the star contributes nothing (factor 0). The order of measurements is, sensor by sensor,
// all x slopes and then all y slopes; subapertures row by row as in subapertures.h.
#ifndef BB_PHYSICS_AO_SENSOR_ARRAY_H
#define BB_PHYSICS_AO_SENSOR_ARRAY_H

#include "core/need.h"
#include "physics/ao/ao_config.h"
#include "physics/ao/atmosphere.h"

/// A lenslet grid in the pupil. Host and device share the position functions and get the same bits.
typedef struct bb_sensor_frame {
    double half_lenslet_m; ///< including magnification
    double half_edge_m;    ///< half the edge averaged by a slope; 0: point difference
    double cosine, sine;   ///< cosine and sine of the angle from the pupil's x axis to the grid's
    double shift_x_m, shift_y_m;
} bb_sensor_frame;

/// Projection of a sensor on one layer.
typedef struct bb_sensor_layer {
    double scale;                  ///< 1 - h / H, 0 for a layer above the star
    double offset_x_m, offset_y_m; ///< h alpha, and the drift
    double drift_x_m, drift_y_m;   ///< displacement of the footprint: bb_sensor_array_drift
} bb_sensor_layer;

/// Rotates a vector of the grid into the pupil.
BB_DEVICE_FUNCTION
void bb_sensor_frame_turn(const bb_sensor_frame *frame, double along, double across, double *x,
                          double *y)
{
    *x = frame->cosine * along - frame->sine * across;
    *y = frame->sine * along + frame->cosine * across;
}

/// Computes the position on a layer of grid point (x, y), in half lenslets from the grid's centre.
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

/// Computes half of the edge at the end of a slope along an axis (0: x), on a layer; 0 for a point.
BB_DEVICE_FUNCTION
void bb_sensor_frame_edge(const bb_sensor_frame *frame, const bb_sensor_layer *layer, int axis,
                          double *x_m, double *y_m)
{
    const double half = layer->scale * frame->half_edge_m;
    bb_sensor_frame_turn(frame, axis == 0 ? 0.0 : half, axis == 0 ? half : 0.0, x_m, y_m);
}

#ifdef __cplusplus
extern "C" {
#endif

// A slope is the phase at the midpoint of one edge of a subaperture minus the phase at the midpoint
// of the opposite edge. Neighbours share an edge, so that a sensor of n slopes has little more than
// n such points. They are numbered row by row, x fastest.

enum { BB_AXIS_X, BB_AXIS_Y };

/// The ends of all slopes of one sensor along one axis, on every layer.
typedef struct bb_slope_ends {
    bb_index count;
    bb_index *minus;   ///< [subapertures] point at the lower coordinate, strictly increasing
    bb_index *plus;    ///< [subapertures] point at the higher coordinate, strictly increasing
    int *x;            ///< [count] in half lenslets from the centre of the grid
    int *y;            ///< [count]
    double *layer_x_m; ///< [layers][count]
    double *layer_y_m; ///< [layers][count]
} bb_slope_ends;

/// Finds the points of `subapertures` lenslets in `column` and `row` (0 <= k < lenslets), listed
/// row by row; the caller fills the positions on layers. Errors: BB_MEMORY. Release with
/// bb_slope_ends_release.
BB_CHECKED bb_status bb_slope_ends_create(int axis, bb_index lenslets, bb_index subapertures,
                                          const bb_index *column, const bb_index *row,
                                          bb_index layers, bb_slope_ends *out);
void bb_slope_ends_release(bb_slope_ends *ends);

/// The points of `count` consecutive slopes, each once and in order.
typedef struct bb_slope_ends_part {
    bb_index count;
    bb_index *point; ///< [count] number among all points of the sensor and axis
    bb_index *minus; ///< [slopes] index in `point`
    bb_index *plus;  ///< [slopes]
} bb_slope_ends_part;

/// Lists the points of the slopes. Errors: BB_MEMORY. Release with bb_slope_ends_part_release.
BB_CHECKED bb_status bb_slope_ends_part_create(const bb_slope_ends *ends, bb_index first,
                                               bb_index slopes, bb_slope_ends_part *out);
void bb_slope_ends_part_release(bb_slope_ends_part *part);

typedef struct bb_sensor {
    bb_star star;
    bb_index lenslets;
    bb_index count; ///< valid subapertures
    bb_index first; ///< first measurement: x slopes at [first, first + count), then y slopes
    double size_m;  ///< size of a subaperture in the pupil
    double *x_m;    ///< [count] in the pupil
    double *y_m;    ///< [count] in the pupil
    bb_sensor_frame frame;
    bb_sensor_layer *layer; ///< [layers]
    bb_index *site; ///< [count] (2 lenslets - 1) row + column: differences identify displacements
    bb_slope_ends ends[2]; ///< ends of the x slopes and of the y slopes
} bb_sensor;

/// Owns its sensors; constant after creation, so safe to share between threads.
typedef struct bb_sensor_array {
    bb_index sensor_count;
    bb_index layer_count;
    bb_index measurement_count; ///< sum of 2 count
    double diameter_m;
    double obstruction;
    double atmosphere_transmission;
    bb_sensor *sensors; ///< [sensor_count]
} bb_sensor_array;

/// Creates the sensors of the guide stars, in the config's order. The config must have passed
/// bb_ao_check. Errors: BB_MEMORY. Release with bb_sensor_array_release.
BB_CHECKED bb_status bb_sensor_array_create_guides(const bb_ao_config *config,
                                                   const bb_atmosphere *atmosphere,
                                                   bb_sensor_array *out);

/// Creates the truth sensor of one target: one natural star at infinity in the target's direction.
/// Errors: BB_MEMORY, BB_INVALID (no such target).
BB_CHECKED bb_status bb_sensor_array_create_truth(const bb_ao_config *config, bb_index target,
                                                  const bb_atmosphere *atmosphere,
                                                  bb_sensor_array *out);

/// Returns whether the slopes of a sensor are averaged gradients.
bool bb_sensor_averages(const bb_sensor *sensor);

/// Displaces the footprints of all sensors on every layer by `drift_m` [layers][2]: equivalent to
/// later measurements of layers that move by minus that, in the frame of the unmoved layers.
void bb_sensor_array_drift(bb_sensor_array *array, const double (*drift_m)[2]);

/// Memory and time of one sensor of an array.
bb_need bb_sensor_array_need(bb_index lenslets, bb_index subapertures, bb_index layers);

/// Frees the members of an array; safe on a zeroed struct.
void bb_sensor_array_release(bb_sensor_array *array);

/// The unknown tilts of laser stars, one column of ones over the x slopes and one over the y slopes
/// of each: Cmm with tilts = Cmm + V diag(variance) V^T.
typedef struct bb_tilt_vectors {
    bb_index rows;    ///< measurements
    bb_index columns; ///< 2 per star, 0 without any
    double *vectors;  ///< V [rows][columns], zeros and ones
    double *variance; ///< [columns], arcsec^2
} bb_tilt_vectors;

/// Creates the tilts with the variances of the config, or with infinite ones: the tilts of all
/// laser stars are then unknown. Stars of variance 0 have no columns, except with infinite
/// variances. Errors: BB_MEMORY. Release with bb_tilt_vectors_release.
BB_CHECKED bb_status bb_tilt_vectors_create(const bb_sensor_array *array, bool infinite,
                                            bb_tilt_vectors *out);
void bb_tilt_vectors_release(bb_tilt_vectors *tilts);

#ifdef __cplusplus
}
#endif

#endif
