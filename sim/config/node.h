// SPDX-License-Identifier: Apache-2.0
//
// The tree of one YAML document, each node with its place.
//
// The tree is built from libyaml's events, not from its document: documents forget anchors, take
// `a: &a [*a]` for a cyclic graph and accept duplicate keys. Here one document is read; anchors,
// aliases, tags, directives, duplicate keys, keys that are not plain text, NUL characters, more
// than BB_NODE_DEPTH levels, BB_NODE_CHILDREN children of a node or BB_NODE_BYTES bytes are
// problems.
#ifndef BB_SIM_CONFIG_NODE_H
#define BB_SIM_CONFIG_NODE_H

#include "core/arena.h"
#include "core/problem.h"

#include <stdbool.h>

enum { BB_NODE_DEPTH = 16, BB_NODE_CHILDREN = 10000, BB_NODE_BYTES = 1 << 20 };

typedef enum bb_node_kind { BB_NODE_SCALAR, BB_NODE_LIST, BB_NODE_MAP } bb_node_kind;

typedef struct bb_node bb_node;

/// Lives in an arena. Items of lists and members of maps are chained in the order written.
struct bb_node {
    bb_node_kind kind;
    bb_place place, end; ///< of its first character, and behind its last
    bool flow;           ///< lists and maps: written in brackets
    const char *text;    ///< scalars
    bool quoted;         ///< scalars: written in quotes or as a block, so a text whatever it says
    const char *key;     ///< members of maps
    bb_place key_place;  ///< members of maps
    bb_node *first;      ///< child
    bb_node *next;       ///< sibling
    bb_index count;      ///< children
};

/// Parses `length` bytes into `arena`. Syntax problems are added to `problems` with `origin`
/// (borrowed for as long as the arena lives) and leave `*out` NULL where nothing could be read. A
/// `line_numbers` of false leaves every place without a line, as overrides and defaults need it.
/// Errors: BB_MEMORY.
BB_CHECKED bb_status bb_node_parse(bb_arena *arena, const char *origin, bool line_numbers,
                                   const char *text, size_t length, bb_problems *problems,
                                   bb_node **out);

/// A node without a text or children, which lies and is named at `place`. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_node_make(bb_arena *arena, bb_node_kind kind, bb_place place,
                                  bb_node **out);

/// Member of a map, NULL where absent or where `map` is no map (or NULL).
bb_node *bb_node_member(const bb_node *map, const char *key);

/// Item of a list, NULL where absent.
bb_node *bb_node_item(const bb_node *list, bb_index index);

/// What one part of a key path leads to: a member of a map, or the item of a list whose `name:` it
/// is, else that of its number; NULL where there is none.
bb_node *bb_node_part(const bb_node *node, const char *part);

/// Adds `child` at the end of a map or list.
void bb_node_append(bb_node *parent, bb_node *child);

/// Puts `value` in the place of `old`, a child of `parent`, keeping its key and its position.
void bb_node_replace(bb_node *parent, bb_node *old, bb_node *value);

/// Takes `child` out of its parent.
void bb_node_remove(bb_node *parent, const bb_node *child);

/// Merges map `over` onto map `base` in place: maps member by member, everything else is replaced.
void bb_node_merge(bb_node *base, bb_node *over);

/// A copy of a tree; its texts stay where they are. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_node_copy(bb_arena *arena, const bb_node *node, bb_node **out);

/// Appends a text as YAML, in quotes unless every reader takes it for a text as it stands.
BB_CHECKED bb_status bb_node_write_text(const char *text, bb_text *out);

/// Appends a tree as YAML in one line, as an override takes it. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_node_write(const bb_node *node, bb_text *out);

/// Node at a path such as "pipelines.1.name"; the deepest node on the way where the path ends
/// early, so that a missing value can be placed.
const bb_node *bb_node_nearest(const bb_node *root, const char *path);

/// The file that a text names: what a file names lies beside that file, what an override names
/// beside the user. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_node_path(bb_arena *arena, const bb_node *text, const char **out);

/// "a text", "a list", "a map" for messages.
const char *bb_node_kind_name(bb_node_kind kind);

#endif
