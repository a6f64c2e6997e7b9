// SPDX-License-Identifier: Apache-2.0
#include "core/schema.h"
#include "physics/wafer/wafer_config.h"
#include "tests/check.h"

static const bb_schema *const schemas[] = {
    &bb_wafer_material_schema, &bb_clamp_schema,    &bb_mesh_schema,
    &bb_scan_schema,           &bb_response_schema, &bb_metrology_schema,
};
enum { SCHEMAS = sizeof schemas / sizeof schemas[0] };

TEST(every_key_is_complete)
{
    for (int i = 0; i < SCHEMAS; ++i) {
        for (bb_index k = 0; k < schemas[i]->key_count; ++k) {
            const bb_key *key = &schemas[i]->keys[k];
            assert_non_null(key->name);
            assert_non_null(key->meaning);
            assert_true(key->offset < schemas[i]->bytes);
            bool number = key->kind == BB_KEY_DOUBLE || key->kind == BB_KEY_INTEGER;
            assert_true(!number || (key->unit != NULL && key->maximum > key->minimum));
            assert_true(key->kind != BB_KEY_GROUP || key->schema != NULL);
            bool choice = key->kind == BB_KEY_CHOICE || key->kind == BB_KEY_CHOICES;
            assert_true(!choice || key->choices != NULL);
        }
    }
}

TEST(default_numbers_stand_in_their_ranges)
{
    for (int i = 0; i < SCHEMAS; ++i) {
        for (bb_index k = 0; k < schemas[i]->key_count; ++k) {
            const bb_key *key = &schemas[i]->keys[k];
            if (key->default_text == NULL ||
                (key->kind != BB_KEY_DOUBLE && key->kind != BB_KEY_INTEGER)) {
                continue;
            }
            char *end = NULL;
            double value = strtod(key->default_text, &end);
            assert_int_equal(*end, '\0');
            assert_true(value >= key->minimum && value <= key->maximum);
        }
    }
}
