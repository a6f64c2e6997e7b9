// SPDX-License-Identifier: Apache-2.0
//
// Pictures of a wafer: overlay vectors with fields and rim, and a single field.
#include "core/memory.h"
#include "sim/report/cloud.h"
#include "sim/report/plot.h"

#include <math.h>
#include <stdio.h>

enum { NAME_BYTES = 200, COMPONENTS = 3 };

static const double panel_points = 7.0;
static const double arrow_cm = 0.55;   // length of the longest vector
static const double spacing_cm = 0.22; // minimum distance of the vectors drawn

// Vectors over points: `values` minus `less` (NULL: nothing) minus a shift, nm.
typedef struct vectors {
    const char *block, *title, *colour;
    const double *values, *less; // [points][COMPONENTS]
    double shift_x, shift_y;
} vectors;

// Datasets drawn of a wafer.
typedef struct view {
    const bb_dataset *points;      // view/point_mm
    const bb_dataset *point_field; // exposure number of a point's field
    const bb_dataset *fields, *field_x, *field_y;
    double field_width, field_height, radius; // mm
    double x_low, x_high, y_low, y_high;      // mm
    double field;                             // exposure number of the only field, NaN: all
} view;

static bb_status open_view(const bb_results *results, view *out)
{
    bb_status status = BB_OK;
    *out = (view){
        .points = bb_results_find(results, "view/point_mm"),
        .point_field = bb_results_find(results, "results/point_field"),
        .fields = bb_results_find(results, "results/field"),
        .field_x = bb_results_find(results, "results/field_x_mm"),
        .field_y = bb_results_find(results, "results/field_y_mm"),
        .field_width = bb_plot_single(results, "view/field_width_mm"),
        .field_height = bb_plot_single(results, "view/field_height_mm"),
        .radius = bb_plot_single(results, "view/wafer_radius_mm"),
        .field = NAN,
    };
    BB_REQUIRE(
        out->point_field != NULL && out->fields != NULL && out->field_x != NULL &&
            out->field_y != NULL && out->points->rank == 2 && out->points->shape[1] == COMPONENTS &&
            out->point_field->count == out->points->shape[0] &&
            out->field_x->count == out->fields->count && out->field_y->count == out->fields->count,
        BB_INVALID, "points and fields do not match the results");
    out->x_low = out->y_low = -1.03 * out->radius;
    out->x_high = out->y_high = 1.03 * out->radius;
done:
    return status;
}

// Vectors of a pipeline, [points][COMPONENTS], or NULL.
static const double *vectors_of(const bb_results *results, const char *name, bb_index pipeline,
                                bb_index points)
{
    char path[NAME_BYTES];
    (void)snprintf(path, sizeof path, "view/%s_%td_nm", name, pipeline);
    const bb_dataset *dataset = bb_results_find(results, path);
    return dataset == NULL || dataset->is_text || dataset->count != COMPONENTS * points
               ? NULL
               : dataset->numbers;
}

static double result_of(const bb_results *results, const char *path, bb_index pipeline)
{
    const bb_dataset *dataset = bb_results_find(results, path);
    return dataset == NULL || dataset->is_text || pipeline >= dataset->count
               ? NAN
               : dataset->numbers[pipeline];
}

// True if the loss is the residual of late or missed corrections instead of the numerical error.
static bool is_loss_residual(const bb_results *results, bb_index pipeline)
{
    return result_of(results, "results/overlay_residual_nm", pipeline) >
           fmax(result_of(results, "results/overlay_error_x_nm", pipeline),
                result_of(results, "results/overlay_error_y_nm", pipeline));
}

// Safe pipeline with fewest bytes and a nonzero error, the likely choice of a user; -1: none.
static bb_status find_answer(const bb_plot_scene *scene, bb_index *out)
{
    bb_status status = BB_OK;
    const bb_dataset *names = bb_results_find(scene->results, "results/pipeline");
    bb_cloud_cost *costs = NULL;
    *out = -1;
    BB_REQUIRE(scene->experiment != NULL && names != NULL, BB_INVALID,
               "the results belong to no experiment");
    BB_TRY(BB_ALLOCATE(names->count, &costs));
    BB_TRY(bb_cloud_costs(scene->experiment, scene->results, costs));
    for (bb_index p = 0; p < names->count; ++p) {
        if (costs[p].front && costs[p].loss > 0.0 &&
            (*out < 0 || costs[p].bytes < costs[*out].bytes)) {
            *out = p;
        }
    }
done:
    BB_RELEASE(&costs);
    return status;
}

