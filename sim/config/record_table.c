// SPDX-License-Identifier: Apache-2.0
#include "sim/config/record_table.h"

#include "core/suggestion.h"
#include "sim/config/binding.h"
#include "sim/config/config.h"
#include "sim/config/scalar.h"
#include "sim/input/csv_table.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef struct spreading {
    bb_arena *arena;
    bb_problems *problems;
    char path[192]; // path of the record, as written
} spreading;

// Pattern of a record, or NULL; `*group` is its member.
static const bb_key *pattern_of(const bb_schema *schema, const bb_node *record, bb_node **group)
{
    for (bb_index i = 0; i < schema->key_count; ++i) {
        const bb_key *key = &schema->keys[i];
        *group = key->pattern == NULL ? NULL : bb_node_member(record, key->name);
        if (*group != NULL) {
            return key;
        }
    }
    return NULL;
}

// Checks that the record has no other pattern and none of the numbers set by this one.
static bb_status check_alone(spreading *work, const bb_schema *schema, const bb_key *key,
                             const bb_node *record)
{
    bb_status status = BB_OK;
    for (const bb_node *member = record->first; member != NULL; member = member->next) {
        const bb_key *other = bb_binding_key(schema, member->key);
        const bool given = strcmp(member->key, key->pattern->keys[0]) == 0 ||
                           strcmp(member->key, key->pattern->keys[1]) == 0;
        if (given || (other != NULL && other != key && other->pattern != NULL)) {
            BB_TRY(bb_problems_add(work->problems, member->key_place,
                                   "%s.%s: remove it, %s sets the positions", work->path,
                                   member->key, key->name));
        }
    }
done:
    return status;
}

static bb_status add_number(spreading *work, const char *key, double number, bb_node *record)
{
    bb_status status = BB_OK;
    char digits[BB_SCALAR_BYTES];
    bb_node *node = NULL;
    bb_scalar_print(number, digits);
    BB_TRY(bb_node_make(work->arena, BB_NODE_SCALAR, record->place, &node));
    node->key = key;
    BB_TRY(bb_arena_text(work->arena, digits, strlen(digits), &node->text));
    bb_node_append(record, node);
done:
    return status;
}

// Appends the records that one record generates to `out`.
static bb_status spread_record(spreading *work, const bb_key *key, bb_node *record,
                               const bb_node *group, bb_node *out)
{
    bb_status status = BB_OK;
    void *bound = NULL;
    bb_node *copy = NULL;
    char path[224];
    const bb_pattern *pattern = key->pattern;
    (void)snprintf(path, sizeof path, "%s.%s", work->path, key->name);
    const bb_index before = work->problems->count;
    BB_TRY(bb_arena_zeroed(work->arena, 1, key->schema->bytes, &bound));
    BB_TRY(bb_binding_bind(work->arena, key->schema, group, path, work->problems, bound));
    if (work->problems->count > before) {
        goto done;
    }
    bb_node_remove(record, group);
    for (bb_index item = 0; item < pattern->count(bound); ++item) {
        double place[2];
        pattern->place(bound, item, place);
        BB_TRY(bb_node_copy(work->arena, record, &copy));
        BB_TRY(add_number(work, pattern->keys[0], place[0], copy));
        BB_TRY(add_number(work, pattern->keys[1], place[1], copy));
        bb_node_append(out, copy);
    }
done:
    return status;
}

// A record with an invalid pattern is retained as one record, to avoid further messages.
static bb_status replace_record(spreading *work, const bb_key *key, bb_node *record,
                                const bb_node *group, bb_node *list)
{
    bb_status status = BB_OK;
    bb_node_remove(record, group);
    for (int k = 0; k < 2; ++k) {
        if (bb_node_member(record, key->pattern->keys[k]) == NULL) {
            BB_TRY(add_number(work, key->pattern->keys[k], 0.0, record));
        }
    }
    bb_node_append(list, record);
done:
    return status;
}

