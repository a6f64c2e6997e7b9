// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/guide_star_kind.h"

#include <math.h>
#include <string.h>

#define ROW_OF(number, name, plural)  [BB_GUIDE_STAR_##number] = &bb_##name##_star,
#define NAME_OF(number, name, plural) [BB_GUIDE_STAR_##number] = #name,

const bb_guide_star_kind *const bb_guide_star_kinds[] = {BB_GUIDE_STAR_KINDS(ROW_OF)};
const char *const bb_guide_star_kind_names[] = {BB_GUIDE_STAR_KINDS(NAME_OF) NULL};

bb_star_settings bb_guide_star_kind_unset(void)
{
    bb_star_settings settings;
    double *values = (double *)(void *)&settings;
    for (size_t k = 0; k < sizeof settings / sizeof *values; ++k) {
        values[k] = NAN;
    }
    return settings;
}

bool bb_guide_star_kind_accepts(const bb_guide_star_kind *kind, const char *key)
{
    for (bb_index k = 0; k < kind->schema->key_count; ++k) {
        if (strcmp(kind->schema->keys[k].name, key) == 0) {
            return true;
        }
    }
    return kind->own_key != NULL && strcmp(kind->own_key, key) == 0;
}

bb_star_settings bb_guide_star_kind_settings(const bb_guide_star_kind *kind,
                                             const bb_star_settings *defaults,
                                             const bb_star_settings *given)
{
    bb_star_settings settings = *given;
    for (bb_index k = 0; k < kind->schema->key_count; ++k) {
        const size_t offset = kind->schema->keys[k].offset;
        double *value = (double *)(void *)((char *)&settings + offset);
        if (isnan(*value)) {
            *value = *(const double *)(const void *)((const char *)defaults + offset);
        }
    }
    return settings;
}
