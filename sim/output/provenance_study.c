// SPDX-License-Identifier: Apache-2.0
//
// bb_provenance_study: the keys of a study as datasets of /study, by one walk over its schema.
//
// The walk descends the schema, not the values: at each level it has a struct for every enclosing
// record, or NULL if a record has none, so that a key of records becomes one array over them.
#include "core/memory.h"
#include "sim/config/emission.h"
#include "sim/output/provenance.h"

#include <math.h>
#include <string.h>

static const bb_output rows[] = {
    {"<key>", "", "<its own>", "value of a numeric key", .note = "1 and 0 for true and false"},
    {"<text key>", "", NULL, "value of a key with a word, a text or a file", .note = NULL},
    {"<list>", "<list>", "<its own>", "values of a key with a list of numbers",
     .note = "the text `all` if it is set in the study"},
    {"<list of words>", "<list of words>", NULL, "values of a key with a list of words",
     .note = NULL},
    {"<records>", "<records>", "1", "index of the record in its list", .note = NULL},
    {"<named records>", "<named records>", NULL, "names of the records of a list", .note = NULL},
    {"<key of records>", "<records>", "<its own>", "value in each record; NaN if absent",
     .note = "lists have their own axis `<name>_item`"},
    {"<text key of records>", "<records>", NULL, "value in each record; empty if absent",
     .note = NULL},
};

const bb_output_table bb_provenance_study_outputs = {
    .title = "/study",
    .when =
        "The study as it ran: every key that is set, including defaults, as in the YAML of "
        "/provenance. The name of a dataset is the path of its key with `_` between the parts "
        "(`atmosphere_r0_m`); units and long_name are those of `config --list`. The attribute "
        "`key` is the path as written in overrides of `run` and in a sweep. Axes of lists of "
        "records are named without the plural s: `guide_stars.N.x_arcsec` is `guide_star_x_arcsec` "
        "over `guide_star`; the axis of pipelines has their names. Keys that are unset everywhere "
        "are absent. In a collected sweep a swept key is the axis of its values; a key of a single "
        "record, such as a pipeline's, is that of the plan's study.",
    .group = "study",
    BB_OUTPUT_ROWS(rows)};

// Structs in which a key is looked up, one for each item along `axes`.
typedef struct scope {
    const char *const *objects; // [count], NULL if an enclosing record has none
    bb_index count;
    const char *name; // prefix of dataset names: "guide_star_"
    const char *path; // prefix of key paths: "guide_stars.N."
    const char *axes; // "" outside of records
    bb_results *results;
} scope;

static bool is_list(const bb_key *key)
{
    return key->kind == BB_KEY_DOUBLES || key->kind == BB_KEY_INTEGERS ||
           key->kind == BB_KEY_CHOICES;
}

static bool is_word(const bb_key *key)
{
    return key->kind == BB_KEY_TEXT || key->kind == BB_KEY_PATH || key->kind == BB_KEY_CHOICE ||
           key->kind == BB_KEY_CHOICES;
}

// Member of an object; NULL if absent or unset.
static const void *member_of(const bb_key *key, const char *object)
{
    return object == NULL || bb_emission_is_unset(key, object) ? NULL : object + key->offset;
}

static double number_at(const bb_key *key, const void *member, bb_index item)
{
    const bb_list *list = member;
    switch (key->kind) {
    case BB_KEY_DOUBLE:
        return *(const double *)member;
    case BB_KEY_INTEGER:
        return *(const bb_index *)member == BB_INTEGER_UNSET ? NAN
                                                             : (double)*(const bb_index *)member;
    case BB_KEY_BOOLEAN:
        return *(const bool *)member ? 1.0 : 0.0;
    case BB_KEY_DOUBLES:
        return ((const double *)list->items)[item];
    default:
        return (double)((const bb_index *)list->items)[item];
    }
}

static const char *text_at(const bb_key *key, const void *member, bb_index item)
{
    const bb_list *list = member;
    switch (key->kind) {
    case BB_KEY_CHOICE:
        return key->choices[*(const int *)member];
    case BB_KEY_CHOICES:
        return key->choices[((const int *)list->items)[item]];
    default:
        return *(const char *const *)member;
    }
}

// Largest number of items of a key in any object; `*all` is true if one has the word `all`.
static bb_index count_items(const scope *where, const bb_key *key, bool *all)
{
    bb_index largest = 0;
    *all = false;
    for (bb_index o = 0; o < where->count; ++o) {
        const bb_list *list = member_of(key, where->objects[o]);
        if (list == NULL) {
            continue;
        }
        const bool counted = is_list(key) || key->kind == BB_KEY_RECORDS;
        *all = *all || (counted && list->count == BB_LIST_ALL);
        const bb_index items = counted && list->count != BB_LIST_ALL ? list->count : 1;
        largest = items > largest ? items : largest;
    }
    return largest;
}

