// SPDX-License-Identifier: Apache-2.0
#include "sim/output/output_table.h"

#include "core/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PATH_BYTES = 1024 };

// Writes `pattern` with <...> replaced by `text`.
static bb_status fill_in(const char *pattern, const char *text, char out[PATH_BYTES])
{
    bb_status status = BB_OK;
    const char *open = strchr(pattern, '<');
    const char *close = open == NULL ? NULL : strchr(open, '>');
    int length = 0;
    BB_REQUIRE(close == NULL || text != NULL, BB_INTERNAL, "internal: no value for %s", pattern);
    length = close == NULL ? snprintf(out, PATH_BYTES, "%s", pattern)
                           : snprintf(out, PATH_BYTES, "%.*s%s%s", (int)(open - pattern), pattern,
                                      text, close + 1);
    BB_REQUIRE(length < PATH_BYTES, BB_INVALID, "'%s' with '%.40s' is too long", pattern,
               text == NULL ? "" : text);
done:
    return status;
}

// Row with all placeholders replaced.
typedef struct filled {
    char path[2 * PATH_BYTES];
    char axes[PATH_BYTES];
    char unit[PATH_BYTES];
    const char *long_name;
} filled;

static bb_status fill_row(const bb_output_table *table, const bb_output *row,
                          const bb_output_fill *fill, filled *out)
{
    bb_status status = BB_OK;
    static const bb_output_fill nothing = {0};
    const bb_output_fill *given = fill == NULL ? &nothing : fill;
    const char *group = given->group == NULL ? table->group : given->group;
    char name[PATH_BYTES];
    BB_TRY(fill_in(row->name, given->name, name));
    BB_TRY(fill_in(row->axes, given->axis, out->axes));
    BB_TRY(fill_in(row->unit == NULL ? "" : row->unit, given->unit, out->unit));
    (void)snprintf(out->path, sizeof out->path, "%.80s%s%s", group, group[0] == '\0' ? "" : "/",
                   name);
    out->long_name = given->long_name == NULL ? row->long_name : given->long_name;
done:
    return status;
}

static bool is_axis(const bb_output *row)
{
    return strcmp(row->name, row->axes) == 0;
}

// Adds a row; `count` is the length of an axis.
static bb_status add(const bb_output_table *table, const bb_output *row, bb_index count,
                     const void *values, const bb_output_fill *fill, bb_results *results)
{
    bb_status status = BB_OK;
    filled text;
    double *indices = NULL; // [count]
    BB_TRY(fill_row(table, row, fill, &text));
    if (is_axis(row) && row->unit != NULL && values == NULL) {
        BB_TRY(BB_ALLOCATE(count, &indices));
        for (bb_index i = 0; i < count; ++i) {
            indices[i] = (double)i;
        }
        values = indices;
    }
    const bb_results_form form = {.unit = row->unit == NULL ? NULL : text.unit,
                                  .long_name = text.long_name,
                                  .axes = is_axis(row) ? NULL : text.axes,
                                  .count = count,
                                  .measured = row->measured};
    BB_TRY(bb_results_add(results, text.path, &form, values));
    if (row->coordinate) {
        BB_TRY(bb_results_coordinate(results, text.path));
    }
done:
    BB_RELEASE(&indices);
    return status;
}

static bb_status find_row(const bb_output_table *table, const char *name, const bb_output **out)
{
    bb_status status = BB_OK;
    *out = NULL;
    for (bb_index i = 0; i < table->count; ++i) {
        if (strcmp(table->rows[i].name, name) == 0) {
            *out = &table->rows[i];
        }
    }
    BB_REQUIRE(*out != NULL, BB_INTERNAL, "internal: no output '%s' is declared for %s", name,
               table->title);
done:
    return status;
}

bb_status bb_output_table_add(const bb_output_table *table, const char *name, const void *values,
                              const bb_output_fill *fill, bb_results *results)
{
    return bb_output_table_add_axis(table, name, 0, values, fill, results);
}

bb_status bb_output_table_add_axis(const bb_output_table *table, const char *name, bb_index count,
                                   const void *values, const bb_output_fill *fill,
                                   bb_results *results)
{
    bb_status status = BB_OK;
    const bb_output *row = NULL;
    BB_TRY(find_row(table, name, &row));
    BB_TRY(add(table, row, count, values, fill, results));
done:
    return status;
}

// Axes of a row after those of the table, with their lengths; "" if there are none.
static bb_status find_inner(const bb_output_table *table, const bb_output *row, const char **inner)
{
    bb_status status = BB_OK;
    const size_t length = table->axes == NULL ? 0 : strlen(table->axes);
    BB_REQUIRE(length == 0 || (strncmp(row->axes, table->axes, length) == 0 &&
                               (row->axes[length] == '\0' || row->axes[length] == ',')),
               BB_INTERNAL, "internal: output '%s' over '%s' is declared in a table over %s",
               row->name, row->axes, table->axes);
    *inner = row->axes + length + strspn(row->axes + length, ", ");
done:
    return status;
}

