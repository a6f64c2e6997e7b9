// SPDX-License-Identifier: Apache-2.0
//
// Records that stand in a table of their own: `layout: fields.csv` instead of a list of maps, where
// the key's schema row is `tabular`. A row is a record, a column a key of it by name; an empty cell
// leaves its key out. Nothing after this sees a difference, but that places of messages are those
// of the table; the resolved copy has the records themselves and needs no file.
//
// Records that a pattern stands for (core/schema.h, bb_pattern): `{kind: lgs, ring: {..}}` in a
// list becomes a record a direction, before binding. All of them have the place of the one written,
// and the resolved copy has them written out: what runs is what it says, item by item.
#ifndef BB_SIM_CONFIG_RECORD_TABLE_H
#define BB_SIM_CONFIG_RECORD_TABLE_H

#include "core/digest.h"
#include "core/schema.h"
#include "sim/config/node.h"

/// Writes out every pattern in the lists of records in `tree`. What is wrong with one is added to
/// `problems`, and its record then stays as one. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_record_table_spread(bb_arena *arena, const bb_schema *schema, bb_node *tree,
                                            bb_problems *problems);

/// As many rows as keep a resolved copy with a few tables under BB_NODE_BYTES.
enum { BB_RECORD_TABLES = 8, BB_RECORD_TABLE_ROWS = 4096 };

/// The tables read, in the order of their keys; names and texts live in the arena.
struct bb_config_file;
typedef struct bb_record_tables {
    const struct bb_config_file
        *known;           ///< [known_count] taken in the place of files of their names
    bb_index known_count; ///< 0: all are read from disk
    bb_index count;
    struct {
        const char *name;
        const char *text; ///< as read
        char digest[BB_DIGEST_BYTES];
    } files[BB_RECORD_TABLES];
} bb_record_tables;

/// Replaces every file name in `tree` that stands for records by the list of them. What is wrong
/// with a table is added to `problems`, and its key then taken out. Errors: BB_IO (a table cannot
/// be read), BB_MEMORY.
BB_CHECKED bb_status bb_record_tables_open(bb_arena *arena, const bb_schema *schema, bb_node *tree,
                                           bb_record_tables *tables, bb_problems *problems);

#endif
