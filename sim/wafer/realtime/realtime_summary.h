// SPDX-License-Identifier: Apache-2.0
//
// Figures of a run of the deadline harness: latencies and stages by kind of step, the worst steps,
// and how long fields waited for their matrices.
#ifndef BB_SIM_WAFER_REALTIME_REALTIME_SUMMARY_H
#define BB_SIM_WAFER_REALTIME_REALTIME_SUMMARY_H

#include "sim/wafer/realtime/realtime_measurement.h"

enum { BB_REALTIME_KINDS = BB_STEP_KINDS + 1, BB_REALTIME_WORST = 10 };

/// In the order of the tables: all first; kinds are bb_step_kind.
extern const int bb_realtime_kinds[BB_REALTIME_KINDS];
extern const char *const bb_realtime_kind_names[BB_REALTIME_KINDS];
extern const char *const bb_realtime_stage_names[BB_STEP_STAGES];

typedef struct bb_realtime_summary {
    const bb_wafer_loop *loop;
    const bb_realtime_measurement *measured;
    bb_latency_summary of[BB_REALTIME_KINDS];
    double stage_median[BB_REALTIME_KINDS][BB_LOOP_GPUS][BB_STEP_STAGES]; ///< s
    bb_index worst[BB_REALTIME_WORST];                                    ///< steps
    bb_index worst_count;
    bb_index fields_begun;  ///< streamed: fields whose first step was measured
    bb_index fields_waited; ///< of them: not all matrices were there
    double longest_wait;    ///< s, of any device
} bb_realtime_summary;

/// Errors: BB_MEMORY, BB_INVALID (no step was measured).
BB_CHECKED bb_status bb_realtime_summarise(const bb_wafer_loop *loop,
                                           const bb_realtime_measurement *measured,
                                           bb_realtime_summary *out);

#endif
