// SPDX-License-Identifier: Apache-2.0
//
// Pictures of a wafer: vectors of overlay with fields and rim, one field, temperatures.
#include "core/memory.h"
#include "sim/output/table.h"
#include "sim/report/plot.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 200, COMPONENTS = 3 };

static const double panel_points = 7.0;
static const double arrow_cm = 0.55;   // of the longest vector
static const double spacing_cm = 0.22; // between vectors that are drawn, at least

// Vectors over points: `values` less `less` (NULL: nothing) less a shift, nm.
typedef struct vectors {
    const char *block, *title, *colour;
    const double *values, *less; // [points][COMPONENTS]
    double shift_x, shift_y;
} vectors;

// What is drawn of a wafer.
typedef struct view {
    const bb_dataset *points;      // view/point_mm
    const bb_dataset *point_field; // exposure of a point's field
    const bb_dataset *fields, *field_x, *field_y;
    double field_width, field_height, radius; // mm
    double x_low, x_high, y_low, y_high;      // mm
    double field;                             // exposure of the only field, NaN: all
} view;

static double single(const bb_results *results, const char *path)
{
    const bb_dataset *dataset = bb_results_find(results, path);
    return dataset == NULL || dataset->is_text || dataset->count != 1 ? NAN : dataset->numbers[0];
}

static bb_status open_view(const bb_results *results, view *out)
{
    bb_status status = BB_OK;
    *out = (view){
        .points = bb_results_find(results, "view/point_mm"),
        .point_field = bb_results_find(results, "results/point_field"),
        .fields = bb_results_find(results, "results/field"),
        .field_x = bb_results_find(results, "results/field_x_mm"),
        .field_y = bb_results_find(results, "results/field_y_mm"),
        .field_width = single(results, "view/field_width_mm"),
        .field_height = single(results, "view/field_height_mm"),
        .radius = single(results, "view/wafer_radius_mm"),
        .field = NAN,
    };
    BB_REQUIRE(
        out->point_field != NULL && out->fields != NULL && out->field_x != NULL &&
            out->field_y != NULL && out->points->rank == 2 && out->points->shape[1] == COMPONENTS &&
            out->point_field->count == out->points->shape[0] &&
            out->field_x->count == out->fields->count && out->field_y->count == out->fields->count,
        BB_INVALID, "a view whose points and fields do not fit its results");
    out->x_low = out->y_low = -1.03 * out->radius;
    out->x_high = out->y_high = 1.03 * out->radius;
done:
    return status;
}

// Of a pipeline, [points][COMPONENTS]; NULL where there is none.
static const double *model_of(const bb_results *results, bb_index pipeline, bb_index points)
{
    char path[NAME_BYTES];
    (void)snprintf(path, sizeof path, "view/model_%td_nm", pipeline);
    const bb_dataset *dataset = bb_results_find(results, path);
    return dataset == NULL || dataset->is_text || dataset->count != COMPONENTS * points
               ? NULL
               : dataset->numbers;
}

// The safe pipeline of fewest bytes that has an error, which is what a user would take; -1: none.
static bb_status find_answer(const bb_plot_scene *scene, bb_index *out)
{
    bb_status status = BB_OK;
    const bb_dataset *names = bb_results_find(scene->results, "results/pipeline");
    bb_table_cost *costs = NULL;
    *out = -1;
    BB_REQUIRE(scene->experiment != NULL && names != NULL, BB_INVALID, "results of no experiment");
    BB_TRY(BB_ALLOCATE(names->count, &costs));
    BB_TRY(bb_table_costs(scene->experiment, scene->results, costs));
    for (bb_index p = 0; p < names->count; ++p) {
        if (costs[p].front && costs[p].price > 0.0 &&
            (*out < 0 || costs[p].bytes < costs[*out].bytes)) {
            *out = p;
        }
    }
done:
    BB_RELEASE(&costs);
    return status;
}

