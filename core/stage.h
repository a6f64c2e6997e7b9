// SPDX-License-Identifier: Apache-2.0
//
// Where one stage of a run hands numbers to the next, they are looked at: a NaN or infinity is
// found in the stage that made it, with its place. Tests plant one at a boundary to see that it is.
#ifndef BB_CORE_STAGE_H
#define BB_CORE_STAGE_H

#include "core/status.h"

#include <stdbool.h>

/// Index of the first of `values` [count] that is NaN or infinite, -1 when all are finite. Safe
/// from several threads at once, but for 2^22 values and more, which the pool's threads share.
bb_index bb_stage_inspect(const char *stage, double *values, bb_index count);

/// The same of values that were looked at where they were made, on a device: `finite` says that all
/// are, and they are not read again.
bb_index bb_stage_accept(const char *stage, double *values, bb_index count, bool finite);

/// For tests: the next array that passes `stage` gets `value` at item `index` (modulo its count).
/// NULL takes the plan back. Not while other threads inspect.
void bb_stage_plant(const char *stage, double value, bb_index index);

/// For tests: whether what was planted last has passed.
int bb_stage_planted(void);

#endif
