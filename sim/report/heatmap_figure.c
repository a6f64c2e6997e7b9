// SPDX-License-Identifier: Apache-2.0
//
// Picture of a pipeline over two swept keys: one cell for each pair of values.
#include "sim/report/plane.h"
#include "sim/report/plot.h"

#include <math.h>
#include <stdio.h>

enum { SCALE_STEPS = 64 };

static double place_of(const bb_plane *set, double value)
{
    if (!set->logarithmic) {
        return set->high > set->low ? (value - set->low) / (set->high - set->low) : 0.5;
    }
    return value <= set->low ? 0.0 : log(value / set->low) / log(set->high / set->low);
}

static double row_names_cm(const bb_plane *set)
{
    double widest = 0.5;
    char number[BB_PLANE_NAME];
    for (bb_index row = 0; row < set->rows; ++row) {
        const char *text = number;
        if (set->y == NULL) {
            text = set->swept.pipelines->texts[row];
        } else if (set->y->is_text) {
            text = set->y->texts[row];
        } else {
            (void)snprintf(number, sizeof number, "%.4g", set->y->numbers[row]);
        }
        widest = fmax(widest, bb_figure_text_cm(text, BB_FIGURE_POINTS));
    }
    return widest;
}

// Draws the colour scale to the right of the cells, with numbers at the ends and the middle.
static bb_status draw_scale(const bb_plane *set, bb_figure_box axes, bb_figure *figure)
{
    bb_status status = BB_OK;
    char text[BB_PLANE_NAME];
    char shade[8];
    const double x = axes.x_high + 0.25;
    const double height = axes.y_high - axes.y_low;
    for (int s = 0; s < SCALE_STEPS; ++s) {
        bb_figure_shade((s + 0.5) / SCALE_STEPS, shade);
        BB_TRY(bb_text_add(
            &figure->script,
            "set object rectangle from screen %.5f,%.5f to screen %.5f,%.5f fillcolor '%s' "
            "fillstyle solid noborder\n",
            x / figure->width_cm, (axes.y_low + height * s / SCALE_STEPS) / figure->height_cm,
            (x + 0.25) / figure->width_cm,
            (axes.y_low + height * (s + 1) / SCALE_STEPS) / figure->height_cm, shade));
    }
    for (int t = 0; t <= 2; ++t) {
        const double part = 0.5 * t;
        const double value = set->logarithmic ? set->low * pow(set->high / set->low, part)
                                              : set->low + part * (set->high - set->low);
        (void)snprintf(text, sizeof text, "%.3g", value);
        BB_TRY(bb_figure_write(figure, x + 0.32, axes.y_low + height * (0.03 + 0.94 * part), text,
                               BB_FIGURE_SMALL_POINTS, "left"));
    }
done:
    return status;
}

// Adds lines across a cell with failed points.
static bb_status add_hatch(double x, double y, bb_figure *figure)
{
    bb_status status = BB_OK;
    static const double ends[][4] = {
        {-0.5, 0.0, 0.0, 0.5}, {-0.5, -0.5, 0.5, 0.5}, {0.0, -0.5, 0.5, 0.0}};
    for (size_t e = 0; e < sizeof ends / sizeof *ends; ++e) {
        BB_TRY(bb_text_add(&figure->data, "%.3f %.3f\n%.3f %.3f\n\n", x + ends[e][0],
                           y + ends[e][1], x + ends[e][2], y + ends[e][3]));
    }
done:
    return status;
}

static bb_status add_cell(const bb_plane *set, bb_index row, bb_index column, bb_figure *figure)
{
    bb_status status = BB_OK;
    const double value = set->worst[row * set->columns + column];
    char shade[8] = "#b0b0b0";
    if (set->runs[row * set->columns + column] == 0) {
        goto done;
    }
    if (isfinite(value)) {
        bb_figure_shade(place_of(set, value), shade);
    }
    const double x = (double)column;
    const double y = (double)row;
    BB_TRY(bb_text_add(&figure->data, "%g %g %g %g %g %g 0x%s %.6g\n", x, y, x - 0.5, x + 0.5,
                       y - 0.5, y + 0.5, shade + 1, value));
done:
    return status;
}

