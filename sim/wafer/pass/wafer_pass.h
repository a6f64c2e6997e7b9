// SPDX-License-Identifier: Apache-2.0
//
// A way through the response rows of a wafer study: those of one field and axis are made once, in
// the reference's fp64, and every pipeline at work encodes from there, computes its displacements
// and drops them, so that memory holds two matrices at most.
//
// A study that searches goes that way several times. The reference is computed the first time, and
// its displacements are kept for the pipelines that come later.
#ifndef BB_SIM_WAFER_PASS_WAFER_PASS_H
#define BB_SIM_WAFER_PASS_WAFER_PASS_H

#include "sim/wafer/heat/wafer_heating.h"
#include "sim/wafer/wafer_evaluation.h"

/// What is computed, borrowed: a pipeline, and where its results go.
typedef struct bb_wafer_task {
    const bb_product_pipeline *pipeline;
    bb_wafer_evaluation *evaluation; ///< created, with its device
} bb_wafer_task;

/// Zero-initialise; release with bb_wafer_pass_release.
typedef struct bb_wafer_pass {
    const bb_wafer_study *study;
    const bb_product_pipeline *reference; ///< of the study
    bb_wafer_problem *problem;
    const bb_wafer_heating *heating; ///< referred
    const bb_product_devices *devices;
    bool repeats;              ///< there will be several
    bool referred;             ///< the reference is computed
    double *reference_windows; ///< [axes, fields if it repeats, else 1][scored_wafers]
                               ///< [light_steps][window_points] of the reference, m
    double *windows;           ///< [light_steps][window_points] of another, of a wafer, m
    bb_vector_norms *inputs;   ///< [scored_wafers][scored][light_steps] of the inputs
    bb_row_certificate *rows, *reference_rows; ///< [field_points] of one axis and field
} bb_wafer_pass;

/// Makes room. All that is given stays the caller's, and in place. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_wafer_pass_open(const bb_wafer_study *study, bb_wafer_problem *problem,
                                        const bb_wafer_heating *heating,
                                        const bb_product_devices *devices, bool repeats,
                                        bb_wafer_pass *out);
void bb_wafer_pass_release(bb_wafer_pass *pass);

/// Bytes of the reference's displacements that a study keeps which searches.
double bb_wafer_pass_kept_bytes(double matrices, double scored_wafers, double light_steps,
                                double window_points);

/// Computes `count` tasks, all their draws. The study's own reference is among those of the first
/// call and of no other. Errors: those of the rows, codecs and devices, BB_INTERNAL where it is
/// not so.
BB_CHECKED bb_status bb_wafer_pass_run(bb_wafer_pass *pass, const bb_wafer_task *tasks,
                                       bb_index count);

#endif
