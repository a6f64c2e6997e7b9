// SPDX-License-Identifier: Apache-2.0
//
// Declarative description of configuration structs. Each user-configurable module declares a plain
// struct with unit-suffixed members in its header and one bb_schema table in its .c file. sim/
// binds files, key=value overrides and sweep plans to the structs through these tables, lists them
// (`config --list`) and writes the resolved copy; this file is independent of YAML.
//
//     typedef struct bb_telescope_config {
//         double diameter_m;
//         double obstruction;
//     } bb_telescope_config;
//
//     static const bb_key keys[] = {
//         {.name = "diameter_m", .kind = BB_KEY_DOUBLE, .unit = "m",
//          .offset = offsetof(bb_telescope_config, diameter_m), .minimum = 0.0, .maximum = 200.0,
//          .exclusive_minimum = true, .meaning = "Diameter of the primary mirror."},
//         {.name = "obstruction", .kind = BB_KEY_DOUBLE, .unit = "1", .default_text = "0.0", ...},
//     };
//     const bb_schema bb_telescope_schema = BB_SCHEMA("telescope", bb_telescope_config, keys);
#ifndef BB_CORE_SCHEMA_H
#define BB_CORE_SCHEMA_H

#include "core/status.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum bb_key_kind {
    BB_KEY_DOUBLE,  ///< member: double
    BB_KEY_INTEGER, ///< member: bb_index
    BB_KEY_BOOLEAN, ///< member: bool; only `true` and `false` are read
    BB_KEY_TEXT,    ///< member: const char *
    BB_KEY_PATH, ///< member: const char *; a file, relative to the configuration file that names it
    BB_KEY_CHOICE,   ///< member: int, index into `choices` (declare an enum in the same order)
    BB_KEY_DOUBLES,  ///< member: bb_list of double
    BB_KEY_INTEGERS, ///< member: bb_list of bb_index
    BB_KEY_CHOICES,  ///< member: bb_list of int, indices into `choices`, no repetition
    BB_KEY_GROUP,    ///< member: a struct, described by `schema`
    BB_KEY_RECORDS,  ///< member: bb_list of structs, described by `schema`
} bb_key_kind;

/// A list in a configuration struct; the items belong to the owner of the struct.
typedef struct bb_list {
    void *items;
    bb_index count; ///< BB_LIST_ALL if the user wrote the word `all`
} bb_list;

enum { BB_LIST_ALL = -1 };

typedef struct bb_schema bb_schema;

/// A group in a record that abbreviates several such records which differ in two numbers only:
/// {kind: lgs, ring: {count: 3, radius: 20}} for three of {kind: lgs, x: .., y: ..}. The reader of
/// a configuration expands it; in the struct of a record the group stays unset.
typedef struct bb_pattern {
    const char *keys[2]; ///< keys of the record, set in each copy
    /// Returns the number of records that a bound group expands to, and computes the two numbers of
    /// one of them.
    bb_index (*count)(const void *group);
    void (*place)(const void *group, bb_index item, double out[2]);
} bb_pattern;

enum { BB_KEY_REPLACES = 8 };

typedef struct bb_key {
    const char *name;
    bb_key_kind kind;
    size_t offset;           ///< offset of the member in its struct
    const char *unit;        ///< "m", "ms", "1" for a pure number, NULL if not applicable
    double minimum, maximum; ///< range of numbers and list items; both 0: no range
    bool exclusive_minimum;  ///< the value must be greater than `minimum`
    bool exclusive_maximum;
    bool optional;              ///< may stay unset: NaN, BB_INTEGER_UNSET, NULL, -1 or count 0
    bool accepts_all;           ///< lists: the word `all` is read as BB_LIST_ALL
    bb_index minimum_count;     ///< lists: minimum number of items
    const char *word;           ///< integers: a word read as BB_INTEGER_UNSET, such as auto
    const char *default_text;   ///< as the user would write it; NULL: required unless optional
    const char *const *choices; ///< NULL-terminated words of BB_KEY_CHOICE and BB_KEY_CHOICES
    const bb_schema *schema;    ///< schema of groups and records
    const char *shorthand;      ///< groups: a plain value is read as {shorthand: value}
    bool writes_folder;         ///< texts: an output folder of a run
    bool tabular; ///< records: a file name is read as a table, its columns named as keys
    const bb_pattern *pattern; ///< groups of records: the group is a pattern
    /// Keys of the same struct that express the same quantity, NULL after the last: setting this
    /// key in an override, or in a file over its base, unsets them.
    const char *replaces[BB_KEY_REPLACES];
    const char *meaning; ///< one line for the user
} bb_key;

struct bb_schema {
    const char *name;
    size_t bytes; ///< size of the struct
    const bb_key *keys;
    bb_index key_count;
};

#define BB_INTEGER_UNSET PTRDIFF_MIN

/// Checks the numbers of a struct against the ranges of its keys, including those of groups; lists
/// and choices are skipped. `path` prefixes a key's name in the message, "" for none. For structs
/// that are filled by hand: readers of files check while they read. Errors: BB_INVALID.
BB_CHECKED bb_status bb_schema_check(const bb_schema *schema, const void *object, const char *path);

#define BB_SCHEMA(title, type, table)                                                              \
    {                                                                                              \
        .name = (title), .bytes = sizeof(type), .keys = (table),                                   \
        .key_count = (bb_index)(sizeof(table) / sizeof((table)[0]))                                \
    }

#ifdef __cplusplus
}
#endif

#endif
