// SPDX-License-Identifier: Apache-2.0
//
// From a tree to a struct by its schema table, and the names and ranges that messages and listings
// share. Files, overrides and defaults all pass here.
#ifndef BB_SIM_CONFIG_BINDING_H
#define BB_SIM_CONFIG_BINDING_H

#include "core/schema.h"
#include "sim/config/node.h"

/// Fills `out` (schema->bytes) from `tree`, a map or NULL for an empty one. Keys that are absent
/// take their defaults; everything wrong is added to `problems` under paths that start with `path`
/// ("" at the root). Strings and lists live in `arena` or in the tree. Errors: BB_MEMORY,
/// BB_INTERNAL (a default of the table does not fit its own rule).
BB_CHECKED bb_status bb_binding_bind(bb_arena *arena, const bb_schema *schema, const bb_node *tree,
                                     const char *path, bb_problems *problems, void *out);

/// A key of an earlier version. It is refused with its successor, to which an upgrade moves it.
typedef struct bb_renamed_key {
    const char *schema; ///< bb_schema.name of a group
    const char *former; ///< path from that group
    const char
        *value; ///< a former choice, which has no value to move; NULL: the key with any value
    const char *beside; ///< only where the group's key `kind` is this; NULL: always
    const char *key;    ///< path from that group; "^." begins at the group around it
} bb_renamed_key;

/// The row of what stands at `path` below the group `map`; NULL: it is not renamed.
const bb_renamed_key *bb_binding_renamed(const char *schema, const bb_node *map, const char *path);

/// Key of a schema by name, NULL where it has none.
const bb_key *bb_binding_key(const bb_schema *schema, const char *name);

/// Key at a path such as "pipelines.hp2.policy.width", whose parts after lists are names or numbers
/// of items; NULL where there is none. A group that a plain value may stand for is that group.
const bb_key *bb_binding_find(const bb_schema *schema, const char *path);

/// What a key takes, as "a number in (0, 5] m" or "one of fp64, fp32".
BB_CHECKED bb_status bb_binding_expectation(const bb_key *key, bb_text *out);

/// The range alone, as "in (0, 5]", "at least 1" or "" where there is none.
BB_CHECKED bb_status bb_binding_range(const bb_key *key, bb_text *out);

/// True when the key stands for something that a user may leave out of a file.
bool bb_binding_omissible(const bb_key *key);

#endif