static double component(const vectors *field, bb_index point, int axis)
{
    const double subtracted = field->less == NULL ? 0.0 : field->less[COMPONENTS * point + axis];
    return field->values[COMPONENTS * point + axis] - subtracted -
           (axis == 0 ? field->shift_x : field->shift_y);
}

static bool is_inside(const view *wafer, bb_index point)
{
    return isnan(wafer->field) || wafer->point_field->numbers[point] == wafer->field;
}

static double longest(const view *wafer, const vectors *field)
{
    double peak = 0.0;
    for (bb_index i = 0; i < wafer->points->shape[0]; ++i) {
        if (is_inside(wafer, i)) {
            const double length = hypot(component(field, i, 0), component(field, i, 1));
            peak = isfinite(length) ? fmax(peak, length) : peak;
        }
    }
    return peak;
}

// 1, 2 or 5 times a power of ten, at most `limit`.
static double round_below(double limit)
{
    const double power = pow(10.0, floor(log10(limit)));
    const double digit = limit / power;
    return power * (digit >= 5.0 ? 5.0 : digit >= 2.0 ? 2.0 : 1.0);
}

// Points of which no two are nearer than `distance`; kept [points] gets their indices.
static bb_index thin(const view *wafer, double distance, bb_index *kept)
{
    const double *places = wafer->points->numbers;
    bb_index count = 0;
    for (bb_index i = 0; i < wafer->points->shape[0]; ++i) {
        bool clear = is_inside(wafer, i);
        for (bb_index k = 0; clear && k < count; ++k) {
            clear =
                hypot(places[COMPONENTS * i] - places[COMPONENTS * kept[k]],
                      places[COMPONENTS * i + 1] - places[COMPONENTS * kept[k] + 1]) >= distance;
        }
        if (clear) {
            kept[count++] = i;
        }
    }
    return count;
}

// Rims of the fields, and of the wafer where it is known.
static bb_status add_rims(const view *wafer, bb_figure *figure)
{
    bb_status status = BB_OK;
    if (isfinite(wafer->radius)) {
        BB_TRY(bb_text_add(&figure->script,
                           "set object circle at 0,0 size first %.6g clip fillstyle empty border "
                           "linecolor 'black' linewidth 0.8\n",
                           wafer->radius));
    }
    for (bb_index f = 0; isfinite(wafer->field_width) && f < wafer->fields->count; ++f) {
        BB_TRY(bb_text_add(&figure->script,
                           "set object rectangle center %.6g,%.6g size %.6g,%.6g clip fillstyle "
                           "empty border linecolor '" BB_FIGURE_GREY "' linewidth 0.5\n",
                           wafer->field_x->numbers[f], wafer->field_y->numbers[f],
                           wafer->field_width, wafer->field_height));
    }
done:
    return status;
}

