// SPDX-License-Identifier: Apache-2.0
//
// What the loop of an ao study in real time will hold on the host and on the device, from the
// configuration alone.
#ifndef BB_SIM_AO_REALTIME_AO_REALTIME_PLAN_H
#define BB_SIM_AO_REALTIME_AO_REALTIME_PLAN_H

#include "sim/ao/ao_study.h"
#include "sim/plan.h"

/// Sizes of a study, counted as doubles.
typedef struct bb_ao_realtime_extent {
    double slopes;
    double commands; ///< of all reconstructors
    double rows;     ///< commands of the one that has most
    double groups;   ///< of slopes whose means may be multiplied apart
    double threads;
    bb_need solving; ///< a run of the study
} bb_ao_realtime_extent;

/// What `bitbudget realtime` takes: the matrices, their making and the loop; on a cuda device where
/// one would run it.
bb_need bb_ao_realtime_plan_need(const bb_ao_study *study, const bb_ao_realtime_extent *extent);

/// Lines of a study that names the pipeline that runs in real time, or a size; of others none.
/// Errors: BB_MEMORY.
BB_CHECKED bb_status bb_ao_realtime_plan_add(const bb_ao_study *study,
                                             const bb_ao_realtime_extent *extent, bb_plan *plan);

#endif
