// SPDX-License-Identifier: Apache-2.0
#include "sim/config/key_difference.h"

#include "core/memory.h"
#include "sim/config/node.h"

#include <string.h>

enum { VALUE_BYTES = 60 }; // of a value that is printed

typedef struct comparison {
    const char *const *names; // [2]
    bb_text *out;
    bb_index *count;
} comparison;

static bb_status compare(const comparison *sides, const bb_node *a, const bb_node *b,
                         const char *path);

static bb_status add_node(const bb_node *node, bb_text *out)
{
    bb_status status = BB_OK;
    const char *before = "";
    if (node->kind == BB_NODE_SCALAR) {
        return bb_text_add(out, "%s", node->text[0] == '\0' ? "\"\"" : node->text);
    }
    const bool is_map = node->kind == BB_NODE_MAP;
    BB_TRY(bb_text_add(out, is_map ? "{" : "["));
    for (const bb_node *child = node->first; child != NULL; child = child->next) {
        BB_TRY(bb_text_add(out, "%s%s%s", before, is_map ? child->key : "", is_map ? ": " : ""));
        BB_TRY(add_node(child, out));
        before = ", ";
    }
    BB_TRY(bb_text_add(out, is_map ? "}" : "]"));
done:
    return status;
}

// "96 in a.h5", cut where it is long, or "absent in a.h5".
static bb_status add_value(const bb_node *node, const char *name, bb_text *out)
{
    bb_status status = BB_OK;
    bb_text value = {0};
    if (node == NULL) {
        return bb_text_add(out, "absent in %s", name);
    }
    BB_TRY(add_node(node, &value));
    const bool is_cut = value.length > VALUE_BYTES;
    BB_TRY(bb_text_add(out, "%.*s%s in %s", VALUE_BYTES, bb_text_string(&value),
                       is_cut ? "..." : "", name));
done:
    bb_text_release(&value);
    return status;
}

static bb_status report(const comparison *sides, const bb_node *a, const bb_node *b,
                        const char *path)
{
    bb_status status = BB_OK;
    ++*sides->count;
    BB_TRY(bb_text_add(sides->out, "  %s: ", path));
    BB_TRY(add_value(a, sides->names[0], sides->out));
    BB_TRY(bb_text_add(sides->out, ", "));
    BB_TRY(add_value(b, sides->names[1], sides->out));
    BB_TRY(bb_text_add(sides->out, "\n"));
done:
    return status;
}

// What a record is called: its name; NULL where it has none.
static const char *name_of(const bb_node *record)
{
    const bb_node *name = bb_node_member(record, "name");
    return name != NULL && name->kind == BB_NODE_SCALAR ? name->text : NULL;
}

static const bb_node *find_record(const bb_node *list, const char *name, bb_index index)
{
    const bb_node *item = bb_node_item(list, index);
    if (name == NULL) {
        return item != NULL && name_of(item) == NULL ? item : NULL;
    }
    for (item = list->first; item != NULL; item = item->next) {
        const char *other = name_of(item);
        if (other != NULL && strcmp(other, name) == 0) {
            return item;
        }
    }
    return NULL;
}

static bool is_list_of_maps(const bb_node *list)
{
    return list->kind == BB_NODE_LIST && (list->first == NULL || list->first->kind == BB_NODE_MAP);
}

// Members or records of the first and their partners; of the second those that have none.
static bb_status compare_children(const comparison *sides, const bb_node *parent,
                                  const bb_node *others, bool is_second, const char *path)
{
    bb_status status = BB_OK;
    char *inner = NULL;
    bb_index index = 0;
    for (const bb_node *child = parent->first; child != NULL; child = child->next, ++index) {
        const bool is_map = parent->kind == BB_NODE_MAP;
        const char *name = is_map ? child->key : name_of(child);
        const bb_node *other =
            is_map ? bb_node_member(others, name) : find_record(others, name, index);
        if (is_second && other != NULL) {
            continue;
        }
        BB_RELEASE(&inner);
        const char *dot = path[0] == '\0' ? "" : ".";
        BB_TRY(name == NULL ? bb_memory_printf(&inner, "%s%s%td", path, dot, index)
                            : bb_memory_printf(&inner, "%s%s%s", path, dot, name));
        BB_TRY(is_second ? report(sides, NULL, child, inner) : compare(sides, child, other, inner));
    }
done:
    BB_RELEASE(&inner);
    return status;
}

static bb_status compare(const comparison *sides, const bb_node *a, const bb_node *b,
                         const char *path)
{
    bb_status status = BB_OK;
    bb_text texts[2] = {{0}, {0}};
    const bool both = a != NULL && b != NULL;
    if (both && ((a->kind == BB_NODE_MAP && b->kind == BB_NODE_MAP) ||
                 (is_list_of_maps(a) && is_list_of_maps(b)))) {
        BB_TRY(compare_children(sides, a, b, false, path));
        BB_TRY(compare_children(sides, b, a, true, path));
        goto done;
    }
    if (both) {
        BB_TRY(add_node(a, &texts[0]));
        BB_TRY(add_node(b, &texts[1]));
    }
    if (!both || strcmp(bb_text_string(&texts[0]), bb_text_string(&texts[1])) != 0) {
        BB_TRY(report(sides, a, b, path));
    }
done:
    bb_text_release(&texts[0]);
    bb_text_release(&texts[1]);
    return status;
}

bb_status bb_key_difference_write(const char *const texts[2], const char *const names[2],
                                  bb_text *out, bb_index *count)
{
    bb_status status = BB_OK;
    bb_arena arena = {0};
    bb_problems problems = {0};
    bb_node *trees[2] = {NULL, NULL};
    const comparison sides = {names, out, count};
    for (int side = 0; side < 2; ++side) {
        BB_TRY(bb_node_parse(&arena, names[side], true, texts[side], strlen(texts[side]), &problems,
                             &trees[side]));
        BB_REQUIRE(problems.count == 0 && trees[side] != NULL && trees[side]->kind == BB_NODE_MAP,
                   BB_IO, "the configuration of '%s' is damaged: %s", names[side],
                   problems.count > 0 ? bb_text_string(&problems.lines) : "no map");
    }
    BB_TRY(compare(&sides, trees[0], trees[1], ""));
done:
    bb_problems_release(&problems);
    bb_arena_release(&arena);
    return status;
}