// Number of items of the axes `names`, found in the group or the root.
static bb_status count_items(const bb_results *results, const char *group, const char *names,
                             bb_index *out)
{
    bb_status status = BB_OK;
    char path[PATH_BYTES];
    *out = 1;
    for (const char *name = names; *name != '\0'; name += strspn(name, ", ")) {
        const int length = (int)strcspn(name, ", ");
        (void)snprintf(path, sizeof path, "%.80s/%.*s", group, length, name);
        const bb_dataset *axis = bb_results_find(results, path);
        (void)snprintf(path, sizeof path, "%.*s", length, name);
        axis = axis == NULL ? bb_results_find(results, path) : axis;
        BB_REQUIRE(axis != NULL && axis->is_axis, BB_INTERNAL,
                   "internal: no axis '%.*s' in %s or the root", length, name, group);
        *out *= axis->count;
        name += length;
    }
done:
    return status;
}

// Records of a table, from which its rows are gathered.
typedef struct record_set {
    const char *first;
    size_t stride;
    bb_index count;
} record_set;

static const void *member_of(const record_set *records, bb_index index, size_t offset)
{
    return records->first + (size_t)index * records->stride + offset;
}

// Gathers the numbers of a row over all records, [count][items]; `*any` is true if a record has
// some.
static void gather_numbers(const bb_output *row, const record_set *records, bool is_pointer,
                           bb_index items, double *out, bool *any)
{
    for (bb_index r = 0; r < records->count; ++r) {
        const void *member = member_of(records, r, row->member);
        const double *values = is_pointer ? *(const double *const *)member : member;
        *any = *any || values != NULL;
        for (bb_index i = 0; i < items; ++i) {
            const double value = values == NULL ? NAN : values[i];
            out[r * items + i] = row->scale == 0.0 ? value : row->scale * value;
        }
    }
}

static void gather_texts(const bb_output *row, const record_set *records, bool is_pointer,
                         bb_index items, const char **out, bool *any)
{
    for (bb_index r = 0; r < records->count; ++r) {
        const void *member = member_of(records, r, row->member);
        const char *const *values = is_pointer ? *(const char *const *const *)member : member;
        *any = *any || values != NULL;
        for (bb_index i = 0; i < items; ++i) {
            out[r * items + i] = values == NULL ? NULL : values[i];
        }
    }
}

static bb_status publish_row(const bb_output_table *table, const bb_output *row,
                             const record_set *records, const bb_output_fill *fill,
                             bb_results *results)
{
    bb_status status = BB_OK;
    const char *inner = "";
    char axes[PATH_BYTES];
    const char *group = fill != NULL && fill->group != NULL ? fill->group : table->group;
    const bool is_counted = is_axis(row) && table->axes == NULL;
    double *numbers = NULL;    // [records][items]
    const char **texts = NULL; // [records][items]
    bb_index items = 1;
    bool any = false;
    if (row->names != NULL) {
        BB_TRY(add(table, row, row->name_count, row->names, fill, results));
        goto done;
    }
    BB_TRY(find_inner(table, row, &inner));
    if (is_counted) {
        items = *(const bb_index *)member_of(records, 0, row->count);
    } else {
        BB_TRY(fill_in(inner, fill == NULL ? NULL : fill->axis, axes));
        BB_TRY(count_items(results, group, axes, &items));
    }
    const bool is_pointer = inner[0] != '\0' && !row->embedded;
    if (row->indices) {
        any = true;
    } else if (row->unit == NULL) {
        BB_TRY(BB_ALLOCATE(records->count * items, &texts));
        gather_texts(row, records, is_pointer, items, texts, &any);
    } else {
        BB_TRY(BB_ALLOCATE(records->count * items, &numbers));
        gather_numbers(row, records, is_pointer, items, numbers, &any);
    }
    if (any) {
        BB_TRY(add(table, row, is_counted ? items : records->count,
                   texts != NULL ? (const void *)texts : numbers, fill, results));
    }
done:
    BB_RELEASE(&numbers);
    BB_RELEASE(&texts);
    return status;
}

static bb_status publish(const bb_output_table *table, const record_set *records,
                         const bb_output_fill *fill, bb_results *results)
{
    bb_status status = BB_OK;
    for (bb_index i = 0; i < table->count; ++i) {
        BB_TRY(publish_row(table, &table->rows[i], records, fill, results));
    }
done:
    return status;
}

bb_status bb_output_table_publish(const bb_output_table *table, const void *record,
                                  const bb_output_fill *fill, bb_results *results)
{
    bb_status status = BB_OK;
    BB_REQUIRE(table->axes == NULL, BB_INTERNAL, "internal: one record for %s over %s",
               table->title, table->axes);
    BB_TRY(publish(table, &(record_set){record, 0, 1}, fill, results));
done:
    return status;
}

