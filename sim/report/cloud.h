// SPDX-License-Identifier: Apache-2.0
//
// A cloud of named points, price against what it buys, on logarithmic axes.
//
// Names beside points, so that none covers another name, a point or the edge of the axes, as far as
// trying places around each point in turn can.
#ifndef BB_SIM_REPORT_CLOUD_H
#define BB_SIM_REPORT_CLOUD_H

#include "sim/output/results.h"
#include "sim/report/figure.h"
#include "sim/run/experiment.h"

#include <stdbool.h>

/// A point and its name's place, cm.
typedef struct bb_placement {
    double x, y;           ///< of the point
    double width, height;  ///< of its name
    double name_x, name_y; ///< found: the middle of the name
    bool far;              ///< found: a line should lead from the point to the name
} bb_placement;

/// Finds places for `count` names inside `axes` and off the `kept` boxes [kept_count], in their
/// order: the first are nearest to their points. Same input, same places.
void bb_placement_run(bb_placement *places, bb_index count, bb_figure_box axes,
                      const bb_figure_box *kept, bb_index kept_count);

/// What a pipeline asks and gives, as the table counts it.
typedef struct bb_cloud_cost {
    double price;    ///< largest of the experiment's, of draws the worst; infinite: not known
    double bytes;    ///< of the operator; infinite: not known
    bool takes_part; ///< computed, safe and not lost
    bool front;      ///< of loss and bytes alone
} bb_cloud_cost;

/// Zero-initialise; fill `price_name`, `x_name` and, after bb_cloud_create, names, words, costs
/// and x.
typedef struct bb_cloud {
    const char *price_name, *x_name; ///< of the axes
    bb_index count;
    const char **names;   ///< [count] borrowed
    const char **words;   ///< [count] how a point ended, borrowed
    bb_cloud_cost *costs; ///< [count]
    double *x;            ///< [count]
    double *y;            ///< [count] what has no positive price stands on the lower edge
    bool *drawn;          ///< [count]
    double low_x, high_x, low_y, high_y;
    bool floor; ///< some stand on the lower edge
    bb_text note;
    bb_figure_box axes;
    bb_figure_box *stairs; ///< [stair_count] that names stay off, cm
    bb_index stair_count;
} bb_cloud;

/// Arrays of `count` points. Errors of all: BB_MEMORY.
BB_CHECKED bb_status bb_cloud_create(bb_index count, bb_cloud *out);
void bb_cloud_release(bb_cloud *points);

/// Finds what is drawn, the ranges, and the note of what is not.
BB_CHECKED bb_status bb_cloud_finish(bb_cloud *points);

/// Axes, what stands along them, and the keys above.
BB_CHECKED bb_status bb_cloud_set_axes(bb_cloud *points, const bb_figure_key *keys,
                                       bb_index key_count, bb_figure *figure);

/// Names beside the points, those of the front first, and what hovers over them.
BB_CHECKED bb_status bb_cloud_write_names(const bb_cloud *points, bb_figure *figure);

/// The whole picture of a front: stairs, points of the front, others and unsafe ones, which `keys`
/// name; `note` follows the cloud's own.
BB_CHECKED bb_status bb_cloud_draw_front(bb_cloud *points, const bb_results *results,
                                         const bb_figure_key keys[3], const char *note,
                                         bb_figure *figure);

/// The costs of all pipelines in their order, out [pipelines]. Errors: BB_INVALID (results without
/// pipelines), BB_MEMORY.
BB_CHECKED bb_status bb_cloud_costs(const bb_experiment *experiment, const bb_results *results,
                                    bb_cloud_cost *out);

#endif
