// SPDX-License-Identifier: Apache-2.0
//
// Overlay report of a wafer study in /results: raw heating overlay, feed-forward residual and
// numerical error of every pipeline, for the wafer, its fields and parts, and after each correction
// model. For a lot the report also has the axis `wafer` and the spread between wafers
// (physics/wafer/overlay/overlay_report.h). outputs/README.md lists the datasets.
#ifndef BB_SIM_WAFER_OVERLAY_WAFER_OVERLAY_H
#define BB_SIM_WAFER_OVERLAY_WAFER_OVERLAY_H

#include "physics/wafer/overlay/overlay_report.h"
#include "sim/wafer/wafer_work.h"

/// Entries of the axis /results/error.
enum {
    BB_WAFER_RAW,
    BB_WAFER_RESIDUAL,
    BB_WAFER_NUMERICAL,
    BB_WAFER_ERRORS,
};

/// Computes one error of one pipeline on scored wafer `wafer`, m, into `out`
/// [problem->point_count].
void bb_wafer_overlay_error(const bb_wafer_work *work, const bb_wafer_evaluation *evaluation,
                            bb_index wafer, int error, int axis, double *out);

enum { BB_WAFER_DIRECTIONS = 3 };

/// Statistics of an error by direction (x, y and vector length), nm, in the order of the output
/// file.
typedef struct bb_wafer_statistics {
    double headline; ///< larger m3s of x and y; NaN if either is NaN
    double mean[BB_WAFER_DIRECTIONS];
    double sigma[BB_WAFER_DIRECTIONS];
    double m3s[BB_WAFER_DIRECTIONS];
    double percentile997[BB_WAFER_DIRECTIONS];
    double max[BB_WAFER_DIRECTIONS];
} bb_wafer_statistics;

bb_wafer_statistics bb_wafer_overlay_statistics(const bb_overlay_statistics *statistics);

/// Losses of all draws of one evaluation (sim/pipelines/draws.h), the unperturbed draw first, into
/// `draws`, which must be empty. A loss, nm, is the larger overlay error of x and y; with late
/// corrections the residual counts if it is larger. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_wafer_overlay_draws(const bb_wafer_work *work,
                                            const bb_wafer_evaluation *evaluation, bb_draws *draws);

/// Numerical error of an evaluation on the last wafer: the larger |mean| + 3 sigma of x and y, nm;
/// NaN after a failure. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_wafer_overlay_headline(const bb_wafer_work *work,
                                               const bb_wafer_evaluation *evaluation, double *out);

/// Subtracts the mean over the scored wafers from displacements and residuals, per draw, axis and
/// point, if metrology.lot_mean is set: one correction per lot removes this mean. Deviations and
/// errors of u stay unchanged. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_wafer_overlay_centre(const bb_wafer_study *study,
                                             const bb_wafer_problem *problem,
                                             bb_wafer_evaluation *evaluation);

/// Appends the report of a run in the layout of a single-machine overlay report. Each block has
/// mean, st.dev., |mean| + 3 sigma, 99.7 % and maximum of x, y and vector, then |mean| + 3 sigma in
/// parts of the wafer and after each correction model. Blocks are the raw heating overlay, then
/// feed-forward residual and numerical error of every pipeline. Results without overlay give no
/// report. Unknown numbers print as `-`. Errors: BB_INVALID (unexpected dataset shapes), BB_MEMORY.
BB_CHECKED bb_status bb_wafer_overlay_print(const bb_results *results, bb_text *out);

#endif
