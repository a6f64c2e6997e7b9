// SPDX-License-Identifier: Apache-2.0
//
// Table independent of its output form: a row for each pipeline, columns of one result or of
// several side by side.
#ifndef BB_SIM_OUTPUT_GRID_H
#define BB_SIM_OUTPUT_GRID_H

#include "core/status.h"
#include "sim/output/front.h"

/// Label that distinguishes file `index` of `paths` [count]: its path without the ending .h5 and
/// without common first and last words, which end at / - _ . and space. "" for a single file.
/// Errors: BB_INVALID (duplicate files), BB_MEMORY. The caller owns `*out`.
BB_CHECKED bb_status bb_grid_find_label(const char *const *paths, bb_index count, bb_index index,
                                        char **out);

/// Column; texts are borrowed from results unless stated otherwise.
typedef struct bb_grid_column {
    const char *name;      ///< dataset of /results, or "loss": name for programs
    const char *label;     ///< label of its file among several, else ""
    char *header;          ///< for people, owned
    const char *unit;      ///< unit as stored
    const char *long_name; ///< description
    double scale;          ///< for people: displayed value / stored value
    double *numbers;       ///< [rows] as stored, NaN if absent, owned; NULL: texts
    const char **texts;    ///< [rows] instead of numbers, or displayed instead of NaN; NULL
} bb_grid_column;

/// Table of pipelines and columns. Zero-initialise; release with bb_grid_release.
typedef struct bb_grid {
    const char **names; ///< [rows] names of pipelines
    bool *marked;       ///< [rows] on the Pareto front, if there is one file
    bb_index rows;
    bb_grid_column *columns;
    bb_index count;
} bb_grid;

/// Result and its names.
typedef struct bb_grid_source {
    const bb_experiment *experiment;
    const bb_results *results;
    const bb_front *front;
    const char *path;
    char *label; ///< "" for a single source
} bb_grid_source;

/// Adds the pipelines of a source that are not yet rows; `only` are their comma-separated names,
/// NULL for all. Rows are added before columns. Errors of all functions: BB_MEMORY.
BB_CHECKED bb_status bb_grid_add_rows(bb_grid *grid, const bb_results *results, const char *only);

/// Adds the columns of the short table: status, loss, bytes, ratio, and with draws the worst
/// loss; for one of several sources loss and bytes. For people (`for_people`) the status is shown
/// only in place of an absent loss. Marks the front of a single source.
BB_CHECKED bb_status bb_grid_add_brief(bb_grid *grid, const bb_grid_source *source,
                                       bool for_people);

/// Adds datasets by comma-separated names. Errors: also BB_INVALID (an absent dataset, with the
/// nearest name, or one with axes other than the pipelines).
BB_CHECKED bb_status bb_grid_add_named(bb_grid *grid, const bb_grid_source *source,
                                       const char *names);

/// Adds every column of the experiment with numbers.
BB_CHECKED bb_status bb_grid_add_full(bb_grid *grid, const bb_grid_source *source);

/// Adds the columns of the wide table of a single source: status and the experiment's columns with
/// numbers. With draws a single loss is that of the worst draw; several losses are followed by it.
BB_CHECKED bb_status bb_grid_add_table(bb_grid *grid, const bb_grid_source *source);

/// Fails with BB_INVALID and the nearest name if one of `only` (comma-separated) is not a pipeline
/// of any source [count].
BB_CHECKED bb_status bb_grid_check_names(const char *only, const bb_grid_source *sources,
                                         bb_index count);

void bb_grid_release(bb_grid *grid);

#endif