// A panel of vectors, with its title and a reference arrow above it.
static bb_status draw_vectors(const view *wafer, const vectors *field, bb_figure_box box,
                              bb_figure *figure)
{
    bb_status status = BB_OK;
    bb_index *kept = NULL;
    char length[NAME_BYTES];
    const double mm_a_cm = (wafer->x_high - wafer->x_low) / (box.x_high - box.x_low);
    const double peak = longest(wafer, field);
    const double unit = peak > 0.0 ? round_below(peak) : 1.0;
    const double mm_a_nm = arrow_cm * mm_a_cm / (peak > 0.0 ? peak : 1.0);
    const double arrow = unit * mm_a_nm / mm_a_cm; // cm
    const double *places = wafer->points->numbers;
    BB_TRY(BB_ALLOCATE(wafer->points->shape[0], &kept));
    const bb_index count = thin(wafer, spacing_cm * mm_a_cm, kept);
    BB_TRY(bb_figure_block(figure, field->block, "x [mm], y [mm], dx [nm], dy [nm]"));
    for (bb_index k = 0; k < count; ++k) {
        const bb_index i = kept[k];
        BB_TRY(bb_text_add(&figure->data, "%.6g %.6g %.6g %.6g\n", places[COMPONENTS * i],
                           places[COMPONENTS * i + 1], component(field, i, 0),
                           component(field, i, 1)));
    }
    BB_TRY(bb_text_add(&figure->data, "%s", count == 0 ? "nan nan nan nan\n" : ""));
    (void)snprintf(length, sizeof length, "%g nm", unit);
    BB_TRY(bb_figure_place(figure, box));
    BB_TRY(add_rims(wafer, figure));
    BB_TRY(
        bb_figure_write(figure, box.x_low, box.y_high + 0.5, field->title, panel_points, "left"));
    BB_TRY(bb_text_add(&figure->script,
                       "set arrow from screen %.5f,%.5f to screen %.5f,%.5f head size screen "
                       "0.006,20 filled linecolor '%s' linewidth 0.8\n",
                       box.x_low / figure->width_cm, (box.y_high + 0.18) / figure->height_cm,
                       (box.x_low + arrow) / figure->width_cm,
                       (box.y_high + 0.18) / figure->height_cm, field->colour));
    BB_TRY(bb_figure_write(figure, box.x_low + arrow + 0.1, box.y_high + 0.18, length,
                           BB_FIGURE_SMALL_POINTS, "left"));
    BB_TRY(bb_text_add(&figure->script,
                       "set xrange [%.6g:%.6g]\nset yrange [%.6g:%.6g]\n"
                       "plot data index '%s' using 1:2:($3*%.9g):($4*%.9g) with vectors head size "
                       "screen 0.005,20 filled linecolor '%s' linewidth 0.6\n"
                       "unset label\nunset arrow\nunset object\n",
                       wafer->x_low, wafer->x_high, wafer->y_low, wafer->y_high, field->block,
                       mm_a_nm, mm_a_nm, field->colour));
done:
    BB_RELEASE(&kept);
    return status;
}

// Panels in a row, or one above the other on a narrow page.
static bb_status draw_panels(const view *wafer, const vectors *panels, bb_index count, bool row,
                             const bb_results *results, const char *note, bb_figure *figure)
{
    bb_status status = BB_OK;
    const double aspect = (wafer->y_high - wafer->y_low) / (wafer->x_high - wafer->x_low);
    const bb_index columns = row ? count : 1;
    const bb_index rows = row ? 1 : count;
    const double gap_x = 1.15;
    const double gap_y = 1.45;
    double width = (figure->width_cm - 0.35 - gap_x * (double)columns) / (double)columns;
    const double foot =
        figure->width_cm > 12.0 ? 0.9 : 1.4; // about what the lines at the bottom take
    if (isnan(figure->height_cm)) {
        figure->height_cm = foot + (width * aspect + gap_y) * (double)rows;
    }
    BB_TRY(bb_figure_begin(figure, results, note));
    const double tall = (figure->height_cm - figure->foot_cm - 0.1) / (double)rows - gap_y;
    width = fmin(width, tall / aspect);
    BB_REQUIRE(width > 1.0, BB_INVALID, "--size of %g x %g cm has no room for %td panels",
               figure->width_cm, figure->height_cm, count);
    BB_TRY(bb_text_add(&figure->script,
                       "set multiplot\nset xtics nomirror %g font ',6' offset 0,0.5\n"
                       "set ytics nomirror %g font ',6' offset 0.5,0\n",
                       bb_figure_step(wafer->x_high - wafer->x_low, width, 0.6),
                       bb_figure_step(wafer->y_high - wafer->y_low, width * aspect, 0.6)));
    for (bb_index p = 0; p < count; ++p) {
        const double x = gap_x + (width + gap_x) * (double)(row ? p : 0);
        const double y =
            figure->height_cm - 0.75 - (width * aspect + gap_y) * (double)(row ? 0 : p);
        const bb_figure_box box = {x, y - width * aspect, x + width, y};
        BB_TRY(bb_figure_write(figure, x + 0.5 * width, box.y_low - 0.55, "x [mm]",
                               BB_FIGURE_SMALL_POINTS, "center"));
        BB_TRY(bb_figure_write(figure, x - 0.92, y - 0.5 * width * aspect, "y [mm]",
                               BB_FIGURE_SMALL_POINTS, "center rotate by 90"));
        BB_TRY(draw_vectors(wafer, &panels[p], box, figure));
    }
    BB_TRY(bb_text_add(&figure->script, "unset multiplot\n"));
done:
    return status;
}

