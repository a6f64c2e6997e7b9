// SPDX-License-Identifier: Apache-2.0
//
// A picture as gnuplot reads it: a text of data in named blocks and a text of commands, for one
// format and one size. Places are in cm from the lower left corner of the page, so that a name is
// as large on paper as it says. Colours are those of Okabe and Ito (2008), which colour-blind
// readers tell apart, and a map of colours whose lightness rises throughout (viridis), which
// survives a grey printer.
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
/// Of series, in order: the above but grey.
extern const char *const bb_figure_colours[BB_FIGURE_COLOURS];

typedef enum bb_figure_format {
    BB_FIGURE_PDF,
    BB_FIGURE_SVG,
    BB_FIGURE_PNG,
    BB_FIGURE_TEX,
    BB_FIGURE_FORMATS
} bb_figure_format;

/// A part of the page, cm.
typedef struct bb_figure_box {
    double x_low, y_low, x_high, y_high; ///< of margins: what each edge keeps
} bb_figure_box;

/// Zero-initialise; release with bb_figure_release.
typedef struct bb_figure {
    bb_figure_format format;
    double width_cm, height_cm;
    double foot_cm; ///< that the lines at the bottom take
    bb_text data, script;
    bb_text hovers; ///< elements of SVG, each a place of the page with a text, for pages
} bb_figure;

/// The sizes of text on paper.
#define BB_FIGURE_POINTS       8.0
#define BB_FIGURE_SMALL_POINTS 6.0

/// The format that a path's ending names. Errors: BB_INVALID (none does).
BB_CHECKED bb_status bb_figure_format_of(const char *path, bb_figure_format *out);

/// "17x12" or "8.5": width and height in cm, the height NaN where left out. Errors: BB_INVALID.
BB_CHECKED bb_status bb_figure_size(const char *text, double *width_cm, double *height_cm);

/// Starts the script, NAME.gp, which reads NAME.dat and draws NAME.svg or as the format is:
/// terminal, output, fonts, and at the bottom of the page `note` (wrapped; NULL for none) above a
/// line with the run's title, program, date and digest. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_figure_begin(bb_figure *figure, const bb_results *results,
                                     const char *note);

/// Where the axes stand: `margins` in cm from the edges of the page, the lines at the bottom
/// excepted; `*out` what is left. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_figure_margins(bb_figure *figure, bb_figure_box margins,
                                       bb_figure_box *out);

/// The same for a part of the page. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_figure_place(bb_figure *figure, bb_figure_box axes);

/// Starts a block of data, which a script reads by its name: columns are told in a comment. Errors:
/// BB_MEMORY.
BB_CHECKED bb_status bb_figure_block(bb_figure *figure, const char *name, const char *columns);

/// Appends `before`, a text of so many points that shows as it is whatever is in it, and `after` to
/// the script; only LaTeX heeds the points here, others take a font beside it. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_figure_add_text(bb_figure *figure, const char *before, const char *text,
                                        double points, const char *after);

/// Appends "set label" of a text at a place in cm, of so many points; `style` is the rest of the
/// command: "center front". Errors: BB_MEMORY.
BB_CHECKED bb_status bb_figure_write(bb_figure *figure, double x_cm, double y_cm, const char *text,
                                     double points, const char *style);

/// Adds a text that a page shows while the pointer is over a place, cm. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_figure_hover(bb_figure *figure, bb_figure_box place, const char *text);

/// Writes what stands along axes: below and, turned, to the left; NULL: nothing. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_figure_name_axes(bb_figure *figure, bb_figure_box axes, const char *x_text,
                                         const char *y_text);

/// Tics of a logarithmic axis, "x" or "y", that is `length_cm` long: 1, 2, 5, 10 ... over few
/// decades, else powers of ten, as many as have room; the scale and the range too. Errors:
/// BB_MEMORY.
BB_CHECKED bb_status bb_figure_log_axis(bb_figure *figure, const char *axis, double low,
                                        double high, double length_cm);

/// The argument of `set format` for plain numbers.
const char *bb_figure_number(const bb_figure *figure);

/// A step of tics, 1, 2 or 5 times a power of ten, for a linear axis that is `length_cm` long and
/// has `room_cm` for each of its numbers.
double bb_figure_step(double span, double length_cm, double room_cm);

/// What a mark or a line of the picture stands for.
typedef struct bb_figure_key {
    const char *text, *colour;
    int point; ///< gnuplot's point type; 0: a line
    int dash;  ///< gnuplot's dash type of a line
} bb_figure_key;

/// Writes keys in rows upward from above the axes' upper left corner; `rows` says how many rows
/// there are where the axes begin at `left_cm`. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_figure_write_keys(bb_figure *figure, const bb_figure_key *keys,
                                          bb_index count, bb_figure_box axes);
int bb_figure_key_rows(const bb_figure_key *keys, bb_index count, double room_cm);

/// Appends the map of colours, from dark to light. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_figure_palette(bb_figure *figure);

/// Draws that map as a bar on the page, with what its ends and it stand for below. Errors:
/// BB_MEMORY.
BB_CHECKED bb_status bb_figure_scale(bb_figure *figure, bb_figure_box box, double low, double high,
                                     const char *text);

/// A colour of that map, `place` from 0 to 1, as "#rrggbb".
void bb_figure_shade(double place, char out[8]);

/// Width of a text on paper, about.
double bb_figure_text_cm(const char *text, double points);

void bb_figure_release(bb_figure *figure);

#endif
