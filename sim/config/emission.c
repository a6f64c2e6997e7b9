// SPDX-License-Identifier: Apache-2.0
#include "sim/config/emission.h"

#include "core/memory.h"
#include "sim/config/binding.h"
#include "sim/config/node.h"
#include "sim/config/scalar.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { COMMENT_COLUMN = 44, FLOW_COLUMN = 96, PATH_BYTES = 4096 };

static bb_status write_group(const bb_schema *schema, const void *object, bool comments, int indent,
                             bb_text *out);

static bb_status write_double(double value, bb_text *out)
{
    char digits[BB_SCALAR_BYTES];
    bb_scalar_print(value, digits);
    return bb_text_add(out, "%s", digits);
}

static bb_status write_integer(const bb_key *key, bb_index value, bb_text *out)
{
    return value == BB_INTEGER_UNSET ? bb_text_add(out, "%s", key->word)
                                     : bb_text_add(out, "%td", value);
}

static bb_status write_list(const bb_key *key, const bb_list *list, bb_text *out)
{
    bb_status status = BB_OK;
    if (list->count == BB_LIST_ALL) {
        return bb_text_add(out, "all");
    }
    BB_TRY(bb_text_add(out, "["));
    for (bb_index i = 0; i < list->count; ++i) {
        BB_TRY(bb_text_add(out, i == 0 ? "" : ", "));
        if (key->kind == BB_KEY_DOUBLES) {
            BB_TRY(write_double(((const double *)list->items)[i], out));
        } else if (key->kind == BB_KEY_INTEGERS) {
            BB_TRY(bb_text_add(out, "%td", ((const bb_index *)list->items)[i]));
        } else {
            BB_TRY(bb_node_write_text(key->choices[((const int *)list->items)[i]], out));
        }
    }
    BB_TRY(bb_text_add(out, "]"));
done:
    return status;
}

// True if a required value is missing, also in a required group.
static bool is_lacking(const bb_schema *schema, const void *group)
{
    for (bb_index i = 0; i < schema->key_count; ++i) {
        const bb_key *inner = &schema->keys[i];
        const void *member = (const char *)group + inner->offset;
        if (!bb_binding_omissible(inner) &&
            (inner->kind == BB_KEY_GROUP ? is_lacking(inner->schema, member)
                                         : bb_emission_is_unset(inner, group))) {
            return true;
        }
    }
    return false;
}

// True if the user omitted the group: a required value is missing, or the group has no values.
static bool is_group_unset(const bb_schema *schema, const void *group)
{
    bb_index unset = 0;
    for (bb_index i = 0; i < schema->key_count; ++i) {
        unset += bb_emission_is_unset(&schema->keys[i], group);
    }
    return unset == schema->key_count || is_lacking(schema, group);
}

bool bb_emission_is_unset(const bb_key *key, const void *object)
{
    const void *member = (const char *)object + key->offset;
    switch (key->kind) {
    case BB_KEY_DOUBLE:
        return isnan(*(const double *)member);
    case BB_KEY_INTEGER:
        return *(const bb_index *)member == BB_INTEGER_UNSET && key->word == NULL;
    case BB_KEY_TEXT:
    case BB_KEY_PATH:
        return *(const char *const *)member == NULL;
    case BB_KEY_CHOICE:
        return *(const int *)member < 0;
    case BB_KEY_BOOLEAN:
        return false;
    case BB_KEY_GROUP:
        return is_group_unset(key->schema, member);
    default:
        // An empty list is a value unless omitting the key means the same.
        return ((const bb_list *)member)->count == 0 && key->default_text == NULL;
    }
}

// Writes an absolute path, so that the copy can be read from any folder.
static bb_status write_path(const char *path, bb_text *out)
{
    bb_status status = BB_OK;
    char folder[PATH_BYTES];
    char *all_values = NULL;
    // If the working folder is unknown, the path is written unchanged.
    if (path[0] == '/' || getcwd(folder, sizeof folder) == NULL) {
        return bb_node_write_text(path, out);
    }
    BB_TRY(bb_memory_printf(&all_values, "%s/%s", folder, path));
    BB_TRY(bb_node_write_text(all_values, out));
done:
    BB_RELEASE(&all_values);
    return status;
}

static bb_status write_value(const bb_key *key, const void *member, bool brief, bb_text *out)
{
    switch (key->kind) {
    case BB_KEY_DOUBLE:
        return write_double(*(const double *)member, out);
    case BB_KEY_INTEGER:
        return write_integer(key, *(const bb_index *)member, out);
    case BB_KEY_BOOLEAN:
        return bb_text_add(out, *(const bool *)member ? "true" : "false");
    case BB_KEY_PATH:
        return brief ? bb_node_write_text(*(const char *const *)member, out)
                     : write_path(*(const char *const *)member, out);
    case BB_KEY_TEXT:
        return bb_node_write_text(*(const char *const *)member, out);
    case BB_KEY_CHOICE:
        return bb_node_write_text(key->choices[*(const int *)member], out);
    default:
        return write_list(key, member, out);
    }
}

