// SPDX-License-Identifier: Apache-2.0
//
// Pictures of a result file: a row a kind, with the datasets that it needs.
#ifndef BB_SIM_REPORT_PLOT_H
#define BB_SIM_REPORT_PLOT_H

#include "sim/report/figure.h"
#include "sim/run/experiment.h"

/// What a picture is drawn from.
typedef struct bb_plot_scene {
    const bb_results *results;       ///< all groups
    const bb_experiment *experiment; ///< NULL of a file that is none's, as of bench
    const char *x, *y;               ///< swept keys, y also "pipeline"; NULL: the usual, as below
    const char *pipeline;            ///< of heatmap and lines
    const char *value;               ///< of heatmap and lines: dataset of /results
    const char *exposure;            ///< of heat: number of a scored exposure; NULL: the last
    bb_index step;                   ///< of heat: light step from 1 on; 0: the last
    const bb_results *const *more;   ///< [more_count] of kernels: further files
    int more_count;
} bb_plot_scene;

enum { BB_PLOT_NEEDS = 5, BB_PLOT_MOST_PANELS = 12, BB_PLOT_MOST_FILES = 8 };

enum bb_plot_trait {
    BB_PLOT_OF_SWEEPS = 1,  ///< of a collection; else of a single run
    BB_PLOT_TAKES_KEYS = 2, ///< x, y, pipeline and value of a scene
    BB_PLOT_TAKES_STEP = 4, ///< exposure and step
    BB_PLOT_TAKES_FILES = 8 ///< more than one file
};

typedef struct bb_plot_kind {
    const char *name;
    const char *shows;                ///< in a line
    const char *needs[BB_PLOT_NEEDS]; ///< datasets with a text or a number that is not NaN
    const char *remedy;               ///< what gives them
    /// Fills the figure, whose height may be NaN: then as the picture is best.
    bb_status (*draw)(const bb_plot_scene *scene, bb_figure *figure);
    unsigned traits; ///< of bb_plot_trait
} bb_plot_kind;

/// All kinds; returns how many.
bb_index bb_plot_kinds(const bb_plot_kind *const **out);

/// Whether results give a kind, by its index from 0 on; `*name` and `*shows` are NULL beyond the
/// last.
bool bb_plot_supports(const bb_plot_scene *scene, int index, const char **name, const char **shows);

/// Draws a kind. Errors: BB_INVALID (no such kind; the file lacks what it needs; the scene names
/// what the kind does not take), BB_MEMORY, those of the kind.
BB_CHECKED bb_status bb_plot_draw(const bb_plot_scene *scene, const char *kind, bb_figure *figure);

/// Finds out whether there is a kind of that name. Errors: BB_INVALID, with the nearest one.
BB_CHECKED bb_status bb_plot_check(const char *kind);

/// Appends the kinds that results can give, and of the others why not. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_plot_list(const bb_plot_scene *scene, bb_text *out);

/// Dataset of /results over `pipeline` alone and of numbers, NULL where there is none.
const bb_dataset *bb_plot_column(const bb_results *results, const char *name);

/// A dataset of one number, NaN where there is none.
double bb_plot_single(const bb_results *results, const char *path);

/// Index of the pipeline that the others are held to: the first whose quantity of interest has no
/// error; 0 where none says so.
bb_index bb_plot_reference(const bb_results *results);

/// Range of a logarithmic axis around the positive ones of `count` numbers: `*low` and `*high`
/// leave an eighth of the decades, and at least a factor of 1.5, free; 0.1 and 10 where there is
/// none.
void bb_plot_range(const double *numbers, bb_index count, double *low, double *high);

/// Rows by the file that they stand in.
extern const bb_plot_kind bb_plot_pareto, bb_plot_price_against_bits, bb_plot_draws, bb_plot_psf,
    bb_plot_spectrum, bb_plot_tiles, bb_plot_budget, bb_plot_night, bb_plot_staleness,
    bb_plot_overlay, bb_plot_field, bb_plot_heat, bb_plot_probes, bb_plot_latency, bb_plot_roofline,
    bb_plot_kernels, bb_plot_machines, bb_plot_choices, bb_plot_heatmap, bb_plot_lines,
    bb_plot_interferogram, bb_plot_wrapped, bb_plot_unwrapped, bb_plot_phase_error, bb_plot_parts;

#endif
