// SPDX-License-Identifier: Apache-2.0
//
// Picture of a pipeline along a swept key: one line for each value of another key.
#include "sim/report/plane.h"
#include "sim/report/plot.h"

#include <math.h>
#include <stdio.h>

enum { MOST_LINES = 8 };

static const int marks[MOST_LINES] = {7, 5, 9, 13, 11, 6, 4, 8};

// Row of a line; if there are too many rows, an even selection.
static bb_index drawn_row(const bb_plane *set, bb_index line, bb_index lines)
{
    return lines <= 1 ? 0 : line * (set->rows - 1) / (lines - 1);
}

static double across(const bb_plane *set, bb_index column)
{
    return set->x->is_text ? (double)column : set->x->numbers[column];
}

// Axes of values, and the presence of NaN and of values without a logarithm.
typedef struct frame {
    double x_low, x_high, y_low, y_high;
    bool x_log, floor, failed;
    bb_figure_box axes;
} frame;

static void find_frame(const bb_plane *set, frame *out)
{
    const double first = across(set, 0);
    const double last = across(set, set->columns - 1);
    out->x_log = !set->x->is_text && first > 0.0 && last > 50.0 * first;
    const double margin = out->x_log ? pow(last / first, 0.04) : 0.04 * (last - first);
    out->x_low = out->x_log ? first / margin : first - margin;
    out->x_high = out->x_log ? last * margin : last + margin;
    bb_plot_range(set->worst, set->rows * set->columns, &out->y_low, &out->y_high);
    for (bb_index i = 0; i < set->rows * set->columns; ++i) {
        out->floor = out->floor || (isfinite(set->worst[i]) && set->worst[i] <= 0.0);
        out->failed = out->failed || set->fails[i] > 0;
    }
    if (isnan(set->high)) {
        out->y_low = 0.0;
        out->y_high = 1.0;
    } else if (!set->logarithmic) {
        const double room = set->high > set->low ? 0.08 * (set->high - set->low)
                                                 : fmax(0.1 * fabs(set->high), 1e-12);
        out->y_low = set->low - room;
        out->y_high = set->high + room;
    } else if (out->floor || out->failed) {
        out->y_low /= 2.0;
    }
}

static double upward(const bb_plane *set, const frame *where, double value)
{
    return set->logarithmic ? fmax(value, where->y_low) : value;
}

static bb_figure_box around(const bb_plane *set, const frame *where, double x, double y)
{
    const double half = 0.15;
    const bb_figure_box *axes = &where->axes;
    const double right = where->x_log ? log(x / where->x_low) / log(where->x_high / where->x_low)
                                      : (x - where->x_low) / (where->x_high - where->x_low);
    const double up = set->logarithmic ? log(y / where->y_low) / log(where->y_high / where->y_low)
                                       : (y - where->y_low) / (where->y_high - where->y_low);
    const double x_cm = axes->x_low + right * (axes->x_high - axes->x_low);
    const double y_cm = axes->y_low + up * (axes->y_high - axes->y_low);
    return (bb_figure_box){x_cm - half, y_cm - half, x_cm + half, y_cm + half};
}

static bb_status add_line(const bb_plane *set, const frame *where, bb_index line, bb_index row,
                          bb_figure *figure)
{
    bb_status status = BB_OK;
    char name[BB_PLANE_NAME];
    bb_index crosses = 0;
    (void)snprintf(name, sizeof name, "line %td", line);
    BB_TRY(bb_figure_block(figure, name, "key, worst value; nan: all failed"));
    for (bb_index c = 0; c < set->columns; ++c) {
        const bb_index cell = row * set->columns + c;
        const double x = across(set, c);
        const double y = upward(set, where, set->worst[cell]);
        BB_TRY(bb_text_add(&figure->data, "%.9g %.9g\n", x, isfinite(set->worst[cell]) ? y : NAN));
        if (set->runs[cell] > 0) {
            BB_TRY(bb_plane_add_hover(
                set, row, c, around(set, where, x, isfinite(set->worst[cell]) ? y : where->y_low),
                figure));
        }
    }
    (void)snprintf(name, sizeof name, "failed %td", line);
    BB_TRY(bb_figure_block(figure, name, "key, the lower edge where a point failed"));
    for (bb_index c = 0; c < set->columns; ++c) {
        if (set->fails[row * set->columns + c] > 0) {
            BB_TRY(bb_text_add(&figure->data, "%.9g %.9g\n", across(set, c), where->y_low));
            ++crosses;
        }
    }
    BB_TRY(bb_text_add(&figure->data, "%s", crosses == 0 ? "nan nan\n" : ""));
    const char *colour = bb_figure_colours[line % BB_FIGURE_COLOURS];
    BB_TRY(bb_text_add(&figure->script,
                       "%sdata index 'line %td' using 1:2 with linespoints pointtype %d pointsize "
                       "0.6 linewidth 1.2 dashtype %td linecolor '%s', \\\n"
                       "  data index 'failed %td' using 1:2 with points pointtype 2 pointsize 0.8 "
                       "linewidth 1.5 linecolor '%s'",
                       line == 0 ? "plot " : ", \\\n  ", line, marks[line], line % 4 + 1, colour,
                       line, colour));
done:
    return status;
}

