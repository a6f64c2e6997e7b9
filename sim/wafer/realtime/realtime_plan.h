// SPDX-License-Identifier: Apache-2.0
//
// What `bitbudget realtime` will hold of a wafer study, on the host and on the device, from its
// configuration alone.
#ifndef BB_SIM_WAFER_REALTIME_REALTIME_PLAN_H
#define BB_SIM_WAFER_REALTIME_REALTIME_PLAN_H

#include "sim/plan.h"
#include "sim/wafer/wafer_study.h"

/// Sizes of a study, counted as doubles.
typedef struct bb_realtime_extent {
    double cells, points; ///< of S, of a field
    double nodes;         ///< of the mesh
    double scored;        ///< fields
    double rows_bytes;    ///< on the host, of what makes the rows
    double threads;
} bb_realtime_extent;

/// Bytes at their peak.
typedef struct bb_realtime_memory {
    double matrices; ///< of all scored fields and axes, coded
    double host;
    double device; ///< the fullest
} bb_realtime_memory;

bb_realtime_memory bb_realtime_memory_of(const bb_wafer_study *study,
                                         const bb_realtime_extent *extent);

/// Lines of a study that names the pipeline that runs in real time, where its matrices lie or how
/// many GPUs share it; of others none. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_realtime_plan(const bb_wafer_study *study, const bb_realtime_extent *extent,
                                      bb_plan *plan);

#endif
