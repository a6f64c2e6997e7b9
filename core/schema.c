// SPDX-License-Identifier: Apache-2.0
#include "core/schema.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static bool in_range(const bb_key *key, double value)
{
    if (!isfinite(value)) {
        return false;
    }
    if (key->minimum == 0.0 && key->maximum == 0.0) {
        return true;
    }
    bool above = key->exclusive_minimum ? value > key->minimum : value >= key->minimum;
    bool below = key->exclusive_maximum ? value < key->maximum : value <= key->maximum;
    return above && below;
}

static bb_status check_number(const bb_key *key, double value, const char *path)
{
    bb_status status = BB_OK;
    const bool plain = strcmp(key->unit, "1") == 0;
    BB_REQUIRE((key->optional && isnan(value)) || in_range(key, value), BB_INVALID,
               "%s = %g%s%s, expected a finite number %s %g and %s %g", path, value,
               plain ? "" : " ", plain ? "" : key->unit,
               key->exclusive_minimum ? ">" : ">=", key->minimum,
               key->exclusive_maximum ? "<" : "<=", key->maximum);
done:
    return status;
}

bb_status bb_schema_check(const bb_schema *schema, const void *object, const char *path)
{
    bb_status status = BB_OK;
    for (bb_index k = 0; k < schema->key_count; ++k) {
        const bb_key *key = &schema->keys[k];
        const char *member = (const char *)object + key->offset;
        char inner[96];
        (void)snprintf(inner, sizeof inner, "%s%s%s", path, *path == '\0' ? "" : ".", key->name);
        if (key->kind == BB_KEY_DOUBLE) {
            BB_TRY(check_number(key, *(const double *)(const void *)member, inner));
        } else if (key->kind == BB_KEY_INTEGER) {
            bb_index value = *(const bb_index *)(const void *)member;
            const bool unset = value == BB_INTEGER_UNSET && (key->optional || key->word != NULL);
            BB_REQUIRE(unset || in_range(key, (double)value), BB_INVALID,
                       "%s = %td, expected %g..%g", inner, value, key->minimum, key->maximum);
        } else if (key->kind == BB_KEY_GROUP && key->pattern == NULL) {
            BB_TRY(bb_schema_check(key->schema, member, inner));
        }
    }
done:
    return status;
}
