// SPDX-License-Identifier: Apache-2.0
//
// Declared results: tables of the datasets that a run may write, one row each. Result files,
// `bitbudget outputs --list` and outputs/README.md are generated from them: code outside of this
// folder adds only declared datasets.
//
// A row locates its values: `member` is an offset into a record filled by the experiment. A table
// without `axes` has one record; with axes ("pipeline", or "pipeline, axis"), there is a record for
// each item along them, and every row is gathered over the records. A member is
//   - a double, or a const char * if the row has no unit, if the row has no axes beyond the
//     table's;
//   - else a pointer to an array of those, row-major over the remaining axes, or the array itself
//     if the row is `embedded`. Rows of `indices` and of `names` have no member.
#ifndef BB_SIM_OUTPUT_OUTPUT_TABLE_H
#define BB_SIM_OUTPUT_OUTPUT_TABLE_H

#include "core/text.h"
#include "sim/output/results.h"

#include <stddef.h>

/// Dataset. `<...>` in a name, its axes or its unit is a placeholder filled in by a run.
typedef struct bb_output {
    const char *name;      ///< name in the table's group
    const char *axes;      ///< "pipeline, target"; "" for a single value; an axis names itself
    const char *unit;      ///< "1" for a pure number, NULL: texts
    const char *long_name; ///< description in one line, stored in the file
    const char *note;      ///< further text of the page, or NULL
    size_t member;         ///< offset of the values in a record
    size_t count;          ///< for an axis over an array: offset of a bb_index with its length
    double scale;          ///< stored value / value of the member; 0: equal
    bool measured;         ///< depends on the machine and the time
    bool embedded;         ///< the array is part of the record
    bool indices;          ///< axis with values 0, 1, 2 ...
    bool coordinate;       ///< gives the positions of other datasets over its axes
    /// Constant texts over axes of any table; the page lists those of an axis.
    const char *const *names;
    bb_index name_count;
} bb_output;

/// Location of a row's value, or of its array in the record; names of a row and rows of a table
/// from arrays.
#define BB_MEMBER(type, field) .member = offsetof(type, field)
#define BB_ARRAY(type, field)  .member = offsetof(type, field), .embedded = true
#define BB_OUTPUT_NAMES(array) .names = (array), .name_count = sizeof(array) / sizeof *(array)
#define BB_OUTPUT_ROWS(array)  .rows = (array), .count = sizeof(array) / sizeof *(array)

typedef struct bb_output_table {
    const char *title; ///< heading of the page: "/results, wafer"
    const char *when;  ///< sentence above the table, or NULL
    const char *group; ///< "" for the root
    const char *axes;  ///< axes with a record for each item; NULL: a single record
    const bb_output *rows;
    bb_index count;
} bb_output_table;

/// Values of placeholders; NULL if unused.
typedef struct bb_output_fill {
    const char *name;      ///< for `<...>` in names
    const char *unit;      ///< for a unit `<...>`
    const char *axis;      ///< for `<...>` in axes
    const char *group;     ///< group instead of the table's
    const char *long_name; ///< text instead of the row's
} bb_output_fill;

/// Adds every row of a table with one record. Rows with a NULL pointer are omitted. `fill` may be
/// NULL. Errors: from bb_results_add, BB_INTERNAL (missing values for the table).
BB_CHECKED bb_status bb_output_table_publish(const bb_output_table *table, const void *record,
                                             const bb_output_fill *fill, bb_results *results);

/// Adds every row of a table with axes from `count` records, `stride` bytes apart. A record with a
/// NULL pointer has unset values; a row that is unset in all records is omitted.
BB_CHECKED bb_status bb_output_table_publish_records(const bb_output_table *table,
                                                     const void *records, size_t stride,
                                                     bb_index count, const bb_output_fill *fill,
                                                     bb_results *results);

/// Adds one row by its name in the table: `values` are doubles, or texts (const char *) if the row
/// has no unit, [shape of its axes], NULL for all unset. For an axis: `count` items, NULL for
/// indices from 0.
BB_CHECKED bb_status bb_output_table_add(const bb_output_table *table, const char *name,
                                         const void *values, const bb_output_fill *fill,
                                         bb_results *results);
BB_CHECKED bb_status bb_output_table_add_axis(const bb_output_table *table, const char *name,
                                              bb_index count, const void *values,
                                              const bb_output_fill *fill, bb_results *results);

/// Refuses results in which a dataset of the table has another type or other axes. For tables
/// without `<...>` in names. Errors: BB_IO, with the dataset and the expected table.
BB_CHECKED bb_status bb_output_table_check(const bb_output_table *table, const bb_results *results);

/// Appends tables in Markdown, as on the page: those with the same title are grouped, without a
/// break before a table without `when`. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_output_table_list(const bb_output_table *const *tables, bb_index count,
                                          bb_text *out);

#endif
