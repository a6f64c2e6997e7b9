// SPDX-License-Identifier: Apache-2.0
//
// Sizes that a dataset declares, held against its file and the machine before anything is asked
// for.
#ifndef BB_SIM_INPUT_DECLARED_SIZE_H
#define BB_SIM_INPUT_DECLARED_SIZE_H

#include "core/status.h"

#include <stdint.h>

/// What is stored as it is cannot be larger than its file. `dataset` is a hid_t of `values` values;
/// one in other files or behind a filter may be, one in chunks of which none was written is
/// refused. Errors: BB_IO with both sizes.
BB_CHECKED bb_status bb_declared_size_check(int64_t dataset, double values, double file_bytes);

/// Memory for a block of `rows` x `columns` doubles. Errors: BB_MEMORY with both sizes where this
/// machine has less, or the limit of the process leaves less.
BB_CHECKED bb_status bb_declared_size_fits(bb_index rows, bb_index columns);

/// A matrix that is read block by block and of which any plan holds 4 bytes a value or more.
/// Errors: BB_MEMORY where bb_plan_require would refuse that: said before the matrix is read.
BB_CHECKED bb_status bb_declared_size_plans(bb_index rows, bb_index columns);

#endif
