// SPDX-License-Identifier: Apache-2.0
//
// Table with named columns from a text file, as written by spreadsheets and logging tools (RFC
// 4180).
//
//     # a comment
//     x_mm, y_mm, "dose factor"
//     -13.0, 0.0, 1.02
//
// The first non-empty line names the columns. Cells are separated by commas; blanks around them are
// ignored. Double quotes enclose a comma or a blank ("" is a quote inside them), but no line end.
// If the names are separated by semicolons, so are all lines, and decimal commas are replaced by
// points. A # at the start of a line starts a comment; a row whose first cell is a spreadsheet
// error (#N/A, #REF!) is refused. Empty lines are skipped. A byte order mark and the line ends of
// any system except the bare carriage return are accepted. Cells are texts; numbers are read with
// sim/config/scalar.h, as in configs.
#ifndef BB_SIM_INPUT_CSV_TABLE_H
#define BB_SIM_INPUT_CSV_TABLE_H

#include "core/status.h"

enum { BB_CSV_BYTES = 1 << 24, BB_CSV_COLUMNS = 256, BB_CSV_ROWS = 100000 };

/// Cell with its position for messages "file:line:column"; both are from 1 and in bytes.
typedef struct bb_csv_cell {
    const char *text; ///< "" if empty
    int line;
    int column;
} bb_csv_cell;

/// Table that was read; read-only for users.
typedef struct bb_csv_table {
    char *text; ///< text of the file, as read
    bb_index column_count;
    bb_index row_count;
    bb_csv_cell *names; ///< [column_count] non-empty and unique
    bb_csv_cell *cells; ///< [row_count][column_count]
    char *cut;          ///< storage of the cells' texts
} bb_csv_table;

/// Reads a regular file, also through links. Errors: BB_IO (it cannot be read), BB_MEMORY,
/// BB_INVALID with "file:line:column: ...": no names, an empty or duplicate name, a row with more
/// or fewer cells than names, another separator, an open quote, a NUL (as in UTF-16), a spreadsheet
/// error at the start of a line, mixed decimal points and commas between semicolons, more than
/// BB_CSV_BYTES bytes, BB_CSV_COLUMNS columns or BB_CSV_ROWS rows. A table without rows is valid.
/// The caller owns `*out`.
BB_CHECKED bb_status bb_csv_table_read(const char *file, bb_csv_table **out);
/// Parses a text that was read earlier, with the same errors; `file` names it in messages.
BB_CHECKED bb_status bb_csv_table_parse(const char *file, const char *text, bb_csv_table **out);

void bb_csv_table_destroy(bb_csv_table **table);

/// Column by its full, case-sensitive name, or -1.
bb_index bb_csv_table_column(const bb_csv_table *table, const char *name);

/// Cell of a row and a column, both from 0 and in range.
const bb_csv_cell *bb_csv_table_cell(const bb_csv_table *table, bb_index row, bb_index column);

#endif
