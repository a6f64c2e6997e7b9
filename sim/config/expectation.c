// SPDX-License-Identifier: Apache-2.0
//
// Descriptions of the valid values of a key; part of sim/config/binding.h.
#include "sim/config/binding.h"
#include "sim/config/scalar.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const bb_key *bb_binding_key(const bb_schema *schema, const char *name)
{
    for (bb_index i = 0; schema != NULL && i < schema->key_count; ++i) {
        if (strcmp(schema->keys[i].name, name) == 0) {
            return &schema->keys[i];
        }
    }
    return NULL;
}

bool bb_binding_omissible(const bb_key *key)
{
    return key->optional || key->default_text != NULL;
}

// Prints integers in full and other numbers as briefly as possible.
static void print_bound(const bb_key *key, double value, char out[BB_SCALAR_BYTES])
{
    bool integer = key->kind == BB_KEY_INTEGER || key->kind == BB_KEY_INTEGERS;
    if (integer || (value == floor(value) && fabs(value) < 1e6)) {
        (void)snprintf(out, BB_SCALAR_BYTES, "%.0f", value);
    } else {
        (void)snprintf(out, BB_SCALAR_BYTES, "%.6g", value);
    }
}

bb_status bb_binding_range(const bb_key *key, bb_text *out)
{
    char low[BB_SCALAR_BYTES];
    char high[BB_SCALAR_BYTES];
    bool below = isinf(key->minimum);
    bool above = isinf(key->maximum);
    if ((key->minimum == 0.0 && key->maximum == 0.0) || (below && above)) {
        return BB_OK;
    }
    print_bound(key, key->minimum, low);
    print_bound(key, key->maximum, high);
    if (above) {
        return bb_text_add(out, "%s %s", key->exclusive_minimum ? "greater than" : "at least", low);
    }
    if (below) {
        return bb_text_add(out, "%s %s", key->exclusive_maximum ? "less than" : "at most", high);
    }
    return bb_text_add(out, "in %c%s, %s%c", key->exclusive_minimum ? '(' : '[', low, high,
                       key->exclusive_maximum ? ')' : ']');
}

static bb_status add_range_and_unit(const bb_key *key, bb_text *out)
{
    bb_status status = BB_OK;
    bb_text range = {0};
    BB_TRY(bb_binding_range(key, &range));
    if (range.length > 0) {
        BB_TRY(bb_text_add(out, " %s", range.data));
    }
    if (key->unit != NULL && strcmp(key->unit, "1") != 0) {
        BB_TRY(bb_text_add(out, " %s", key->unit));
    }
done:
    bb_text_release(&range);
    return status;
}

static bb_status add_words(const bb_key *key, bb_text *out)
{
    bb_status status = BB_OK;
    for (bb_index i = 0; key->choices[i] != NULL; ++i) {
        BB_TRY(bb_text_add(out, "%s%s", i == 0 ? "" : ", ", key->choices[i]));
    }
done:
    return status;
}

static bb_status add_group(const bb_key *key, bb_text *out)
{
    bb_status status = BB_OK;
    BB_TRY(bb_text_add(out, key->kind == BB_KEY_GROUP ? "a map of " : "a list of maps of "));
    for (bb_index i = 0; i < key->schema->key_count; ++i) {
        BB_TRY(bb_text_add(out, "%s%s", i == 0 ? "" : ", ", key->schema->keys[i].name));
    }
    if (key->shorthand != NULL) {
        BB_TRY(bb_text_add(out, ", or a plain %s", key->shorthand));
    }
    if (key->tabular) {
        BB_TRY(bb_text_add(out, ", or a CSV file with these columns"));
    }
done:
    return status;
}

bb_status bb_binding_expectation(const bb_key *key, bb_text *out)
{
    static const char *const names[] = {
        [BB_KEY_DOUBLE] = "a number",
        [BB_KEY_INTEGER] = "an integer",
        [BB_KEY_BOOLEAN] = "true or false",
        [BB_KEY_TEXT] = "a text",
        [BB_KEY_PATH] = "a file",
        [BB_KEY_CHOICE] = "one of ",
        [BB_KEY_DOUBLES] = "a list of numbers",
        [BB_KEY_INTEGERS] = "a list of integers",
        [BB_KEY_CHOICES] = "a list of the words ",
        [BB_KEY_GROUP] = "",
        [BB_KEY_RECORDS] = "",
    };
    bb_status status = BB_OK;
    BB_TRY(bb_text_add(out, "%s", names[key->kind]));
    if (key->kind == BB_KEY_GROUP || key->kind == BB_KEY_RECORDS) {
        BB_TRY(add_group(key, out));
    } else if (key->kind == BB_KEY_CHOICE || key->kind == BB_KEY_CHOICES) {
        BB_TRY(add_words(key, out));
    } else {
        BB_TRY(add_range_and_unit(key, out));
    }
    if (key->accepts_all || key->word != NULL) {
        BB_TRY(bb_text_add(out, ", or the word %s", key->accepts_all ? "all" : key->word));
    }
done:
    return status;
}
