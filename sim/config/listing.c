// SPDX-License-Identifier: Apache-2.0
//
// bb_emission_list: the reference of every key, from the same tables that bind it.
#include "sim/config/binding.h"
#include "sim/config/emission.h"

#include <stdio.h>

enum { PATH_BYTES = 256 };

static const char *kind_name(const bb_key *key)
{
    static const char *const names[] = {
        [BB_KEY_DOUBLE] = "number",     [BB_KEY_INTEGER] = "integer", [BB_KEY_BOOLEAN] = "boolean",
        [BB_KEY_TEXT] = "text",         [BB_KEY_CHOICE] = "word",     [BB_KEY_DOUBLES] = "numbers",
        [BB_KEY_INTEGERS] = "integers", [BB_KEY_CHOICES] = "words",   [BB_KEY_GROUP] = "group",
        [BB_KEY_RECORDS] = "records",   [BB_KEY_PATH] = "file",
    };
    return names[key->kind];
}

static bb_status add_rule(const bb_key *key, bb_text *out)
{
    bb_status status = BB_OK;
    if (key->kind == BB_KEY_CHOICE || key->kind == BB_KEY_CHOICES) {
        for (bb_index i = 0; key->choices[i] != NULL; ++i) {
            BB_TRY(bb_text_add(out, "%s%s", i == 0 ? "" : "|", key->choices[i]));
        }
    } else {
        BB_TRY(bb_binding_range(key, out));
    }
    if (key->accepts_all) {
        BB_TRY(bb_text_add(out, "%sor all", out->length == 0 ? "" : ", "));
    }
    if (out->length == 0) {
        BB_TRY(bb_text_add(out, "-"));
    }
done:
    return status;
}

static bb_status list_keys(const bb_schema *schema, const char *path, bb_text *out)
{
    bb_status status = BB_OK;
    bb_text rule = {0};
    for (bb_index i = 0; i < schema->key_count; ++i) {
        const bb_key *key = &schema->keys[i];
        char inner[PATH_BYTES];
        const char *fallback = key->default_text != NULL   ? key->default_text
                               : key->optional             ? "unset"
                               : key->kind == BB_KEY_GROUP ? "-"
                                                           : "required";
        (void)snprintf(inner, sizeof inner, "%s%s%s%s", path, path[0] == '\0' ? "" : ".", key->name,
                       key->kind == BB_KEY_RECORDS ? ".N" : "");
        rule.length = 0;
        BB_TRY(add_rule(key, &rule));
        BB_TRY(bb_text_add(out, "%-38s %-8s %-12s %-24s %-18s %s\n", inner, kind_name(key),
                           key->unit == NULL ? "-" : key->unit, bb_text_string(&rule), fallback,
                           key->meaning == NULL ? "" : key->meaning));
        if (key->kind == BB_KEY_GROUP || key->kind == BB_KEY_RECORDS) {
            BB_TRY(list_keys(key->schema, inner, out));
        }
    }
done:
    bb_text_release(&rule);
    return status;
}

bb_status bb_emission_list(const bb_schema *schema, bb_text *out)
{
    bb_status status = BB_OK;
    BB_TRY(bb_text_add(out, "%-38s %-8s %-12s %-24s %-18s %s\n", "key", "type", "unit",
                       "range or words", "default", "meaning"));
    BB_TRY(list_keys(schema, "", out));
done:
    return status;
}
