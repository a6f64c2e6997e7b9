// SPDX-License-Identifier: Apache-2.0
#include "sim/config/difference.h"

#include "core/memory.h"
#include "sim/config/node.h"

#include <stdbool.h>
#include <string.h>

enum { VALUE_BYTES = 60 }; // limit of a printed value

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

// Adds "96 in a.h5", truncated if long, or "absent in a.h5".
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

// Text of the `name` of a record, or NULL.
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

// Compares members or records of the first with their counterparts in the second, then lists those
// only in the second.
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

bb_status bb_difference_write_keys(const char *const texts[2], const char *const names[2],
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

enum { LINE_BYTES = 60 }; // limit of a quoted line

// Part of a text: a line without its end, or a group with its name.
typedef struct piece {
    const char *place;
    size_t length;
} piece;

static piece line_at(const char *text)
{
    return (piece){text, strcspn(text, "\n")};
}

static const char *after(piece line)
{
    const char *end = line.place + line.length;
    return *end == '\n' ? end + 1 : end;
}

static bool is_inside(const char *line)
{
    return *line == ' ' || *line == '-';
}

// Group that starts here: its first line and all lines with deeper indentation.
static piece group_at(const char *text)
{
    const char *end = text;
    do {
        end = after(line_at(end));
    } while (*end != '\0' && is_inside(end));
    return (piece){text, (size_t)(end - text)};
}

static size_t name_length(const char *group)
{
    return strcspn(group, ":\n");
}

static bool same_name(const char *a, const char *b)
{
    const size_t length = name_length(a);
    return length == name_length(b) && strncmp(a, b, length) == 0;
}

static piece find_group(const char *text, const char *name)
{
    while (*text != '\0') {
        piece group = group_at(text);
        if (same_name(text, name)) {
            return group;
        }
        text += group.length;
    }
    return (piece){NULL, 0};
}

static bool is_same(piece a, piece b)
{
    return a.place != NULL && b.place != NULL && a.length == b.length &&
           strncmp(a.place, b.place, a.length) == 0;
}

// Next line of a group from `place`, without the characters before its key; empty after the group's
// end.
static piece next_line(piece group, const char *cursor)
{
    if (group.place == NULL || cursor >= group.place + group.length) {
        return (piece){NULL, 0};
    }
    piece line = line_at(cursor);
    const size_t indent = strspn(line.place, " ");
    return (piece){line.place + indent, line.length - indent};
}

static bb_status add_line(piece line, const char *place, bb_text *out)
{
    if (line.place == NULL) {
        return bb_text_add(out, "nothing %s", place);
    }
    const bool cut = line.length > LINE_BYTES;
    return bb_text_add(out, "'%.*s%s' %s", cut ? LINE_BYTES : (int)line.length, line.place,
                       cut ? "..." : "", place);
}

static bb_status add_group(piece part, piece here, bb_text *out)
{
    bb_status status = BB_OK;
    const char *name = part.place != NULL ? part.place : here.place;
    piece a = next_line(part, part.place);
    piece b = next_line(here, here.place);
    while (is_same(a, b)) {
        a = next_line(part, after(a));
        b = next_line(here, after(b));
    }
    BB_TRY(bb_text_add(out, "%s%.*s (", out->length > 0 ? ", " : "", (int)name_length(name), name));
    BB_TRY(add_line(a, "there", out));
    BB_TRY(bb_text_add(out, ", "));
    BB_TRY(add_line(b, "here", out));
    BB_TRY(bb_text_add(out, ")"));
done:
    return status;
}

bb_status bb_difference_write(const char *there, const char *here, bb_text *out)
{
    bb_status status = BB_OK;
    for (const char *cursor = there; *cursor != '\0';) {
        const piece group = group_at(cursor);
        const piece other = find_group(here, cursor);
        if (!is_same(group, other)) {
            BB_TRY(add_group(group, other, out));
        }
        cursor += group.length;
    }
    for (const char *cursor = here; *cursor != '\0';) {
        const piece group = group_at(cursor);
        const piece other = find_group(there, cursor);
        if (other.place == NULL) {
            BB_TRY(add_group(other, group, out));
        }
        cursor += group.length;
    }
done:
    return status;
}
