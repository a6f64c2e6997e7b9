// SPDX-License-Identifier: Apache-2.0
//
// Sizes that a dataset declares, held against its file and the machine before anything is asked
// for.
#ifndef BB_SIM_INPUT_DECLARED_SIZE_H
#define BB_SIM_INPUT_DECLARED_SIZE_H

#include "core/status.h"

#include <stdint.h>

/// What is stored as it is cannot be larger than its file. `dataset` is a hid_t of `values` values;
/// one in other files, in chunks that were never written or behind a filter may be. Errors: BB_IO
/// with both sizes.
BB_CHECKED bb_status bb_declared_size_check(int64_t dataset, double values, double file_bytes);

/// Memory for a block of `rows` x `columns` doubles. Errors: BB_MEMORY with both sizes where this
/// machine has less.
BB_CHECKED bb_status bb_declared_size_fits(bb_index rows, bb_index columns);

#endif
