// SPDX-License-Identifier: Apache-2.0
//
// Numbers of a sweep over two of its keys, for one pipeline or each. There is no interpolation: a
// cell has the worst value of its points.
#ifndef BB_SIM_REPORT_PLANE_H
#define BB_SIM_REPORT_PLANE_H

#include "sim/report/plot.h"
#include "sim/report/swept.h"

enum { BB_PLANE_NAME = 160 };

/// Plane of two swept keys. Zero-initialise; release with bb_plane_release.
typedef struct bb_plane {
    bb_swept swept;
    const bb_swept_key *x, *y; ///< y NULL: pipelines
    bb_index columns, rows, pipeline;
    const char *value;
    bool less;                ///< the smallest value is the worst
    double *worst;            ///< [rows][columns] NaN: all failed
    bb_index *runs;           ///< [rows][columns] number of points
    bb_index *fails;          ///< [rows][columns] number of failed points
    double low, high;         ///< range of the worst; NaN if all failed
    bool logarithmic;         ///< `low` is then the smallest value above 0
    char name[BB_PLANE_NAME]; ///< name of the value
    bb_text note;
} bb_plane;

#define BB_PLANE_REMEDY "a file of 'bitbudget sweep', or of 'sweep collect'"

/// Collects the data for a scene. Default keys: the conditions with most values, then keys of
/// pipelines. Default pipeline: the one whose key is drawn, else that of the safe choice with
/// fewest bytes whose loss is not 0, else the first that failed. Default value: the loss. Errors:
/// BB_INVALID (a key, pipeline or dataset that the sweep does not have), BB_IO, BB_MEMORY.
BB_CHECKED bb_status bb_plane_gather(const bb_plot_scene *scene, bb_plane *out);
void bb_plane_release(bb_plane *set);

const char *bb_plane_y_name(const bb_plane *set);

/// Name of a key with its unit, unless the name ends with it.
void bb_plane_name_key(const bb_swept_key *key, char out[BB_PLANE_NAME]);

/// Appends the name of a row: a value or a pipeline. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_plane_add_row_name(const bb_plane *set, bb_index row, bb_text *out);

/// Adds the hover text of a cell or mark: position, value and failures. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_plane_add_hover(const bb_plane *set, bb_index row, bb_index column,
                                        bb_figure_box place, bb_figure *figure);

/// Adds names of rows or columns as tics, as many as fit. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_plane_add_tics(const bb_plane *set, bool rows, double length_cm,
                                       bb_figure *figure);

#endif
