// SPDX-License-Identifier: Apache-2.0
//
// Picture as gnuplot input: a text of data in named blocks and a text of commands, for one format
// and size. Positions are in cm from the lower left corner of the page, so that text has its
// nominal size on paper. Series have the colours of Okabe and Ito (2008), which colour-blind
// readers can distinguish; the colour map (viridis) has monotonic lightness and can be printed in
// grey.
#ifndef BB_SIM_REPORT_FIGURE_H
#define BB_SIM_REPORT_FIGURE_H

#include "core/text.h"
#include "sim/output/results.h"

#define BB_FIGURE_BLACK     "#000000"
#define BB_FIGURE_GREY      "#707070"
#define BB_FIGURE_BLUE      "#0072b2"
#define BB_FIGURE_VERMILION "#d55e00"
#define BB_FIGURE_GREEN     "#009e73"
#define BB_FIGURE_PURPLE    "#cc79a7"
#define BB_FIGURE_SKY       "#56b4e9"
#define BB_FIGURE_ORANGE    "#e69f00"
enum { BB_FIGURE_COLOURS = 7 };
/// Colours of series, in order: the colours above except grey.
extern const char *const bb_figure_colours[BB_FIGURE_COLOURS];

typedef enum bb_figure_format {
    BB_FIGURE_PDF,
    BB_FIGURE_SVG,
    BB_FIGURE_PNG,
    BB_FIGURE_TEX,
    BB_FIGURE_FORMATS
} bb_figure_format;

/// Part of the page, cm.
typedef struct bb_figure_box {
    double x_low, y_low, x_high, y_high; ///< edges of the part; for margins: width of each edge
} bb_figure_box;

/// Picture. Zero-initialise; release with bb_figure_release.
typedef struct bb_figure {
    bb_figure_format format;
    double width_cm, height_cm;
    double foot_cm; ///< height of the lines at the bottom
    bb_text data, script;
    bb_text hovers; ///< SVG elements for HTML pages, each a region of the picture with a text
} bb_figure;

/// Text sizes on paper.
#define BB_FIGURE_POINTS       8.0
#define BB_FIGURE_SMALL_POINTS 6.0

/// Format given by the extension of a path. Errors: BB_INVALID (unknown extension).
BB_CHECKED bb_status bb_figure_format_of(const char *path, bb_figure_format *out);

/// Parses "17x12" or "8.5": width and height in cm; a missing height is NaN. Errors: BB_INVALID.
BB_CHECKED bb_status bb_figure_size(const char *text, double *width_cm, double *height_cm);

/// Starts the script NAME.gp, which reads NAME.dat and draws NAME.svg or another format: terminal,
/// output, fonts, and at the bottom of the page `note` (wrapped; NULL for none) above a line with
/// the run's title, program, date and digest. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_figure_begin(bb_figure *figure, const bb_results *results,
                                     const char *note);

/// Sets the position of the axes: `margins` in cm from the edges of the page, above the lines at
/// the bottom; `*out` is the remaining area. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_figure_margins(bb_figure *figure, bb_figure_box margins,
                                       bb_figure_box *out);

/// Sets the position of the axes as above, within a part of the page. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_figure_place(bb_figure *figure, bb_figure_box axes);

/// Starts a named block of data; a comment in it describes the columns. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_figure_block(bb_figure *figure, const char *name, const char *columns);

/// Appends `before`, a text printed literally in the given point size, and `after` to the script.
/// Only LaTeX uses the size here; other formats need a font option. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_figure_add_text(bb_figure *figure, const char *before, const char *text,
                                        double points, const char *after);

/// Appends "set label" for a text at a position in cm, in the given point size; `style` is the rest
/// of the command: "center front". Errors: BB_MEMORY.
BB_CHECKED bb_status bb_figure_write(bb_figure *figure, double x_cm, double y_cm, const char *text,
                                     double points, const char *style);

/// Adds a text that an HTML page shows while the pointer is over a region, cm. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_figure_hover(bb_figure *figure, bb_figure_box place, const char *text);

/// Writes the axis labels: below and, rotated, on the left; NULL: none. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_figure_name_axes(bb_figure *figure, bb_figure_box axes, const char *x_text,
                                         const char *y_text);

/// Sets scale, range and tics of a logarithmic axis, "x" or "y", of length `length_cm`: 1, 2, 5, 10
/// ... over few decades, else as many powers of ten as fit. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_figure_log_axis(bb_figure *figure, const char *axis, double low,
                                        double high, double length_cm);

/// Text for `set format` that prints plain numbers.
const char *bb_figure_number(const bb_figure *figure);

/// Tic step, 1, 2 or 5 times a power of ten, for a linear axis of length `length_cm` with `room_cm`
/// for each number.
double bb_figure_step(double span, double length_cm, double room_cm);

/// Key of a mark or line.
typedef struct bb_figure_key {
    const char *text, *colour;
    int point; ///< gnuplot's point type; 0: a line
    int dash;  ///< gnuplot's dash type of a line
} bb_figure_key;

/// Writes keys in rows upward from the axes' upper left corner; `rows` is set to the number of rows
/// for axes that start at `left_cm`. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_figure_write_keys(bb_figure *figure, const bb_figure_key *keys,
                                          bb_index count, bb_figure_box axes);
int bb_figure_key_rows(const bb_figure_key *keys, bb_index count, double room_cm);

/// Appends the colour map, from dark to light. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_figure_palette(bb_figure *figure);

/// Draws the colour map as a bar on the page, with its end values and its label below. Errors:
/// BB_MEMORY.
BB_CHECKED bb_status bb_figure_scale(bb_figure *figure, bb_figure_box box, double low, double high,
                                     const char *text);

/// Colour of the map at `place` from 0 to 1, as "#rrggbb".
void bb_figure_shade(double place, char out[8]);

/// Approximate width of a text on paper.
double bb_figure_text_cm(const char *text, double points);

void bb_figure_release(bb_figure *figure);

#endif