static bb_status draw_overlay(const bb_plot_scene *scene, bb_figure *figure)
{
    bb_status status = BB_OK;
    view wafer;
    bb_index answer = -1;
    char note[2 * NAME_BYTES];
    const bb_dataset *names = bb_results_find(scene->results, "results/pipeline");
    const bb_dataset *raw = bb_results_find(scene->results, "view/raw_nm");
    BB_TRY(open_view(scene->results, &wafer));
    BB_REQUIRE(raw->count == wafer.points->count, BB_INVALID, "raw_nm of other points");
    BB_TRY(find_answer(scene, &answer));
    const double *model =
        answer < 0 ? NULL : model_of(scene->results, answer, wafer.points->shape[0]);
    (void)snprintf(
        note, sizeof note,
        "Mean over the light steps of a point; fields that are scored. The error is that "
        "of %s, the safe pipeline of fewest bytes.",
        answer < 0 ? "none" : names->texts[answer]);
    const vectors panels[] = {
        {"displacement", "displacement", BB_FIGURE_BLUE, raw->numbers, NULL, 0.0, 0.0},
        {"error", "error", BB_FIGURE_VERMILION, model, raw->numbers, 0.0, 0.0}};
    BB_TRY(draw_panels(&wafer, panels, model == NULL ? 1 : 2, figure->width_cm > 12.0,
                       scene->results, note, figure));
done:
    return status;
}

const bb_plot_kind bb_plot_overlay = {
    "overlay",
    "displacement over the wafer, and the error of the safe pipeline of fewest bytes",
    {"view/point_mm", "view/raw_nm", "view/field_width_mm", "view/wafer_radius_mm"},
    "a wafer file of 'bitbudget run' of this version",
    draw_overlay,
    false};

// The field of the largest displacement.
static double worst_field(const view *wafer, const double *raw)
{
    double peak = -1.0;
    double worst = wafer->fields->numbers[0];
    for (bb_index i = 0; i < wafer->points->shape[0]; ++i) {
        const double length = hypot(raw[COMPONENTS * i], raw[COMPONENTS * i + 1]);
        if (length > peak) {
            peak = length;
            worst = wafer->point_field->numbers[i];
        }
    }
    return worst;
}

static void mean_of(const view *wafer, const double *raw, double *x, double *y)
{
    double count = 0.0;
    *x = *y = 0.0;
    for (bb_index i = 0; i < wafer->points->shape[0]; ++i) {
        if (is_inside(wafer, i)) {
            *x += raw[COMPONENTS * i];
            *y += raw[COMPONENTS * i + 1];
            count += 1.0;
        }
    }
    *x /= count;
    *y /= count;
}

// The axes are those of the field, with a margin.
static void frame_field(view *wafer)
{
    for (bb_index f = 0; f < wafer->fields->count; ++f) {
        if (wafer->fields->numbers[f] == wafer->field) {
            wafer->x_low = wafer->field_x->numbers[f] - 0.56 * wafer->field_width;
            wafer->x_high = wafer->field_x->numbers[f] + 0.56 * wafer->field_width;
            wafer->y_low = wafer->field_y->numbers[f] - 0.56 * wafer->field_height;
            wafer->y_high = wafer->field_y->numbers[f] + 0.56 * wafer->field_height;
        }
    }
}

