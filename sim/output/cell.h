// SPDX-License-Identifier: Apache-2.0
//
// Table cells on a terminal: user-supplied texts, measured and padded by their display width, and
// numbers for people.
#ifndef BB_SIM_OUTPUT_CELL_H
#define BB_SIM_OUTPUT_CELL_H

#include "core/text.h"

#include <stdbool.h>

enum { BB_CELL_BYTES = 32 };

/// Display width of a text as written by bb_cell_add: 2 for wide characters, 0 for combining ones.
int bb_cell_width(const char *text);

/// Appends a UTF-8 text on one line. '?' replaces characters that control a terminal (control
/// characters, line ends, direction marks) and bytes that are not UTF-8. Pads with spaces to
/// `width` columns, on the left if negative. Errors of all functions: BB_MEMORY.
BB_CHECKED bb_status bb_cell_add(const char *text, int width, bb_text *out);

/// Appends a text as bb_cell_add does, shortened to `columns` (at least 3): its beginning, an
/// ellipsis, and its last `end` columns.
BB_CHECKED bb_status bb_cell_add_cut(const char *text, int columns, int end, bb_text *out);

/// Appends a text in lines of at most `width` columns, broken at spaces; a longer word gets its own
/// line. Ends with a line end.
BB_CHECKED bb_status bb_cell_add_lines(const char *text, int width, bb_text *out);

/// Formats four significant digits, without an exponent unless needed; `-` for NaN.
void bb_cell_number(double value, char out[BB_CELL_BYTES]);

/// Formats the shorter of 15 and 17 digits that reads back to the same number; "nan" for NaN.
void bb_cell_exact(double value, char out[BB_CELL_BYTES]);

/// Appends a text as a CSV field, in quotes if needed.
BB_CHECKED bb_status bb_cell_add_field(const char *text, bb_text *out);

/// Appends a text as one shell word in single quotes; ' is written '\\''.
BB_CHECKED bb_status bb_cell_add_quoted(const char *text, bb_text *out);

/// True if numbers [count] are counts: they have no unit (NULL, "" or "1") and all are integers.
bool bb_cell_is_count(const char *unit, const double *numbers, bb_index count);

/// Formats scale * numbers[item] of a column numbers [count]; counts have no decimals.
void bb_cell_item(const char *unit, double scale, const double *numbers, bb_index count,
                  bb_index item, char out[BB_CELL_BYTES]);

#endif
