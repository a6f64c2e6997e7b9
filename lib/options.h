// SPDX-License-Identifier: Apache-2.0
//
// Options as text, "hp2 policy=band policy.width=2": words separated by spaces, read into structs
// through their schemas (core/schema.h), with the rules of the configuration files.
#ifndef BB_LIB_OPTIONS_H
#define BB_LIB_OPTIONS_H

#include "core/arena.h"
#include "core/schema.h"

/// A struct that options are read into.
typedef struct bb_option_group {
    const char *prefix; ///< "policy": its keys are policy.kind, ...; "" for none
    const char *alone;  ///< key set by the prefix alone, policy=band; NULL: none
    const bb_schema *schema;
    void *record;
    /// Returns false if a given key has no effect with the record, NULL: all have one.
    bool (*is_used)(const void *record, const char *key);
} bb_option_group;

/// Options of one text.
typedef struct bb_options {
    const char *subject; ///< first word of messages: "storage"
    const char *first;   ///< key of a first word without '=', in a group without prefix; NULL: none
    const bb_option_group *groups;
    int count;
} bb_options;

/// Sets every key to its default, or unset, then reads `text`; NULL: none. Texts and lists are
/// allocated in `arena`. Errors: BB_INVALID (a word that is no option, an unknown or repeated key,
/// a value outside its range or choices, a required key that is missing, a key without effect),
/// BB_UNSUPPORTED (a key that names a file), BB_MEMORY.
BB_CHECKED bb_status bb_options_read(const bb_options *options, const char *text, bb_arena *arena);

#endif