static bb_status add_cells(const bb_plane *set, bb_figure_box axes, bb_figure *figure)
{
    bb_status status = BB_OK;
    const double width = (axes.x_high - axes.x_low) / (double)set->columns;
    const double height = (axes.y_high - axes.y_low) / (double)set->rows;
    bb_index hatched = 0;
    char text[BB_PLANE_NAME];
    BB_TRY(bb_figure_block(figure, "cells",
                           "column, row, their edges, colour, value (nan: all failed)"));
    for (bb_index i = 0; i < set->rows * set->columns; ++i) {
        const bb_index row = i / set->columns;
        const bb_index column = i % set->columns;
        const double x = axes.x_low + width * (double)column;
        const double y = axes.y_low + height * (double)row;
        BB_TRY(add_cell(set, row, column, figure));
        BB_TRY(bb_plane_add_hover(set, row, column, (bb_figure_box){x, y, x + width, y + height},
                                  figure));
        hatched += set->fails[i] > 0;
        (void)snprintf(text, sizeof text, "%.2g", set->worst[i]);
        // LaTeX texts are black and illegible on dark cells.
        if (isfinite(set->worst[i]) && figure->format != BB_FIGURE_TEX && height > 0.4 &&
            bb_figure_text_cm(text, BB_FIGURE_SMALL_POINTS) + 0.1 < width) {
            BB_TRY(bb_figure_write(
                figure, x + 0.5 * width, y + 0.5 * height, text, BB_FIGURE_SMALL_POINTS,
                place_of(set, set->worst[i]) > 0.6 ? "center front"
                                                   : "center front textcolor 'white'"));
        }
    }
    BB_TRY(bb_figure_block(figure, "hatch", "lines across cells of failed points"));
    for (bb_index i = 0; i < set->rows * set->columns; ++i) {
        const bb_index row = i / set->columns;
        if (set->fails[i] > 0) {
            BB_TRY(add_hatch((double)(i % set->columns), (double)row, figure));
        }
    }
    BB_TRY(bb_text_add(&figure->data, "%s", hatched == 0 ? "nan nan\n" : ""));
done:
    return status;
}

static bb_status note_failures(bb_plane *set)
{
    bb_status status = BB_OK;
    bool failed = false;
    bool absent = false;
    for (bb_index i = 0; i < set->rows * set->columns; ++i) {
        failed = failed || set->fails[i] > 0;
        absent = absent || set->runs[i] == 0;
    }
    if (failed) {
        BB_TRY(bb_text_add(&set->note,
                           "Hatched: failed at some points; grey: failed at all points. "));
    }
    if (absent) {
        BB_TRY(bb_text_add(&set->note, "White: not run. "));
    }
    if (set->logarithmic) {
        BB_TRY(bb_text_add(&set->note, "Logarithmic colour scale. "));
    }
done:
    return status;
}

static bb_status draw_heatmap(const bb_plot_scene *scene, bb_figure *figure)
{
    bb_status status = BB_OK;
    bb_plane set = {.columns = 0};
    bb_figure_box axes;
    char x_name[BB_PLANE_NAME];
    char rows_name[BB_PLANE_NAME] = "pipeline";
    if (isnan(figure->height_cm)) {
        figure->height_cm = 0.7 * figure->width_cm;
    }
    BB_TRY(bb_plane_gather(scene, &set));
    BB_TRY(note_failures(&set));
    bb_plane_name_key(set.x, x_name);
    if (set.y != NULL) {
        bb_plane_name_key(set.y, rows_name);
    }
    BB_TRY(bb_figure_begin(figure, scene->results, bb_text_string(&set.note)));
    const double names = fmin(row_names_cm(&set), 0.35 * figure->width_cm);
    BB_TRY(bb_figure_margins(figure, (bb_figure_box){names + 0.85, 1.0, 1.6, 0.55}, &axes));
    BB_TRY(bb_figure_name_axes(figure, axes, x_name, NULL));
    BB_TRY(bb_figure_write(figure, 0.3, 0.5 * (axes.y_low + axes.y_high), rows_name,
                           BB_FIGURE_POINTS, "center rotate by 90"));
    BB_TRY(bb_figure_write(figure, figure->width_cm - 0.15, axes.y_high + 0.27, set.name,
                           BB_FIGURE_POINTS, "right"));
    BB_TRY(bb_text_add(&figure->script, "set xrange [-0.5:%g]\nset yrange [-0.5:%g]\n",
                       (double)set.columns - 0.5, (double)set.rows - 0.5));
    BB_TRY(bb_plane_add_tics(&set, false, axes.x_high - axes.x_low, figure));
    BB_TRY(bb_plane_add_tics(&set, true, axes.y_high - axes.y_low, figure));
    BB_TRY(isnan(set.high) ? BB_OK : draw_scale(&set, axes, figure));
    BB_TRY(add_cells(&set, axes, figure));
    BB_TRY(bb_text_add(&figure->script,
                       "plot data index 'cells' using 1:2:3:4:5:6:7 with boxxyerror fillstyle "
                       "solid noborder linecolor rgb variable, \\\n"
                       "  data index 'hatch' using 1:2 with lines linewidth 0.8 linecolor "
                       "'#404040'\n"));
done:
    bb_plane_release(&set);
    return status;
}

const bb_plot_kind bb_plot_heatmap = {
    .name = "heatmap",
    .shows = "a pipeline's loss over two swept keys; --x, --y, --pipeline, --value",
    .needs = {"results/point_number", "results/status", "statistics/choice_pipeline"},
    .remedy = BB_PLANE_REMEDY,
    .draw = draw_heatmap,
    .traits = BB_PLOT_OF_SWEEPS | BB_PLOT_TAKES_KEYS};