static bb_status spread_list(spreading *work, const bb_key *records, bb_node *list)
{
    bb_status status = BB_OK;
    bb_node *next = NULL;
    bb_node *record = list->first;
    list->first = NULL;
    list->count = 0;
    for (bb_index i = 0; record != NULL; record = next, ++i) {
        bb_node *group = NULL;
        next = record->next;
        const bb_key *key = pattern_of(records->schema, record, &group);
        if (key == NULL) {
            bb_node_append(list, record);
            continue;
        }
        (void)snprintf(work->path, sizeof work->path, "%s.%td", records->name, i);
        const bb_index before = work->problems->count;
        BB_TRY(check_alone(work, records->schema, key, record));
        if (work->problems->count == before) {
            BB_TRY(spread_record(work, key, record, group, list));
        }
        if (work->problems->count > before) {
            BB_TRY(replace_record(work, key, record, group, list));
        }
        if (work->problems->count == before && list->count > BB_NODE_CHILDREN) {
            BB_TRY(bb_problems_add(work->problems, record->place,
                                   "%s: expands to more than %d records", work->path,
                                   (int)BB_NODE_CHILDREN));
        }
    }
done:
    return status;
}

static bool has_patterns(const bb_schema *schema)
{
    for (bb_index i = 0; i < schema->key_count; ++i) {
        if (schema->keys[i].pattern != NULL) {
            return true;
        }
    }
    return false;
}

bb_status bb_record_table_spread(bb_arena *arena, const bb_schema *schema, bb_node *tree,
                                 bb_problems *problems)
{
    bb_status status = BB_OK;
    spreading work = {.arena = arena, .problems = problems};
    for (bb_index i = 0; i < schema->key_count; ++i) {
        const bb_key *key = &schema->keys[i];
        bb_node *node = bb_node_member(tree, key->name);
        if (node != NULL && node->kind == BB_NODE_LIST && key->kind == BB_KEY_RECORDS &&
            has_patterns(key->schema)) {
            BB_TRY(spread_list(&work, key, node));
        }
    }
done:
    return status;
}

typedef struct opening {
    bb_arena *arena;
    bb_record_tables *tables;
    bb_problems *problems;
} opening;

static bb_place place_of(const char *file, const bb_csv_cell *cell)
{
    return (bb_place){file, cell->line, cell->column};
}

static bb_status refuse_column(opening *work, const bb_key *key, const char *file,
                               const bb_csv_cell *name)
{
    bb_status status = BB_OK;
    bb_text columns = {0};
    bb_suggestion near = {.word = name->text};
    for (bb_index i = 0; i < key->schema->key_count; ++i) {
        const char *column = key->schema->keys[i].name;
        bb_suggestion_add(&near, column);
        BB_TRY(bb_text_add(&columns, "%s%s", i == 0 ? "" : ", ", column));
    }
    BB_TRY(bb_problems_add(work->problems, place_of(file, name),
                           "column %.60s: unknown%s; columns of %s: %s", name->text,
                           bb_suggestion_text(&near), key->name, bb_text_string(&columns)));
done:
    bb_text_release(&columns);
    return status;
}

// Checks columns once for the table, because binding would report them for every row.
static bb_status check_columns(opening *work, const bb_key *key, const char *file,
                               const bb_csv_table *table)
{
    bb_status status = BB_OK;
    bb_text expected = {0};
    for (bb_index column = 0; column < table->column_count; ++column) {
        if (bb_binding_key(key->schema, table->names[column].text) == NULL) {
            BB_TRY(refuse_column(work, key, file, &table->names[column]));
        }
    }
    for (bb_index i = 0; i < key->schema->key_count; ++i) {
        const bb_key *inner = &key->schema->keys[i];
        if (!bb_binding_omissible(inner) && bb_csv_table_column(table, inner->name) < 0) {
            expected.length = 0;
            BB_TRY(bb_binding_expectation(inner, &expected));
            BB_TRY(bb_problems_add(work->problems, place_of(file, &table->names[0]),
                                   "column %s is missing; expected %s", inner->name,
                                   bb_text_string(&expected)));
        }
    }
    if (table->row_count < 1 || table->row_count > BB_RECORD_TABLE_ROWS) {
        BB_TRY(bb_problems_add(work->problems, place_of(file, &table->names[0]),
                               "%td rows, expected 1 to %d", table->row_count,
                               (int)BB_RECORD_TABLE_ROWS));
    }
done:
    bb_text_release(&expected);
    return status;
}

