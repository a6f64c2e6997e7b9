// SPDX-License-Identifier: Apache-2.0
//
// Pictures of an interferometer's maps: camera frame, wrapped and unwrapped phase, phase error, and
// quality. Row 0 is at the top.
#include "core/memory.h"
#include "sim/report/plot.h"

#include <math.h>
#include <stdio.h>

enum { NAME_BYTES = 160, PANELS_A_ROW = 4 };

static const double panel_points = 7.0;
static const double above_cm = 0.45; // space above a row, for its titles
static const double below_cm = 1.35; // space below the last row, for numbers and the scale
static const double beside_cm = 1.15;
static const double between_cm = 0.3;
static const double error_decades = 4.0;

// Map: `values` [rows][columns], NaN outside the pupil.
typedef struct panel {
    const char *title;
    const double *values;
} panel;

// Maps of one quantity on one colour scale.
typedef struct maps {
    const bb_dataset *rows, *columns; // axes of the camera
    panel panels[BB_PLOT_MOST_PANELS];
    bb_index count;
    double low, high; // range of the colours
    bool logarithmic; // logarithmic scale of magnitudes
    const char *text; // label of the scale
    bb_text note;
} maps;

// Finds a dataset of /maps with `planes` maps, whose last axes are rows and columns.
static bb_status find_maps(const bb_results *results, const char *name, maps *set,
                           const double **values, bb_index *planes)
{
    bb_status status = BB_OK;
    char path[NAME_BYTES];
    (void)snprintf(path, sizeof path, "maps/%s", name);
    const bb_dataset *dataset = bb_results_find(results, path);
    set->rows = bb_results_find(results, "maps/row");
    set->columns = bb_results_find(results, "maps/column");
    BB_REQUIRE(set->rows != NULL && set->columns != NULL && set->rows->count > 1 &&
                   set->columns->count > 1,
               BB_INVALID, "maps need at least two rows and columns");
    const bb_index points = set->rows->count * set->columns->count;
    BB_REQUIRE(dataset != NULL && dataset->rank >= 2 && dataset->count % points == 0 &&
                   dataset->shape[dataset->rank - 1] == set->columns->count &&
                   dataset->shape[dataset->rank - 2] == set->rows->count,
               BB_INVALID, "maps '%s' do not have the axes row and column", name);
    *values = dataset->numbers;
    *planes = dataset->count / points;
done:
    return status;
}

// Range of all finite values; on a logarithmic scale of magnitudes, up to one cycle.
static void find_range(maps *set)
{
    double low = INFINITY, high = -INFINITY;
    for (bb_index i = 0; i < set->count; ++i) {
        for (bb_index p = 0; p < set->rows->count * set->columns->count; ++p) {
            const double value = set->panels[i].values[p];
            if (isfinite(value)) {
                low = fmin(low, set->logarithmic ? fabs(value) : value);
                high = fmax(high, set->logarithmic ? fabs(value) : value);
            }
        }
    }
    if (set->logarithmic) {
        set->high = high > 0.0 ? fmin(high, 2.0 * M_PI) : 1.0;
        set->low = set->high * pow(10.0, -error_decades);
    } else {
        set->low = low < high ? low : fmin(low, 0.0);
        set->high = low < high ? high : set->low + 1.0;
    }
}

// Adds a panel for every pipeline with a finite map.
static bb_status add_pipelines(const bb_results *results, const double *values, bb_index planes,
                               maps *set)
{
    bb_status status = BB_OK;
    const bb_dataset *names = bb_results_find(results, "results/pipeline");
    const bb_index points = set->rows->count * set->columns->count;
    const char *before = "Not drawn: ";
    BB_REQUIRE(names != NULL && names->is_text && names->count == planes, BB_INVALID,
               "maps do not have a pipeline axis");
    for (bb_index p = 0; p < planes; ++p) {
        bool drawn = false;
        for (bb_index i = 0; i < points && !drawn; ++i) {
            drawn = isfinite(values[p * points + i]);
        }
        if (drawn && set->count < BB_PLOT_MOST_PANELS) {
            set->panels[set->count++] = (panel){names->texts[p], values + p * points};
        } else {
            BB_TRY(bb_text_add(&set->note, "%s%s", before, names->texts[p]));
            before = ", ";
        }
    }
    BB_REQUIRE(set->count > 0, BB_INVALID, "no pipeline has a map");
done:
    return status;
}

