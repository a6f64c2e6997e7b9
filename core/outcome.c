// SPDX-License-Identifier: Apache-2.0
#include "core/outcome.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *bb_outcome_name(bb_outcome_kind kind)
{
    static const char *const names[] = {
        [BB_OUTCOME_OK] = "ok",
        [BB_OUTCOME_NOT_SPD] = "not_spd",
        [BB_OUTCOME_NON_FINITE] = "non_finite",
        [BB_OUTCOME_NOT_CONVERGED] = "not_converged",
        [BB_OUTCOME_UNDERDETERMINED] = "underdetermined",
        [BB_OUTCOME_NOT_HELD] = "not_held",
    };
    return (size_t)kind < sizeof names / sizeof names[0] ? names[kind] : "unknown";
}

void bb_outcome_set(bb_outcome *outcome, bb_outcome_kind kind, const char *format, ...)
{
    if (outcome->kind != BB_OUTCOME_OK) {
        return;
    }
    outcome->kind = kind;
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(outcome->detail, sizeof outcome->detail, format, arguments);
    va_end(arguments);
}

bool bb_outcome_is_sound(const bb_outcome *outcome)
{
    return (int)outcome->kind >= 0 && outcome->kind <= BB_OUTCOME_NOT_HELD &&
           memchr(outcome->detail, '\0', sizeof outcome->detail) != NULL;
}

bb_index bb_outcome_first_non_finite(const double *values, bb_index count)
{
    for (bb_index i = 0; i < count; ++i) {
        if (!isfinite(values[i])) {
            return i;
        }
    }
    return -1;
}
