// SPDX-License-Identifier: Apache-2.0
//
// Checks that key tables are complete.
#ifndef BB_TESTS_PHYSICS_COMPLETE_SCHEMA_H
#define BB_TESTS_PHYSICS_COMPLETE_SCHEMA_H

#include "core/schema.h"
#include "tests/check.h"

/// Every key has a meaning, numbers a unit and a range that contains their default.
static inline void check_schema(const bb_schema *schema)
{
    for (bb_index k = 0; k < schema->key_count; ++k) {
        const bb_key *key = &schema->keys[k];
        const bool number = key->kind == BB_KEY_DOUBLE || key->kind == BB_KEY_INTEGER;
        assert_non_null(key->meaning);
        assert_true(key->offset < schema->bytes);
        assert_true((key->choices != NULL) == (key->kind == BB_KEY_CHOICE));
        assert_true((key->schema != NULL) ==
                    (key->kind == BB_KEY_GROUP || key->kind == BB_KEY_RECORDS));
        assert_true(!number || (key->unit != NULL && key->minimum < key->maximum));
        assert_false(key->optional && key->default_text != NULL);
        if (number && key->default_text != NULL) {
            char *end = NULL;
            const double value = strtod(key->default_text, &end);
            assert_true(*end == '\0' && value >= key->minimum && value <= key->maximum);
        }
        if (key->schema != NULL) {
            check_schema(key->schema);
        }
    }
}

#endif
