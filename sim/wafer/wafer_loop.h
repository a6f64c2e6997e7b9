// SPDX-License-Identifier: Apache-2.0
//
// The wafer's feed-forward as a control loop on a GPU: heat, restriction, response of all axes and
// dose-weighted displacements of one pipeline, a captured graph a step (solvers/control_loop.h).
//
// Resident mode: the coded matrices of every scored field and axis lie on the device at once. A
// period of the loop is an exposure, from `first` on up to the last scored one; fields that are not
// scored have heat alone. Outputs are the displacements at the field's scored points, weighted by
// the dose of each step, whose sum over a field's steps is what bb_dwell calls the mean.
//
// Explicit heat in whole steps without hood or ring, products in fp32. The state is in fp32.
#ifndef BB_SIM_WAFER_WAFER_LOOP_H
#define BB_SIM_WAFER_WAFER_LOOP_H

#include "sim/pipelines/product_coding.h"
#include "sim/wafer/wafer_study.h"
#include "solvers/control_loop.h"

/// Read-only to users.
typedef struct bb_wafer_loop {
    const bb_wafer_study *study;         ///< borrowed, as are the next three
    const bb_wafer_problem *problem;     ///< of the study
    const bb_product_pipeline *pipeline; ///< of the study
    bb_device *device;
    bb_index first;        ///< exposure of period 0
    bb_index period_count; ///< exposures [first, first + period_count)
    bb_index steps;        ///< of a period, light and dark
    int axes;
    bb_index points;               ///< of an axis' outputs: the most scored points of a field
    bb_coded_matrix **matrices;    ///< [scored_count][axes]; NULL on a GPU, which has copies
    bb_coded_operator **operators; ///< [scored_count][axes]
    bb_coding_report coding;       ///< of all matrices
    double device_bytes;           ///< of all operators, as a product reads them
    bb_control_loop *loop;
} bb_wafer_loop;

/// Whether the loop computes what a study and a pipeline of it ask for. Errors: BB_UNSUPPORTED,
/// with the key and what the loop expects.
BB_CHECKED bb_status bb_wafer_loop_check(const bb_wafer_study *study,
                                         const bb_product_pipeline *pipeline);

/// Codes the rows over the threads and readies the loop on a cuda device, its state at rest before
/// exposure `first`. Errors: those of bb_wafer_loop_check, of the rows, of bb_coding_encode, of the
/// operators and of bb_control_loop_create; BB_INVALID (no scored exposure from `first` on). Owner:
/// the caller.
BB_CHECKED bb_status bb_wafer_loop_create(const bb_wafer_study *study,
                                          const bb_wafer_problem *problem,
                                          const bb_product_pipeline *pipeline, bb_device *device,
                                          bb_index first, bb_wafer_loop **out);
void bb_wafer_loop_destroy(bb_wafer_loop **loop);

/// Index of a period's exposure among the scored ones, -1 where it has heat alone.
bb_index bb_wafer_loop_scored(const bb_wafer_loop *loop, bb_index period);

/// Runs all steps of a period, back to back, by the host's clock: `each` step is waited for before
/// the next is launched, or all are queued and the last is. Errors: the loop's.
BB_CHECKED bb_status bb_wafer_loop_time(bb_wafer_loop *loop, bb_index period, bool each,
                                        double *seconds);

#endif
