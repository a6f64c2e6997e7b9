// SPDX-License-Identifier: Apache-2.0
#include "sim/report/figure.h"

#include "core/memory.h"
#include "sim/report/html.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CAPTION_BYTES = 256, SHADES = 9 };

// LaTeX uses the document's font; gnuplot does not pass the size on.
#define TEX_FONT "\\fontsize{%.3g}{%.3g}\\selectfont "

static const double cm_an_inch = 2.54;
static const double points_an_inch = 72.0;
static const double png_dots_an_inch = 300.0;
static const double svg_dots_an_inch = 96.0;
static const double least_cm = 4.0;
static const double most_cm = 100.0;

const char *const bb_figure_colours[BB_FIGURE_COLOURS] = {
    BB_FIGURE_BLUE,   BB_FIGURE_VERMILION, BB_FIGURE_GREEN, BB_FIGURE_PURPLE,
    BB_FIGURE_ORANGE, BB_FIGURE_SKY,       BB_FIGURE_BLACK};

// Colour map viridis of van der Walt and Smith (matplotlib, CC0), at every eighth of its range.
static const int shades[SHADES][3] = {{68, 1, 84},    {71, 45, 123},  {59, 82, 139},
                                      {44, 114, 142}, {33, 145, 140}, {40, 174, 128},
                                      {94, 201, 98},  {173, 220, 48}, {253, 231, 37}};

static const char *const endings[BB_FIGURE_FORMATS] = {".pdf", ".svg", ".png", ".tex"};

bb_status bb_figure_format_of(const char *path, bb_figure_format *out)
{
    bb_status status = BB_OK;
    const size_t length = strlen(path);
    for (int f = 0; f < BB_FIGURE_FORMATS; ++f) {
        const size_t tail = strlen(endings[f]);
        if (length > tail && path[length - tail - 1] != '/' &&
            strcmp(path + length - tail, endings[f]) == 0) {
            *out = (bb_figure_format)f;
            goto done;
        }
    }
    BB_FAIL(BB_INVALID, "output '%s': the name must end in .pdf, .svg, .png or .tex", path);
done:
    return status;
}

bb_status bb_figure_size(const char *text, double *width_cm, double *height_cm)
{
    bb_status status = BB_OK;
    char *end = NULL;
    *width_cm = strtod(text, &end);
    *height_cm = NAN;
    bool fits = end != text;
    if (fits && *end == 'x') {
        const char *second = end + 1;
        *height_cm = strtod(second, &end);
        fits = end != second && *height_cm >= least_cm && *height_cm <= most_cm;
    }
    BB_REQUIRE(fits && *end == '\0' && *width_cm >= least_cm && *width_cm <= most_cm, BB_INVALID,
               "--size %s, expected WIDTHxHEIGHT or WIDTH in cm, from %g to %g each", text,
               least_cm, most_cm);
done:
    return status;
}

// Adds a byte of text escaped for SVG, PDF and gnuplot's enhanced mode. A quote is written by its
// code: gnuplot 5.4 reads two of them as one, but not four as two. The braces are needed since its
// cairo terminals do not decode numbers in texts without braces.
static bb_status add_enhanced(bb_text *out, char byte)
{
    const char quoted[] = {'\\', byte, '\0'};
    if (byte == '\'') {
        return bb_text_add(out, "{\\047}");
    }
    return strchr("\\{}^_@&~", byte) != NULL ? bb_text_add(out, "%s", quoted)
                                             : bb_text_add_bytes(out, &byte, 1);
}

// Adds a byte escaped for LaTeX; gnuplot passes the text on.
static bb_status add_latex(bb_text *out, char byte)
{
    static const struct {
        char byte;
        const char *latex;
    } words[] = {{'\\', "\\textbackslash{}"},   {'^', "\\textasciicircum{}"},
                 {'~', "\\textasciitilde{}"},   {'<', "\\textless{}"},
                 {'>', "\\textgreater{}"},      {'|', "\\textbar{}"},
                 {'"', "{\\ttfamily\\char34}"}, {'\'', "{\\char39}"}};
    for (size_t w = 0; w < sizeof words / sizeof *words; ++w) {
        if (words[w].byte == byte) {
            return bb_text_add(out, "%s", words[w].latex);
        }
    }
    return bb_text_add(out, strchr("{}_&%$#", byte) != NULL ? "\\%c" : "%c", byte);
}