// True if omitting the key would read back the same value.
static bool at_default(const bb_key *key, const void *object)
{
    const void *member = (const char *)object + key->offset;
    double number = NAN;
    bb_index integer = 0;
    if (key->kind == BB_KEY_GROUP && key->default_text == NULL) {
        for (bb_index i = 0; i < key->schema->key_count; ++i) {
            if (!at_default(&key->schema->keys[i], member)) {
                return false;
            }
        }
        return true;
    }
    if (key->default_text == NULL) {
        return false;
    }
    switch (key->kind) {
    case BB_KEY_DOUBLE:
        return bb_scalar_double(key->default_text, &number) && number == *(const double *)member;
    case BB_KEY_INTEGER:
        integer = BB_INTEGER_UNSET; // value of the word in place of a number
        return (key->word != NULL || bb_scalar_integer(key->default_text, &integer)) &&
               integer == *(const bb_index *)member;
    case BB_KEY_CHOICE:
        return strcmp(key->choices[*(const int *)member], key->default_text) == 0;
    default:
        return false;
    }
}

// Writes "# unit, range or words. Meaning" after the line that starts at `start`.
static bb_status write_comment(const bb_key *key, bb_index start, bb_text *out)
{
    bb_status status = BB_OK;
    bb_text expected = {0};
    bool group = key->kind == BB_KEY_GROUP || key->kind == BB_KEY_RECORDS;
    if (!group) {
        BB_TRY(bb_binding_expectation(key, &expected));
    }
    bb_index gap = COMMENT_COLUMN - (out->length - start);
    BB_TRY(bb_text_add(out, "%*s# %s%s%s%s", (int)(gap > 2 ? gap : 2), "",
                       bb_text_string(&expected), group || key->meaning == NULL ? "" : ". ",
                       key->meaning == NULL ? "" : key->meaning,
                       key->optional && key->default_text == NULL ? " Optional." : ""));
done:
    bb_text_release(&expected);
    return status;
}

// Writes a list of maps, one "- {...}" line for each record.
static bb_status write_records(const bb_key *key, const bb_list *list, bool brief, int indent,
                               bb_text *out);

// Writes {a: 1, b: 2} with every set key of a record; if `brief`, without keys at their default.
static bb_status write_flow(const bb_schema *schema, const void *object, bool brief, int indent,
                            bb_text *out)
{
    bb_status status = BB_OK;
    bool first = true;
    bb_index line = out->length - indent - 2;
    BB_TRY(bb_text_add(out, "{"));
    for (bb_index i = 0; i < schema->key_count; ++i) {
        const bb_key *key = &schema->keys[i];
        const void *member = (const char *)object + key->offset;
        if (bb_emission_is_unset(key, object) || (brief && at_default(key, object))) {
            continue;
        }
        if (!first) {
            BB_TRY(bb_text_add(out, ","));
            bool full = out->length - line > FLOW_COLUMN - 20;
            line = full ? out->length : line;
            BB_TRY(bb_text_add(out, full ? "\n%*s" : " ", indent + 3, ""));
        }
        first = false;
        BB_TRY(bb_text_add(out, "%s: ", key->name));
        bool single = key->shorthand != NULL && key->schema->key_count == 1;
        if (single) {
            const bb_key *inner = &key->schema->keys[0];
            BB_TRY(write_value(inner, (const char *)member + inner->offset, brief, out));
        } else if (key->kind == BB_KEY_GROUP) {
            BB_TRY(write_flow(key->schema, member, brief, indent + 3, out));
        } else if (key->kind == BB_KEY_RECORDS) {
            BB_TRY(write_records(key, member, brief, -1, out));
        } else {
            BB_TRY(write_value(key, member, brief, out));
        }
    }
    BB_TRY(bb_text_add(out, "}"));
done:
    return status;
}

static bb_status write_records(const bb_key *key, const bb_list *list, bool brief, int indent,
                               bb_text *out)
{
    bb_status status = BB_OK;
    bool inside = indent < 0;
    if (inside) {
        BB_TRY(bb_text_add(out, "["));
    }
    for (bb_index i = 0; i < list->count; ++i) {
        const char *record = (const char *)list->items + (size_t)i * key->schema->bytes;
        if (!inside) {
            BB_TRY(bb_text_add(out, "%*s- ", indent, ""));
        } else if (i > 0) {
            BB_TRY(bb_text_add(out, ", "));
        }
        BB_TRY(write_flow(key->schema, record, brief, inside ? 0 : indent, out));
        if (!inside) {
            BB_TRY(bb_text_add(out, "\n"));
        }
    }
    if (inside) {
        BB_TRY(bb_text_add(out, "]"));
    }
done:
    return status;
}