static bb_status draw_field(const bb_plot_scene *scene, bb_figure *figure)
{
    bb_status status = BB_OK;
    view wafer;
    bb_index answer = -1;
    char note[2 * NAME_BYTES];
    double x = 0.0;
    double y = 0.0;
    const bb_dataset *names = bb_results_find(scene->results, "results/pipeline");
    const bb_dataset *raw = bb_results_find(scene->results, "view/raw_nm");
    BB_TRY(open_view(scene->results, &wafer));
    BB_REQUIRE(raw->count == wafer.points->count && wafer.fields->count > 0, BB_INVALID,
               "raw_nm of other points, or no field");
    BB_TRY(find_answer(scene, &answer));
    wafer.field = worst_field(&wafer, raw->numbers);
    frame_field(&wafer);
    mean_of(&wafer, raw->numbers, &x, &y);
    const double *model =
        answer < 0 ? NULL : model_of(scene->results, answer, wafer.points->shape[0]);
    (void)snprintf(
        note, sizeof note,
        "Exposure %.0f, the field of the largest displacement. Its mean is %.4g nm in "
        "x, %.4g nm in y; the second panel is less that mean. The error is that of %s, the "
        "safe pipeline of fewest bytes.",
        wafer.field, x, y, answer < 0 ? "none" : names->texts[answer]);
    const vectors panels[] = {
        {"displacement", "displacement", BB_FIGURE_BLUE, raw->numbers, NULL, 0.0, 0.0},
        {"residual", "less its mean", BB_FIGURE_GREEN, raw->numbers, NULL, x, y},
        {"error", "error", BB_FIGURE_VERMILION, model, raw->numbers, 0.0, 0.0}};
    BB_TRY(draw_panels(&wafer, panels, model == NULL ? 2 : 3, true, scene->results, note, figure));
done:
    return status;
}

const bb_plot_kind bb_plot_field = {
    "field",
    "the field of the largest displacement: as it is, less its mean, and the error",
    {"view/point_mm", "view/raw_nm", "view/field_width_mm", "view/wafer_radius_mm"},
    "a wafer file of 'bitbudget run' of this version",
    draw_field,
    false};

// The last temperatures of the file.
static const bb_dataset *last_map(const bb_results *results, double *exposure)
{
    const bb_dataset *found = NULL;
    *exposure = -1.0;
    for (bb_index d = 0; d < bb_results_count(results); ++d) {
        const bb_dataset *dataset = bb_results_dataset(results, d);
        double number = -1.0;
        if (strcmp(dataset->group, "temperature") == 0 && !dataset->is_text &&
            sscanf(dataset->name, "exposure_%lf", &number) == 1 && number > *exposure) {
            *exposure = number;
            found = dataset;
        }
    }
    return found;
}

static bb_status add_map(const bb_dataset *map, const bb_dataset *x, const bb_dataset *y,
                         double radius, double *low, double *high, bb_figure *figure)
{
    bb_status status = BB_OK;
    *low = INFINITY;
    *high = -INFINITY;
    BB_TRY(bb_figure_block(figure, "temperature", "rows of y, columns of x [K]"));
    for (bb_index row = 0; row < y->count; ++row) {
        for (bb_index column = 0; column < x->count; ++column) {
            // Cells beside the wafer hold no temperature.
            const bool beside = hypot(x->numbers[column], y->numbers[row]) > radius;
            const double value = beside ? NAN : map->numbers[row * x->count + column];
            *low = value < *low ? value : *low;
            *high = value > *high ? value : *high;
            BB_TRY(bb_text_add(&figure->data, "%s%.5g", column == 0 ? "" : " ", value));
        }
        BB_TRY(bb_text_add(&figure->data, "\n"));
    }
done:
    return status;
}