bb_status bb_figure_add_text(bb_figure *figure, const char *before, const char *text, double points,
                             const char *after)
{
    bb_status status = BB_OK;
    BB_TRY(bb_text_add(&figure->script, "%s'", before));
    if (figure->format == BB_FIGURE_TEX) {
        BB_TRY(bb_text_add(&figure->script, TEX_FONT, points, 1.2 * points));
    }
    for (const char *byte = text; *byte != '\0'; ++byte) {
        const char shown = (unsigned char)*byte < ' ' || *byte == 127 ? '?' : *byte;
        BB_TRY(figure->format == BB_FIGURE_TEX ? add_latex(&figure->script, shown)
                                               : add_enhanced(&figure->script, shown));
    }
    BB_TRY(bb_text_add(&figure->script, "'%s", after));
done:
    return status;
}

bb_status bb_figure_write(bb_figure *figure, double x_cm, double y_cm, const char *text,
                          double points, const char *style)
{
    bb_status status = BB_OK;
    BB_TRY(bb_figure_add_text(figure, "set label ", text, points, ""));
    BB_TRY(bb_text_add(&figure->script, " at screen %.5f,%.5f %s font ',%g'\n",
                       x_cm / figure->width_cm, y_cm / figure->height_cm, style, points));
done:
    return status;
}

bb_status bb_figure_hover(bb_figure *figure, bb_figure_box place, const char *text)
{
    bb_status status = BB_OK;
    const double dots = svg_dots_an_inch / cm_an_inch;
    BB_TRY(bb_text_add(&figure->hovers,
                       "<rect x='%.1f' y='%.1f' width='%.1f' height='%.1f' fill='#fff' "
                       "fill-opacity='0'><title>",
                       dots * place.x_low, dots * (figure->height_cm - place.y_high),
                       dots * (place.x_high - place.x_low), dots * (place.y_high - place.y_low)));
    BB_TRY(bb_html_escape(text, &figure->hovers));
    BB_TRY(bb_text_add(&figure->hovers, "</title></rect>\n"));
done:
    return status;
}

bb_status bb_figure_name_axes(bb_figure *figure, bb_figure_box axes, const char *x_text,
                              const char *y_text)
{
    bb_status status = BB_OK;
    if (x_text != NULL) {
        BB_TRY(bb_figure_write(figure, 0.5 * (axes.x_low + axes.x_high), axes.y_low - 0.75, x_text,
                               BB_FIGURE_POINTS, "center"));
    }
    if (y_text != NULL) {
        BB_TRY(bb_figure_write(figure, axes.x_low - 1.15, 0.5 * (axes.y_low + axes.y_high), y_text,
                               BB_FIGURE_POINTS, "center rotate by 90"));
    }
done:
    return status;
}

double bb_figure_text_cm(const char *text, double points)
{
    bb_index characters = 0;
    for (const char *byte = text; *byte != '\0'; ++byte) {
        characters += ((unsigned char)*byte & 0xc0) !=
                      0x80; // counts UTF-8 characters and skips continuation bytes
    }
    return 0.6 * (double)characters * points / points_an_inch *
           cm_an_inch; // approximate width of DejaVu Sans
}

