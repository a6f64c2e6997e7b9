// SPDX-License-Identifier: Apache-2.0
//
// Covariance of the turbulent phase at points of the pupil with the slopes of guide stars.
//
// Covariance of a point p and a slope between the ends a+ and a-, over the layers below both
// sources:
//   <phi_p (phi_a+ - phi_a-)> = 1/2 sum_l strength_l [D(p - a-) - D(p - a+)],
// exact for von Karman's turbulence, whose phase has a variance. With averaged gradients D is its
// mean over an edge of the subaperture: Gauss's rule with 3 nodes, or the nodes of
// edge_average_core.h towards the nearest point of a close edge.
#ifndef BB_PHYSICS_AO_COVARIANCE_PHASE_SLOPE_COVARIANCE_H
#define BB_PHYSICS_AO_COVARIANCE_PHASE_SLOPE_COVARIANCE_H

#include "core/matrix_source.h"
#include "physics/ao/sensor_array.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Points of the pupil in one direction; everything is borrowed.
typedef struct bb_phase_points {
    bb_index count;
    const double *x_m, *y_m;      ///< [count] from the centre of the pupil
    const bb_sensor_layer *layer; ///< [layers] of a truth sensor in that direction
} bb_phase_points;

/// Adds `weight` times rows first to first + count of the matrix [points][measurements of guides],
/// m arcsec, to `out` [count][measurements]. The bits of a row depend only on its point and the
/// previous contents. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_phase_slope_covariance_add(const bb_atmosphere *atmosphere,
                                                   const bb_phase_points *points,
                                                   const bb_sensor_array *guides, double weight,
                                                   bb_index first, bb_index count, double *out);

/// The weighted sum of that matrix over directions; everything is borrowed.
typedef struct bb_phase_looks {
    const bb_atmosphere *atmosphere;
    const bb_sensor_array *guides;
    bb_phase_points points; ///< `layer` is [count][layers], one direction after the other
    bb_index count;
    const double *weight; ///< [count]
} bb_phase_looks;

/// Returns the sum as a matrix source [points][measurements]; the directions must outlive it.
bb_matrix_source bb_phase_slope_covariance_source(const bb_phase_looks *looks);

/// Device version of the source for cuda, fp64 only, with the bits of the host.
BB_CHECKED bb_status bb_phase_slope_covariance_twin(const bb_matrix_source *source,
                                                    struct bb_device *device,
                                                    struct bb_device_source **out);

/// Memory and time to add all rows of `points` points, without the matrix.
bb_need bb_phase_slope_covariance_need(double points, const bb_sensor_array *guides,
                                       double threads);

#ifdef __cplusplus
}
#endif

#endif
