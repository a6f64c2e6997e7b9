// SPDX-License-Identifier: Apache-2.0
#include "sim/config/difference.h"

#include <stdbool.h>
#include <string.h>

enum { LINE_BYTES = 60 }; // of a line that is quoted

// A piece of a text: a line without its end, or a group with its name.
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

// The group that starts here: its first line and all that are deeper.
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

// A line of a group from `place`, without what stands before its key; none after the group's end.
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
