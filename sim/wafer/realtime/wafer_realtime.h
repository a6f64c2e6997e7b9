// SPDX-License-Identifier: Apache-2.0
//
// The deadline harness: steps of one pipeline's loop (wafer_loop.h), released at fixed times or
// back to back, by the host or by the device's clock (step_course.h). The latency of a step is from
// its release to its end: a late start counts. A step that is not done at the next release delays
// that one. Streamed, the first step of a field waits for its matrices, as a stage of its own:
// releases keep their times, and what is late is late.
#ifndef BB_SIM_WAFER_REALTIME_WAFER_REALTIME_H
#define BB_SIM_WAFER_REALTIME_WAFER_REALTIME_H

#include "sim/experiment.h"
#include "sim/wafer/realtime/field_times.h"
#include "sim/wafer/realtime/latency.h"
#include "sim/wafer/realtime/realtime_thread.h"
#include "sim/wafer/realtime/wafer_loop.h"

/// What was measured; release with bb_wafer_realtime_release.
typedef struct bb_wafer_realtime {
    /// [count] of each GPU; between them only stages differ
    bb_step_record *records[BB_LOOP_GPUS];
    bb_index count; ///< measured; less than was asked for after an interrupt
    bool interrupted;
    bb_index least_queued; ///< fewest steps still to be done when one was queued; -1: not known
    double wall_seconds;
    bb_field_times field;
    bb_host_state before, after;
    bb_realtime_thread thread;
    bb_device_report device[BB_LOOP_GPUS];
} bb_wafer_realtime;

/// Runs the steps of a loop that is at rest. A signal before the first measured step ends the
/// program. Errors: the loop's, BB_MEMORY.
BB_CHECKED bb_status bb_wafer_realtime_measure(bb_wafer_loop *loop, bb_wafer_realtime *out);
void bb_wafer_realtime_release(bb_wafer_realtime *measured);

/// Contract of `realtime` in sim/experiment.h; `study` is a bb_wafer_study. Errors besides: those
/// of bb_wafer_loop_create, BB_DEVICE (no cuda device).
BB_CHECKED bb_status bb_wafer_realtime_run(const void *study, bb_results *results, bb_text *table);

#endif
