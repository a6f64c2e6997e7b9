// SPDX-License-Identifier: Apache-2.0
//
// Binding of a tree to a struct by its schema table, and the names and ranges used in messages and
// lists. Files, overrides and defaults are all bound here.
#ifndef BB_SIM_CONFIG_BINDING_H
#define BB_SIM_CONFIG_BINDING_H

#include "core/schema.h"
#include "sim/config/node.h"

/// Fills `out` (schema->bytes) from `tree`, a map or NULL for an empty one. Absent keys get their
/// defaults; all problems are added to `problems` with paths that start with `path` ("" at the
/// root). Strings and lists are stored in `arena` or in the tree. Errors: BB_MEMORY, BB_INTERNAL (a
/// default of the table violates its own rule).
BB_CHECKED bb_status bb_binding_bind(bb_arena *arena, const bb_schema *schema, const bb_node *tree,
                                     const char *path, bb_problems *problems, void *out);

/// Key of an earlier version. It is refused with the name of its successor, to which `config
/// --upgrade` moves it.
typedef struct bb_renamed_key {
    const char *schema;     ///< bb_schema.name of a group
    const char *former;     ///< path from that group
    const char *value;      ///< former choice without a value to move; NULL: the key with any value
    const char *group_kind; ///< only if the group's key `kind` has this value; NULL: always
    const char *key;        ///< path from that group; "^." starts at the enclosing group
} bb_renamed_key;

/// Row of the renamed key at `path` below the group `map`, NULL if it is not renamed.
const bb_renamed_key *bb_binding_renamed(const char *schema, const bb_node *map, const char *path);

/// Key of a schema by name, or NULL.
const bb_key *bb_binding_key(const bb_schema *schema, const char *name);

/// Key at a path such as "pipelines.hp2.policy.width", or NULL. The parts after lists are names or
/// numbers of items. A group with a plain value as shorthand gives the group.
const bb_key *bb_binding_find(const bb_schema *schema, const char *path);

/// Description of valid values, such as "a number in (0, 5] m" or "one of fp64, fp32".
BB_CHECKED bb_status bb_binding_expectation(const bb_key *key, bb_text *out);

/// Range only, such as "in (0, 5]" or "at least 1"; "" without a range.
BB_CHECKED bb_status bb_binding_range(const bb_key *key, bb_text *out);

/// True if the key may be omitted from a file.
bool bb_binding_omissible(const bb_key *key);

#endif
