// SPDX-License-Identifier: Apache-2.0
//
// Self-contained HTML page: its style, a short script that sorts its tables, and texts that are
// escaped. A content security policy disables network access.
#ifndef BB_SIM_REPORT_HTML_H
#define BB_SIM_REPORT_HTML_H

#include "core/text.h"
#include "sim/output/grid.h"

/// Appends a user-supplied text escaped for HTML and XML, inside elements and quotes: markup as
/// references, '?' for control characters and for bytes that are not UTF-8. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_html_escape(const char *text, bb_text *out);

/// Writes the start of the page up to its heading, and its end. Errors of all functions: BB_MEMORY.
BB_CHECKED bb_status bb_html_begin(const char *title, bb_text *out);
BB_CHECKED bb_status bb_html_end(bb_text *out);

/// Opens a section with its heading; close it with bb_html_close_section.
BB_CHECKED bb_status bb_html_open_section(const char *id, const char *heading, bb_text *out);
BB_CHECKED bb_status bb_html_close_section(bb_text *out);

/// Adds a paragraph of text, or a block of commands.
BB_CHECKED bb_status bb_html_add_paragraph(const char *text, bb_text *out);
BB_CHECKED bb_status bb_html_add_code(const char *text, bb_text *out);

/// Adds a grid as a table that is sorted by clicking its headings; rows of the front are marked.
BB_CHECKED bb_status bb_html_add_grid(const bb_grid *grid, const char *first, bb_text *out);

/// Write a table of texts: its headings, then cells row by row, then its end.
BB_CHECKED bb_status bb_html_open_table(const char *const *headings, int count, bb_text *out);
BB_CHECKED bb_status bb_html_add_row(const char *const *cells, int count, bb_text *out);
BB_CHECKED bb_status bb_html_close_table(bb_text *out);

/// Embeds an SVG picture of gnuplot: `prefix` makes its identifiers unique in the page, `title` is
/// its text alternative, and `hovers` are elements drawn over it. `class` is "wide" or "narrow".
BB_CHECKED bb_status bb_html_add_picture(const char *svg, const char *prefix, const char *class,
                                         const char *title, const char *hovers, bb_text *out);

#endif
