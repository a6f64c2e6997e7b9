// SPDX-License-Identifier: Apache-2.0
//
// Slope covariances of two sensors on one lenslet grid, by displacement.
//
// If both sensors have the same lenslets and rotation, one slope model and the same scale on every
// layer (two natural stars, two laser stars of one altitude, a sensor and itself), a covariance
// depends only on the difference of the lenslets' columns and rows: (2 n - 1)^2 values instead of
// the square of the number of lenslets. With equal sizes the xy and yx covariances are equal.
#ifndef BB_PHYSICS_AO_COVARIANCE_DISPLACEMENT_TABLE_H
#define BB_PHYSICS_AO_COVARIANCE_DISPLACEMENT_TABLE_H

#include "physics/ao/sensor_array.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Plain owner; constant after creation. Index of a displacement: site of the first sensor's
/// subaperture minus site of the second's, plus `centre`.
typedef struct bb_displacement_table {
    bb_index edge; ///< 2 n - 1 displacements along an axis
    bb_index centre;
    double *parallel[2]; ///< [(2 n - 1)^2] xx and yy, arcsec^2; NULL in an empty table
    double *crossed;     ///< [(2 n - 1)^2] xy and yx
} bb_displacement_table;

/// Returns whether a table can be used for the two sensors.
bool bb_displacement_table_applies(const bb_sensor *first, const bb_sensor *second,
                                   bb_index layer_count);

/// Creates the covariances of turbulence, equal to a direct evaluation up to the rounding of D. The
/// table of a sensor with itself is even, bit for bit. Errors: BB_MEMORY. Release with
/// bb_displacement_table_release.
BB_CHECKED bb_status bb_displacement_table_create(const bb_atmosphere *atmosphere,
                                                  const bb_sensor *first, const bb_sensor *second,
                                                  bb_displacement_table *out);

/// Memory and time of creating the table of a grid of `lenslets`, and of the table alone.
bb_need bb_displacement_table_need(bb_index lenslets, bb_index layers);
bb_need bb_displacement_table_resident(bb_index lenslets);
void bb_displacement_table_release(bb_displacement_table *table);

#ifdef __cplusplus
}
#endif

#endif
