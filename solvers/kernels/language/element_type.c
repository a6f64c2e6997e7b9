// SPDX-License-Identifier: Apache-2.0
#include "solvers/kernels/language/element_type.h"

#include "core/suggestion.h"

#include <stdint.h>
#include <string.h>

#define TYPE(name) (1U << BB_ELEMENT_##name)

// What each type reaches in steps of the language: B to INT32 to SP to DP, a real to a complex
// number, and the integers to and from positions.
enum {
    TO_DP2 = TYPE(DP2),
    TO_SP2 = TYPE(SP2) | TO_DP2,
    TO_DP = TYPE(DP) | TO_DP2,
    TO_SP = TYPE(SP) | TO_DP | TO_SP2,
    TO_INTEGER = TYPE(INT32) | TYPE(INDEX) | TO_SP,
    TO_B = TYPE(B) | TO_INTEGER,
};

static const bb_element_row rows[BB_ELEMENT_TYPE_COUNT + 1] = {
    [BB_ELEMENT_B] = {"B", 1, 1, false, BB_ELEMENT_B, TO_B},
    [BB_ELEMENT_INT32] = {"INT32", 4, 1, false, BB_ELEMENT_INT32, TO_INTEGER},
    [BB_ELEMENT_SP] = {"SP", 4, 1, true, BB_ELEMENT_SP, TO_SP},
    [BB_ELEMENT_DP] = {"DP", 8, 1, true, BB_ELEMENT_DP, TO_DP},
    [BB_ELEMENT_SP2] = {"SP2", 8, 2, true, BB_ELEMENT_SP, TO_SP2},
    [BB_ELEMENT_DP2] = {"DP2", 16, 2, true, BB_ELEMENT_DP, TO_DP2},
    [BB_ELEMENT_INDEX] = {"index", 8, 1, false, BB_ELEMENT_INDEX, TO_INTEGER},
};

const bb_element_row *bb_element_type_row(bb_element_type type)
{
    return &rows[type];
}

bool bb_element_type_widens(bb_element_type source, bb_element_type target)
{
    return (rows[source].widens_to >> target & 1U) != 0;
}

bool bb_element_type_is(const char *name)
{
    bool found = false;
    for (int type = 0; type < BB_ELEMENT_TYPE_COUNT && !found; ++type) {
        found = strcmp(name, rows[type].name) == 0;
    }
    return found;
}

bb_status bb_element_type_find(const char *name, bb_element_type *out)
{
    bb_status status = BB_OK;
    bb_index distance = PTRDIFF_MAX;
    const char *nearest = NULL;
    for (int type = 0; type < BB_ELEMENT_TYPE_COUNT; ++type) {
        if (strcmp(name, rows[type].name) == 0) {
            *out = (bb_element_type)type;
            goto done;
        }
        bb_suggestion_consider(name, rows[type].name, &distance, &nearest);
    }
    BB_REQUIRE(nearest == NULL, BB_INVALID, "unknown type '%s'; did you mean %s?", name, nearest);
    BB_FAIL(BB_INVALID, "unknown type '%s', expected B, INT32, SP, DP, SP2 or DP2", name);
done:
    return status;
}
