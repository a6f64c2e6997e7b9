// SPDX-License-Identifier: Apache-2.0
//
// bb_emission_list: the reference of every key, from the same tables that bind it.
#include "sim/config/binding.h"
#include "sim/config/emission.h"

#include <stdio.h>
#include <string.h>

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
    if (key->accepts_all || key->word != NULL) {
        BB_TRY(bb_text_add(out, "%sor %s", out->length == 0 ? "" : ", ",
                           key->accepts_all ? "all" : key->word));
    }
    if (out->length == 0) {
        BB_TRY(bb_text_add(out, "-"));
    }
done:
    return status;
}

// What a key takes where it is left out.
static const char *fallback_of(const bb_key *key)
{
    return key->default_text != NULL   ? key->default_text
           : key->optional             ? "unset"
           : key->kind == BB_KEY_GROUP ? "-"
                                       : "required";
}

static bool has_keys(const bb_key *key)
{
    return key->kind == BB_KEY_GROUP || key->kind == BB_KEY_RECORDS;
}

static void name_key(const bb_key *key, const char *path, char out[PATH_BYTES])
{
    (void)snprintf(out, PATH_BYTES, "%s%s%s%s", path, path[0] == '\0' ? "" : ".", key->name,
                   key->kind == BB_KEY_RECORDS ? ".N" : "");
}

static bb_status list_keys(const bb_schema *schema, const char *path, bb_text *out)
{
    bb_status status = BB_OK;
    bb_text rule = {0};
    for (bb_index i = 0; i < schema->key_count; ++i) {
        const bb_key *key = &schema->keys[i];
        char inner[PATH_BYTES];
        name_key(key, path, inner);
        rule.length = 0;
        BB_TRY(add_rule(key, &rule));
        BB_TRY(bb_text_add(out, "%-38s %-8s %-12s %-24s %-18s %s\n", inner, kind_name(key),
                           key->unit == NULL ? "-" : key->unit, bb_text_string(&rule),
                           fallback_of(key), key->meaning == NULL ? "" : key->meaning));
        if (has_keys(key)) {
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

// A cell: a bar would end it, and what looks like a tag would be one.
static bb_status add_cell(const char *text, bb_text *out)
{
    bb_status status = BB_OK;
    BB_TRY(bb_text_add(out, " "));
    for (; *text != '\0'; ++text) {
        BB_TRY(bb_text_add(out, strchr("|<*_`\\", *text) != NULL ? "\\%c" : "%c", *text));
    }
    BB_TRY(bb_text_add(out, " |"));
done:
    return status;
}

static bb_status add_row(const bb_key *key, const char *path, bb_text *out)
{
    bb_status status = BB_OK;
    bb_text rule = {0};
    BB_TRY(add_rule(key, &rule));
    BB_TRY(bb_text_add(out, "| `%s` |", path));
    BB_TRY(add_cell(kind_name(key), out));
    BB_TRY(add_cell(key->unit == NULL ? "-" : key->unit, out));
    BB_TRY(add_cell(bb_text_string(&rule), out));
    BB_TRY(add_cell(fallback_of(key), out));
    BB_TRY(add_cell(key->meaning == NULL ? "" : key->meaning, out));
    BB_TRY(bb_text_add(out, "\n"));
done:
    bb_text_release(&rule);
    return status;
}

static bb_status add_rows(const bb_schema *schema, const char *path, bb_text *out)
{
    bb_status status = BB_OK;
    for (bb_index i = 0; i < schema->key_count; ++i) {
        const bb_key *key = &schema->keys[i];
        char inner[PATH_BYTES];
        name_key(key, path, inner);
        BB_TRY(add_row(key, inner, out));
        if (has_keys(key)) {
            BB_TRY(add_rows(key->schema, inner, out));
        }
    }
done:
    return status;
}

#define TABLE_HEAD                                                                                 \
    "\n| key | type | unit | range or words | default | meaning |\n|---|---|---|---|---|---|\n"

bb_status bb_emission_list_markdown(const char *name, const bb_schema *schema, bb_text *out)
{
    bb_status status = BB_OK;
    bool open = false; // a table of keys that have none inside
    BB_TRY(bb_text_add(out, "## %s\n", name));
    for (bb_index i = 0; i < schema->key_count; ++i) {
        const bb_key *key = &schema->keys[i];
        char path[PATH_BYTES];
        name_key(key, "", path);
        if (has_keys(key)) {
            BB_TRY(bb_text_add(out, "\n### %s: %s\n", name, key->name));
        }
        if (has_keys(key) || !open) {
            BB_TRY(bb_text_add(out, TABLE_HEAD));
        }
        open = !has_keys(key);
        BB_TRY(add_row(key, path, out));
        if (has_keys(key)) {
            BB_TRY(add_rows(key->schema, path, out));
        }
    }
done:
    return status;
}