// Sets the terminal; sizes of text and lines are those on paper, converted to dots for some
// terminals.
static bb_status set_terminal(bb_figure *figure)
{
    const double width = figure->width_cm / cm_an_inch;
    const double height = figure->height_cm / cm_an_inch;
    switch (figure->format) {
    case BB_FIGURE_SVG:
        return bb_text_add(
            &figure->script,
            "set terminal svg size %.0f,%.0f enhanced standalone background "
            "'white' font 'DejaVu Sans,%.4g' fontscale %.5g linewidth 1 dashlength 0.6\n",
            width * svg_dots_an_inch, height * svg_dots_an_inch, BB_FIGURE_POINTS,
            svg_dots_an_inch / points_an_inch);
    case BB_FIGURE_PNG:
        return bb_text_add(&figure->script,
                           "set terminal pngcairo size %.0f,%.0f enhanced background 'white' font "
                           "'DejaVu Sans,%.4g' fontscale %.5g linewidth %.5g pointscale %.5g\n",
                           width * png_dots_an_inch, height * png_dots_an_inch, BB_FIGURE_POINTS,
                           png_dots_an_inch / svg_dots_an_inch, png_dots_an_inch / svg_dots_an_inch,
                           png_dots_an_inch / svg_dots_an_inch);
    case BB_FIGURE_TEX:
        return bb_text_add(&figure->script,
                           "set terminal cairolatex pdf input color blacktext size %.4gcm,%.4gcm "
                           "font ',%.4g' linewidth 1.5\n",
                           figure->width_cm, figure->height_cm, BB_FIGURE_POINTS);
    default:
        return bb_text_add(
            &figure->script,
            "set terminal pdfcairo size %.4gcm,%.4gcm enhanced color font "
            "'DejaVu Sans,%.4g' fontscale 0.75 linewidth 1.5 pointscale 0.8 dashlength 0.6\n",
            figure->width_cm, figure->height_cm, BB_FIGURE_POINTS);
    }
}

static const char *note_of(const bb_results *results, const char *group, const char *name)
{
    const char *text = bb_results_note_text(results, group, name);
    return text == NULL ? "" : text;
}

// Number of bytes, in whole characters, of a text that fits a width.
static int fitting(const char *text, double width_cm, double points)
{
    const int limit = (int)(width_cm / bb_figure_text_cm("x", points));
    int bytes = 0;
    for (int characters = 0; text[bytes] != '\0'; ++bytes) {
        characters += ((unsigned char)text[bytes] & 0xc0) != 0x80;
        if (characters > limit) {
            break;
        }
    }
    return bytes;
}

// Wraps a note at spaces into lines below `top`; with NaN only counts the lines.
static bb_status wrap(bb_figure *figure, const char *note, double top, double line, int *out)
{
    bb_status status = BB_OK;
    char *text = NULL;
    const double room = figure->width_cm - 0.3;
    int lines = 0;
    while (*note != '\0') {
        int bytes = fitting(note, room, BB_FIGURE_SMALL_POINTS);
        if (note[bytes] != '\0') {
            int space = bytes;
            while (space > 0 && note[space] != ' ') {
                --space;
            }
            bytes = space > 0 ? space : bytes;
        }
        ++lines;
        if (!isnan(top)) {
            BB_RELEASE(&text);
            BB_TRY(bb_memory_printf(&text, "%.*s", bytes, note));
            BB_TRY(bb_figure_write(figure, 0.15, top - lines * line, text, BB_FIGURE_SMALL_POINTS,
                                   "left"));
        }
        note += bytes;
        note += *note == ' ';
    }
    *out = lines;
done:
    BB_RELEASE(&text);
    return status;
}

// Writes the title next to the source if it fits, else on a line above it.
static bb_status write_title(bb_figure *figure, const char *title, double room, double line,
                             bool *above)
{
    bb_status status = BB_OK;
    char *cut = NULL;
    *above = bb_figure_text_cm(title, BB_FIGURE_SMALL_POINTS) > room;
    const int bytes =
        fitting(title, *above ? figure->width_cm - 0.5 : room, BB_FIGURE_SMALL_POINTS);
    BB_TRY(bb_memory_printf(&cut, "%.*s%s", bytes, title, title[bytes] == '\0' ? "" : "..."));
    BB_TRY(bb_figure_write(figure, 0.15, (*above ? 1.5 : 0.5) * line + 0.05, cut,
                           BB_FIGURE_SMALL_POINTS, "left textcolor '" BB_FIGURE_GREY "'"));
done:
    BB_RELEASE(&cut);
    return status;
}

