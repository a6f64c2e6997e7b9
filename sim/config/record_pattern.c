// SPDX-License-Identifier: Apache-2.0
#include "sim/config/record_pattern.h"

#include "sim/config/binding.h"
#include "sim/config/scalar.h"

#include <stdio.h>
#include <string.h>

typedef struct spreading {
    bb_arena *arena;
    bb_problems *problems;
    char path[192]; // of the record, as written
} spreading;

// The pattern of a record, NULL where it has none; `*group` is its member.
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

// Whether the record has neither another pattern nor the numbers that this one gives.
static bb_status check_alone(spreading *work, const bb_schema *schema, const bb_key *key,
                             const bb_node *record)
{
    bb_status status = BB_OK;
    for (const bb_node *member = record->first; member != NULL; member = member->next) {
        const bb_key *other = bb_binding_key(schema, member->key);
        const bool given = strcmp(member->key, key->pattern->keys[0]) == 0 ||
                           strcmp(member->key, key->pattern->keys[1]) == 0;
        if (given || (other != NULL && other != key && other->pattern != NULL)) {
            BB_TRY(
                bb_problems_add(work->problems, member->key_place,
                                "%s.%s: expected none beside %s, which says where its records are",
                                work->path, member->key, key->name));
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
    BB_TRY(bb_arena_zeroed(work->arena, 1, sizeof *node, (void **)&node));
    node->kind = BB_NODE_SCALAR;
    node->place = node->key_place = record->place;
    node->key = key;
    BB_TRY(bb_arena_text(work->arena, digits, strlen(digits), &node->text));
    bb_node_append(record, node);
done:
    return status;
}

// Appends the records of one to `out`.
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

// A record whose pattern is refused stays as one, so that nothing more is said of it.
static bb_status settle(spreading *work, const bb_key *key, bb_node *record, const bb_node *group,
                        bb_node *list)
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
            BB_TRY(settle(work, key, record, group, list));
        }
        if (work->problems->count == before && list->count > BB_NODE_CHILDREN) {
            BB_TRY(bb_problems_add(work->problems, record->place, "%s: over %d records", work->path,
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

bb_status bb_record_patterns_spread(bb_arena *arena, const bb_schema *schema, bb_node *tree,
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
