// SPDX-License-Identifier: Apache-2.0
//
// The picture of a sweep's choices: worst price against bytes.
#include "sim/report/cloud.h"
#include "sim/report/plot.h"
#include "sim/report/swept.h"

#include <math.h>
#include <stdio.h>

enum { NAME_BYTES = 160 };

static void fill_choice(const bb_swept_choice *choice, bb_index i, bb_cloud *points)
{
    points->names[i] = choice->name;
    points->words[i] = isnan(choice->price_most) ? "finished nowhere" : "failed at some conditions";
    points->x[i] = 1e-6 * choice->bytes;
    points->costs[i] =
        (bb_cloud_cost){.price = isnan(choice->price_most) ? INFINITY : choice->price_most,
                        .bytes = choice->bytes,
                        .takes_part = choice->failed == 0.0};
}

static bb_status draw_choices(const bb_plot_scene *scene, bb_figure *figure)
{
    bb_status status = BB_OK;
    bb_swept swept = {0};
    bb_cloud points = {0};
    static const bb_figure_key keys[] = {{"safe, Pareto front", BB_FIGURE_VERMILION, 7, 0},
                                         {"safe", BB_FIGURE_BLUE, 6, 0},
                                         {"failed somewhere", BB_FIGURE_BLACK, 2, 0}};
    char price[NAME_BYTES];
    BB_TRY(bb_swept_read(scene->results, scene->experiment, &swept));
    (void)snprintf(price, sizeof price, "worst %s", scene->experiment->price_name);
    points.price_name = price;
    points.x_name = "operator as stored [MB]";
    BB_TRY(bb_cloud_create(swept.choice_count, &points));
    for (bb_index i = 0; i < swept.choice_count; ++i) {
        fill_choice(&swept.choices[i], i, &points);
        points.costs[i].front = bb_swept_is_front(&swept, i);
    }
    BB_TRY(bb_cloud_finish(&points));
    BB_TRY(bb_cloud_draw_front(&points, scene->results, keys,
                               "Worst price over the conditions that a choice finished, median of "
                               "its bytes; safe: finished at every condition.",
                               figure));
done:
    bb_cloud_release(&points);
    bb_swept_release(&swept);
    return status;
}

const bb_plot_kind bb_plot_choices = {
    .name = "pareto",
    .shows = "worst price over the conditions against bytes, every choice with its name",
    .needs = {"statistics/choice_pipeline", "statistics/operator_bytes"},
    .remedy = "a file of 'bitbudget sweep', or of 'sweep collect'",
    .draw = draw_choices,
    .traits = BB_PLOT_OF_SWEEPS};
