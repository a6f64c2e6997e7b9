// SPDX-License-Identifier: Apache-2.0
//
// Tree of one YAML document; each node records its place.
//
// The tree is built from libyaml's events instead of its document: documents drop anchors,
// interpret `a: &a [*a]` as a cyclic graph and accept duplicate keys. A single document is read;
// anchors, aliases, tags, directives, duplicate keys, keys that are not plain text, NUL characters,
// more than BB_NODE_DEPTH levels, BB_NODE_CHILDREN children of a node or BB_NODE_BYTES bytes are
// problems.
#ifndef BB_SIM_CONFIG_NODE_H
#define BB_SIM_CONFIG_NODE_H

#include "core/arena.h"
#include "core/problem.h"

#include <stdbool.h>

enum { BB_NODE_DEPTH = 16, BB_NODE_CHILDREN = 10000, BB_NODE_BYTES = 1 << 20 };

typedef enum bb_node_kind { BB_NODE_SCALAR, BB_NODE_LIST, BB_NODE_MAP } bb_node_kind;

typedef struct bb_node bb_node;

/// Allocated in an arena. Items of lists and members of maps are chained in the order written.
struct bb_node {
    bb_node_kind kind;
    bb_place place, end; ///< first character, and one past the last
    bool flow;           ///< list or map that is written in brackets
    const char *text;    ///< scalars
    bool quoted;         ///< scalars: in quotes or as a block, therefore always a text
    const char *key;     ///< members of maps
    bb_place key_place;  ///< members of maps
    bb_node *first;      ///< child
    bb_node *next;       ///< sibling
    bb_index count;      ///< children
};

/// Parses `length` bytes into `arena`. Syntax problems are added to `problems` with `origin`
/// (borrowed as long as the arena lives); `*out` is NULL if nothing could be read. With
/// `line_numbers` false, places have no line, as needed for overrides and defaults. Errors:
/// BB_MEMORY.
BB_CHECKED bb_status bb_node_parse(bb_arena *arena, const char *origin, bool line_numbers,
                                   const char *text, size_t length, bb_problems *problems,
                                   bb_node **out);

/// Creates a node without text and children at `place`. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_node_make(bb_arena *arena, bb_node_kind kind, bb_place place,
                                  bb_node **out);

/// Member of a map, NULL if absent or if `map` is not a map (or NULL).
bb_node *bb_node_member(const bb_node *map, const char *key);

/// Item of a list, NULL if absent.
bb_node *bb_node_item(const bb_node *list, bb_index index);

/// Child for one part of a key path: a member of a map, or the item of a list with that `name:`,
/// else with that number; or NULL.
bb_node *bb_node_part(const bb_node *node, const char *part);

/// Appends `child` to a map or list.
void bb_node_append(bb_node *parent, bb_node *child);

/// Replaces `old`, a child of `parent`, by `value` with the same key and position.
void bb_node_replace(bb_node *parent, bb_node *old, bb_node *value);

/// Removes `child` from its parent.
void bb_node_remove(bb_node *parent, const bb_node *child);

/// Merges map `over` onto map `base` in place: maps member by member; everything else is replaced.
void bb_node_merge(bb_node *base, bb_node *over);

/// Copies a tree; the texts are shared. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_node_copy(bb_arena *arena, const bb_node *node, bb_node **out);

/// Appends a text as YAML, in quotes unless every reader interprets the plain form as a text.
BB_CHECKED bb_status bb_node_write_text(const char *text, bb_text *out);

/// Appends a tree as YAML in one line, as in an override. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_node_write(const bb_node *node, bb_text *out);

/// Node at a path such as "pipelines.1.name", or the deepest existing node of the path, so that a
/// missing value can be located.
const bb_node *bb_node_nearest(const bb_node *root, const char *path);

/// Path of the file named by a text: relative to the file that contains the text, or to the working
/// folder for an override. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_node_path(bb_arena *arena, const bb_node *text, const char **out);

/// Describes a node in messages: "a text", "a list", "a map".
const char *bb_node_kind_name(bb_node_kind kind);

#endif
