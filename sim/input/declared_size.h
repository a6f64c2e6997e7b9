// SPDX-License-Identifier: Apache-2.0
//
// Checks of the declared size of a dataset against its file and the machine, before memory is
// allocated.
#ifndef BB_SIM_INPUT_DECLARED_SIZE_H
#define BB_SIM_INPUT_DECLARED_SIZE_H

#include "core/status.h"

#include <stdint.h>

/// Refuses uncompressed data larger than their file. `dataset` is a hid_t with `values` values;
/// external files and filters allow larger data. A chunked dataset without written chunks is
/// refused. Errors: BB_IO with both sizes.
BB_CHECKED bb_status bb_declared_size_check(int64_t dataset, double values, double file_bytes);

/// Checks that `rows` x `columns` doubles fit in memory. Errors: BB_MEMORY with both sizes if the
/// machine or the limit of the process has less.
BB_CHECKED bb_status bb_declared_size_fits(bb_index rows, bb_index columns);

/// Checks a matrix that is read by blocks and of which any plan stores at least 4 bytes per value.
/// Errors: BB_MEMORY if bb_plan_require would refuse the plan, reported before the matrix is read.
BB_CHECKED bb_status bb_declared_size_plans(bb_index rows, bb_index columns);

#endif