static bb_status draw_heat(const bb_plot_scene *scene, bb_figure *figure)
{
    bb_status status = BB_OK;
    double exposure = -1.0;
    double low = 0.0;
    double high = 0.0;
    char note[NAME_BYTES];
    bb_figure_box axes;
    const bb_dataset *x = bb_results_find(scene->results, "temperature/x");
    const bb_dataset *y = bb_results_find(scene->results, "temperature/y");
    const bb_dataset *map = last_map(scene->results, &exposure);
    const double radius = single(scene->results, "view/wafer_radius_mm");
    BB_REQUIRE(map != NULL && map->count == x->count * y->count && x->count > 1 && y->count > 1,
               BB_INVALID, "no temperatures over x and y in the file");
    if (isnan(figure->height_cm)) {
        figure->height_cm = (figure->width_cm - 3.1) + 2.3;
    }
    (void)snprintf(note, sizeof note,
                   "Mean temperature rise of a cell, last light step of exposure %.0f.", exposure);
    BB_TRY(bb_figure_begin(figure, scene->results, note));
    BB_TRY(bb_figure_margins(figure, (bb_figure_box){1.4, 1.0, 1.8, 0.3}, &axes));
    const double side = fmin(axes.x_high - axes.x_low, axes.y_high - axes.y_low);
    axes = (bb_figure_box){axes.x_low, axes.y_high - side, axes.x_low + side, axes.y_high};
    BB_TRY(bb_figure_place(figure, axes));
    BB_TRY(bb_figure_name_axes(figure, axes, "x [mm]", "y [mm]"));
    BB_TRY(bb_figure_palette(figure));
    BB_TRY(add_map(map, x, y, radius, &low, &high, figure));
    BB_TRY(bb_figure_write(figure, axes.x_high + 1.55, 0.5 * (axes.y_low + axes.y_high),
                           "temperature rise [K]", BB_FIGURE_POINTS, "center rotate by 90"));
    BB_TRY(bb_text_add(&figure->script,
                       "set colorbox user origin screen %.5f,%.5f size screen %.5f,%.5f\n"
                       "set cbtics font ',6'\nset cbrange [%.6g:%.6g]\n"
                       "set xrange [%.6g:%.6g]\nset yrange [%.6g:%.6g]\n"
                       "set tics nomirror out\n"
                       "set object circle at 0,0 size first %.6g front clip fillstyle empty border "
                       "linecolor 'black' linewidth 0.8\n"
                       "plot data index 'temperature' matrix using (%.9g + %.9g*$1):(%.9g + "
                       "%.9g*$2):3 with image\n",
                       (axes.x_high + 0.2) / figure->width_cm, axes.y_low / figure->height_cm,
                       0.3 / figure->width_cm, side / figure->height_cm, low,
                       high > low ? high : low + 1.0, -1.03 * radius, 1.03 * radius, -1.03 * radius,
                       1.03 * radius, radius, x->numbers[0], x->numbers[1] - x->numbers[0],
                       y->numbers[0], y->numbers[1] - y->numbers[0]));
done:
    return status;
}

const bb_plot_kind bb_plot_heat = {
    "heat",
    "temperature of the wafer in the last light step of the last scored exposure",
    {"temperature/x", "temperature/y", "view/wafer_radius_mm"},
    "a wafer file of 'bitbudget run --dump inputs' of this version",
    draw_heat,
    false};

// Probes of a file, as many as there are colours.
typedef struct probes {
    const bb_dataset *time;
    const bb_dataset *shown[BB_FIGURE_COLOURS];
    bb_figure_key keys[BB_FIGURE_COLOURS];
    bb_index count, more;
} probes;

