// SPDX-License-Identifier: Apache-2.0
//
// Pictures of losses: every pipeline is a named point.
#include "precision/codec.h"
#include "sim/report/cloud.h"
#include "sim/report/plot.h"
#include "sim/report/swept.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { FAMILY_BYTES = 32, MOST_FAMILIES = 16, NAME_BYTES = 160 };

static const double name_points = 7.0;

// Collects costs of the pipelines and their x coordinate, computed from their bytes.
static bb_status gather(const bb_plot_scene *scene, const char *x_name,
                        double (*x_of)(const bb_results *results, double bytes, bb_index p),
                        bb_cloud *out)
{
    bb_status status = BB_OK;
    BB_REQUIRE(scene->experiment != NULL, BB_INVALID,
               "the file belongs to no experiment and has no losses");
    const bb_dataset *names = bb_results_find(scene->results, "results/pipeline");
    const bb_dataset *statuses = bb_results_find(scene->results, "results/status");
    out->loss_name = scene->experiment->loss_name;
    out->x_name = x_name;
    BB_TRY(bb_cloud_create(names->count, out));
    BB_TRY(bb_cloud_costs(scene->experiment, scene->results, out->costs));
    for (bb_index p = 0; p < out->count; ++p) {
        out->names[p] = names->texts[p];
        out->words[p] = statuses == NULL || !statuses->is_text ? "ok" : statuses->texts[p];
        out->x[p] = x_of(scene->results, out->costs[p].bytes, p);
    }
    BB_TRY(bb_cloud_finish(out));
done:
    return status;
}

static double megabytes(const bb_results *results, double bytes, bb_index p)
{
    (void)results;
    (void)p;
    return 1e-6 * bytes;
}

static bb_status draw_pareto(const bb_plot_scene *scene, bb_figure *figure)
{
    bb_status status = BB_OK;
    bb_cloud points = {0};
    static const bb_figure_key keys[] = {{"Pareto front", BB_FIGURE_VERMILION, 7, 0},
                                         {"others", BB_FIGURE_BLUE, 6, 0},
                                         {"unsafe or invalid", BB_FIGURE_BLACK, 2, 0}};
    BB_TRY(gather(scene, "operator as stored [MB]", megabytes, &points));
    BB_TRY(bb_cloud_draw_front(&points, scene->results, keys, "", figure));
done:
    bb_cloud_release(&points);
    return status;
}

const bb_plot_kind bb_plot_pareto = {
    "pareto",
    "loss against bytes of the operator, with the Pareto front",
    {"results/pipeline", "results/status", "results/operator_bytes"},
    "a file of 'bitbudget run'",
    draw_pareto,
    0};

static double bits_a_value(const bb_results *results, double bytes, bb_index p)
{
    const bb_dataset *ratios = bb_plot_column(results, "compression_ratio");
    (void)bytes;
    return ratios == NULL ? NAN : 32.0 / ratios->numbers[p];
}

// Family of a codec: the plain formats are one family, every other codec has its own. "cube 3"
// belongs to "cube".
static void name_family(const bb_dataset *codecs, bb_index p, char out[FAMILY_BYTES])
{
    if (codecs == NULL || !codecs->is_text) {
        (void)snprintf(out, FAMILY_BYTES, "%s", "factor and reconstructor");
        return;
    }
    const char *codec = codecs->texts[p];
    (void)snprintf(out, FAMILY_BYTES, "%.*s", (int)strcspn(codec, " "), codec);
    const int row = bb_codec_find(out);
    if (row >= 0 && row < BB_FORMAT_COUNT) {
        (void)snprintf(out, FAMILY_BYTES, "plain formats");
    }
}

typedef struct families {
    char names[MOST_FAMILIES][FAMILY_BYTES];
    int count;
} families;

