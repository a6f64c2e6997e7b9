// SPDX-License-Identifier: Apache-2.0
//
// Numbers of a sweep over two of its keys: what a pipeline, or each, gives over one key across and
// another. Nothing is interpolated: a cell is the worst of what was run there.
#ifndef BB_SIM_REPORT_PLANE_H
#define BB_SIM_REPORT_PLANE_H

#include "sim/report/plot.h"
#include "sim/report/swept.h"

enum { BB_PLANE_NAME = 160 };

/// Zero-initialise; release with bb_plane_release.
typedef struct bb_plane {
    bb_swept swept;
    const bb_swept_key *x, *y; ///< y NULL: pipelines
    bb_index columns, rows, pipeline;
    const char *value;
    bool less;                ///< the least is the worst
    double *worst;            ///< [rows][columns] NaN: none finished
    bb_index *runs;           ///< [rows][columns] points that stand there
    bb_index *fails;          ///< [rows][columns] of which did not finish
    double low, high;         ///< of the worst; NaN where none finished
    bool logarithmic;         ///< `low` is then the least above 0
    char name[BB_PLANE_NAME]; ///< of the value
    bb_text note;
} bb_plane;

#define BB_PLANE_REMEDY "a file of 'bitbudget sweep', or of 'sweep collect'"

/// Reads what a scene asks for. Keys that it does not name: the conditions of most values, then
/// keys of pipelines; the pipeline: whose own key is drawn, else that of the safe choice of fewest
/// bytes whose price is not 0, else of the first that failed; the value: the price. Errors:
/// BB_INVALID (a key, pipeline or dataset that is none of the sweep's), BB_IO, BB_MEMORY.
BB_CHECKED bb_status bb_plane_gather(const bb_plot_scene *scene, bb_plane *out);
void bb_plane_release(bb_plane *set);

const char *bb_plane_y_name(const bb_plane *set);

/// A key with its unit, unless its name ends in it.
void bb_plane_name_key(const bb_swept_key *key, char out[BB_PLANE_NAME]);

/// Appends what tells a row: a value or a pipeline. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_plane_add_row_name(const bb_plane *set, bb_index row, bb_text *out);

/// Adds what hovers over a cell or a mark: where it stands, its value and what failed. Errors:
/// BB_MEMORY.
BB_CHECKED bb_status bb_plane_add_hover(const bb_plane *set, bb_index row, bb_index column,
                                        bb_figure_box place, bb_figure *figure);

/// Names of rows or columns as tics, as many as have room. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_plane_add_tics(const bb_plane *set, bool rows, double length_cm,
                                       bb_figure *figure);

#endif
