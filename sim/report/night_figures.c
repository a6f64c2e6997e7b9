// SPDX-License-Identifier: Apache-2.0
//
// Pictures of a night: Strehl ratio over time, and its loss with the age of a reconstructor's data.
#include "core/memory.h"
#include "sim/report/plot.h"

#include <math.h>
#include <stdio.h>

enum { NAME_BYTES = 64, MOST_PIPELINES = BB_FIGURE_COLOURS - 1, MOST_POLICIES = 4 };

// Colours distinguish pipelines, black is the reconstructor computed for each moment; dashes
// distinguish policies.
typedef struct lines {
    const bb_dataset *pipelines, *policies, *across;
    bb_index pipeline_count, policy_count; // number of those drawn
    bb_figure_key keys[MOST_PIPELINES + MOST_POLICIES + 1];
    bb_index key_count;
} lines;

static int dash_of(bb_index policy)
{
    static const int dashes[MOST_POLICIES] = {1, 2, 3, 4};
    return dashes[policy % MOST_POLICIES];
}

static const char *colour_of(bb_index pipeline)
{
    return bb_figure_colours[1 + pipeline % MOST_PIPELINES];
}

static bb_status gather(const bb_results *results, const char *across, lines *out)
{
    bb_status status = BB_OK;
    *out = (lines){.pipelines = bb_results_find(results, "night/pipeline"),
                   .policies = bb_results_find(results, "night/policy"),
                   .across = bb_results_find(results, across)};
    BB_REQUIRE(out->pipelines->is_text && out->policies->is_text && !out->across->is_text,
               BB_INVALID, "the night has no names of pipelines and policies");
    out->pipeline_count =
        out->pipelines->count < MOST_PIPELINES ? out->pipelines->count : MOST_PIPELINES;
    out->policy_count = out->policies->count < MOST_POLICIES ? out->policies->count : MOST_POLICIES;
    for (bb_index p = 0; p < out->pipeline_count; ++p) {
        out->keys[out->key_count++] = (bb_figure_key){out->pipelines->texts[p], colour_of(p), 0, 1};
    }
    for (bb_index q = 0; q < out->policy_count; ++q) {
        out->keys[out->key_count++] =
            (bb_figure_key){out->policies->texts[q], BB_FIGURE_GREY, 0, dash_of(q)};
    }
done:
    return status;
}

// Starts a picture: page, axes and keys; `note` is written below.
static bb_status begin(const bb_results *results, const lines *set, const char *note,
                       const char *x_text, const char *y_text, bb_figure *figure,
                       bb_figure_box *axes)
{
    bb_status status = BB_OK;
    if (isnan(figure->height_cm)) {
        figure->height_cm = 0.65 * figure->width_cm;
    }
    BB_TRY(bb_figure_begin(figure, results, note));
    const double room =
        0.3 * bb_figure_key_rows(set->keys, set->key_count, figure->width_cm - 1.85);
    BB_TRY(bb_figure_margins(figure, (bb_figure_box){1.6, 1.0, 0.4, 0.2 + room}, axes));
    BB_TRY(bb_figure_name_axes(figure, *axes, x_text, y_text));
    BB_TRY(bb_figure_write_keys(figure, set->keys, set->key_count, *axes));
done:
    return status;
}

static bb_status add_plot(bb_figure *figure, bool *begun, const char *name, const char *colour,
                          int dash)
{
    bb_status status = BB_OK;
    BB_TRY(bb_text_add(&figure->script,
                       "%sdata index '%s' using 1:2 with lines linewidth 1.2 dashtype %d "
                       "linecolor '%s'",
                       *begun ? ", \\\n  " : "plot ", name, dash, colour));
    *begun = true;
done:
    return status;
}

// Adds a line with gaps at non-finite values and, if `positive`, where x or y is not positive.
static bb_status add_line(const lines *set, const char *name, const double *values, bool positive,
                          bb_figure *figure)
{
    bb_status status = BB_OK;
    bb_index count = 0;
    BB_TRY(bb_figure_block(figure, name, "across, value"));
    for (bb_index k = 0; k < set->across->count; ++k) {
        const double x = set->across->numbers[k];
        const double y = values[k];
        const bool drawn = isfinite(y) && (!positive || (x > 0.0 && y > 0.0));
        if (drawn) {
            BB_TRY(bb_text_add(&figure->data, "%.9g %.9g\n", x, y));
            ++count;
        } else {
            BB_TRY(bb_text_add(&figure->data, "\n"));
        }
    }
    BB_TRY(bb_text_add(&figure->data, "%s", count == 0 ? "nan nan\n" : ""));
done:
    return status;
}

static void widen(const double *values, bb_index count, double *low, double *high)
{
    for (bb_index k = 0; k < count; ++k) {
        if (isfinite(values[k])) {
            *low = fmin(*low, values[k]);
            *high = fmax(*high, values[k]);
        }
    }
}