static bb_status write_foot(bb_figure *figure, const bb_results *results, const char *note)
{
    bb_status status = BB_OK;
    const double line = 1.25 * BB_FIGURE_SMALL_POINTS / points_an_inch * cm_an_inch;
    char source[CAPTION_BYTES], heading[CAPTION_BYTES];
    bool above = false;
    int lines = 0;
    const char *title = note_of(results, "", "title");
    const char *date = note_of(results, "provenance", "start_utc");
    title = title[0] == '\0' ? note_of(results, "", "experiment") : title;
    const char *digest = note_of(results, "", "results_digest"); // absent for tables
    (void)snprintf(source, sizeof source, "%s%s%.10s%s%.8s", note_of(results, "", "source"),
                   date[0] == '\0' ? "" : ", ", date, digest[0] == '\0' ? "" : ", results ",
                   digest);
    const double room = figure->width_cm - 0.6 - bb_figure_text_cm(source, BB_FIGURE_SMALL_POINTS);
    BB_TRY(bb_figure_write(figure, figure->width_cm - 0.15, 0.5 * line + 0.05, source,
                           BB_FIGURE_SMALL_POINTS, "right textcolor '" BB_FIGURE_GREY "'"));
    const char *reason = note_of(results, "", "status_reason"); // reason of a partial sweep
    (void)snprintf(heading, sizeof heading, "%s%s%s", reason, reason[0] == '\0' ? "" : ": ", title);
    BB_TRY(write_title(figure, heading, room, line, &above));
    if (note != NULL) {
        BB_TRY(wrap(figure, note, NAN, line, &lines));
    }
    figure->foot_cm = (lines + (above ? 2 : 1)) * line + 0.1;
    if (note != NULL) {
        BB_TRY(wrap(figure, note, figure->foot_cm + 0.5 * line, line, &lines));
    }
done:
    return status;
}

bb_status bb_figure_begin(bb_figure *figure, const bb_results *results, const char *note)
{
    bb_status status = BB_OK;
    bb_text *script = &figure->script;
    // The script has no file names: it derives them from its own. A path prevents gnuplot from
    // reading names that start with '|' or '<' as commands.
    BB_TRY(bb_text_add(script, "# gnuplot 5.4 or later; reads the data next to it\n"));
    BB_TRY(bb_text_add(script, "set encoding utf8\nset decimalsign '.'\n"
                               "stem = (ARG0[1:1] eq '/' ? '' : './').ARG0[1:strlen(ARG0) - 3]\n"));
    BB_TRY(set_terminal(figure));
    BB_TRY(
        bb_text_add(script, "data = stem.'.dat'\nset output stem.'%s'\n", endings[figure->format]));
    BB_TRY(bb_text_add(script, "set border linecolor '" BB_FIGURE_GREY "' linewidth 0.6\n"
                               "set tics textcolor 'black' scale 0.6\nunset key\n"));
    if (figure->format == BB_FIGURE_TEX) {
        BB_TRY(bb_text_add(script, "tex_size = '" TEX_FONT "'\nset format tex_size.'$%%h$'\n",
                           BB_FIGURE_POINTS, 1.2 * BB_FIGURE_POINTS));
    }
    BB_TRY(write_foot(figure, results, note));
done:
    return status;
}

bb_status bb_figure_place(bb_figure *figure, bb_figure_box axes)
{
    return bb_text_add(&figure->script,
                       "set lmargin at screen %.5f\nset rmargin at screen %.5f\n"
                       "set bmargin at screen %.5f\nset tmargin at screen %.5f\n",
                       axes.x_low / figure->width_cm, axes.x_high / figure->width_cm,
                       axes.y_low / figure->height_cm, axes.y_high / figure->height_cm);
}

bb_status bb_figure_margins(bb_figure *figure, bb_figure_box margins, bb_figure_box *out)
{
    *out = (bb_figure_box){margins.x_low, margins.y_low + figure->foot_cm,
                           figure->width_cm - margins.x_high, figure->height_cm - margins.y_high};
    return bb_figure_place(figure, *out);
}

bb_status bb_figure_block(bb_figure *figure, const char *name, const char *columns)
{
    return bb_text_add(&figure->data, "%s# %s\n# %s\n", figure->data.length == 0 ? "" : "\n\n",
                       name, columns);
}

