// SPDX-License-Identifier: Apache-2.0
//
// Outcome of a computation: a numerical failure is recorded as a result, not raised as an error.
#ifndef BB_CORE_OUTCOME_H
#define BB_CORE_OUTCOME_H

#include "core/status.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum bb_outcome_kind {
    BB_OUTCOME_OK,
    BB_OUTCOME_NOT_SPD,         ///< a pivot was zero or negative: not positive definite
    BB_OUTCOME_NON_FINITE,      ///< NaN or infinity where none belongs
    BB_OUTCOME_NOT_CONVERGED,   ///< an iteration reached its limit
    BB_OUTCOME_UNDERDETERMINED, ///< the data do not determine the answer
    BB_OUTCOME_NOT_HELD,        ///< a tolerance that the storage cannot achieve for these values
} bb_outcome_kind;

/// Plain value. bb_outcome_set records only the first failure of a sequence of steps.
typedef struct bb_outcome {
    bb_outcome_kind kind;
    char detail[240]; ///< one sentence: where and what; "" when ok
} bb_outcome;

/// Returns "ok", "not_spd", "non_finite", "not_converged", "underdetermined" or "not_held";
/// "unknown" for another number.
const char *bb_outcome_name(bb_outcome_kind kind);

/// Records a failure unless one is already recorded.
void bb_outcome_set(bb_outcome *outcome, bb_outcome_kind kind, const char *format, ...)
    BB_PRINTF(3, 4);

/// Returns whether an outcome read from a file is valid: a known kind, a terminated detail.
bool bb_outcome_is_sound(const bb_outcome *outcome);

/// Returns the index of the first value that is NaN or infinite, -1 if all are finite.
bb_index bb_outcome_first_non_finite(const double *values, bb_index count);

#ifdef __cplusplus
}
#endif

#endif
