// SPDX-License-Identifier: Apache-2.0
//
// Cells of tables on a terminal: texts that may be another's, measured and padded by the columns
// that a terminal gives them, and numbers for people.
#ifndef BB_SIM_OUTPUT_CELL_H
#define BB_SIM_OUTPUT_CELL_H

#include "core/text.h"

#include <stdbool.h>

enum { BB_CELL_BYTES = 32 };

/// Columns of a text as bb_cell_add writes it: 2 of wide characters, 0 of combining ones.
int bb_cell_width(const char *text);

/// Appends a text in UTF-8 on one line: '?' stands for what steers a terminal (control characters,
/// line ends, marks of writing direction) and for bytes that are no UTF-8. Spaces follow up to
/// `width` columns, or precede where it is negative. Errors of all: BB_MEMORY.
BB_CHECKED bb_status bb_cell_add(const char *text, int width, bb_text *out);

/// The same of a text that is cut to `columns` (at least 3): its beginning, an ellipsis, and the
/// last `end` columns of it.
BB_CHECKED bb_status bb_cell_add_cut(const char *text, int columns, int end, bb_text *out);

/// Appends a text in lines of at most `width` columns, broken at spaces; a longer word stands by
/// itself. A line end follows the last.
BB_CHECKED bb_status bb_cell_add_lines(const char *text, int width, bb_text *out);

/// Four significant digits, without an exponent where a reader does not need one; `-` for NaN.
void bb_cell_number(double value, char out[BB_CELL_BYTES]);

/// The shortest of 15 and 17 digits that reads back to the same number; "nan" of NaN.
void bb_cell_exact(double value, char out[BB_CELL_BYTES]);

/// Appends a text as a field of CSV, in quotes where a reader needs them.
BB_CHECKED bb_status bb_cell_add_field(const char *text, bb_text *out);

/// Appends a text as one word of a shell, in single quotes: ' is written '\\''.
BB_CHECKED bb_status bb_cell_add_quoted(const char *text, bb_text *out);

/// Whether numbers [count] are counts: they have no unit (NULL, "" or "1") and all are whole.
bool bb_cell_is_count(const char *unit, const double *numbers, bb_index count);

/// scale * numbers[item] of a column numbers [count]; counts without decimals.
void bb_cell_item(const char *unit, double scale, const double *numbers, bb_index count,
                  bb_index item, char out[BB_CELL_BYTES]);

#endif
