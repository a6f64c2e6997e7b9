// SPDX-License-Identifier: Apache-2.0
//
// A table before it has a form: a row a pipeline, columns of one result or of several side by side.
#ifndef BB_SIM_OUTPUT_GRID_H
#define BB_SIM_OUTPUT_GRID_H

#include "core/status.h"
#include "sim/output/front.h"

/// What tells file `index` of `paths` [count] from the others: what is left of its path without the
/// ending .h5 and without the words that all begin and end with, words ending at / - _ . and space.
/// "" of a single file. Errors: BB_INVALID (a file that is named twice), BB_MEMORY. Owner of
/// `*out`: the caller.
BB_CHECKED bb_status bb_grid_find_label(const char *const *paths, bb_index count, bb_index index,
                                        char **out);

/// One column; texts are borrowed from results unless said.
typedef struct bb_grid_column {
    const char *name;      ///< dataset of /results, or "price": what programs call it
    const char *label;     ///< of its file where there are several, else ""
    char *header;          ///< for people, owned
    const char *unit;      ///< as stored
    const char *long_name; ///< what it is
    double scale;          ///< for people: shown value over stored value
    double *numbers;       ///< [rows] as stored, NaN where absent, owned; NULL: texts
    const char **texts;    ///< [rows] in the place of numbers, or what people read for a NaN; NULL
} bb_grid_column;

/// Zero-initialise; release with bb_grid_release.
typedef struct bb_grid {
    const char **names; ///< [rows] of pipelines
    bool *marked;       ///< [rows] on the Pareto front of the one file there is
    bb_index rows;
    bb_grid_column *columns;
    bb_index count;
} bb_grid;

/// A result and the names it goes by.
typedef struct bb_grid_source {
    const bb_experiment *experiment;
    const bb_results *results;
    const bb_front *front;
    const char *path;
    char *label; ///< "" of a single one
} bb_grid_source;

/// Adds the pipelines of a source that are no rows yet; `only` are their names with commas, NULL
/// for all. Rows come before columns. Errors of all: BB_MEMORY.
BB_CHECKED bb_status bb_grid_add_rows(bb_grid *grid, const bb_results *results, const char *only);

/// Adds what the short table has: status, price, bytes, ratio, and where there are draws the worst
/// price; of one of several sources price and bytes, and for people (`for_people`) the status only
/// where it stands for a price that is absent. Marks the front of a single source.
BB_CHECKED bb_status bb_grid_add_brief(bb_grid *grid, const bb_grid_source *source,
                                       bool for_people);

/// Adds datasets by their names with commas. Errors: also BB_INVALID (one that is absent, with the
/// nearest, or has axes beside the pipelines).
BB_CHECKED bb_status bb_grid_add_named(bb_grid *grid, const bb_grid_source *source,
                                       const char *names);

/// Adds every column of the experiment that has numbers.
BB_CHECKED bb_status bb_grid_add_full(bb_grid *grid, const bb_grid_source *source);

/// Adds what the wide table of a single source has: status and the columns of the experiment that
/// have numbers. Where there are draws a lone price is the worst draw's; several are followed by
/// it.
BB_CHECKED bb_status bb_grid_add_table(bb_grid *grid, const bb_grid_source *source);

/// Fails with BB_INVALID and the nearest name where one of `only` (with commas) is a pipeline of no
/// source [count].
BB_CHECKED bb_status bb_grid_check_names(const char *only, const bb_grid_source *sources,
                                         bb_index count);

void bb_grid_release(bb_grid *grid);

#endif