void bb_figure_shade(double place, char out[8])
{
    const double spot = fmin(fmax(place, 0.0), 1.0) * (SHADES - 1);
    const int below = spot >= SHADES - 1 ? SHADES - 2 : (int)spot;
    int mix[3];
    for (int c = 0; c < 3; ++c) {
        mix[c] = (int)lround(shades[below][c] +
                             (spot - below) * (shades[below + 1][c] - shades[below][c]));
    }
    (void)snprintf(out, 8, "#%02x%02x%02x", (unsigned)mix[0] & 255U, (unsigned)mix[1] & 255U,
                   (unsigned)mix[2] & 255U);
}

bb_status bb_figure_palette(bb_figure *figure)
{
    bb_status status = BB_OK;
    char shade[8];
    BB_TRY(bb_text_add(&figure->script, "set palette defined ("));
    for (int s = 0; s < SHADES; ++s) {
        bb_figure_shade((double)s / (SHADES - 1), shade);
        BB_TRY(bb_text_add(&figure->script, "%s%d '%s'", s == 0 ? "" : ", ", s, shade));
    }
    BB_TRY(bb_text_add(&figure->script, ")\n"));
done:
    return status;
}

// Adds tick marks at 1, 2, 5, 10, ... between the ends of an axis.
static bb_status add_plain_tics(bb_figure *figure, double low, double high)
{
    bb_status status = BB_OK;
    static const double steps[] = {1.0, 2.0, 5.0};
    const char *comma = "";
    for (int decade = (int)floor(log10(low)); decade <= (int)ceil(log10(high)); ++decade) {
        for (size_t s = 0; s < sizeof steps / sizeof *steps; ++s) {
            const double tic = steps[s] * pow(10.0, decade);
            if (tic >= low && tic <= high) {
                BB_TRY(bb_text_add(&figure->script, "%s%s'%.6g' %.6g", comma,
                                   figure->format == BB_FIGURE_TEX ? "tex_size." : "", tic, tic));
                comma = ", ";
            }
        }
    }
done:
    return status;
}

bb_status bb_figure_log_axis(bb_figure *figure, const char *axis, double low, double high,
                             double length_cm)
{
    bb_status status = BB_OK;
    const double decades = log10(high / low);
    const double label_cm = axis[0] == 'x' ? 0.95 : 0.5;
    bb_text *script = &figure->script;
    BB_TRY(
        bb_text_add(script, "set logscale %s\nset %srange [%.9g:%.9g]\n", axis, axis, low, high));
    if (decades * 3.0 * label_cm <= length_cm && low >= 1e-3 && high < 1e5) {
        BB_TRY(bb_text_add(script, "set %stics nomirror (", axis));
        BB_TRY(add_plain_tics(figure, low, high));
        BB_TRY(bb_text_add(script, ")\n"));
    } else {
        const int step = (int)fmax(1.0, ceil(decades * label_cm / length_cm));
        BB_TRY(bb_text_add(script, "set format %s %s\nset %stics nomirror 1e%d\nset m%stics %d\n",
                           axis,
                           figure->format == BB_FIGURE_TEX ? "tex_size.'$10^{%T}$'" : "'10^{%T}'",
                           axis, step, axis, step > 1 ? step : 10));
    }
done:
    return status;
}

const char *bb_figure_number(const bb_figure *figure)
{
    return figure->format == BB_FIGURE_TEX ? "tex_size.'$%h$'" : "'%h'";
}

double bb_figure_step(double span, double length_cm, double room_cm)
{
    const double least = span * room_cm / length_cm;
    const double power = pow(10.0, floor(log10(least)));
    const double digit = least / power;
    return power * (digit <= 1.0 ? 1.0 : digit <= 2.0 ? 2.0 : digit <= 5.0 ? 5.0 : 10.0);
}

static const double key_cm = 0.55; // width of a mark, and distance between keys

static double key_width(const bb_figure_key *key)
{
    return bb_figure_text_cm(key->text, BB_FIGURE_SMALL_POINTS) + 1.2 * key_cm;
}