static bb_status add_block(const maps *set, bb_index i, bb_figure *figure)
{
    bb_status status = BB_OK;
    char name[NAME_BYTES];
    (void)snprintf(name, sizeof name, "map %td", i);
    BB_TRY(bb_figure_block(figure, name, "rows of the camera, horizontal columns"));
    for (bb_index row = 0; row < set->rows->count; ++row) {
        for (bb_index column = 0; column < set->columns->count; ++column) {
            const double value = set->panels[i].values[row * set->columns->count + column];
            const double size = set->logarithmic ? fmax(fabs(value), set->low) : value;
            // An absent cell has no colour; fmax would replace NaN by a colour.
            BB_TRY(isfinite(value)
                       ? bb_text_add(&figure->data, "%s%.5g", column == 0 ? "" : " ", size)
                       : bb_text_add(&figure->data, "%snan", column == 0 ? "" : " "));
        }
        BB_TRY(bb_text_add(&figure->data, "\n"));
    }
done:
    return status;
}

// Positions of panels, cm.
typedef struct grid {
    bb_index across, rows;
    double width, height, pitch_x, pitch_y;
} grid;

static bb_status lay_out(const maps *set, bb_figure *figure, grid *out)
{
    bb_status status = BB_OK;
    const double foot = below_cm + 1.2;
    const double shape = (double)set->rows->count / (double)set->columns->count;
    out->across = set->count < PANELS_A_ROW ? set->count : PANELS_A_ROW;
    out->rows = (set->count + out->across - 1) / out->across;
    out->pitch_x = (figure->width_cm - beside_cm - 0.1) / (double)out->across;
    out->width = fmin(out->pitch_x - between_cm, 10.0);
    out->height = out->width * shape;
    out->pitch_x = out->width + between_cm;
    if (isnan(figure->height_cm)) {
        out->pitch_y = out->height + above_cm;
        figure->height_cm = out->pitch_y * (double)out->rows + foot;
    } else {
        out->pitch_y = (figure->height_cm - foot) / (double)out->rows;
        out->height = fmin(out->height, out->pitch_y - above_cm);
        out->width = out->height / shape;
    }
    BB_REQUIRE(out->width > 0.5 && out->height > 0.1, BB_INVALID,
               "--size has a height of %g cm for %td rows of maps, expected at least %g",
               figure->height_cm, out->rows, (above_cm + 0.6) * (double)out->rows + foot);
done:
    return status;
}

static bb_status draw_panel(const maps *set, const grid *made, bb_index i, bb_figure *figure)
{
    bb_status status = BB_OK;
    const bb_index row = i / made->across;
    const bool lowest = i + made->across >= set->count;
    const double *x = set->columns->numbers;
    const double *y = set->rows->numbers;
    const double x_low = beside_cm + made->pitch_x * (double)(i % made->across);
    const double top = figure->height_cm - above_cm - made->pitch_y * (double)row;
    const bb_figure_box box = {x_low, top - made->height, x_low + made->width, top};
    BB_TRY(add_block(set, i, figure));
    BB_TRY(bb_figure_place(figure, box));
    BB_TRY(bb_figure_write(figure, 0.5 * (box.x_low + box.x_high), top + 0.2, set->panels[i].title,
                           panel_points, "center"));
    if (i % made->across == 0) {
        BB_TRY(bb_figure_write(figure, 0.3, 0.5 * (box.y_low + top), "row", BB_FIGURE_SMALL_POINTS,
                               "center rotate by 90"));
    }
    if (lowest) {
        BB_TRY(bb_figure_write(figure, 0.5 * (box.x_low + box.x_high), box.y_low - 0.6, "column",
                               BB_FIGURE_SMALL_POINTS, "center"));
    }
    BB_TRY(bb_text_add(&figure->script,
                       "set format x %s\nset format y %s\n"
                       "plot data index 'map %td' matrix using (%.9g + %.9g * $1):(%.9g + %.9g * "
                       "$2):3 with image\nunset label\nunset object\n",
                       lowest ? bb_figure_number(figure) : "''",
                       i % made->across == 0 ? bb_figure_number(figure) : "''", i, x[0],
                       x[1] - x[0], y[0], y[1] - y[0]));
done:
    return status;
}

