// SPDX-License-Identifier: Apache-2.0
//
// The overlay report of a wafer study in /results: raw heating overlay, feed-forward residual and
// numerical error of every pipeline, of the wafer, its fields and parts, and after each model of
// corrections; of a lot over the axis `wafer` too, and how it differs from wafer to wafer
// (physics/wafer/overlay/overlay_report.h). outputs/README.md lists the datasets.
#ifndef BB_SIM_WAFER_OVERLAY_WAFER_OVERLAY_H
#define BB_SIM_WAFER_OVERLAY_WAFER_OVERLAY_H

#include "physics/wafer/overlay/overlay_report.h"
#include "sim/wafer/wafer_work.h"

/// The axis /results/error.
enum {
    BB_WAFER_RAW,
    BB_WAFER_RESIDUAL,
    BB_WAFER_NUMERICAL,
    BB_WAFER_ERRORS,
};

/// One error of one pipeline on scored wafer `wafer`, m, into `out` [problem->point_count].
void bb_wafer_overlay_error(const bb_wafer_work *work, const bb_wafer_evaluation *evaluation,
                            bb_index wafer, int error, int axis, double *out);

enum { BB_WAFER_DIRECTIONS = 3 };

/// Statistics of an error by direction (x, y and the length), nm: as the file has them.
typedef struct bb_wafer_statistics {
    double headline; ///< larger m3s of x and y; NaN where one is
    double mean[BB_WAFER_DIRECTIONS];
    double sigma[BB_WAFER_DIRECTIONS];
    double m3s[BB_WAFER_DIRECTIONS];
    double percentile997[BB_WAFER_DIRECTIONS];
    double max[BB_WAFER_DIRECTIONS];
} bb_wafer_statistics;

bb_wafer_statistics bb_wafer_overlay_statistics(const bb_overlay_statistics *statistics);

/// Prices of the draws of one evaluation (sim/pipelines/draws.h), the plain one first, into
/// `draws`, which starts empty, nm: the larger overlay error of x and y, or the residual where
/// corrections come late and it is larger. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_wafer_overlay_draws(const bb_wafer_work *work,
                                            const bb_wafer_evaluation *evaluation, bb_draws *draws);

/// Numerical error of an evaluation on the last wafer: the larger |mean| + 3 sigma of x and y, nm;
/// NaN after a failure. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_wafer_overlay_headline(const bb_wafer_work *work,
                                               const bb_wafer_evaluation *evaluation, double *out);

/// Takes the average over the scored wafers out of the displacements and residuals of a pipeline's
/// draws, each its own, at every axis and point, where the study asks for it (metrology.lot_mean):
/// a correction per lot removes it. Deviations and errors of u stay. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_wafer_overlay_centre(const bb_wafer_study *study,
                                             const bb_wafer_problem *problem,
                                             bb_wafer_evaluation *evaluation);

/// Appends the report of a run in the layout of a single-machine overlay report: mean, st.dev.,
/// |mean| + 3 sigma, 99.7 % and maximum of x, y and vector, then the rest in parts of the wafer and
/// after each model of corrections; the raw heating overlay once, feed-forward residual and
/// numerical error of every pipeline. Nothing where the results have no overlay. Unknown numbers
/// are `-`. Errors: BB_INVALID (datasets of other shapes than this program writes), BB_MEMORY.
BB_CHECKED bb_status bb_wafer_overlay_print(const bb_results *results, bb_text *out);

#endif
