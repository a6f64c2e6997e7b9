// SPDX-License-Identifier: Apache-2.0
//
// Covariances of Shack-Hartmann slopes under von Karman turbulence, as matrix sources.
//
// A slope is the difference of the phase at the two edge midpoints of a subaperture, over its size
// d in the pupil (point difference; ecrc/moao, Learn & Apply of Vidal, Gendron and Rousset 2010).
// With (u, v) the separation a - b of two subapertures on a layer, s1 and s2 half their sizes
// there:
//   x of a, x of b: 1/2 [D(u + s1 + s2, v) + D(u - s1 - s2, v)
//                        - D(u + s1 - s2, v) - D(u - s1 + s2, v)]
//   x of a, y of b: 1/2 [D(u + s1, v + s2) + D(u - s1, v - s2)
//                        - D(u + s1, v - s2) - D(u - s1, v + s2)]
// the others by swapping axes; times r0_l^(-5/3) (lambda / 2 pi)^2 / (d_a d_b), summed over layers,
// in arcsec^2. For sensors of unequal projected sizes the xy and yx blocks differ.
//
// Every argument of D is the separation of an end of one slope from an end of the other, and
// neighbours share their ends: a block is computed from D between all its ends. Sensors of one
// lenslet grid and one altitude use a table by displacement.
//
// The point difference overestimates the slope variance of a real subaperture by 7 to 16 %, for one
// of 15 m by 80 %. Averaged gradients use the average of D over the edges instead of D between
// their midpoints (edge_average_core.h); each sensor has one of the two models.
#ifndef BB_PHYSICS_AO_COVARIANCE_SLOPE_COVARIANCE_H
#define BB_PHYSICS_AO_COVARIANCE_SLOPE_COVARIANCE_H

#include "core/matrix_source.h"
#include "physics/ao/covariance/measurement_noise.h"
#include "physics/ao/sensor_array.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bb_slope_covariance bb_slope_covariance;

/// Inputs of a covariance. Everything is borrowed and must outlive it.
typedef struct bb_slope_covariance_parts {
    const char *name; ///< "Cmm", "Ctm", "Ctt"
    const bb_atmosphere *atmosphere;
    const bb_sensor_array *rows;
    const bb_sensor_array *columns;    ///< the same pointer as rows: symmetric
    const bb_measurement_noise *noise; ///< noise of rows, added to a symmetric matrix; NULL: none
    bool tilt_blocks; ///< symmetric only: adds each laser star's tilt variance to every entry of
                      ///< its xx and yy blocks; false leaves it to an update with bb_tilt_vectors
} bb_slope_covariance_parts;

/// Creates a covariance. Errors: BB_MEMORY, BB_INVALID (noise or tilts for a matrix that is not
/// symmetric, arrays made for another atmosphere). Destroy with bb_slope_covariance_destroy.
BB_CHECKED bb_status bb_slope_covariance_create(const bb_slope_covariance_parts *parts,
                                                bb_slope_covariance **out);
void bb_slope_covariance_destroy(bb_slope_covariance **covariance);

/// The matrix [rows measurements][columns measurements], arcsec^2, borrowed from the covariance.
/// Any block may be requested, by several threads at once; a symmetric matrix is symmetric bit for
/// bit. Cost: a look-up per entry if a displacement table applies to the two sensors; otherwise, in
/// blocks of hundreds, little more than one evaluation of D per entry and layer, for averaged
/// gradients about 20. Errors of a fill: BB_MEMORY.
const bb_matrix_source *bb_slope_covariance_source(const bb_slope_covariance *covariance);

/// Memory and time of the covariance of two sensor arrays: its displacement tables.
bb_need bb_slope_covariance_need(const bb_sensor_array *rows, const bb_sensor_array *columns,
                                 double threads);

/// Memory and time of filling the whole matrix once, without the matrix.
bb_need bb_slope_covariance_fill_need(const bb_sensor_array *rows, const bb_sensor_array *columns,
                                      double threads);

/// Counts the entries of the matrix, and those without a table.
double bb_slope_covariance_entries(const bb_sensor_array *rows, const bb_sensor_array *columns);
double bb_slope_covariance_direct_entries(const bb_sensor_array *rows,
                                          const bb_sensor_array *columns);

#ifdef __cplusplus
}
#endif

#endif
