// SPDX-License-Identifier: Apache-2.0
//
// Scatter plot of named points, loss against cost, on logarithmic axes.
//
// Names are placed next to points such that they do not cover another name, a point or the edge of
// the axes, as far as trying positions around each point in turn allows.
#ifndef BB_SIM_REPORT_CLOUD_H
#define BB_SIM_REPORT_CLOUD_H

#include "sim/output/results.h"
#include "sim/report/figure.h"
#include "sim/run/experiment.h"

#include <stdbool.h>

/// Point and the position of its name, cm.
typedef struct bb_placement {
    double x, y;           ///< position of the point
    double width, height;  ///< size of its name
    double name_x, name_y; ///< result: centre of the name
    bool far;              ///< result: draw a line from the point to the name
} bb_placement;

/// Finds positions for `count` names inside `axes` and outside of the `kept` boxes [kept_count], in
/// their order: the first ones are nearest to their points. The result is deterministic.
void bb_placement_run(bb_placement *places, bb_index count, bb_figure_box axes,
                      const bb_figure_box *kept, bb_index kept_count);

/// Loss and cost of a pipeline, as in the table.
typedef struct bb_cloud_cost {
    double loss;      ///< largest of the experiment's losses, with draws that of the worst draw;
                      ///< infinite: unknown
    double bytes;     ///< bytes of the operator; infinite: unknown
    bool is_eligible; ///< computed, safe and not invalid
    bool front;       ///< true if the point is on the front of loss and bytes
} bb_cloud_cost;

/// Scatter plot. Zero-initialise; set `loss_name`, `x_name` and, after bb_cloud_create, names,
/// words, costs and x.
typedef struct bb_cloud {
    const char *loss_name, *x_name; ///< labels of the axes
    bb_index count;
    const char **names;   ///< [count] borrowed
    const char **words;   ///< [count] status of a point, borrowed
    bb_cloud_cost *costs; ///< [count]
    double *x;            ///< [count]
    double *y;            ///< [count] points without a positive loss are on the lower edge
    bool *drawn;          ///< [count]
    double low_x, high_x, low_y, high_y;
    bool floor; ///< some points are on the lower edge
    bb_text note;
    bb_figure_box axes;
    bb_figure_box *stairs; ///< [stair_count] boxes that names avoid, cm
    bb_index stair_count;
} bb_cloud;

/// Allocates arrays of `count` points. Errors of all functions: BB_MEMORY.
BB_CHECKED bb_status bb_cloud_create(bb_index count, bb_cloud *out);
void bb_cloud_release(bb_cloud *points);

/// Determines the points to draw, the ranges, and a note on points that are not drawn.
BB_CHECKED bb_status bb_cloud_finish(bb_cloud *points);

/// Sets axes and their labels, and the keys above.
BB_CHECKED bb_status bb_cloud_set_axes(bb_cloud *points, const bb_figure_key *keys,
                                       bb_index key_count, bb_figure *figure);

/// Writes the names next to the points, those of the front first, and their hover texts.
BB_CHECKED bb_status bb_cloud_write_names(const bb_cloud *points, bb_figure *figure);

/// Draws the complete front: stairs, points of the front, others and unsafe ones, named by `keys`;
/// `note` is appended to the cloud's own.
BB_CHECKED bb_status bb_cloud_draw_front(bb_cloud *points, const bb_results *results,
                                         const bb_figure_key keys[3], const char *note,
                                         bb_figure *figure);

/// Costs of all pipelines in order, out [pipelines]. Errors: BB_INVALID (results without
/// pipelines), BB_MEMORY.
BB_CHECKED bb_status bb_cloud_costs(const bb_experiment *experiment, const bb_results *results,
                                    bb_cloud_cost *out);

#endif
