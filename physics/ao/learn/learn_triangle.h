// SPDX-License-Identifier: Apache-2.0
//
// Reduction of a tall least-squares problem to one small triangle, and its non-negative solution.
// For learn.c.
//
// The columns are covariances (of layers, and measured), their rows all values of
// bb_learn_block_reduce. A = Q T with T upper triangular: |A y| = |T y| for any y, so that all sums
// of squares are those of T, without the squared condition of the normal equations.
#ifndef BB_PHYSICS_AO_LEARN_LEARN_TRIANGLE_H
#define BB_PHYSICS_AO_LEARN_LEARN_TRIANGLE_H

#include "core/matrix_source.h"
#include "physics/ao/covariance/slope_covariance.h"
#include "physics/ao/sensor_array.h"

/// One layer of unit strength and the projection of the sensors on it.
typedef struct bb_learn_layer {
    bb_atmosphere atmosphere; ///< of this layer only
    bb_sensor_array guides;
    bb_slope_covariance *covariance; ///< of this layer only, without noise and tilts
} bb_learn_layer;

/// Plain owner.
typedef struct bb_learn_layers {
    bb_index count;
    bb_learn_layer *items; ///< [count]
} bb_learn_layers;

/// Layers at `height_m` [count] (at zenith) of strength 1 m^(-5/3) at zenith. Errors: BB_MEMORY.
/// Release with bb_learn_layers_release.
BB_CHECKED bb_status bb_learn_layers_create(const bb_ao_config *config, bb_index count,
                                            const double *height_m, double outer_scale_m,
                                            bb_learn_layers *out);
void bb_learn_layers_release(bb_learn_layers *layers);

// Usable entries of a covariance of slopes in a fit of layers: block by block, one sensor and axis
// with another, without the contributions of noise and laser tilts.

/// One block of the upper half.
typedef struct bb_learn_block {
    const bb_sensor *row_sensor, *column_sensor;
    int row_axis, column_axis;
} bb_learn_block;

/// Number of blocks of an array: xx, xy and yy of a sensor with itself, all four of two sensors.
bb_index bb_learn_block_count(const bb_sensor_array *guides);
bb_learn_block bb_learn_block_at(const bb_sensor_array *guides, bb_index index);

/// Returns the number of values from bb_learn_block_reduce.
bb_index bb_learn_block_values(const bb_learn_block *block);

/// Returns the number of scratch values for bb_learn_block_reduce.
bb_index bb_learn_block_scratch(const bb_learn_block *block);

/// Computes the usable values of a block of `source`, weighted so that their sum of squares is that
/// of the block (and of its mirror image) without the averaged or projected parts. Errors: the
/// source's.
BB_CHECKED bb_status bb_learn_block_reduce(const bb_learn_block *block,
                                           const bb_matrix_source *source, double *scratch,
                                           double *out);

/// Reduces `count` covariances of one sensor array to T [count][count], column-major, zeros below
/// the diagonal; `rows` receives the number of values it represents, NaN (and T is zero) if one of
/// them is not finite. The bits do not depend on the number of threads. Errors: BB_MEMORY,
/// BB_INTERNAL (LAPACK), the sources'.
BB_CHECKED bb_status bb_learn_triangle_make(const bb_sensor_array *guides, bb_index count,
                                            const bb_matrix_source *const *columns, double *t,
                                            double *rows);

/// Solves the least-squares problem A x = b. A [rows][unknowns] and b [rows] are column-major and
/// unchanged; x [unknowns]. Errors: BB_MEMORY, BB_INTERNAL.
BB_CHECKED bb_status bb_learn_triangle_least_squares(bb_index rows, bb_index unknowns,
                                                     const double *a, const double *b, double *x);

/// Solves the least-squares problem with x >= 0 (Lawson and Hanson 1974, chapter 23); `residual` is
/// |A x - b|.
BB_CHECKED bb_status bb_learn_triangle_non_negative(bb_index rows, bb_index unknowns,
                                                    const double *a, const double *b, double *x,
                                                    double *residual);

/// Computes, for columns A [rows][unknowns] of unit norm, the diagonal of (A^T A)^-1 and the
/// condition of A^T A; infinite if the columns are linearly dependent. Errors: BB_MEMORY,
/// BB_INTERNAL.
BB_CHECKED bb_status bb_learn_triangle_condition(bb_index rows, bb_index unknowns, const double *a,
                                                 double *inverse_diagonal, double *condition);

#endif