static bb_status draw_night(const bb_plot_scene *scene, bb_figure *figure)
{
    bb_status status = BB_OK;
    const bb_dataset *moment = bb_results_find(scene->results, "night/strehl_moment");
    const bb_dataset *strehl = bb_results_find(scene->results, "night/strehl");
    lines set;
    bb_figure_box axes;
    bool begun = false;
    char name[NAME_BYTES];
    double low = INFINITY;
    double high = -INFINITY;
    BB_TRY(gather(scene->results, "night/time", &set));
    const bb_index samples = set.across->count;
    const bb_index reference = bb_plot_reference(scene->results);
    BB_REQUIRE(moment->count == set.pipelines->count * samples &&
                   strehl->count == set.pipelines->count * set.policies->count * samples,
               BB_INVALID,
               "the Strehl ratios of the night do not have the axes of its pipelines and times");
    set.keys[set.key_count++] = (bb_figure_key){"reference of the moment", BB_FIGURE_BLACK, 0, 1};
    BB_TRY(begin(scene->results, &set,
                 "First target and wavelength. Black: the reference's reconstructor computed for "
                 "each moment.",
                 "time [min]", "Strehl ratio", figure, &axes));
    widen(moment->numbers, moment->count, &low, &high);
    widen(strehl->numbers, strehl->count, &low, &high);
    const double room = high > low ? 0.05 * (high - low) : 0.01;
    BB_TRY(
        bb_text_add(&figure->script,
                    "set xrange [%.9g:%.9g]\nset yrange [%.9g:%.9g]\nset xtics nomirror\nset "
                    "ytics nomirror\nset grid ytics linecolor '#d8d8d8' linewidth 0.5\n",
                    set.across->numbers[0],
                    samples > 1 ? set.across->numbers[samples - 1] : set.across->numbers[0] + 1.0,
                    isfinite(low) ? low - room : 0.0, isfinite(high) ? high + room : 1.0));
    for (bb_index p = 0; p < set.pipeline_count; ++p) {
        for (bb_index q = 0; q < set.policy_count; ++q) {
            (void)snprintf(name, sizeof name, "pipeline %td policy %td", p, q);
            BB_TRY(add_line(&set, name, strehl->numbers + (p * set.policies->count + q) * samples,
                            false, figure));
            BB_TRY(add_plot(figure, &begun, name, colour_of(p), dash_of(q)));
        }
    }
    BB_TRY(add_line(&set, "moment", moment->numbers + reference * samples, false, figure));
    BB_TRY(add_plot(figure, &begun, "moment", BB_FIGURE_BLACK, 1));
    BB_TRY(bb_text_add(&figure->script, "\n"));
done:
    return status;
}

const bb_plot_kind bb_plot_night = {
    "night",
    "Strehl ratio over a night for every pipeline and policy, and for the reconstructor of the "
    "moment",
    {"night/pipeline", "night/policy", "night/time", "night/strehl_moment", "night/strehl"},
    "an ao file of 'bitbudget run' with a night.source",
    draw_night,
    0};

// Losses relative to the reconstructor of the moment, [pipelines][policies][ages].
static bb_status list_losses(const lines *set, const bb_dataset *aged, const bb_dataset *precision,
                             double **out)
{
    bb_status status = BB_OK;
    const bb_index each = set->policies->count * set->across->count;
    BB_TRY(BB_ALLOCATE(aged->count, out));
    for (bb_index i = 0; i < aged->count; ++i) {
        (*out)[i] = aged->numbers[i] + precision->numbers[i / each];
    }
done:
    return status;
}

static bb_status set_scales(const lines *set, const double *losses, bb_index count,
                            bb_figure_box axes, bb_figure *figure)
{
    bb_status status = BB_OK;
    double low, high, x_low, x_high;
    bb_plot_range(losses, count, &low, &high);
    bb_plot_range(set->across->numbers, set->across->count, &x_low, &x_high);
    BB_TRY(bb_figure_log_axis(figure, "x", x_low, x_high, axes.x_high - axes.x_low));
    BB_TRY(bb_figure_log_axis(figure, "y", low, high, axes.y_high - axes.y_low));
    BB_TRY(bb_text_add(&figure->script, "set grid ytics linecolor '#d8d8d8' linewidth 0.5\n"));
done:
    return status;
}

static bb_status draw_staleness(const bb_plot_scene *scene, bb_figure *figure)
{
    bb_status status = BB_OK;
    const bb_dataset *aged = bb_results_find(scene->results, "night/aged_loss");
    const bb_dataset *precision = bb_results_find(scene->results, "night/precision_loss");
    double *losses = NULL;
    lines set;
    bb_figure_box axes;
    bool begun = false;
    char name[NAME_BYTES];
    BB_TRY(gather(scene->results, "night/age", &set));
    const bb_index ages = set.across->count;
    BB_REQUIRE(precision->count == set.pipelines->count &&
                   aged->count == set.pipelines->count * set.policies->count * ages,
               BB_INVALID, "night losses: sizes do not match the axes pipeline, policy and age");
    BB_TRY(list_losses(&set, aged, precision, &losses));
    BB_TRY(begin(scene->results, &set,
                 "Mean loss relative to the reference's reconstructor of the moment, due to age "
                 "and to precision. Losses of 0 and ages of 0 are not drawn.",
                 "age of the data [min]", "loss of Strehl ratio", figure, &axes));
    BB_TRY(set_scales(&set, losses, aged->count, axes, figure));
    for (bb_index p = 0; p < set.pipeline_count; ++p) {
        for (bb_index q = 0; q < set.policy_count; ++q) {
            (void)snprintf(name, sizeof name, "pipeline %td policy %td", p, q);
            BB_TRY(
                add_line(&set, name, losses + (p * set.policies->count + q) * ages, true, figure));
            BB_TRY(add_plot(figure, &begun, name, colour_of(p), dash_of(q)));
        }
    }
    BB_TRY(bb_text_add(&figure->script, "\n"));
done:
    BB_RELEASE(&losses);
    return status;
}

const bb_plot_kind bb_plot_staleness = {
    "staleness",
    "loss of Strehl ratio against the age of a reconstructor's data, by pipeline and policy",
    {"night/pipeline", "night/policy", "night/age", "night/aged_loss", "night/precision_loss"},
    "an ao file of 'bitbudget run' with a night.source and night.ages_minutes",
    draw_staleness,
    0};