// Writes the keys of a record as comments above the records.
static bb_status write_record_legend(const bb_schema *schema, const char *prefix, int indent,
                                     bb_text *out)
{
    bb_status status = BB_OK;
    for (bb_index i = 0; i < schema->key_count; ++i) {
        const bb_key *key = &schema->keys[i];
        bb_index start = out->length;
        BB_TRY(bb_text_add(out, "%*s# %s%s%s%s", indent, "", prefix, key->name,
                           key->default_text == NULL ? "" : ", default ",
                           key->default_text == NULL ? "" : key->default_text));
        BB_TRY(write_comment(key, start, out));
        BB_TRY(bb_text_add(out, "\n"));
        if (key->kind == BB_KEY_GROUP) {
            char inner[120];
            (void)snprintf(inner, sizeof inner, "%s%s.", prefix, key->name);
            BB_TRY(write_record_legend(key->schema, inner, indent, out));
        }
    }
done:
    return status;
}

static bb_status write_block(const bb_key *key, const void *member, bool comments, int indent,
                             bb_text *out)
{
    bb_status status = BB_OK;
    bb_index start = out->length;
    if (key->kind == BB_KEY_GROUP) {
        BB_TRY(bb_text_add(out, "%*s%s:", indent, "", key->name));
        if (comments) {
            BB_TRY(write_comment(key, start, out));
        }
        BB_TRY(bb_text_add(out, "\n"));
        BB_TRY(write_group(key->schema, member, comments, indent + 2, out));
        goto done;
    }
    const bb_list *list = member;
    bool written_out = list->count > 0;
    BB_TRY(bb_text_add(out, "%*s%s:%s", indent, "", key->name, written_out ? "" : " []"));
    if (comments) {
        BB_TRY(write_comment(key, start, out));
    }
    BB_TRY(bb_text_add(out, "\n"));
    if (comments) {
        BB_TRY(write_record_legend(key->schema, "", indent + 2, out));
    }
    BB_TRY(write_records(key, list, comments, indent + 2, out));
done:
    return status;
}

static bb_status write_group(const bb_schema *schema, const void *object, bool comments, int indent,
                             bb_text *out)
{
    bb_status status = BB_OK;
    for (bb_index i = 0; i < schema->key_count; ++i) {
        const bb_key *key = &schema->keys[i];
        const void *member = (const char *)object + key->offset;
        bb_index start = out->length;
        bool unset = bb_emission_is_unset(key, object);
        if (unset && !comments) {
            continue;
        }
        if (unset) {
            BB_TRY(bb_text_add(out, "%*s# %s:", indent, "", key->name));
        } else if (key->kind == BB_KEY_GROUP || key->kind == BB_KEY_RECORDS) {
            BB_TRY(write_block(key, member, comments, indent, out));
            continue;
        } else {
            BB_TRY(bb_text_add(out, "%*s%s: ", indent, "", key->name));
            BB_TRY(write_value(key, member, comments, out));
        }
        if (comments) {
            BB_TRY(write_comment(key, start, out));
        }
        BB_TRY(bb_text_add(out, "\n"));
        if (unset && (key->kind == BB_KEY_GROUP || key->kind == BB_KEY_RECORDS)) {
            BB_TRY(write_record_legend(key->schema, "  ", indent, out));
        }
    }
done:
    return status;
}

bb_status bb_emission_write(const bb_schema *schema, const void *object, bool comments,
                            bb_text *out)
{
    return write_group(schema, object, comments, 0, out);
}

enum { KEY_BYTES = 256 };

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

// Default of a key.
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

static void name_key(const bb_key *key, const char *path, char out[KEY_BYTES])
{
    (void)snprintf(out, KEY_BYTES, "%s%s%s%s", path, path[0] == '\0' ? "" : ".", key->name,
                   key->kind == BB_KEY_RECORDS ? ".N" : "");
}

static bb_status list_keys(const bb_schema *schema, const char *path, bb_text *out)
{
    bb_status status = BB_OK;
    bb_text rule = {0};
    for (bb_index i = 0; i < schema->key_count; ++i) {
        const bb_key *key = &schema->keys[i];
        char inner[KEY_BYTES];
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

// Writes a table cell: escapes bars and text that looks like an HTML tag.
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
        char inner[KEY_BYTES];
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
    bool open = false; // a table for keys without inner keys has been started
    BB_TRY(bb_text_add(out, "## %s\n", name));
    for (bb_index i = 0; i < schema->key_count; ++i) {
        const bb_key *key = &schema->keys[i];
        char path[KEY_BYTES];
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