static int family_of(families *list, const char *name)
{
    int f = 0;
    while (f < list->count && strcmp(list->names[f], name) != 0) {
        ++f;
    }
    if (f == list->count && f < MOST_FAMILIES) {
        (void)snprintf(list->names[list->count++], FAMILY_BYTES, "%s", name);
    }
    return f < MOST_FAMILIES ? f : MOST_FAMILIES - 1;
}

static const int family_marks[] = {7, 5, 9, 13, 11, 6, 4, 8};

static int family_mark(int family)
{
    return family_marks[family % (int)(sizeof family_marks / sizeof *family_marks)];
}

static bb_status add_family(const bb_cloud *points, const bb_dataset *codecs, families *list,
                            int family, bb_figure *figure)
{
    bb_status status = BB_OK;
    char name[FAMILY_BYTES];
    bb_index count = 0;
    (void)snprintf(name, sizeof name, "family %d", family);
    BB_TRY(bb_figure_block(figure, name, "bits per value, loss"));
    for (bb_index p = 0; p < points->count; ++p) {
        name_family(codecs, p, name);
        if (points->drawn[p] && family_of(list, name) == family) {
            BB_TRY(bb_text_add(&figure->data, "%.9g %.9g\n", points->x[p], points->y[p]));
            ++count;
        }
    }
    BB_TRY(bb_text_add(&figure->data, "%s", count == 0 ? "nan nan\n" : ""));
    BB_TRY(bb_text_add(&figure->script,
                       "%sdata index 'family %d' using 1:2 with points pointtype %d pointsize "
                       "0.6 linecolor '%s'",
                       family == 0 ? "plot " : ", \\\n  ", family, family_mark(family),
                       bb_figure_colours[family % BB_FIGURE_COLOURS]));
done:
    return status;
}

static bb_status draw_loss_against_bits(const bb_plot_scene *scene, bb_figure *figure)
{
    bb_status status = BB_OK;
    bb_cloud points = {0};
    families list = {.count = 0};
    bb_figure_key keys[MOST_FAMILIES];
    char name[FAMILY_BYTES];
    const bb_dataset *codecs = bb_results_find(scene->results, "results/codec");
    if (isnan(figure->height_cm)) {
        figure->height_cm = 0.75 * figure->width_cm;
    }
    BB_TRY(gather(scene, "bits per value of the operator", bits_a_value, &points));
    for (bb_index p = 0; p < points.count; ++p) {
        name_family(codecs, p, name);
        (void)family_of(&list, name);
    }
    for (int f = 0; f < list.count; ++f) {
        keys[f] = (bb_figure_key){list.names[f], bb_figure_colours[f % BB_FIGURE_COLOURS],
                                  family_mark(f), 0};
    }
    BB_TRY(
        bb_figure_begin(figure, scene->results, points.note.length == 0 ? NULL : points.note.data));
    BB_TRY(bb_cloud_set_axes(&points, keys, list.count, figure));
    BB_TRY(bb_text_add(&figure->script, "set xtics nomirror (1, 2, 4, 8, 16, 32, 64)\n"));
    BB_TRY(bb_cloud_write_names(&points, figure));
    for (int f = 0; f < list.count; ++f) {
        BB_TRY(add_family(&points, codecs, &list, f, figure));
    }
    BB_TRY(bb_text_add(&figure->script, "\n"));
done:
    bb_cloud_release(&points);
    return status;
}

const bb_plot_kind bb_plot_loss_against_bits = {
    "loss-against-bits",
    "loss against stored bits per value, by family of codecs",
    {"results/pipeline", "results/status", "results/compression_ratio"},
    "a file of 'bitbudget run'",
    draw_loss_against_bits,
    0};

// Losses of pipelines with draws, and their axes.
typedef struct spread {
    const bb_dataset *names, *draws, *mean, *deviation, *worst, *failed;
    bb_index rows;
    double low, high, name_cm;
    bb_figure_box axes;
} spread;