bb_status bb_output_table_publish_records(const bb_output_table *table, const void *records,
                                          size_t stride, bb_index count, const bb_output_fill *fill,
                                          bb_results *results)
{
    bb_status status = BB_OK;
    BB_REQUIRE(table->axes != NULL, BB_INTERNAL, "internal: %td records for %s, which has no axis",
               count, table->title);
    BB_TRY(publish(table, &(record_set){records, stride, count}, fill, results));
done:
    return status;
}

static void list_axes(const bb_dataset *dataset, char out[PATH_BYTES])
{
    out[0] = '\0';
    for (int a = 0; a < dataset->rank; ++a) {
        const size_t length = strlen(out);
        (void)snprintf(out + length, PATH_BYTES - length, "%s%s", a == 0 ? "" : ", ",
                       dataset->axes[a]);
    }
}

bb_status bb_output_table_check(const bb_output_table *table, const bb_results *results)
{
    bb_status status = BB_OK;
    char path[2 * PATH_BYTES];
    char axes[PATH_BYTES];
    for (bb_index i = 0; i < table->count; ++i) {
        const bb_output *row = &table->rows[i];
        const bool is_text = row->unit == NULL;
        (void)snprintf(path, sizeof path, "%.80s/%.80s", table->group, row->name);
        const bb_dataset *found = bb_results_find(results, path);
        if (found == NULL) {
            continue;
        }
        list_axes(found, axes);
        BB_REQUIRE(found->is_text == is_text && found->is_axis == is_axis(row) &&
                       strcmp(axes, row->axes) == 0,
                   BB_IO, "'/%s' has %s over '%s', expected %s over '%s'", path,
                   found->is_text ? "texts" : "numbers", axes, is_text ? "texts" : "numbers",
                   row->axes);
    }
done:
    return status;
}

// Lists a text without the angle brackets of placeholders, which Markdown reads as tags.
static bb_status list_plain(const char *text, bb_text *out)
{
    bb_status status = BB_OK;
    for (const char *c = text; *c != '\0'; ++c) {
        BB_TRY(*c == '<' || *c == '>' ? BB_OK : bb_text_add_bytes(out, c, 1));
    }
done:
    return status;
}

// Lists the names of the items of an axis.
static bb_status list_names(const bb_output *row, bb_text *out)
{
    bb_status status = BB_OK;
    for (bb_index i = 0; is_axis(row) && i < row->name_count; ++i) {
        BB_TRY(bb_text_add(out, "%s `%s`", i == 0 ? ":" : ",", row->names[i]));
    }
done:
    return status;
}

static bb_status list_row(const bb_output *row, bb_text *out)
{
    bb_status status = BB_OK;
    BB_TRY(bb_text_add(out, "| `%s` |%s", row->name, row->axes[0] == '\0' ? "" : " "));
    BB_TRY(list_plain(row->axes, out));
    BB_TRY(bb_text_add(out, " | "));
    BB_TRY(list_plain(row->unit == NULL ? "text" : row->unit, out));
    BB_TRY(bb_text_add(out, " | %s%s",
                       is_axis(row)      ? "axis: "
                       : row->coordinate ? "coordinate: "
                                         : "",
                       row->long_name));
    BB_TRY(list_names(row, out));
    BB_TRY(bb_text_add(out, "%s%s%s |\n", row->note == NULL ? "" : "; ",
                       row->note == NULL ? "" : row->note, row->measured ? "; measured" : ""));
done:
    return status;
}

// Lists a table under its title; `is_first`: write the heading.
static bb_status list_table(const bb_output_table *table, bool is_first, bb_text *out)
{
    bb_status status = BB_OK;
    if (is_first || table->when != NULL) {
        BB_TRY(bb_text_add(out, "%s", out->length == 0 ? "" : "\n"));
        BB_TRY(is_first ? bb_text_add(out, "## %s\n\n", table->title) : BB_OK);
        BB_TRY(table->when != NULL ? bb_text_add(out, "%s\n\n", table->when) : BB_OK);
        BB_TRY(bb_text_add(out, "| dataset | dimensions | unit | meaning |\n|---|---|---|---|\n"));
    }
    for (bb_index i = 0; i < table->count; ++i) {
        BB_TRY(list_row(&table->rows[i], out));
    }
done:
    return status;
}

bb_status bb_output_table_list(const bb_output_table *const *tables, bb_index count, bb_text *out)
{
    bb_status status = BB_OK;
    for (bb_index t = 0; t < count; ++t) {
        bool is_listed = false;
        for (bb_index e = 0; e < t; ++e) {
            is_listed = is_listed || strcmp(tables[e]->title, tables[t]->title) == 0;
        }
        for (bb_index e = t; !is_listed && e < count; ++e) {
            if (strcmp(tables[e]->title, tables[t]->title) == 0) {
                BB_TRY(list_table(tables[e], e == t, out));
            }
        }
    }
done:
    return status;
}
