// SPDX-License-Identifier: Apache-2.0
//
// Records in a separate table: `layout: fields.csv` instead of a list of maps, for keys whose
// schema row is `tabular`. A row is a record, a column one of its keys; an empty cell omits the
// key. Later steps see no difference, except that messages give places in the table; the resolved
// copy contains the records and needs no file.
//
// Records given by a pattern (core/schema.h, bb_pattern): before binding, `{kind: lgs, ring: {..}}`
// in a list is expanded to a record for each direction. All of them have the place of the pattern,
// and the resolved copy contains the expanded records.
#ifndef BB_SIM_CONFIG_RECORD_TABLE_H
#define BB_SIM_CONFIG_RECORD_TABLE_H

#include "core/digest.h"
#include "core/schema.h"
#include "sim/config/node.h"

/// Expands every pattern in the lists of records of `tree`. Problems are added to `problems`; an
/// invalid record is not expanded. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_record_table_spread(bb_arena *arena, const bb_schema *schema, bb_node *tree,
                                            bb_problems *problems);

/// Limits that keep a resolved copy with a few tables below BB_NODE_BYTES.
enum { BB_RECORD_TABLES = 8, BB_RECORD_TABLE_ROWS = 4096 };

/// Tables read, in the order of their keys; names and texts live in the arena.
struct bb_config_file;
typedef struct bb_record_tables {
    const struct bb_config_file *known; ///< [known_count] used instead of files of their names
    bb_index known_count;               ///< 0: all tables are read from disk
    bb_index count;
    struct {
        const char *name;
        const char *text; ///< as read
        char digest[BB_DIGEST_BYTES];
    } files[BB_RECORD_TABLES];
} bb_record_tables;

/// Replaces every file name in `tree` that is the value of a list of records by these records.
/// Problems of a table are added to `problems` and its key is removed. Errors: BB_IO (a table
/// cannot be read), BB_MEMORY.
BB_CHECKED bb_status bb_record_tables_open(bb_arena *arena, const bb_schema *schema, bb_node *tree,
                                           bb_record_tables *tables, bb_problems *problems);

#endif
