// SPDX-License-Identifier: Apache-2.0
//
// Pictures of speed: latencies of a control loop, and the roofline of a benchmark file.
#include "core/memory.h"
#include "sim/report/cloud.h"
#include "sim/report/plot.h"

#include <math.h>
#include <stdio.h>

enum { NAME_BYTES = 200 };

static const double name_points = 7.0;

// Datasets of a realtime file.
typedef struct latencies {
    const bb_dataset *kinds, *bins, *counts, *worst;
    double deadline_us;
    bb_figure_key keys[BB_FIGURE_COLOURS + 2];
    bb_index key_count;
    double low, high, peak;
} latencies;

static bb_index steps_of(const latencies *all_kinds, bb_index kind)
{
    double sum = 0.0;
    for (bb_index b = 0; b < all_kinds->bins->count; ++b) {
        sum += all_kinds->counts->numbers[kind * all_kinds->bins->count + b];
    }
    return (bb_index)sum;
}

static bb_status gather_latencies(const bb_results *results, latencies *out)
{
    bb_status status = BB_OK;
    out->kinds = bb_results_find(results, "kind");
    out->kinds = out->kinds == NULL ? bb_results_find(results, "results/kind") : out->kinds;
    out->bins = bb_results_find(results, "latency/bin_us");
    out->counts = bb_results_find(results, "latency/count");
    out->worst = bb_results_find(results, "worst/latency_us");
    out->deadline_us = bb_plot_single(results, "results/deadline_us");
    BB_REQUIRE(out->kinds != NULL && out->kinds->is_text && out->counts->rank == 2 &&
                   out->counts->shape[0] == out->kinds->count &&
                   out->counts->shape[1] == out->bins->count && out->bins->count > 1,
               BB_INVALID, "the histogram does not have the axes kind and bin_us");
    out->low = INFINITY;
    out->high = isfinite(out->deadline_us) ? out->deadline_us : 0.0;
    for (bb_index i = 0; i < out->counts->count; ++i) {
        const bb_index b = i % out->bins->count;
        if (out->counts->numbers[i] > 0.0) {
            out->low = fmin(out->low, fmax(out->bins->numbers[b], 0.5));
            out->high = fmax(out->high, out->bins->numbers[b] + 1.0);
            out->peak = fmax(out->peak, out->counts->numbers[i]);
        }
    }
    for (bb_index w = 0; out->worst != NULL && w < out->worst->count; ++w) {
        out->high = fmax(out->high, out->worst->numbers[w]);
    }
    BB_REQUIRE(out->peak > 0.0, BB_INVALID, "the histogram has no steps");
    out->low /= 1.3;
    out->high *= 1.3;
done:
    return status;
}

// Adds a line for each kind with steps; with several kinds, `all` is the sum of the others.
static bb_status add_histograms(latencies *all_kinds, bb_figure *figure)
{
    bb_status status = BB_OK;
    char name[NAME_BYTES];
    for (bb_index k = 0; k < all_kinds->kinds->count && k < BB_FIGURE_COLOURS; ++k) {
        if (steps_of(all_kinds, k) == 0) {
            continue;
        }
        (void)snprintf(name, sizeof name, "kind %td", k);
        BB_TRY(bb_figure_block(figure, name, "latency, lower edge of the bin [us], steps"));
        for (bb_index b = 0; b < all_kinds->bins->count; ++b) {
            const double count = all_kinds->counts->numbers[k * all_kinds->bins->count + b];
            if (count > 0.0) {
                BB_TRY(bb_text_add(&figure->data, "%.6g %.9g\n",
                                   fmax(all_kinds->bins->numbers[b], 0.5), count));
            }
        }
        BB_TRY(bb_text_add(&figure->script,
                           "%sdata index 'kind %td' using 1:2 with impulses linewidth %g linecolor "
                           "'%s', \\\n  data index 'kind %td' using 1:2 with points pointtype %td "
                           "pointsize 0.25 linecolor '%s'",
                           all_kinds->key_count == 0 ? "plot " : ", \\\n  ", k,
                           all_kinds->key_count == 0 ? 1.6 : 0.6, bb_figure_colours[k], k,
                           4 + 2 * k, bb_figure_colours[k]));
        all_kinds->keys[all_kinds->key_count++] =
            (bb_figure_key){all_kinds->kinds->texts[k], bb_figure_colours[k], (int)(4 + 2 * k), 0};
    }
done:
    return status;
}

static bb_status add_worst(const latencies *all_kinds, bb_figure *figure)
{
    bb_status status = BB_OK;
    if (all_kinds->worst == NULL || all_kinds->worst->count == 0) {
        goto done;
    }
    BB_TRY(bb_figure_block(figure, "worst", "latency of the worst steps [us]"));
    for (bb_index w = 0; w < all_kinds->worst->count; ++w) {
        BB_TRY(bb_text_add(&figure->data, "%.6g\n", all_kinds->worst->numbers[w]));
    }
    BB_TRY(bb_text_add(&figure->script,
                       ", \\\n  data index 'worst' using 1:(0.7) with points pointtype 2 pointsize "
                       "0.5 linecolor 'black'"));
done:
    return status;
}