static bb_status gather_spread(const bb_results *results, spread *out)
{
    bb_status status = BB_OK;
    *out = (spread){.names = bb_results_find(results, "results/pipeline"),
                    .draws = bb_plot_column(results, "draws"),
                    .mean = bb_plot_column(results, "loss_mean"),
                    .deviation = bb_plot_column(results, "loss_std"),
                    .worst = bb_plot_column(results, "loss_worst"),
                    .failed = bb_plot_column(results, "draws_failed")};
    BB_REQUIRE(out->draws != NULL && out->mean != NULL && out->deviation != NULL &&
                   out->worst != NULL && out->failed != NULL,
               BB_INVALID, "the results have no draws");
    bb_plot_range(out->worst->numbers, out->worst->count, &out->low, &out->high);
    for (bb_index p = 0; p < out->names->count; ++p) {
        const double floor = out->mean->numbers[p] - out->deviation->numbers[p];
        out->low = floor > 0.0 && floor < out->low ? floor / 1.5 : out->low;
        out->rows += out->draws->numbers[p] > 1.0;
        out->name_cm = fmax(out->name_cm, bb_figure_text_cm(out->names->texts[p], name_points));
    }
done:
    return status;
}

// Adds a row: its numbers, its name to the left of the axes and its failed draws to their right.
static bb_status add_draws(const spread *set, bb_index p, bb_index row, bb_figure *figure)
{
    bb_status status = BB_OK;
    char cell[NAME_BYTES];
    const bb_figure_box *axes = &set->axes;
    const double centre = set->mean->numbers[p];
    const double around = isnan(set->deviation->numbers[p]) ? 0.0 : set->deviation->numbers[p];
    const double y =
        axes->y_high - (axes->y_high - axes->y_low) * (double)row / ((double)set->rows + 0.9);
    BB_TRY(bb_text_add(&figure->data, "%td %.9g %.9g %.9g %.9g\n", row, centre > 0.0 ? centre : NAN,
                       fmax(centre - around, set->low), fmax(centre + around, set->low),
                       set->worst->numbers[p] > 0.0 ? set->worst->numbers[p] : NAN));
    BB_TRY(
        bb_figure_write(figure, axes->x_low - 0.15, y, set->names->texts[p], name_points, "right"));
    (void)snprintf(cell, sizeof cell, "%.0f of %.0f", set->failed->numbers[p],
                   set->draws->numbers[p]);
    BB_TRY(bb_figure_write(figure, axes->x_high + 0.12, y, cell, name_points, "left"));
done:
    return status;
}

static bb_status set_spread_axes(spread *set, const char *loss, bb_figure *figure)
{
    bb_status status = BB_OK;
    static const bb_figure_key keys[] = {{"mean of the draws", BB_FIGURE_BLUE, 7, 0},
                                         {"worst draw", BB_FIGURE_VERMILION, 2, 0}};
    const bb_figure_box margins = {fmin(set->name_cm, 0.35 * figure->width_cm) + 0.4, 1.0, 1.6,
                                   0.55};
    BB_TRY(bb_figure_margins(figure, margins, &set->axes));
    BB_TRY(bb_figure_name_axes(figure, set->axes, loss, NULL));
    BB_TRY(bb_text_add(&figure->script,
                       "set yrange [%.9g:0]\nunset ytics\n"
                       "set grid xtics linecolor '#d8d8d8' linewidth 0.5\n",
                       (double)set->rows + 0.9));
    BB_TRY(
        bb_figure_log_axis(figure, "x", set->low, set->high, set->axes.x_high - set->axes.x_low));
    BB_TRY(bb_figure_write_keys(figure, keys, sizeof keys / sizeof *keys, set->axes));
    BB_TRY(bb_figure_write(figure, set->axes.x_high + 0.12, set->axes.y_high + 0.22, "failed",
                           BB_FIGURE_SMALL_POINTS, "left"));
done:
    return status;
}

