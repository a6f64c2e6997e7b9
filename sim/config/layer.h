// SPDX-License-Identifier: Apache-2.0
//
// Layers of a configuration: files on their bases, then overrides, merged into one tree.
#ifndef BB_SIM_CONFIG_LAYER_H
#define BB_SIM_CONFIG_LAYER_H

#include "core/schema.h"
#include "sim/config/node.h"

enum { BB_LAYER_FILES = 8 };

/// Files in the order read; names and texts live in the arena.
typedef struct bb_layers {
    const struct bb_config_file *known; ///< [known_count] used instead of files of their names
    bb_index known_count;
    bb_index count;
    struct {
        const char *name;
        const char *text;
        unsigned long long device, inode; ///< identity of the file
    } files[BB_LAYER_FILES];
} bb_layers;

/// Reads a file and its bases and merges them; `*out` is NULL if `problems` were found. Errors:
/// BB_IO, BB_MEMORY.
BB_CHECKED bb_status bb_layers_read(bb_arena *arena, const char *path, bb_layers *layers,
                                    bb_problems *problems, bb_node **out);

/// Of keys that replace one another (bb_key.replaces), retains those of the file nearest to the
/// main file; two of the same file are both retained. For a tree of files, before overrides.
void bb_layers_resolve_alternatives(const bb_layers *layers, const bb_schema *schema,
                                    bb_node *tree);

/// Merges one "path=value" into the tree and removes alternatives of its key. `schema` may be NULL;
/// with it, a plain value that is the shorthand of a group (storage: zfp) is converted to that
/// group. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_layers_override(bb_arena *arena, const bb_schema *schema, bb_node *tree,
                                        const char *override, bb_problems *problems);

#endif
