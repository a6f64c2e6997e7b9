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
    double truths, most_truths;     ///< slopes of truth sensors: of all, of the one that has most
    double commands, most_commands; ///< of mirrors of targets, likewise
    double actuators;               ///< of mirrors that correct together, 0 without
    double groups;                  ///< of slopes whose means may be multiplied apart
    double threads;
    double telemetry; ///< frames of a file of slopes; 0: they are drawn
} bb_ao_realtime_extent;

/// What `bitbudget realtime` takes: the matrices, their making, of which `solving` is a run of the
/// study, and the loop; on a cuda device where one would run it.
bb_need bb_ao_realtime_plan_need(const bb_ao_study *study, const bb_ao_realtime_extent *extent,
                                 bb_need solving);

/// What `frame_times` of a run takes, of one pipeline after the other, beside what is solved and
/// what storing takes.
bb_need bb_ao_realtime_plan_times(const bb_ao_study *study, const bb_ao_realtime_extent *extent);

/// Lines of a study that names the pipeline that runs in real time, or a size, and one of frame
/// times where it asks for them; of others none. A file of slopes is looked at
/// (bb_telemetry_file_inspect). Errors: BB_MEMORY, that file's.
BB_CHECKED bb_status bb_ao_realtime_plan_add(const bb_ao_study *study,
                                             const bb_ao_realtime_extent *extent, bb_need solving,
                                             bb_plan *plan);

#endif
