// SPDX-License-Identifier: Apache-2.0
//
// Pictures of a wafer's temperatures: a map of one light step, and probes over time.
#include "sim/report/plot.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 200 };

// Map of temperatures over the cells of the wafer.
typedef struct heat_map {
    const bb_dataset *x, *y;  // centres, mm
    const bb_dataset *rises;  // [1][y][x] in the last light step, K
    const bb_dataset *inputs; // [light steps][cells] temperatures of all steps, relative to another
                              // level; NULL: draw the last step
    bb_index step;            // index of the light step, from 0
    double exposure, radius;  // radius of the wafer, mm
} heat_map;

// Finds the requested exposure, else the last one of the file.
static void find_exposure(const bb_plot_scene *scene, heat_map *out)
{
    const bb_results *results = scene->results;
    out->exposure = -1.0;
    for (bb_index d = 0; d < bb_results_count(results); ++d) {
        const bb_dataset *dataset = bb_results_dataset(results, d);
        double number = -1.0;
        if (strcmp(dataset->group, "temperature") == 0 && !dataset->is_text &&
            sscanf(dataset->name, "exposure_%lf", &number) == 1 && number > out->exposure &&
            (scene->exposure == NULL ||
             strcmp(dataset->name + strlen("exposure_"), scene->exposure) == 0)) {
            out->exposure = number;
            out->rises = dataset;
        }
    }
}

static bb_status open_map(const bb_plot_scene *scene, heat_map *out)
{
    bb_status status = BB_OK;
    const bb_results *results = scene->results;
    char path[NAME_BYTES];
    *out = (heat_map){.x = bb_results_find(results, "temperature/x"),
                      .y = bb_results_find(results, "temperature/y"),
                      .radius = bb_plot_single(results, "view/wafer_radius_mm")};
    find_exposure(scene, out);
    BB_REQUIRE(out->rises != NULL || scene->exposure == NULL, BB_INVALID,
               "--exposure %s: the file has no temperatures of this exposure", scene->exposure);
    BB_REQUIRE(out->rises != NULL && out->x->count > 1 && out->y->count > 1 &&
                   out->rises->count == out->x->count * out->y->count,
               BB_INVALID, "the file has no temperatures over x and y");
    if (scene->step > 0) {
        (void)snprintf(path, sizeof path, "operators/S_%.0f", out->exposure);
        out->inputs = bb_results_find(results, path);
        BB_REQUIRE(out->inputs != NULL && out->inputs->rank == 2 &&
                       out->inputs->shape[1] >= out->rises->count,
                   BB_INVALID, "the file does not have the temperatures of all light steps");
        BB_REQUIRE(scene->step <= out->inputs->shape[0], BB_INVALID,
                   "--step %td, expected 1 to %td", scene->step, out->inputs->shape[0]);
        out->step = scene->step - 1;
    }
done:
    return status;
}

// Temperature rise above the water. Overlay may count from another level, which is the same in all
// steps.
static double rise_at(const heat_map *map, bb_index cell)
{
    const double last = map->rises->numbers[cell];
    if (map->inputs == NULL) {
        return last;
    }
    const bb_index cells = map->inputs->shape[1];
    const double *inputs = map->inputs->numbers;
    return last +
           (inputs[map->step * cells + cell] - inputs[(map->inputs->shape[0] - 1) * cells + cell]);
}

static bb_status add_map(const heat_map *map, double *low, double *high, bb_figure *figure)
{
    bb_status status = BB_OK;
    *low = INFINITY;
    *high = -INFINITY;
    BB_TRY(bb_figure_block(figure, "temperature", "rows of y, columns of x [K]"));
    for (bb_index row = 0; row < map->y->count; ++row) {
        for (bb_index column = 0; column < map->x->count; ++column) {
            // Cells outside the wafer have no temperature.
            const bool is_outside =
                hypot(map->x->numbers[column], map->y->numbers[row]) > map->radius;
            const double value = is_outside ? NAN : rise_at(map, row * map->x->count + column);
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
    heat_map map;
    double low = 0.0;
    double high = 0.0;
    char step[NAME_BYTES] = "last light step";
    char note[2 * NAME_BYTES];
    bb_figure_box axes;
    BB_TRY(open_map(scene, &map));
    const double *x = map.x->numbers;
    const double *y = map.y->numbers;
    if (isnan(figure->height_cm)) {
        figure->height_cm = (figure->width_cm - 3.1) + 2.3;
    }
    if (map.inputs != NULL) {
        (void)snprintf(step, sizeof step, "light step %td of %td", map.step + 1,
                       map.inputs->shape[0]);
    }
    (void)snprintf(note, sizeof note, "Mean temperature rise of a cell, %s of exposure %.0f.", step,
                   map.exposure);
    BB_TRY(bb_figure_begin(figure, scene->results, note));
    BB_TRY(bb_figure_margins(figure, (bb_figure_box){1.4, 1.0, 1.8, 0.3}, &axes));
    const double side = fmin(axes.x_high - axes.x_low, axes.y_high - axes.y_low);
    axes = (bb_figure_box){axes.x_low, axes.y_high - side, axes.x_low + side, axes.y_high};
    BB_TRY(bb_figure_place(figure, axes));
    BB_TRY(bb_figure_name_axes(figure, axes, "x [mm]", "y [mm]"));
    BB_TRY(bb_figure_palette(figure));
    BB_TRY(add_map(&map, &low, &high, figure));
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
                       high > low ? high : low + 1.0, -1.03 * map.radius, 1.03 * map.radius,
                       -1.03 * map.radius, 1.03 * map.radius, map.radius, x[0], x[1] - x[0], y[0],
                       y[1] - y[0]));
done:
    return status;
}

const bb_plot_kind bb_plot_heat = {"heat",
                                   "temperature of the wafer in a light step of a scored exposure",
                                   {"temperature/x", "temperature/y", "view/wafer_radius_mm"},
                                   "a wafer file of 'bitbudget run --dump inputs' of this version",
                                   draw_heat,
                                   BB_PLOT_TAKES_STEP};

// Probes of a file, limited to the number of colours.
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
    BB_REQUIRE(out->count > 0, BB_INVALID, "the file has no probes");
done:
    return status;
}

// Thins out steps: more steps than dots of a page only increase the size.
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
    (void)snprintf(note, sizeof note, "The file has %td more probes.", set.more);
    if (isnan(figure->height_cm)) {
        figure->height_cm = 0.6 * figure->width_cm;
    }
    const double *time = set.time->numbers;
    const double last = time[set.time->count - 1];
    BB_TRY(bb_figure_begin(figure, scene->results, set.more > 0 ? note : NULL));
    margins.y_high += 0.3 * bb_figure_key_rows(set.keys, set.count, figure->width_cm - 2.2);
    BB_TRY(bb_figure_margins(figure, margins, &axes));
    BB_TRY(bb_figure_name_axes(figure, axes, "time since the first wafer was clamped [s]", NULL));
    // Places the label farther left than usual, since the numbers may be long.
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
                                     draw_probes,       0};
