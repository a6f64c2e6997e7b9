// SPDX-License-Identifier: Apache-2.0
//
// A table with named columns from a text file, as spreadsheets and tool logs write it (RFC 4180).
//
//     # a comment
//     x_mm, y_mm, "dose factor"
//     -13.0, 0.0, 1.02
//
// The first line that says anything names the columns; cells are separated by commas, blanks
// around them do not count, and double quotes hold a comma or a blank ("" is a quote in them), but
// no line end. Where the names are separated by semicolons every line is, and decimal commas become
// points. A # at the start of a line starts a comment; a row whose first cell is a spreadsheet's
// error (#N/A, #REF!) is refused. Lines without a cell that says something are passed over. A byte
// order mark and line ends of any system but the bare carriage return are read. Cells are texts:
// who reads a number from one does so by sim/config/scalar.h, as configs do.
#ifndef BB_SIM_INPUT_CSV_TABLE_H
#define BB_SIM_INPUT_CSV_TABLE_H

#include "core/status.h"

enum { BB_CSV_BYTES = 1 << 24, BB_CSV_COLUMNS = 256, BB_CSV_ROWS = 100000 };

/// Where it was written, for messages as "file:line:column", both from 1 and in bytes.
typedef struct bb_csv_cell {
    const char *text; ///< "" where nothing stands
    int line;
    int column;
} bb_csv_cell;

/// Read-only to users.
typedef struct bb_csv_table {
    char *text; ///< of the file, as read
    bb_index column_count;
    bb_index row_count;
    bb_csv_cell *names; ///< [column_count], none empty, each once
    bb_csv_cell *cells; ///< [row_count][column_count]
    char *cut;          ///< what the cells' texts point into
} bb_csv_table;

/// Reads a regular file, through links. Errors: BB_IO (it cannot be read), BB_MEMORY, BB_INVALID
/// with "file:line:column: ..": no names, a name that is empty or there twice, a row with more or
/// fewer cells than names, another separator, an open quote, a NUL (as UTF-16 has), a spreadsheet's
/// error at the start of a line, decimal points and commas between semicolons, over
/// BB_CSV_BYTES bytes, BB_CSV_COLUMNS columns or BB_CSV_ROWS rows. A table of no row is fine.
/// Owner of `*out`: the caller.
BB_CHECKED bb_status bb_csv_table_read(const char *file, bb_csv_table **out);
/// The same of a text that was read before; `file` names it in messages.
BB_CHECKED bb_status bb_csv_table_parse(const char *file, const char *text, bb_csv_table **out);

void bb_csv_table_destroy(bb_csv_table **table);

/// Column by its whole name, upper and lower case apart; -1 where there is none.
bb_index bb_csv_table_column(const bb_csv_table *table, const char *name);

/// Cell of a row and a column, both from 0 and in range.
const bb_csv_cell *bb_csv_table_cell(const bb_csv_table *table, bb_index row, bb_index column);

#endif