// Values of one key in every object, [count][items].
typedef struct gathered {
    double *numbers;    // NULL: texts
    const char **texts; // NULL: numbers
} gathered;

static bb_status gather(const scope *where, const bb_key *key, bb_index items, bool all,
                        gathered *out)
{
    bb_status status = BB_OK;
    const bool is_text = all || is_word(key);
    if (is_text) {
        BB_TRY(BB_ZEROED(where->count * items, &out->texts));
    } else {
        BB_TRY(BB_ALLOCATE(where->count * items, &out->numbers));
    }
    for (bb_index i = 0; i < where->count * items; ++i) {
        const bb_index item = i % items;
        const void *member = member_of(key, where->objects[i / items]);
        const bool is_there =
            member != NULL && (all || !is_list(key) || item < ((const bb_list *)member)->count);
        if (is_text && is_there) {
            out->texts[i] = all ? "all" : text_at(key, member, item);
        } else if (!is_text) {
            out->numbers[i] = is_there ? number_at(key, member, item) : NAN;
        }
    }
done:
    return status;
}

static bb_status add(const scope *where, const bb_key *key, const char *row, const char *name,
                     const char *axes, const gathered *values)
{
    const void *data = values->texts != NULL ? (const void *)values->texts : values->numbers;
    const bb_output_fill fill = {.name = name,
                                 .axis = axes,
                                 .unit = key->unit == NULL ? "1" : key->unit,
                                 .long_name = key->meaning == NULL ? key->name : key->meaning};
    return bb_output_table_add(&bb_provenance_study_outputs, row, data, &fill, where->results);
}

// Adds an axis of `count` items: texts if given, else indices.
static bb_status add_axis(const scope *where, const char *row, const char *name, bb_index count,
                          const void *values, const bb_key *key)
{
    const bb_output_fill fill = {.name = name,
                                 .axis = name,
                                 .unit = key == NULL || key->unit == NULL ? "1" : key->unit,
                                 .long_name =
                                     key == NULL || key->meaning == NULL ? NULL : key->meaning};
    return bb_output_table_add_axis(&bb_provenance_study_outputs, row, count, values, &fill,
                                    where->results);
}

// Adds a list: outside of records it is its own axis; in records it has an axis of items.
static bb_status add_list(const scope *where, const bb_key *key, const char *name, bb_index items,
                          const gathered *values)
{
    bb_status status = BB_OK;
    const bool is_text = values->texts != NULL;
    const void *data = is_text ? (const void *)values->texts : values->numbers;
    char *axis = NULL;
    char *axes = NULL;
    if (where->axes[0] == '\0') {
        BB_TRY(add_axis(where, is_text ? "<list of words>" : "<list>", name, items, data, key));
        goto done;
    }
    BB_TRY(bb_memory_printf(&axis, "%s_item", name));
    BB_TRY(bb_memory_printf(&axes, "%s, %s", where->axes, axis));
    BB_TRY(add_axis(where, "<records>", axis, items, NULL, NULL));
    BB_TRY(add(where, key, is_text ? "<text key of records>" : "<key of records>", name, axes,
               values));
done:
    BB_RELEASE(&axis);
    BB_RELEASE(&axes);
    return status;
}

static bb_status add_key(const scope *where, const bb_key *key)
{
    bb_status status = BB_OK;
    gathered values = {NULL, NULL};
    char *name = NULL;
    char *owner = NULL;
    char *path = NULL;
    bool all = false;
    const bb_index items = count_items(where, key, &all);
    if (items == 0) {
        goto done;
    }
    BB_TRY(gather(where, key, items, all, &values));
    BB_TRY(bb_memory_printf(&name, "%s%s", where->name, key->name));
    const bool is_text = values.texts != NULL;
    if (is_list(key) && !all) {
        BB_TRY(add_list(where, key, name, items, &values));
    } else if (where->axes[0] == '\0') {
        BB_TRY(add(where, key, is_text ? "<text key>" : "<key>", name, "", &values));
    } else {
        BB_TRY(add(where, key, is_text ? "<text key of records>" : "<key of records>", name,
                   where->axes, &values));
    }
    BB_TRY(bb_memory_printf(&path, "%s%s", where->path, key->name));
    BB_TRY(bb_memory_printf(&owner, "study/%s", name));
    BB_TRY(bb_results_note(where->results, owner, "key", path));
done:
    BB_RELEASE(&values.numbers);
    BB_RELEASE(&values.texts);
    BB_RELEASE(&name);
    BB_RELEASE(&owner);
    BB_RELEASE(&path);
    return status;
}

