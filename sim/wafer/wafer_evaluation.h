// SPDX-License-Identifier: Apache-2.0
//
// Results of one pipeline of a wafer study.
#ifndef BB_SIM_WAFER_WAFER_EVALUATION_H
#define BB_SIM_WAFER_WAFER_EVALUATION_H

#include "physics/wafer/wafer_problem.h"
#include "sim/evaluation.h"
#include "sim/pipelines/product_coding.h"
#include "sim/wafer/wafer_certificate.h"
#include "sim/wafer/wafer_study.h"

enum { BB_WAFER_AXES = 3 };

/// Displacements of a wafer by axis (bb_axis): NULL for axes that the study leaves out.
typedef struct bb_wafer_displacements {
    double squared_error, squared_norm;        ///< of u over x and y, scored points and steps
    double *mean[BB_WAFER_AXES];               ///< [points] MA over the dwell, m
    double *deviation[BB_WAFER_AXES];          ///< [points] MSD over the dwell, m
    double *residual[BB_WAFER_AXES];           ///< [points] the same of what the corrections in
    double *residual_deviation[BB_WAFER_AXES]; ///< force leave, m
} bb_wafer_displacements;

typedef struct bb_wafer_evaluation {
    bb_evaluation common;
    double live_values;                     ///< of the operator without masked columns
    bb_coding_report coding[BB_WAFER_AXES]; ///< over the scored fields
    bb_certificate_tally certificate[BB_WAFER_AXES];
    bb_index wafer_count;           ///< scored ones
    bb_wafer_displacements *wafers; ///< [wafer_count] the last one is what is reported on at length
    bb_index drawn_count;           ///< draws after the plain one
    struct bb_wafer_evaluation *drawn; ///< [drawn_count] without draws of their own
} bb_wafer_evaluation;

/// Makes room for the study's axes and the scored wafers and sets sums to zero, of `drawn_count`
/// more draws too; `common` is started already. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_wafer_evaluation_create(const bb_wafer_study *study,
                                                const bb_wafer_problem *problem,
                                                bb_index drawn_count, bb_wafer_evaluation *out);
void bb_wafer_evaluation_release(bb_wafer_evaluation *evaluation);

/// Takes every number from an evaluation whose outcome is a failure of the whole pipeline: all NaN,
/// `points` scored ones of a wafer included.
void bb_wafer_evaluation_unset(bb_wafer_evaluation *evaluation, bb_index points);

/// Where the last wafer's points went.
const bb_wafer_displacements *bb_wafer_evaluation_last(const bb_wafer_evaluation *evaluation);

#endif