static bb_status draw_draws(const bb_plot_scene *scene, bb_figure *figure)
{
    bb_status status = BB_OK;
    spread set;
    bb_index row = 0;
    BB_REQUIRE(scene->experiment != NULL, BB_INVALID,
               "the file belongs to no experiment and has no losses");
    BB_TRY(gather_spread(scene->results, &set));
    if (isnan(figure->height_cm)) {
        figure->height_cm = 2.4 + 0.55 * (double)set.rows;
    }
    BB_TRY(bb_figure_begin(figure, scene->results,
                           "Bars: mean and one standard deviation of the completed draws, cut at "
                           "the edge if they reach 0; right of the axes: failed draws."));
    BB_TRY(set_spread_axes(&set, scene->experiment->loss_name, figure));
    BB_TRY(bb_figure_block(figure, "draws",
                           "row, mean loss, mean - deviation, mean + deviation, worst loss"));
    for (bb_index p = 0; p < set.names->count; ++p) {
        if (set.draws->numbers[p] > 1.0) {
            BB_TRY(add_draws(&set, p, ++row, figure));
        }
    }
    BB_TRY(bb_text_add(
        &figure->script,
        "plot data index 'draws' using 2:1:3:4 with xerrorbars pointtype 7 pointsize 0.5 "
        "linewidth 1 linecolor '" BB_FIGURE_BLUE "', \\\n"
        "  data index 'draws' using 5:1 with points pointtype 2 pointsize 0.6 linewidth 1.2 "
        "linecolor '" BB_FIGURE_VERMILION "'\n"));
done:
    return status;
}

const bb_plot_kind bb_plot_draws = {
    "draws",
    "spread of the loss over a pipeline's draws, and number of failed draws",
    {"results/pipeline", "results/draws", "results/loss_std"},
    "a file of 'bitbudget run' of pipelines with draws above 1",
    draw_draws,
    0};

static void fill_choice(const bb_swept_choice *choice, bb_index i, bb_cloud *points)
{
    points->names[i] = choice->name;
    points->words[i] =
        isnan(choice->loss_most) ? "failed at all conditions" : "failed at some conditions";
    points->x[i] = 1e-6 * choice->bytes;
    points->costs[i] =
        (bb_cloud_cost){.loss = isnan(choice->loss_most) ? INFINITY : choice->loss_most,
                        .bytes = choice->bytes,
                        .is_eligible = choice->failed == 0.0};
}

static bb_status draw_choices(const bb_plot_scene *scene, bb_figure *figure)
{
    bb_status status = BB_OK;
    bb_swept swept = {0};
    bb_cloud points = {0};
    static const bb_figure_key keys[] = {{"safe, Pareto front", BB_FIGURE_VERMILION, 7, 0},
                                         {"safe", BB_FIGURE_BLUE, 6, 0},
                                         {"failed somewhere", BB_FIGURE_BLACK, 2, 0}};
    char loss[NAME_BYTES];
    BB_TRY(bb_swept_read(scene->results, scene->experiment, &swept));
    (void)snprintf(loss, sizeof loss, "worst %s", scene->experiment->loss_name);
    points.loss_name = loss;
    points.x_name = "operator as stored [MB]";
    BB_TRY(bb_cloud_create(swept.choice_count, &points));
    for (bb_index i = 0; i < swept.choice_count; ++i) {
        fill_choice(&swept.choices[i], i, &points);
        points.costs[i].front = bb_swept_is_front(&swept, i);
    }
    BB_TRY(bb_cloud_finish(&points));
    BB_TRY(bb_cloud_draw_front(&points, scene->results, keys,
                               "Worst loss over the conditions where a choice succeeded, median of "
                               "its bytes; safe: succeeded at every condition.",
                               figure));
done:
    bb_cloud_release(&points);
    bb_swept_release(&swept);
    return status;
}

const bb_plot_kind bb_plot_choices = {
    .name = "pareto",
    .shows = "worst loss over the conditions against bytes, with the name of every choice",
    .needs = {"statistics/choice_pipeline", "statistics/operator_bytes"},
    .remedy = "a file of 'bitbudget sweep', or of 'sweep collect'",
    .draw = draw_choices,
    .traits = BB_PLOT_OF_SWEEPS};
