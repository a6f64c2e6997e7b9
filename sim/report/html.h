// SPDX-License-Identifier: Apache-2.0
//
// A page that needs nothing beside it: its style, a few lines of script that sort its tables, and
// texts that show as they are, whatever is in them. A policy in its head keeps the network out.
#ifndef BB_SIM_REPORT_HTML_H
#define BB_SIM_REPORT_HTML_H

#include "core/text.h"
#include "sim/output/grid.h"

/// Appends a text that may be another's as HTML and XML show it, inside elements and between
/// quotes: markup as references, '?' for control characters and for bytes that are no UTF-8.
/// Errors: BB_MEMORY.
BB_CHECKED bb_status bb_html_escape(const char *text, bb_text *out);

/// From the first line to the heading of the page, and its last lines. Errors of all: BB_MEMORY.
BB_CHECKED bb_status bb_html_begin(const char *title, bb_text *out);
BB_CHECKED bb_status bb_html_end(bb_text *out);

/// A section with its heading, open until bb_html_close_section.
BB_CHECKED bb_status bb_html_open_section(const char *id, const char *heading, bb_text *out);
BB_CHECKED bb_status bb_html_close_section(bb_text *out);

/// A paragraph of text; of what a reader types, on lines of its own.
BB_CHECKED bb_status bb_html_add_paragraph(const char *text, bb_text *out);
BB_CHECKED bb_status bb_html_add_code(const char *text, bb_text *out);

/// A grid as a table that its headings sort, with rows of the front marked.
BB_CHECKED bb_status bb_html_add_grid(const bb_grid *grid, const char *first, bb_text *out);

/// A table of texts: its headings, then cells row by row, then its end.
BB_CHECKED bb_status bb_html_open_table(const char *const *headings, int count, bb_text *out);
BB_CHECKED bb_status bb_html_add_row(const char *const *cells, int count, bb_text *out);
BB_CHECKED bb_status bb_html_close_table(bb_text *out);

/// A picture of SVG as gnuplot writes it, inside the page: its identifiers begin with `prefix`, so
/// that they are the page's only ones, and `title` names it to who cannot see it; `hovers` are
/// elements that lie over it. `class` is "wide" or "narrow".
BB_CHECKED bb_status bb_html_add_picture(const char *svg, const char *prefix, const char *class,
                                         const char *title, const char *hovers, bb_text *out);

#endif
