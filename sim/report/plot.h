// SPDX-License-Identifier: Apache-2.0
//
// Pictures of a result file: one row for each kind, with the datasets that it needs.
#ifndef BB_SIM_REPORT_PLOT_H
#define BB_SIM_REPORT_PLOT_H

#include "sim/report/figure.h"
#include "sim/run/experiment.h"

/// Data of a picture.
typedef struct bb_plot_scene {
    const bb_results *results; ///< all groups
    /// NULL for a file without experiment, such as a benchmark file
    const bb_experiment *experiment;
    const char *x, *y;             ///< swept keys, y also "pipeline"; NULL: defaults, see below
    const char *pipeline;          ///< pipeline of the kinds heatmap and lines
    const char *value;             ///< dataset of /results, for the kinds heatmap and lines
    const char *exposure;          ///< number of a scored exposure, for the kind heat; NULL: the
                                   ///< last
    bb_index step;                 ///< light step from 1, for the kind heat; 0: the last
    const bb_results *const *more; ///< [more_count] further files, for the kind kernels
    int more_count;
} bb_plot_scene;

enum { BB_PLOT_NEEDS = 5, BB_PLOT_MOST_PANELS = 12, BB_PLOT_MOST_FILES = 8 };

enum bb_plot_trait {
    BB_PLOT_OF_SWEEPS = 1,  ///< the kind draws a collection; else a single run
    BB_PLOT_TAKES_KEYS = 2, ///< the kind accepts x, y, pipeline and value of a scene
    BB_PLOT_TAKES_STEP = 4, ///< the kind accepts exposure and step
    BB_PLOT_TAKES_FILES = 8 ///< the kind accepts more than one file
};

typedef struct bb_plot_kind {
    const char *name;
    const char *shows;                ///< one-line description
    const char *needs[BB_PLOT_NEEDS]; ///< datasets with a text or a number that is not NaN
    const char *remedy;               ///< file that has these datasets
    /// Fills the figure. If its height is NaN, the function chooses it.
    bb_status (*draw)(const bb_plot_scene *scene, bb_figure *figure);
    unsigned traits; ///< set of bb_plot_trait
} bb_plot_kind;

/// All kinds; returns their number.
bb_index bb_plot_kinds(const bb_plot_kind *const **out);

/// True if the results have the data for a kind, given by index from 0; `*name` and `*shows` are
/// NULL beyond the last.
bool bb_plot_supports(const bb_plot_scene *scene, int index, const char **name, const char **shows);

/// Draws a kind. Errors: BB_INVALID (no such kind; missing data; an option that the kind does not
/// use), BB_MEMORY, errors of the kind.
BB_CHECKED bb_status bb_plot_draw(const bb_plot_scene *scene, const char *kind, bb_figure *figure);

/// Checks that a kind of that name exists. Errors: BB_INVALID, with the nearest name.
BB_CHECKED bb_status bb_plot_check(const char *kind);

/// Appends the kinds available for the results, and the requirements of the others. Errors:
/// BB_MEMORY.
BB_CHECKED bb_status bb_plot_list(const bb_plot_scene *scene, bb_text *out);

/// Numeric dataset of /results over `pipeline` only, or NULL.
const bb_dataset *bb_plot_column(const bb_results *results, const char *name);

/// Dataset with a single number; NaN if absent.
double bb_plot_single(const bb_results *results, const char *path);

/// Index of the reference pipeline: the first one whose quantity of interest has no error; 0 if
/// unknown.
bb_index bb_plot_reference(const bb_results *results);

/// Range of a logarithmic axis around the positive ones of `count` numbers. The margin on both
/// sides is an eighth of the decades, at least a factor of 1.5; the range is 0.1 to 10 if no number
/// is positive.
void bb_plot_range(const double *numbers, bb_index count, double *low, double *high);

/// Kinds in the order of their source files.
extern const bb_plot_kind bb_plot_pareto, bb_plot_loss_against_bits, bb_plot_draws, bb_plot_psf,
    bb_plot_spectrum, bb_plot_tiles, bb_plot_budget, bb_plot_night, bb_plot_staleness,
    bb_plot_overlay, bb_plot_field, bb_plot_heat, bb_plot_probes, bb_plot_latency, bb_plot_roofline,
    bb_plot_kernels, bb_plot_machines, bb_plot_choices, bb_plot_heatmap, bb_plot_lines,
    bb_plot_interferogram, bb_plot_wrapped, bb_plot_unwrapped, bb_plot_phase_error, bb_plot_parts;

#endif
