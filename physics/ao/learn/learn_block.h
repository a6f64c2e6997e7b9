// SPDX-License-Identifier: Apache-2.0
//
// The entries of a covariance of slopes that a fit of layers may count: block by block, one sensor
// and axis against another, without what noise and the tilts of laser stars add. For learn.c.
#ifndef BB_PHYSICS_AO_LEARN_LEARN_BLOCK_H
#define BB_PHYSICS_AO_LEARN_LEARN_BLOCK_H

#include "core/matrix_source.h"
#include "physics/ao/sensor_array.h"

/// One block of the upper half.
typedef struct bb_learn_block {
    const bb_sensor *row_sensor, *column_sensor;
    int row_axis, column_axis;
} bb_learn_block;

/// Blocks of an array: of a sensor and itself xx, xy and yy, of two sensors all four.
bb_index bb_learn_block_count(const bb_sensor_array *guides);
bb_learn_block bb_learn_block_at(const bb_sensor_array *guides, bb_index index);

/// Values that bb_learn_block_reduce gives.
bb_index bb_learn_block_values(const bb_learn_block *block);

/// Values of scratch that it wants.
bb_index bb_learn_block_scratch(const bb_learn_block *block);

/// The block of `source` as the values that count, weighted so that their sum of squares is that of
/// the block (and of its mirror image), but for what was averaged or projected out. Errors: the
/// source's.
BB_CHECKED bb_status bb_learn_block_reduce(const bb_learn_block *block,
                                           const bb_matrix_source *source, double *scratch,
                                           double *out);

#endif