static bb_status draw_latency(const bb_plot_scene *scene, bb_figure *figure)
{
    bb_status status = BB_OK;
    latencies found = {.key_count = 0};
    bb_figure_box axes;
    char note[NAME_BYTES];
    BB_TRY(gather_latencies(scene->results, &found));
    if (isnan(figure->height_cm)) {
        figure->height_cm = 0.65 * figure->width_cm;
    }
    (void)snprintf(note, sizeof note,
                   "From the release of a step to its end; bins of %g us. Crosses on the lower "
                   "edge: the worst steps.",
                   found.bins->numbers[1] - found.bins->numbers[0]);
    BB_TRY(bb_figure_begin(figure, scene->results, note));
    BB_TRY(bb_figure_margins(figure, (bb_figure_box){1.5, 1.0, 0.45, 0.5}, &axes));
    BB_TRY(bb_figure_name_axes(figure, axes, "latency [us]", "steps"));
    BB_TRY(bb_figure_log_axis(figure, "x", found.low, found.high, axes.x_high - axes.x_low));
    BB_TRY(bb_figure_log_axis(figure, "y", 0.4, 2.0 * found.peak, axes.y_high - axes.y_low));
    if (isfinite(found.deadline_us)) {
        BB_TRY(bb_text_add(&figure->script,
                           "set arrow from first %.9g, graph 0 to first %.9g, graph 1 nohead "
                           "linewidth 1.2 dashtype 2 linecolor 'black'\n",
                           found.deadline_us, found.deadline_us));
    }
    // Keys are known only after the histograms; gnuplot draws labels that are set before the plot.
    bb_text after = {0};
    bb_text before = figure->script;
    figure->script = after;
    status = add_histograms(&found, figure);
    status = status == BB_OK ? add_worst(&found, figure) : status;
    after = figure->script;
    figure->script = before;
    if (status == BB_OK) {
        found.keys[found.key_count++] = (bb_figure_key){"worst", BB_FIGURE_BLACK, 2, 0};
        if (isfinite(found.deadline_us)) {
            found.keys[found.key_count++] = (bb_figure_key){"deadline", BB_FIGURE_BLACK, 0, 2};
        }
        status = bb_figure_write_keys(figure, found.keys, found.key_count, axes);
    }
    status =
        status == BB_OK ? bb_text_add(&figure->script, "%s\n", bb_text_string(&after)) : status;
    bb_text_release(&after);
done:
    return status;
}

const bb_plot_kind bb_plot_latency = {"latency",
                                      "histogram of a loop's latencies, its deadline and its worst "
                                      "steps",
                                      {"latency/bin_us", "latency/count"},
                                      "a file of 'bitbudget realtime'",
                                      draw_latency,
                                      0};

// Rows of a benchmark file with a roofline.
typedef struct roof {
    const bb_dataset *names, *bytes, *flops, *rate, *read, *peak;
    bb_index count;
    double low_x, high_x, low_y, high_y;
    bb_figure_box axes;
} roof;

static bool has_roof(const roof *found, bb_index row)
{
    return found->read->numbers[row] > 0.0 && found->bytes->numbers[row] > 0.0 &&
           found->rate->numbers[row] > 0.0;
}

// Peak of a row. On a device without a peak it is the point where the slope of the row leaves the
// page.
static double peak_of(const roof *found, bb_index row, double beyond)
{
    const double peak = found->peak->numbers[row];
    return peak > 0.0 ? peak : found->read->numbers[row] * beyond;
}

static double intensity(const roof *found, bb_index row)
{
    return found->flops->numbers[row] / found->bytes->numbers[row];
}

static bb_status gather_roofs(const bb_results *results, roof *out)
{
    bb_status status = BB_OK;
    double least_x = INFINITY;
    double most_x = 0.0;
    double least_y = INFINITY;
    double most_y = 0.0;
    out->names = bb_results_find(results, "results/benchmark");
    out->bytes = bb_results_find(results, "results/floor_bytes");
    out->flops = bb_results_find(results, "results/floor_flops");
    out->rate = bb_results_find(results, "results/flops_per_s");
    out->read = bb_results_find(results, "results/roof_bytes_per_s");
    out->peak = bb_results_find(results, "results/roof_flops_per_s");
    out->count = out->names->count;
    BB_REQUIRE(out->bytes != NULL && out->flops != NULL && out->rate != NULL &&
                   out->bytes->count == out->count && out->read->count == out->count &&
                   out->peak != NULL && out->peak->count == out->count &&
                   out->flops->count == out->count && out->rate->count == out->count,
               BB_INVALID, "columns of the benchmark file differ in length");
    for (bb_index r = 0; r < out->count; ++r) {
        if (has_roof(out, r)) {
            const double peak = peak_of(out, r, 4.0 * intensity(out, r));
            const double ridge = peak / out->read->numbers[r];
            least_x = fmin(least_x, intensity(out, r));
            most_x = fmax(most_x, fmax(intensity(out, r), ridge));
            least_y = fmin(least_y, out->rate->numbers[r]);
            most_y = fmax(most_y, peak);
        }
    }
    BB_REQUIRE(most_x > 0.0, BB_INVALID, "the file has no roofline benchmark");
    out->low_x = least_x / 4.0;
    out->high_x = most_x * 4.0;
    out->low_y = 1e-9 * least_y / 4.0;
    out->high_y = 1e-9 * most_y * 2.5;
done:
    return status;
}