static bb_status set_frames(const maps *set, const grid *made, bb_figure *figure)
{
    const double *x = set->columns->numbers;
    const double *y = set->rows->numbers;
    const double x_high = x[set->columns->count - 1];
    const double y_high = y[set->rows->count - 1];
    const double half = 0.5 * (x[1] - x[0]); // half a cell
    return bb_text_add(&figure->script,
                       "set multiplot\nunset colorbox\n%sset cbrange [%.9g:%.9g]\n"
                       "set xrange [%.9g:%.9g]\nset yrange [%.9g:%.9g]\n"
                       "set xtics nomirror %g font ',6' offset 0,0.5\n"
                       "set ytics nomirror %g font ',6' offset 0.5,0\n",
                       set->logarithmic ? "set logscale cb\n" : "", set->low, set->high,
                       x[0] - half, x_high + half, y_high + half, y[0] - half,
                       bb_figure_step(x_high - x[0], made->width, 0.6),
                       bb_figure_step(y_high - y[0], made->height, 0.6));
}

static bb_status draw_maps(const bb_plot_scene *scene, maps *set, bb_figure *figure)
{
    bb_status status = BB_OK;
    grid made;
    const double stride = bb_plot_single(scene->results, "maps/stride");
    if (stride > 1.0) {
        BB_TRY(bb_text_add(&set->note,
                           "%sDownsampled to one row and column of %g: fine fringes look coarser.",
                           set->note.length > 0 ? ". " : "", stride));
    }
    BB_TRY(lay_out(set, figure, &made));
    BB_TRY(bb_figure_begin(figure, scene->results, set->note.data));
    BB_TRY(bb_figure_palette(figure));
    BB_TRY(set_frames(set, &made, figure));
    const double y = figure->foot_cm + 0.4;
    BB_TRY(bb_figure_scale(
        figure,
        (bb_figure_box){beside_cm, y, beside_cm + made.pitch_x * (double)made.across - between_cm,
                        y + 0.2},
        set->low, set->high, set->text));
    for (bb_index i = 0; i < set->count; ++i) {
        BB_TRY(draw_panel(set, &made, i, figure));
    }
    BB_TRY(bb_text_add(&figure->script, "unset multiplot\n"));
done:
    return status;
}

// Draws a single map with the range `low` to `high`.
static bb_status draw_one(const bb_plot_scene *scene, const char *name, maps *set,
                          bb_figure *figure)
{
    bb_status status = BB_OK;
    bb_index planes = 0;
    BB_TRY(find_maps(scene->results, name, set, &set->panels[0].values, &planes));
    set->count = 1;
    BB_TRY(draw_maps(scene, set, figure));
done:
    bb_text_release(&set->note);
    return status;
}

static bb_status draw_interferogram(const bb_plot_scene *scene, bb_figure *figure)
{
    maps set = {.panels = {{.title = "first frame of the reference's camera"}},
                .high = 1.0,
                .text = "fraction of full scale"};
    return draw_one(scene, "interferogram", &set, figure);
}