static bb_status add_schema(const scope *where, const bb_schema *schema, const char *left_out);

static bb_status add_group(const scope *where, const bb_key *key)
{
    bb_status status = BB_OK;
    const char **objects = NULL; // [count]
    char *name = NULL;
    char *path = NULL;
    BB_TRY(BB_ZEROED(where->count, &objects));
    for (bb_index o = 0; o < where->count; ++o) {
        objects[o] = member_of(key, where->objects[o]);
    }
    BB_TRY(bb_memory_printf(&name, "%s%s_", where->name, key->name));
    BB_TRY(bb_memory_printf(&path, "%s%s.", where->path, key->name));
    const scope inner = {objects, where->count, name, path, where->axes, where->results};
    BB_TRY(add_schema(&inner, key->schema, NULL));
done:
    BB_RELEASE(&objects);
    BB_RELEASE(&name);
    BB_RELEASE(&path);
    return status;
}

// Adds the axis of a list of records: their names if present, else indices. `*left_out` is the key
// that the axis replaces, or NULL.
static bb_status add_record_axis(const scope *records, const bb_schema *schema, const char *axis,
                                 const char **left_out)
{
    bb_status status = BB_OK;
    const bb_key *key = &schema->keys[0];
    const bool is_outermost = strcmp(records->axes, axis) == 0;
    gathered names = {NULL, NULL};
    *left_out = NULL;
    if (is_outermost && key->kind == BB_KEY_TEXT && strcmp(key->name, "name") == 0 &&
        !key->optional) {
        BB_TRY(gather(records, key, 1, false, &names));
        BB_TRY(add_axis(records, "<named records>", axis, records->count, names.texts, NULL));
        *left_out = key->name;
    } else {
        BB_TRY(add_axis(records, "<records>", axis, records->count, NULL, NULL));
    }
done:
    BB_RELEASE(&names.texts);
    return status;
}

static bb_status add_records(const scope *where, const bb_key *key)
{
    bb_status status = BB_OK;
    const char **objects = NULL; // [count][items]
    const char *left_out = NULL;
    char *axis = NULL;
    char *axes = NULL;
    char *name = NULL;
    char *path = NULL;
    bool all = false;
    const bb_index items = count_items(where, key, &all);
    if (items == 0) {
        goto done;
    }
    BB_TRY(BB_ZEROED(where->count * items, &objects));
    for (bb_index i = 0; i < where->count * items; ++i) {
        const bb_list *list = member_of(key, where->objects[i / items]);
        const bb_index item = i % items;
        if (list != NULL && item < list->count) {
            objects[i] = (const char *)list->items + (size_t)item * key->schema->bytes;
        }
    }
    const size_t length = strlen(key->name);
    const bool is_plural = length > 1 && key->name[length - 1] == 's';
    BB_TRY(bb_memory_printf(&axis, "%s%.*s", where->name, (int)(length - is_plural), key->name));
    BB_TRY(
        bb_memory_printf(&axes, "%s%s%s", where->axes, where->axes[0] == '\0' ? "" : ", ", axis));
    BB_TRY(bb_memory_printf(&name, "%s_", axis));
    BB_TRY(bb_memory_printf(&path, "%s%s.N.", where->path, key->name));
    const scope inner = {objects, where->count * items, name, path, axes, where->results};
    const scope first = {objects, items, name, path, axes, where->results};
    BB_TRY(add_record_axis(&first, key->schema, axis, &left_out));
    BB_TRY(add_schema(&inner, key->schema, left_out));
done:
    BB_RELEASE(&objects);
    BB_RELEASE(&axis);
    BB_RELEASE(&axes);
    BB_RELEASE(&name);
    BB_RELEASE(&path);
    return status;
}

static bb_status add_schema(const scope *where, const bb_schema *schema, const char *left_out)
{
    bb_status status = BB_OK;
    for (bb_index i = 0; i < schema->key_count; ++i) {
        const bb_key *key = &schema->keys[i];
        if (left_out != NULL && strcmp(key->name, left_out) == 0) {
            continue;
        }
        BB_TRY(key->kind == BB_KEY_GROUP     ? add_group(where, key)
               : key->kind == BB_KEY_RECORDS ? add_records(where, key)
                                             : add_key(where, key));
    }
done:
    return status;
}

bb_status bb_provenance_study(const bb_schema *schema, const void *study, bb_results *results)
{
    const char *object = study;
    const scope outermost = {&object, 1, "", "", "", results};
    return add_schema(&outermost, schema, NULL);
}
