// SPDX-License-Identifier: Apache-2.0
//
// Slope covariance for host and device: its members, and the division of a block into segments of
// one sensor and axis. For slope_covariance.c and slope_covariance_cuda.cu.
#ifndef BB_PHYSICS_AO_COVARIANCE_SLOPE_COVARIANCE_PAIRS_H
#define BB_PHYSICS_AO_COVARIANCE_SLOPE_COVARIANCE_PAIRS_H

#include "core/device/device_source.h"
#include "physics/ao/covariance/displacement_table.h"
#include "physics/ao/covariance/edge_average_core.h"
#include "physics/ao/covariance/slope_covariance.h"

#ifdef __cplusplus
extern "C" {
#endif

struct bb_slope_covariance {
    bb_slope_covariance_parts parts;
    bb_matrix_source source;
    bb_index pair_count;
    bb_displacement_table *tables; ///< [row sensors][column sensors], empty if none applies
};

/// One measurement: the sensor, the axis and the subaperture of a row or column.
typedef struct bb_measurement {
    const bb_sensor *sensor;
    int axis;
    bb_index subaperture;
} bb_measurement;

bb_measurement bb_measurement_locate(const bb_sensor_array *array, bb_index index);

/// Finds the table of two sensors and the order in which it has them, NULL if there is none. A
/// symmetric matrix stores one table for both orders of a pair.
const bb_displacement_table *bb_slope_covariance_table(const bb_slope_covariance *covariance,
                                                       const bb_sensor *row,
                                                       const bb_sensor *column, bool *swapped);

/// Computes (lambda / 2 pi)^2 / (d_a d_b), lambda in m arcsec: scale of a covariance from D at r0 =
/// 1 m.
double bb_slope_covariance_unit(const bb_sensor *first, const bb_sensor *second);

/// Whether slopes of either sensor are averaged gradients.
bool bb_slope_covariance_averages(const bb_sensor *first, const bb_sensor *second);

/// The edges of two slopes on a layer, at least one not a point. `swapped` is that of
/// bb_slope_covariance_table: entry (i, j) averages over the same edges in the same order as entry
/// (j, i).
bb_edge_pair bb_slope_covariance_edges(const bb_measurement *row, const bb_measurement *column,
                                       bool swapped, bb_index layer);

/// Returns the tilt variance added to every entry between two axes of two sensors, 0 for none.
double bb_slope_covariance_tilt(const bb_slope_covariance *covariance, const bb_measurement *row,
                                const bb_measurement *column);

/// The device version for cuda; see core/device/device_source.h.
bb_status bb_slope_covariance_twin(const bb_matrix_source *source, bb_device *device,
                                   bb_device_source **out);

#ifdef __cplusplus
}
#endif

#endif
