// SPDX-License-Identifier: Apache-2.0
//
// Results of one pipeline of a wafer study.
#ifndef BB_SIM_WAFER_WAFER_EVALUATION_H
#define BB_SIM_WAFER_WAFER_EVALUATION_H

#include "physics/wafer/wafer_problem.h"
#include "precision/row_certificate.h"
#include "sim/evaluation.h"
#include "sim/pipelines/product_coding.h"
#include "sim/wafer/wafer_study.h"

enum { BB_WAFER_AXES = 3, BB_WAFER_PLACED = 4 };

enum {
    BB_CERTIFICATE_PER_OCTAVE = 64,
    BB_CERTIFICATE_OCTAVES = 64,
    BB_CERTIFICATE_BINS = BB_CERTIFICATE_PER_OCTAVE * BB_CERTIFICATE_OCTAVES,
};

/// Over the slit points and light steps of one pipeline and axis; zero-initialise.
typedef struct bb_certificate_tally {
    double bound, coding, error;        ///< largest, m; of the bounds that are finite
    double unbounded;                   ///< displacements without one: values that are not finite
    double violations;                  ///< errors above their bound: never
    double counts[BB_CERTIFICATE_BINS]; ///< of bound / error by 64ths of an octave, from 1 on
} bb_certificate_tally;

/// Adds what another tally counted.
void bb_certificate_tally_merge(bb_certificate_tally *tally, const bb_certificate_tally *more);

/// Row norms of the matrices at work and what the rows meet; borrowed.
typedef struct bb_wafer_certificate {
    const bb_product_pipeline *pipeline, *reference;
    const bb_row_certificate *rows, *reference_rows; ///< [field points]
    const bb_vector_norms *inputs;                   ///< [light steps] of the field
    bb_index columns;
} bb_wafer_certificate;

/// Holds one light step's window against the reference's: both [points], from `row` of the field.
void bb_wafer_certificate_check(const bb_wafer_certificate *certificate, bb_index step,
                                bb_index row, bb_index points, const double *window,
                                const double *expected, bb_certificate_tally *tally);

/// Displacements of a wafer by axis (bb_axis): NULL for axes that the study leaves out. The
/// BB_WAFER_PLACED arrays of an axis stand one behind the other, the mean first, which owns them.
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
