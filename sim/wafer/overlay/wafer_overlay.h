// SPDX-License-Identifier: Apache-2.0
//
// The overlay report of a wafer study in /results: raw heating overlay, feed-forward residual and
// numerical error of every pipeline, of the wafer, its fields and parts, and after each model of
// corrections. outputs/README.md lists the datasets.
#ifndef BB_SIM_WAFER_OVERLAY_WAFER_OVERLAY_H
#define BB_SIM_WAFER_OVERLAY_WAFER_OVERLAY_H

#include "physics/wafer/overlay/overlay_report.h"
#include "sim/output/output_table.h"
#include "sim/wafer/wafer_evaluation.h"

/// What is reported on; borrowed. Points are those of all scored fields, [problem->point_count].
typedef struct bb_wafer_overlay {
    const bb_wafer_study *study;
    const bb_wafer_problem *problem;
    const bb_wafer_evaluation *evaluations; ///< [pipelines of the study]
    const bb_wafer_evaluation *reference;
    const double *x; ///< on the wafer, m
    const double *y;
    const double *field_x; ///< centre of the point's field, m
    const double *field_y;
} bb_wafer_overlay;

/// Raw, residual and numerical: the axis /results/error.
enum { BB_WAFER_ERRORS = 3 };

/// One error of one pipeline on scored wafer `wafer`, m, into `out` [problem->point_count].
void bb_wafer_overlay_error(const bb_wafer_overlay *overlay, const bb_wafer_evaluation *evaluation,
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

extern const bb_output_table bb_wafer_overlay_outputs, bb_wafer_overlay_fields,
    bb_wafer_overlay_errors, bb_wafer_overlay_field_errors, bb_wafer_overlay_deliveries;

/// Errors: BB_MEMORY.
BB_CHECKED bb_status bb_wafer_overlay_publish(const bb_wafer_overlay *overlay, bb_results *results);

#endif