// Panel of the error measured by the loss of pipeline `answer` (-1: none), and a sentence for the
// note. Its values are NULL if the file has none.
static vectors find_error(const bb_plot_scene *scene, bb_index answer, const bb_dataset *raw,
                          char *sentence, size_t bytes)
{
    const bb_dataset *names = bb_results_find(scene->results, "results/pipeline");
    const bb_index points = raw->count / COMPONENTS;
    const bool residual = answer >= 0 && is_loss_residual(scene->results, answer);
    vectors out = {"error", "error", BB_FIGURE_VERMILION, NULL, NULL, 0.0, 0.0};
    if (answer >= 0) {
        out.values = vectors_of(scene->results, residual ? "residual" : "model", answer, points);
        out.less = residual ? NULL : raw->numbers;
    }
    (void)snprintf(sentence, bytes,
                   "The error is the %s of %s, the safe pipeline with the fewest bytes.",
                   residual ? "residual after late or missed corrections" : "numerical error",
                   answer < 0 ? "none" : names->texts[answer]);
    return out;
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

// Rounds `limit` down to 1, 2 or 5 times a power of ten.
static double round_below(double limit)
{
    const double power = pow(10.0, floor(log10(limit)));
    const double digit = limit / power;
    return power * (digit >= 5.0 ? 5.0 : digit >= 2.0 ? 2.0 : 1.0);
}

// Selects points at least `distance` apart; kept [points] are their indices.
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

// Adds the rims of the fields, and of the wafer if known.
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

// Draws a panel of vectors, with its title and a reference arrow above it.
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

// Draws panels in a row, or in a column on a narrow page.
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
        figure->width_cm > 12.0 ? 0.9 : 1.4; // approximate height of the lines at the bottom
    if (isnan(figure->height_cm)) {
        figure->height_cm = foot + (width * aspect + gap_y) * (double)rows;
    }
    BB_TRY(bb_figure_begin(figure, results, note));
    const double tall = (figure->height_cm - figure->foot_cm - 0.1) / (double)rows - gap_y;
    width = fmin(width, tall / aspect);
    BB_REQUIRE(width > 1.0, BB_INVALID, "--size of %g x %g cm is too small for %td panels",
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
    char sentence[NAME_BYTES];
    char note[2 * NAME_BYTES];
    const bb_dataset *raw = bb_results_find(scene->results, "view/raw_nm");
    BB_TRY(open_view(scene->results, &wafer));
    BB_REQUIRE(raw->count == wafer.points->count, BB_INVALID, "raw_nm belongs to other points");
    BB_TRY(find_answer(scene, &answer));
    const vectors panels[] = {
        {"displacement", "displacement", BB_FIGURE_BLUE, raw->numbers, NULL, 0.0, 0.0},
        find_error(scene, answer, raw, sentence, sizeof sentence)};
    (void)snprintf(note, sizeof note,
                   "Mean over the light steps of a point; scored fields only. %s", sentence);
    BB_TRY(draw_panels(&wafer, panels, panels[1].values == NULL ? 1 : 2, figure->width_cm > 12.0,
                       scene->results, note, figure));
done:
    return status;
}

const bb_plot_kind bb_plot_overlay = {
    "overlay",
    "displacement over the wafer, and the error of the safe pipeline with the fewest bytes",
    {"view/point_mm", "view/raw_nm", "view/field_width_mm", "view/wafer_radius_mm"},
    "a wafer file of 'bitbudget run' of this version",
    draw_overlay,
    0};

// Field with the largest displacement.
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

// Sets the axes to the field with a margin.
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
    char sentence[NAME_BYTES];
    char note[2 * NAME_BYTES];
    double x = 0.0;
    double y = 0.0;
    const bb_dataset *raw = bb_results_find(scene->results, "view/raw_nm");
    BB_TRY(open_view(scene->results, &wafer));
    BB_REQUIRE(raw->count == wafer.points->count && wafer.fields->count > 0, BB_INVALID,
               "raw_nm belongs to other points, or there is no field");
    BB_TRY(find_answer(scene, &answer));
    wafer.field = worst_field(&wafer, raw->numbers);
    frame_field(&wafer);
    mean_of(&wafer, raw->numbers, &x, &y);
    const vectors panels[] = {
        {"displacement", "displacement", BB_FIGURE_BLUE, raw->numbers, NULL, 0.0, 0.0},
        {"residual", "minus its mean", BB_FIGURE_GREEN, raw->numbers, NULL, x, y},
        find_error(scene, answer, raw, sentence, sizeof sentence)};
    (void)snprintf(note, sizeof note,
                   "Exposure %.0f, the field with the largest displacement. Its mean is %.4g nm in "
                   "x, %.4g nm in y, subtracted in the second panel. %s",
                   wafer.field, x, y, sentence);
    BB_TRY(draw_panels(&wafer, panels, panels[2].values == NULL ? 2 : 3, true, scene->results, note,
                       figure));
done:
    return status;
}

const bb_plot_kind bb_plot_field = {
    "field",
    "field with the largest displacement: unchanged, minus its mean, and the error",
    {"view/point_mm", "view/raw_nm", "view/field_width_mm", "view/wafer_radius_mm"},
    "a wafer file of 'bitbudget run' of this version",
    draw_field,
    0};