static bb_status add_row(opening *work, const bb_key *key, const char *file,
                         const bb_csv_table *table, bb_index row, bb_node *list)
{
    bb_status status = BB_OK;
    bb_node *map = NULL;
    bb_node *value = NULL;
    BB_TRY(bb_node_make(work->arena, BB_NODE_MAP, place_of(file, bb_csv_table_cell(table, row, 0)),
                        &map));
    for (bb_index column = 0; column < table->column_count; ++column) {
        const bb_csv_cell *cell = bb_csv_table_cell(table, row, column);
        if (cell->text[0] == '\0') {
            continue;
        }
        BB_TRY(bb_node_make(work->arena, BB_NODE_SCALAR, place_of(file, cell), &value));
        BB_TRY(bb_arena_text(work->arena, cell->text, strlen(cell->text), &value->text));
        value->key = bb_binding_key(key->schema, table->names[column].text)->name;
        bb_node_append(map, value);
    }
    bb_node_append(list, map);
done:
    return status;
}

// Stores name, text and digest of a table, as read.
static bb_status note_table(opening *work, const char *file, const bb_csv_table *table)
{
    bb_status status = BB_OK;
    bb_digest *digest = NULL;
    bb_record_tables *tables = work->tables;
    const size_t bytes = strlen(table->text);
    BB_REQUIRE(tables->count < BB_RECORD_TABLES, BB_INVALID,
               "%s: a study may have at most %d tables; this file exceeds them", file,
               (int)BB_RECORD_TABLES);
    tables->files[tables->count].name = file;
    BB_TRY(bb_arena_text(work->arena, table->text, bytes, &tables->files[tables->count].text));
    BB_TRY(bb_digest_create(&digest));
    bb_digest_add(digest, table->text, bytes);
    bb_digest_text(digest, tables->files[tables->count].digest);
    ++tables->count;
done:
    bb_digest_destroy(&digest);
    return status;
}

// Reads a table from disk or from its recorded text.
static bb_status read_table(const bb_record_tables *tables, const char *file, bb_csv_table **out)
{
    bb_status status = BB_OK;
    const char *text = NULL;
    if (tables->known_count == 0) {
        return bb_csv_table_read(file, out);
    }
    for (bb_index i = 0; i < tables->known_count && text == NULL; ++i) {
        text = strcmp(tables->known[i].name, file) == 0 ? tables->known[i].text : NULL;
    }
    BB_REQUIRE(text != NULL, BB_IO, "table '%s' is missing from the %td recorded files", file,
               tables->known_count);
    BB_TRY(bb_csv_table_parse(file, text, out));
done:
    return status;
}

static bb_status open_table(opening *work, const bb_key *key, bb_node *parent, bb_node *name)
{
    bb_status status = BB_OK;
    bb_csv_table *table = NULL;
    bb_node *list = NULL;
    const char *file = NULL;
    const bb_index before = work->problems->count;
    BB_TRY(bb_node_path(work->arena, name, &file));
    status = read_table(work->tables, file, &table);
    if (status == BB_INVALID) {
        bb_node_remove(parent, name);
        status =
            bb_problems_add(work->problems, name->place, "%s: %s", key->name, bb_status_message());
    }
    if (status != BB_OK || table == NULL) {
        goto done;
    }
    BB_TRY(note_table(work, file, table));
    BB_TRY(check_columns(work, key, file, table));
    if (work->problems->count > before) {
        bb_node_remove(parent, name);
        goto done;
    }
    BB_TRY(bb_node_make(work->arena, BB_NODE_LIST, name->place, &list));
    list->key_place = name->key_place;
    for (bb_index row = 0; row < table->row_count; ++row) {
        BB_TRY(add_row(work, key, file, table, row, list));
    }
    bb_node_replace(parent, name, list);
done:
    bb_csv_table_destroy(&table);
    return status;
}

static bool names_table(const bb_key *key, const bb_node *node)
{
    return key->tabular && node->kind == BB_NODE_SCALAR && node->text[0] != '\0';
}

static bb_status open_below(opening *work, const bb_schema *schema, bb_node *map)
{
    bb_status status = BB_OK;
    for (bb_index i = 0; i < schema->key_count; ++i) {
        const bb_key *key = &schema->keys[i];
        bb_node *node = bb_node_member(map, key->name);
        if (node == NULL || key->schema == NULL) {
            continue;
        }
        if (names_table(key, node)) {
            BB_TRY(open_table(work, key, map, node));
        } else if (node->kind == BB_NODE_MAP && key->kind == BB_KEY_GROUP) {
            BB_TRY(open_below(work, key->schema, node));
        }
    }
done:
    return status;
}

bb_status bb_record_tables_open(bb_arena *arena, const bb_schema *schema, bb_node *tree,
                                bb_record_tables *tables, bb_problems *problems)
{
    opening work = {arena, tables, problems};
    return open_below(&work, schema, tree);
}
