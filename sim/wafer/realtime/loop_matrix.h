// SPDX-License-Identifier: Apache-2.0
//
// Coded response of one scored field and axis, as the wafer's loop multiplies it.
#ifndef BB_SIM_WAFER_REALTIME_LOOP_MATRIX_H
#define BB_SIM_WAFER_REALTIME_LOOP_MATRIX_H

#include "sim/pipelines/product_coding.h"
#include "sim/wafer/wafer_study.h"

/// Makes the rows of axis `axis` (bb_axis) for scored field `field` over the threads and codes them
/// for a pipeline of the study. Errors: those of bb_wafer_row_source_open and bb_coding_encode.
/// Owner of `*out`: the caller.
BB_CHECKED bb_status bb_loop_matrix_encode(const bb_wafer_study *study,
                                           const bb_wafer_problem *problem,
                                           const bb_product_pipeline *pipeline, bb_index field,
                                           int axis, bb_coding_report *report,
                                           bb_coded_matrix **out);

/// For plans: bytes on the host of a matrix of `values` in a pipeline's storage while it is made,
/// its exact copy included where it is coded from one; a rate that the data decide is taken as
/// fp32's.
double bb_loop_matrix_making_bytes(const bb_product_pipeline *pipeline, double values);

/// For plans: bytes on a device.
double bb_loop_matrix_bytes(const bb_product_pipeline *pipeline, double values);

#endif