static bb_status draw_wrapped(const bb_plot_scene *scene, bb_figure *figure)
{
    maps set = {.panels = {{.title = "wrapped phase of the reference"}},
                .low = -3.1416,
                .high = 3.1416,
                .text = "rad"};
    return draw_one(scene, "wrapped", &set, figure);
}

// Draws a map of each pipeline, on a common scale.
static bb_status draw_each(const bb_plot_scene *scene, const char *name, maps *set,
                           bb_figure *figure)
{
    bb_status status = BB_OK;
    const double *values = NULL;
    bb_index planes = 0;
    BB_TRY(find_maps(scene->results, name, set, &values, &planes));
    BB_TRY(add_pipelines(scene->results, values, planes, set));
    find_range(set);
    BB_TRY(draw_maps(scene, set, figure));
done:
    bb_text_release(&set->note);
    return status;
}

static bb_status draw_unwrapped(const bb_plot_scene *scene, bb_figure *figure)
{
    maps set = {.text = "rad"};
    return draw_each(scene, "unwrapped", &set, figure);
}

static bb_status draw_error(const bb_plot_scene *scene, bb_figure *figure)
{
    maps set = {.logarithmic = true, .text = "phase error [rad]; brightest: a cycle or more"};
    return draw_each(scene, "error", &set, figure);
}

static bb_status draw_parts(const bb_plot_scene *scene, bb_figure *figure)
{
    bb_status status = BB_OK;
    maps set = {.high = 1.0, .text = "quality, 0 to 1; part number / number of parts"};
    const double *parts = NULL;
    double *shares = NULL; // part number divided by the number of parts
    bb_index planes = 0;
    double last = 0.0;
    BB_TRY(find_maps(scene->results, "quality", &set, &set.panels[0].values, &planes));
    BB_TRY(find_maps(scene->results, "parts", &set, &parts, &planes));
    const bb_index points = set.rows->count * set.columns->count;
    BB_TRY(BB_ALLOCATE(points, &shares));
    for (bb_index p = 0; p < points; ++p) {
        last = isfinite(parts[p]) ? fmax(last, parts[p]) : last;
    }
    for (bb_index p = 0; p < points; ++p) {
        shares[p] = (parts[p] + 1.0) / (last + 1.0);
    }
    set.panels[0].title = "quality";
    set.panels[1] = (panel){"parts", shares};
    set.count = 2;
    BB_TRY(draw_maps(scene, &set, figure));
done:
    BB_RELEASE(&shares);
    bb_text_release(&set.note);
    return status;
}

#define FRINGE_REMEDY "a fringe file of 'bitbudget run'"

const bb_plot_kind bb_plot_interferogram = {"interferogram",
                                            "first frame of an interferometer's camera",
                                            {"maps/interferogram", "maps/row", "maps/column"},
                                            "a fringe file of 'bitbudget run' with frames",
                                            draw_interferogram,
                                            0};
const bb_plot_kind bb_plot_wrapped = {"wrapped",
                                      "wrapped phase unwrapped by the reference",
                                      {"maps/wrapped", "maps/row", "maps/column"},
                                      FRINGE_REMEDY,
                                      draw_wrapped,
                                      0};
const bb_plot_kind bb_plot_unwrapped = {"unwrapped",
                                        "unwrapped phase of every pipeline",
                                        {"maps/unwrapped", "maps/row", "maps/column"},
                                        FRINGE_REMEDY,
                                        draw_unwrapped,
                                        0};
const bb_plot_kind bb_plot_phase_error = {"phase-error",
                                          "magnitude of every pipeline's phase error, logarithmic",
                                          {"maps/error", "maps/row", "maps/column"},
                                          FRINGE_REMEDY,
                                          draw_error,
                                          0};
const bb_plot_kind bb_plot_parts = {"parts",
                                    "quality of each point of a phase, and the parts of the pupil",
                                    {"maps/quality", "maps/parts", "maps/row", "maps/column"},
                                    FRINGE_REMEDY,
                                    draw_parts,
                                    0};
