// SPDX-License-Identifier: Apache-2.0
//
// `bitbudget realtime` of a wafer study: what it will hold on the host and on the device, from its
// configuration alone, and its run.
#ifndef BB_SIM_WAFER_REALTIME_WAFER_REALTIME_H
#define BB_SIM_WAFER_REALTIME_WAFER_REALTIME_H

#include "sim/experiment.h"
#include "sim/plan.h"
#include "sim/wafer/wafer_study.h"

/// Sizes of a study, counted as doubles.
typedef struct bb_wafer_realtime_extent {
    double cells, points; ///< of S, of a field
    double nodes;         ///< of the mesh
    double scored;        ///< fields
    double rows_bytes;    ///< on the host, of what makes the rows
    double threads;
} bb_wafer_realtime_extent;

/// Lines of a study that names the pipeline that runs in real time, where its matrices lie or how
/// many GPUs share it; of others none. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_wafer_realtime_plan(const bb_wafer_study *study,
                                            const bb_wafer_realtime_extent *extent, bb_plan *plan);

/// Contract of `realtime` in sim/experiment.h; `study` is a bb_wafer_study. Errors besides: those
/// of bb_wafer_loop_create, BB_DEVICE (no cuda device).
BB_CHECKED bb_status bb_wafer_realtime_run(const void *study, bb_results *results, bb_text *table);

#endif
