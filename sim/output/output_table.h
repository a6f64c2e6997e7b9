// SPDX-License-Identifier: Apache-2.0
//
// Declared results: tables of the datasets that a run may write, a row a dataset. What is written,
// what `bitbudget outputs --list` prints and the tables of outputs/README.md all follow from them:
// nothing outside this folder adds a dataset that no table declares.
//
// Where a row's values stand is part of the row: `member` is an offset into a record that the
// experiment fills. A table without `axes` has one record; with axes, a record for each item along
// them ("pipeline", or "pipeline, axis"), and every row is gathered over them. A member is
//   - a double, or a const char * where the row has no unit, if no axes are left beyond the
//   table's;
//   - else a pointer to an array of those, row-major over the axes that are left, or that array
//     itself where the row is `embedded`.
// Rows of `indices` and of `names` have none.
#ifndef BB_SIM_OUTPUT_OUTPUT_TABLE_H
#define BB_SIM_OUTPUT_OUTPUT_TABLE_H

#include "core/text.h"
#include "sim/output/results.h"

#include <stddef.h>

/// One dataset. `<...>` in a name, its axes or its unit stands for what a run fills in.
typedef struct bb_output {
    const char *name;      ///< in the table's group
    const char *axes;      ///< "pipeline, target"; "" a single value; an axis names itself
    const char *unit;      ///< "1" a pure number, NULL: texts
    const char *long_name; ///< what it is, in a line: stands in the file
    const char *note;      ///< what the page says more, NULL: nothing
    size_t member;         ///< where its values stand in a record
    size_t count;          ///< of an axis over an array: where a bb_index says how many
    double scale;          ///< stored value over the member's; 0: they are the same
    bool measured;         ///< depends on the machine and the moment
    bool embedded;         ///< the array stands in the record itself
    bool indices;          ///< an axis of 0, 1, 2 ...
    bool coordinate;       ///< says where other datasets over its axes stand
    /// Texts that are always these, over axes of any table; the page lists those of an axis.
    const char *const *names;
    bb_index name_count;
} bb_output;

/// Where a row's value, or its array in the record, stands; the names of a row and the rows of a
/// table, from arrays.
#define BB_MEMBER(type, field) .member = offsetof(type, field)
#define BB_ARRAY(type, field)  .member = offsetof(type, field), .embedded = true
#define BB_OUTPUT_NAMES(array) .names = (array), .name_count = sizeof(array) / sizeof *(array)
#define BB_OUTPUT_ROWS(array)  .rows = (array), .count = sizeof(array) / sizeof *(array)

typedef struct bb_output_table {
    const char *title; ///< heading of the page: "/results, wafer"
    const char *when;  ///< sentence above the table, NULL: none
    const char *group; ///< "" the root
    const char *axes;  ///< that a record each stands for; NULL: there is one record
    const bb_output *rows;
    bb_index count;
} bb_output_table;

/// What a run fills in; NULL where nothing is.
typedef struct bb_output_fill {
    const char *name;      ///< for `<...>` in names
    const char *unit;      ///< for a unit `<...>`
    const char *axis;      ///< for `<...>` in axes
    const char *group;     ///< in the place of the table's
    const char *long_name; ///< in the place of a row's
} bb_output_fill;

/// Adds every row of a table of one record. A row whose pointer is NULL is left out. `fill` may be
/// NULL. Errors: those of bb_results_add, BB_INTERNAL (a table that needs what is not given).
BB_CHECKED bb_status bb_output_table_publish(const bb_output_table *table, const void *record,
                                             const bb_output_fill *fill, bb_results *results);

/// The same of a table with axes: `count` records, `stride` bytes from one to the next. Where
/// the pointer of a record is NULL its values are unset; a row all of whose are is left out.
BB_CHECKED bb_status bb_output_table_publish_records(const bb_output_table *table,
                                                     const void *records, size_t stride,
                                                     bb_index count, const bb_output_fill *fill,
                                                     bb_results *results);

/// Adds one row by its name as the table has it: `values` are doubles, or texts (const char *)
/// where the row has no unit, [shape of its axes], NULL for none set. Of an axis `count` items,
/// NULL for the indices from 0 on.
BB_CHECKED bb_status bb_output_table_add(const bb_output_table *table, const char *name,
                                         const void *values, const bb_output_fill *fill,
                                         bb_results *results);
BB_CHECKED bb_status bb_output_table_add_axis(const bb_output_table *table, const char *name,
                                              bb_index count, const void *values,
                                              const bb_output_fill *fill, bb_results *results);

/// Refuses results in which a dataset of the table's names is of another type or over other axes.
/// For tables without `<...>` in names. Errors: BB_IO, with the dataset and the expected table.
BB_CHECKED bb_status bb_output_table_check(const bb_output_table *table, const bb_results *results);

/// Appends tables as the page has them, in Markdown: those of one title together, one after the
/// other without a break where there is no `when`. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_output_table_list(const bb_output_table *const *tables, bb_index count,
                                          bb_text *out);

#endif