// Adds numbers between powers of ten if there are few of these.
static bb_status add_numbers(const frame *where, bb_figure *figure)
{
    bb_status status = BB_OK;
    static const double steps[] = {2.0, 5.0};
    const char *before = "set ytics add (";
    if (where->y_high > 100.0 * where->y_low || (where->y_low >= 1e-3 && where->y_high < 1e5)) {
        goto done;
    }
    for (int decade = (int)floor(log10(where->y_low)); decade <= log10(where->y_high); ++decade) {
        for (size_t s = 0; s < sizeof steps / sizeof *steps; ++s) {
            const double tic = steps[s] * pow(10.0, decade);
            if (tic > where->y_low && tic < where->y_high) {
                BB_TRY(bb_text_add(&figure->script, "%s%s'%g' %g", before,
                                   figure->format == BB_FIGURE_TEX ? "tex_size." : "", tic, tic));
                before = ", ";
            }
        }
    }
    BB_TRY(bb_text_add(&figure->script, "%s", before[0] == ',' ? ")\n" : ""));
done:
    return status;
}

static bb_status set_frame(const bb_plane *set, frame *where, const bb_figure_key *keys,
                           bb_index lines, bb_figure *figure)
{
    bb_status status = BB_OK;
    char x_name[BB_PLANE_NAME];
    bb_figure_box margins = {set->logarithmic ? 1.6 : 2.1, 1.0, 0.25, 0.2};
    margins.y_high += 0.3 * bb_figure_key_rows(keys, lines, figure->width_cm - margins.x_low - 0.1);
    bb_plane_name_key(set->x, x_name);
    BB_TRY(bb_figure_margins(figure, margins, &where->axes));
    BB_TRY(bb_figure_name_axes(figure, where->axes, x_name, NULL));
    BB_TRY(bb_figure_write(figure, 0.3, 0.5 * (where->axes.y_low + where->axes.y_high), set->name,
                           BB_FIGURE_POINTS, "center rotate by 90"));
    BB_TRY(bb_text_add(&figure->script, "set grid linecolor '#d8d8d8' linewidth 0.5\n"));
    const double width = where->axes.x_high - where->axes.x_low;
    const double height = where->axes.y_high - where->axes.y_low;
    if (where->x_log) {
        BB_TRY(bb_figure_log_axis(figure, "x", where->x_low, where->x_high, width));
    } else {
        BB_TRY(
            bb_text_add(&figure->script, "set xrange [%.9g:%.9g]\n", where->x_low, where->x_high));
        BB_TRY(set->x->is_text
                   ? bb_plane_add_tics(set, false, width, figure)
                   : bb_text_add(&figure->script, "set xtics nomirror %.9g\n",
                                 bb_figure_step(where->x_high - where->x_low, width, 1.1)));
    }
    if (set->logarithmic) {
        BB_TRY(bb_figure_log_axis(figure, "y", where->y_low, where->y_high, height));
        BB_TRY(add_numbers(where, figure));
    } else {
        BB_TRY(bb_text_add(
            &figure->script, "set format y %s\nset yrange [%.9g:%.9g]\nset ytics nomirror %.9g\n",
            figure->format == BB_FIGURE_TEX ? "tex_size.'$%.4g$'" : "'%.4g'", where->y_low,
            where->y_high, bb_figure_step(where->y_high - where->y_low, height, 0.7)));
    }
    BB_TRY(bb_figure_write_keys(figure, keys, lines, where->axes));
done:
    return status;
}

static bb_status end_note(bb_plane *set, const frame *where, bb_index lines)
{
    bb_status status = BB_OK;
    if (lines < set->rows) {
        BB_TRY(bb_text_add(&set->note, "%td of %td values of %s are shown. ", lines, set->rows,
                           bb_plane_y_name(set)));
    }
    if (where->failed) {
        BB_TRY(bb_text_add(&set->note, "Crosses on the lower edge: failed at some points. "));
    }
    if (where->floor && set->logarithmic) {
        BB_TRY(bb_text_add(&set->note, "Marks on the lower edge: 0 or below. "));
    }
done:
    return status;
}

static bb_status draw_lines(const bb_plot_scene *scene, bb_figure *figure)
{
    bb_status status = BB_OK;
    bb_plane set = {.columns = 0};
    frame where = {.floor = false};
    bb_text names[MOST_LINES] = {{0}};
    bb_figure_key keys[MOST_LINES];
    if (isnan(figure->height_cm)) {
        figure->height_cm = 0.7 * figure->width_cm;
    }
    BB_TRY(bb_plane_gather(scene, &set));
    const bb_index lines = set.rows < MOST_LINES ? set.rows : MOST_LINES;
    find_frame(&set, &where);
    BB_TRY(end_note(&set, &where, lines));
    for (bb_index i = 0; i < lines; ++i) {
        if (i == 0 && set.y != NULL) {
            BB_TRY(bb_text_add(&names[i], "%s ", bb_plane_y_name(&set)));
        }
        BB_TRY(bb_plane_add_row_name(&set, drawn_row(&set, i, lines), &names[i]));
        keys[i] = (bb_figure_key){bb_text_string(&names[i]),
                                  bb_figure_colours[i % BB_FIGURE_COLOURS], marks[i], 0};
    }
    BB_TRY(bb_figure_begin(figure, scene->results, bb_text_string(&set.note)));
    BB_TRY(set_frame(&set, &where, keys, lines, figure));
    for (bb_index i = 0; i < lines; ++i) {
        BB_TRY(add_line(&set, &where, i, drawn_row(&set, i, lines), figure));
    }
    BB_TRY(bb_text_add(&figure->script, "\n"));
done:
    for (int i = 0; i < MOST_LINES; ++i) {
        bb_text_release(&names[i]);
    }
    bb_plane_release(&set);
    return status;
}

const bb_plot_kind bb_plot_lines = {
    .name = "lines",
    .shows = "a pipeline's loss along a swept key, a line for each value of another",
    .needs = {"results/point_number", "results/status", "statistics/choice_pipeline"},
    .remedy = BB_PLANE_REMEDY,
    .draw = draw_lines,
    .traits = BB_PLOT_OF_SWEEPS | BB_PLOT_TAKES_KEYS};
