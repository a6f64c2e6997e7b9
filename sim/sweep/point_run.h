// SPDX-License-Identifier: Apache-2.0
//
// Computes one point of a sweep in a process that stays: what the study's experiment keeps from
// point to point (sim/warm.h) is found there by the next one.
#ifndef BB_SIM_SWEEP_POINT_RUN_H
#define BB_SIM_SWEEP_POINT_RUN_H

#include "sim/sweep/point_record.h"
#include "sim/sweep/sweep_plan.h"

/// Zero-initialise but for the first three.
typedef struct bb_point_run {
    const bb_sweep_plan *plan;
    bb_index threads;
    double warm_bytes;      ///< that may be kept from point to point
    bool started;           ///< threads are set
    bb_described described; ///< what records said of datasets
    bb_point_files files;   ///< digests that are known
} bb_point_run;

/// Computes a point and appends its record (bb_point_record_fill); where the plan keeps files, its
/// result file is written to DIR/points/POINT.h5. Errors: those of the study, BB_DEVICE (the plan's
/// device is absent here).
BB_CHECKED bb_status bb_point_run_compute(bb_point_run *run, bb_index point, bb_text *answer);

#endif
