// SPDX-License-Identifier: Apache-2.0
//
// What the loop of a wafer study in real time asks of its keys, and what it will hold on the host
// and on the device, from the configuration alone.
#ifndef BB_SIM_WAFER_REALTIME_REALTIME_PLAN_H
#define BB_SIM_WAFER_REALTIME_REALTIME_PLAN_H

#include "sim/plan.h"
#include "sim/wafer/wafer_study.h"

/// Whether the loop computes what a study and a pipeline of it ask for. Errors: BB_UNSUPPORTED,
/// with the key and what the loop expects.
BB_CHECKED bb_status bb_realtime_plan_check(const bb_wafer_study *study,
                                            const bb_product_pipeline *pipeline);

/// Sizes of a study, counted as doubles.
typedef struct bb_realtime_extent {
    bb_matrix_layout layout; ///< of a matrix: points of a field by cells of S
    double nodes;            ///< of the mesh
    double scored;           ///< fields
    bb_need problem;         ///< on the host, with what makes the rows
    double threads;
} bb_realtime_extent;

/// Lines of a study that names the pipeline that runs in real time, where its matrices lie or how
/// many GPUs share it; of others none. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_realtime_plan_add(const bb_wafer_study *study,
                                          const bb_realtime_extent *extent, bb_plan *plan);

#endif