static bb_status gather_probes(const bb_results *results, probes *out)
{
    bb_status status = BB_OK;
    out->time = bb_results_find(results, "probes/time_s");
    for (bb_index d = 0; d < bb_results_count(results); ++d) {
        const bb_dataset *dataset = bb_results_dataset(results, d);
        if (strcmp(dataset->group, "probes") != 0 || dataset->is_axis || dataset->is_text ||
            dataset->count != out->time->count || strcmp(dataset->unit, "K") != 0) {
            continue;
        }
        if (out->count == BB_FIGURE_COLOURS) {
            ++out->more;
            continue;
        }
        out->keys[out->count] = (bb_figure_key){dataset->name, bb_figure_colours[out->count], 0,
                                                (int)out->count % 5 + 1};
        out->shown[out->count++] = dataset;
    }
    BB_REQUIRE(out->count > 0, BB_INVALID, "no probe in the file");
done:
    return status;
}

// Steps beyond the dots of a page add nothing but bytes.
static bb_status add_probes(const probes *set, bb_figure *figure)
{
    bb_status status = BB_OK;
    enum { MOST_STEPS = 4000 };
    const bb_index stride = set->time->count / MOST_STEPS + 1;
    BB_TRY(bb_figure_block(figure, "probes", "time [s], rise [K] of every probe"));
    for (bb_index i = 0; i < set->time->count; i += stride) {
        BB_TRY(bb_text_add(&figure->data, "%.9g", set->time->numbers[i]));
        for (bb_index p = 0; p < set->count; ++p) {
            BB_TRY(bb_text_add(&figure->data, " %.6g", set->shown[p]->numbers[i]));
        }
        BB_TRY(bb_text_add(&figure->data, "\n"));
    }
    for (bb_index p = 0; p < set->count; ++p) {
        BB_TRY(bb_text_add(&figure->script,
                           "%sdata index 'probes' using 1:%td with lines linewidth 1.2 dashtype %d "
                           "linecolor '%s'",
                           p == 0 ? "plot " : ", \\\n  ", p + 2, set->keys[p].dash,
                           set->keys[p].colour));
    }
    BB_TRY(bb_text_add(&figure->script, "\n"));
done:
    return status;
}

static bb_status draw_probes(const bb_plot_scene *scene, bb_figure *figure)
{
    bb_status status = BB_OK;
    probes set = {.count = 0};
    char note[NAME_BYTES] = "";
    bb_figure_box margins = {2.1, 1.0, 0.25, 0.2};
    bb_figure_box axes;
    BB_TRY(gather_probes(scene->results, &set));
    (void)snprintf(note, sizeof note, "%td more probes are in the file.", set.more);
    if (isnan(figure->height_cm)) {
        figure->height_cm = 0.6 * figure->width_cm;
    }
    const double *time = set.time->numbers;
    const double last = time[set.time->count - 1];
    BB_TRY(bb_figure_begin(figure, scene->results, set.more > 0 ? note : NULL));
    margins.y_high += 0.3 * bb_figure_key_rows(set.keys, set.count, figure->width_cm - 2.2);
    BB_TRY(bb_figure_margins(figure, margins, &axes));
    BB_TRY(bb_figure_name_axes(figure, axes, "time since the first wafer was gripped [s]", NULL));
    // Farther out than usual: the numbers may be long.
    BB_TRY(bb_figure_write(figure, 0.35, 0.5 * (axes.y_low + axes.y_high), "temperature rise [K]",
                           BB_FIGURE_POINTS, "center rotate by 90"));
    BB_TRY(bb_figure_write_keys(figure, set.keys, set.count, axes));
    BB_TRY(bb_text_add(&figure->script,
                       "set xrange [%.9g:%.9g]\nset tics nomirror\nset format y %s'%%.3g'\n"
                       "set grid linecolor '#d8d8d8' linewidth 0.5\n",
                       time[0], last > time[0] ? last : time[0] + 1.0,
                       figure->format == BB_FIGURE_TEX ? "tex_size." : ""));
    BB_TRY(add_probes(&set, figure));
done:
    return status;
}

const bb_plot_kind bb_plot_probes = {"probes",          "temperatures of the probes over time",
                                     {"probes/time_s"}, "a wafer file of a study with 'probes'",
                                     draw_probes,       false};