int bb_figure_key_rows(const bb_figure_key *keys, bb_index count, double room_cm)
{
    int rows = 1;
    double used = 0.0;
    for (bb_index k = 0; k < count; ++k) {
        if (used > 0.0 && used + key_width(&keys[k]) > room_cm) {
            ++rows;
            used = 0.0;
        }
        used += key_width(&keys[k]);
    }
    return rows;
}

static bb_status write_key(bb_figure *figure, const bb_figure_key *key, double x, double y)
{
    bb_status status = BB_OK;
    if (key->point > 0) {
        BB_TRY(bb_text_add(&figure->script,
                           "set label '' at screen %.5f,%.5f point pointtype %d pointsize 0.6 "
                           "linecolor '%s'\n",
                           (x + 0.2 * key_cm) / figure->width_cm, y / figure->height_cm, key->point,
                           key->colour));
        BB_TRY(bb_figure_write(figure, x + 0.5 * key_cm, y, key->text, BB_FIGURE_SMALL_POINTS,
                               "left"));
        goto done;
    }
    BB_TRY(bb_text_add(&figure->script,
                       "set arrow from screen %.5f,%.5f to screen %.5f,%.5f nohead linewidth 1.5 "
                       "dashtype %d linecolor '%s'\n",
                       x / figure->width_cm, y / figure->height_cm,
                       (x + 0.6 * key_cm) / figure->width_cm, y / figure->height_cm,
                       key->dash > 0 ? key->dash : 1, key->colour));
    BB_TRY(
        bb_figure_write(figure, x + 0.75 * key_cm, y, key->text, BB_FIGURE_SMALL_POINTS, "left"));
done:
    return status;
}

bb_status bb_figure_write_keys(bb_figure *figure, const bb_figure_key *keys, bb_index count,
                               bb_figure_box axes)
{
    bb_status status = BB_OK;
    const double room = figure->width_cm - axes.x_low - 0.1;
    const double line = 0.3;
    double y = axes.y_high + line * bb_figure_key_rows(keys, count, room) - 0.08;
    double used = 0.0;
    for (bb_index k = 0; k < count; ++k) {
        if (used > 0.0 && used + key_width(&keys[k]) > room) {
            used = 0.0;
            y -= line;
        }
        BB_TRY(write_key(figure, &keys[k], axes.x_low + used, y));
        used += key_width(&keys[k]);
    }
done:
    return status;
}

bb_status bb_figure_scale(bb_figure *figure, bb_figure_box box, double low, double high,
                          const char *text)
{
    bb_status status = BB_OK;
    enum { STEPS = 64, TIC_BYTES = 24 };
    const double ends[] = {low, high};
    const bool plain = fabs(high) >= 0.01 && fabs(high) < 1e4 && low <= 0.0;
    char tic[TIC_BYTES];
    char shade[8];
    for (int s = 0; s < STEPS; ++s) {
        bb_figure_shade((s + 0.5) / STEPS, shade);
        BB_TRY(bb_text_add(
            &figure->script,
            "set object rectangle from screen %.5f,%.5f to screen %.5f,%.5f fillcolor '%s' "
            "fillstyle solid noborder\n",
            (box.x_low + (box.x_high - box.x_low) * s / STEPS) / figure->width_cm,
            box.y_low / figure->height_cm,
            (box.x_low + (box.x_high - box.x_low) * (s + 1) / STEPS) / figure->width_cm,
            box.y_high / figure->height_cm, shade));
    }
    for (int end = 0; end < 2; ++end) {
        (void)snprintf(tic, sizeof tic, plain ? "%.3g" : "%.1e", ends[end]);
        BB_TRY(bb_figure_write(figure, end == 0 ? box.x_low : box.x_high, box.y_low - 0.17, tic,
                               BB_FIGURE_SMALL_POINTS, end == 0 ? "left" : "right"));
    }
    BB_TRY(bb_figure_write(figure, 0.5 * (box.x_low + box.x_high), box.y_low - 0.17, text,
                           BB_FIGURE_SMALL_POINTS, "center"));
done:
    return status;
}

void bb_figure_release(bb_figure *figure)
{
    bb_text_release(&figure->data);
    bb_text_release(&figure->script);
    bb_text_release(&figure->hovers);
}