// Adds a roof for each row: read rates and peaks are measured together with each row.
static bb_status add_roofs(const roof *found, bb_figure *figure)
{
    bb_status status = BB_OK;
    bb_placement *places = NULL;
    bb_index *who = NULL;
    bb_index count = 0;
    BB_TRY(BB_ZEROED(found->count, &places));
    BB_TRY(BB_ZEROED(found->count, &who));
    for (bb_index r = 0; r < found->count; ++r) {
        if (!has_roof(found, r)) {
            continue;
        }
        const double peak = peak_of(found, r, found->high_x);
        const double ridge = peak / found->read->numbers[r];
        char name[NAME_BYTES];
        (void)snprintf(name, sizeof name, "roof %td", r);
        BB_TRY(bb_figure_block(figure, name, "operations per byte, GFLOP/s"));
        BB_TRY(bb_text_add(&figure->data, "%.6g %.6g\n%.6g %.6g\n%.6g %.6g\n", found->low_x,
                           1e-9 * found->low_x * found->read->numbers[r], ridge, 1e-9 * peak,
                           found->high_x, 1e-9 * peak));
        (void)snprintf(name, sizeof name, "row %td", r);
        BB_TRY(bb_figure_block(figure, name, "operations per byte, GFLOP/s attained"));
        const double x = intensity(found, r);
        const double y = 1e-9 * found->rate->numbers[r];
        BB_TRY(bb_text_add(&figure->data, "%.6g %.6g\n", x, y));
        const bb_figure_box *axes = &found->axes;
        who[count] = r;
        places[count++] =
            (bb_placement){.x = axes->x_low + (axes->x_high - axes->x_low) * log(x / found->low_x) /
                                                  log(found->high_x / found->low_x),
                           .y = axes->y_low + (axes->y_high - axes->y_low) * log(y / found->low_y) /
                                                  log(found->high_y / found->low_y),
                           .width = bb_figure_text_cm(found->names->texts[r], name_points) + 0.06,
                           .height = 0.3};
    }
    bb_placement_run(places, count, found->axes, NULL, 0);
    for (bb_index i = 0; i < count; ++i) {
        BB_TRY(bb_figure_write(figure, places[i].name_x, places[i].name_y,
                               found->names->texts[who[i]], name_points, "center front"));
    }
    for (bb_index i = 0; i < count; ++i) {
        const char *colour = bb_figure_colours[i % BB_FIGURE_COLOURS];
        BB_TRY(bb_text_add(&figure->script,
                           "%sdata index 'roof %td' using 1:2 with lines linewidth 1 dashtype %td "
                           "linecolor '%s', \\\n  data index 'row %td' using 1:2 with points "
                           "pointtype %td pointsize 0.7 linecolor '%s'",
                           i == 0 ? "plot " : ", \\\n  ", who[i], i % 5 + 1, colour, who[i],
                           5 + 2 * (i % 5), colour));
    }
    BB_TRY(bb_text_add(&figure->script, "\n"));
done:
    BB_RELEASE(&places);
    BB_RELEASE(&who);
    return status;
}

static bb_status draw_roofline(const bb_plot_scene *scene, bb_figure *figure)
{
    bb_status status = BB_OK;
    roof found = {.count = 0};
    BB_TRY(gather_roofs(scene->results, &found));
    if (isnan(figure->height_cm)) {
        figure->height_cm = 0.7 * figure->width_cm;
    }
    BB_TRY(bb_figure_begin(
        figure, scene->results,
        "Marks: attained rate of a step. The roof of the same colour has the read rate and the "
        "peak of separate products and sums in fp32, measured in the same run."));
    BB_TRY(bb_figure_margins(figure, (bb_figure_box){1.5, 1.0, 0.25, 0.2}, &found.axes));
    BB_TRY(bb_figure_name_axes(figure, found.axes, "operations per byte", "GFLOP/s"));
    BB_TRY(bb_figure_log_axis(figure, "x", found.low_x, found.high_x,
                              found.axes.x_high - found.axes.x_low));
    BB_TRY(bb_figure_log_axis(figure, "y", found.low_y, found.high_y,
                              found.axes.y_high - found.axes.y_low));
    BB_TRY(bb_text_add(&figure->script, "set grid linecolor '#d8d8d8' linewidth 0.5\n"));
    BB_TRY(add_roofs(&found, figure));
done:
    return status;
}

const bb_plot_kind bb_plot_roofline = {
    "roofline",
    "operations per second of the wafer's steps against operations per byte, with rooflines",
    {"results/benchmark", "results/roof_bytes_per_s"},
    "a file of 'bitbudget-bench' with the benchmarks roofline-*",
    draw_roofline,
    0};
