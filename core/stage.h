// SPDX-License-Identifier: Apache-2.0
//
// Checks at the boundaries of the stages of a run: a NaN or infinity is found in the stage that
// produced it, with its index. Tests plant one at a boundary to verify the check.
#ifndef BB_CORE_STAGE_H
#define BB_CORE_STAGE_H

#include "core/status.h"

#include <stdbool.h>

/// Index of the first of `values` [count] that is NaN or infinite, -1 if all are finite.
/// Thread-safe below 2^22 values; larger arrays are shared by the pool's threads.
bb_index bb_stage_find_nonfinite(const char *stage, double *values, bb_index count);

/// Checks as bb_stage_find_nonfinite, for values already checked on a device: if `finite`, all are
/// finite and they are not read again.
bb_index bb_stage_find_nonfinite_checked(const char *stage, double *values, bb_index count,
                                         bool finite);

/// For tests: the next array that passes `stage` gets `value` at item `index` (modulo its count).
/// NULL cancels. Do not call while other threads inspect.
void bb_stage_plant(const char *stage, double value, bb_index index);

/// For tests: returns whether the last planted value has passed.
int bb_stage_planted(void);

#endif
