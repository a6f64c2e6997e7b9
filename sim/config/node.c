// SPDX-License-Identifier: Apache-2.0
#include "sim/config/node.h"

#include "sim/config/scalar.h"

#include <string.h>

bb_status bb_node_make(bb_arena *arena, bb_node_kind kind, bb_place place, bb_node **out)
{
    bb_status status = BB_OK;
    BB_TRY(bb_arena_zeroed(arena, 1, sizeof **out, (void **)out));
    **out = (bb_node){.kind = kind, .place = place, .key_place = place};
done:
    return status;
}

bb_node *bb_node_member(const bb_node *map, const char *key)
{
    if (map == NULL || map->kind != BB_NODE_MAP) {
        return NULL;
    }
    for (bb_node *child = map->first; child != NULL; child = child->next) {
        if (strcmp(child->key, key) == 0) {
            return child;
        }
    }
    return NULL;
}

bb_node *bb_node_item(const bb_node *list, bb_index index)
{
    if (list == NULL || list->kind != BB_NODE_LIST || index < 0) {
        return NULL;
    }
    bb_node *child = list->first;
    while (child != NULL && index-- > 0) {
        child = child->next;
    }
    return child;
}

// Link that points to `child`, in its parent or in its previous sibling.
static bb_node **link_to(bb_node *parent, const bb_node *child)
{
    bb_node **link = &parent->first;
    while (*link != child) {
        link = &(*link)->next;
    }
    return link;
}

void bb_node_append(bb_node *parent, bb_node *child)
{
    bb_node **link = link_to(parent, NULL);
    child->next = NULL;
    *link = child;
    ++parent->count;
}

void bb_node_replace(bb_node *parent, bb_node *old, bb_node *value)
{
    bb_node **link = link_to(parent, old);
    value->key = old->key;
    if (value->key_place.origin == NULL) {
        value->key_place = old->key_place;
    }
    value->next = old->next;
    *link = value;
}

void bb_node_remove(bb_node *parent, const bb_node *child)
{
    bb_node **link = link_to(parent, child);
    *link = child->next;
    --parent->count;
}

void bb_node_merge(bb_node *base, bb_node *over)
{
    for (bb_node *child = over->first, *next = NULL; child != NULL; child = next) {
        next = child->next;
        bb_node *old = bb_node_member(base, child->key);
        if (old == NULL) {
            bb_node_append(base, child);
        } else if (old->kind == BB_NODE_MAP && child->kind == BB_NODE_MAP) {
            bb_node_merge(old, child);
        } else {
            bb_node_replace(base, old, child);
        }
    }
    base->place = over->place;
}

bb_status bb_node_copy(bb_arena *arena, const bb_node *node, bb_node **out)
{
    bb_status status = BB_OK;
    bb_node *copy = NULL;
    BB_TRY(bb_arena_zeroed(arena, 1, sizeof *copy, (void **)&copy));
    *copy = *node;
    copy->first = copy->next = NULL;
    bb_node **link = &copy->first;
    for (const bb_node *child = node->first; child != NULL; child = child->next) {
        BB_TRY(bb_node_copy(arena, child, link));
        link = &(*link)->next;
    }
    *out = copy;
done:
    return status;
}

bb_status bb_node_write_text(const char *text, bb_text *out)
{
    bb_status status = BB_OK;
    if (bb_scalar_plain(text)) {
        return bb_text_add(out, "%s", text);
    }
    BB_TRY(bb_text_add(out, "\""));
    for (const char *c = text; *c != '\0'; ++c) {
        if (*c == '"' || *c == '\\') {
            BB_TRY(bb_text_add(out, "\\%c", *c));
        } else if ((unsigned char)*c < ' ' || *c == 0x7f) {
            BB_TRY(bb_text_add(out, "\\x%02x", (unsigned char)*c));
        } else {
            BB_TRY(bb_text_add_bytes(out, c, 1));
        }
    }
    BB_TRY(bb_text_add(out, "\""));
done:
    return status;
}

bb_status bb_node_write(const bb_node *node, bb_text *out)
{
    bb_status status = BB_OK;
    const bool map = node->kind == BB_NODE_MAP;
    if (node->kind == BB_NODE_SCALAR) {
        return node->quoted ? bb_node_write_text(node->text, out)
                            : bb_text_add(out, "%s", node->text);
    }
    BB_TRY(bb_text_add(out, "%s", map ? "{" : "["));
    for (const bb_node *child = node->first; child != NULL; child = child->next) {
        BB_TRY(bb_text_add(out, "%s", child == node->first ? "" : ", "));
        if (map) {
            BB_TRY(bb_node_write_text(child->key, out));
            BB_TRY(bb_text_add(out, ": "));
        }
        BB_TRY(bb_node_write(child, out));
    }
    BB_TRY(bb_text_add(out, "%s", map ? "}" : "]"));
done:
    return status;
}

bb_node *bb_node_part(const bb_node *node, const char *part)
{
    if (node == NULL || node->kind != BB_NODE_LIST) {
        return bb_node_member(node, part);
    }
    for (bb_node *child = node->first; child != NULL; child = child->next) {
        const bb_node *name = bb_node_member(child, "name");
        if (name != NULL && name->kind == BB_NODE_SCALAR && strcmp(name->text, part) == 0) {
            return child;
        }
    }
    bb_index index = -1;
    return bb_scalar_integer(part, &index) ? bb_node_item(node, index) : NULL;
}

const bb_node *bb_node_nearest(const bb_node *root, const char *path)
{
    const bb_node *node = root;
    while (node != NULL && *path != '\0') {
        char part[128];
        size_t length = strcspn(path, ".");
        if (length >= sizeof part) {
            break;
        }
        memcpy(part, path, length);
        part[length] = '\0';
        const bb_node *child = bb_node_part(node, part);
        if (child == NULL) {
            break;
        }
        node = child;
        path += length + (path[length] == '.');
    }
    return node;
}

bb_status bb_node_path(bb_arena *arena, const bb_node *text, const char **out)
{
    const char *origin = text->place.origin;
    const char *slash = text->place.line > 0 ? strrchr(origin, '/') : NULL;
    const int folder = text->text[0] == '/' || slash == NULL ? 0 : (int)(slash - origin) + 1;
    return bb_arena_printf(arena, out, "%.*s%s", folder, origin, text->text);
}

const char *bb_node_kind_name(bb_node_kind kind)
{
    static const char *const names[] = {
        [BB_NODE_SCALAR] = "a single value", [BB_NODE_LIST] = "a list", [BB_NODE_MAP] = "a map"};
    return names[kind];
}
