// SPDX-License-Identifier: Apache-2.0
//
// Adapter of one pipeline's loop (wafer_loop.h) to the steps of sim/realtime/realtime_loop.h. The
// loop cycles through the exposures from the first to the last scored one, and starts again with
// the state at zero. In streamed mode the first step of a field waits for its matrices, which is a
// separate stage.
//
// Host release (ahead = 0): the host queues a step at its release time and polls until it is done.
// Device release (ahead > 0): this many steps are queued in advance. Each starts when the device
// clock reaches its release time, or right after the previous step if steps run back to back. That
// clock also measures latency, up to the last kernel's write of the report: a consumer that reads
// corrections over the link, without the host thread, has them at that time. Several devices have
// separate clocks, which start together within the resolution of a clock reading and then drift.
//
// Field times are measured back to back. For streamed matrices the transfer and computation times
// measured separately give the prediction of Table 1 of Bamakhrama et al., which is compared with
// measured period and latency (physics/wafer/requirements.h; without decoding).
#ifndef BB_SIM_WAFER_REALTIME_REALTIME_MEASUREMENT_H
#define BB_SIM_WAFER_REALTIME_REALTIME_MEASUREMENT_H

#include "physics/wafer/requirements.h"
#include "sim/realtime/realtime_report.h"
#include "sim/wafer/realtime/wafer_loop.h"

enum { BB_FIELD_ROUNDS = 32 };

typedef enum bb_step_kind {
    BB_STEP_LIGHT, ///< input, reading of the state, products and outputs
    BB_STEP_HEAT,  ///< input only: a light step of an unscored field
    BB_STEP_DARK,  ///< state update only
    BB_STEP_KINDS,
} bb_step_kind;

/// Stages of a step. The clocks of host and device have no common zero, so all time outside the
/// device's time stamps is one stage.
typedef enum bb_step_stage {
    BB_STEP_STATE,
    BB_STEP_INPUT,
    BB_STEP_PRODUCTS, ///< reading of the state, and products
    BB_STEP_OUTPUTS,
    BB_STEP_MATRICES, ///< wait for a field's matrices, in streamed mode
    BB_STEP_HOST,     ///< late start, launch, and the return to a polling host
    BB_STEP_STAGES,
} bb_step_stage;

/// Medians, s; NaN from `transfer` on in resident mode.
typedef struct bb_field_times {
    double each;     ///< time of all steps of a scored field, matrices present, each step waited
                     ///< for
    double queued;   ///< time of all steps of a scored field, queued at once
    double transfer; ///< time to copy a field's matrices to all devices, nothing else in flight
    double ratio;    ///< bytes of the matrices in fp32 over the bytes transferred
    bb_field_schedule plain;     ///< schedule predicted for fp32 matrices
    bb_field_schedule predicted; ///< schedule predicted for the transferred matrices
    bb_field_schedule measured;  ///< period of consecutive fields; latency from the start of a
                                 ///< single field's copy to the end of its last step
} bb_field_times;

/// Result of a measurement, with the stages of each GPU; release with bb_wafer_measurement_release.
typedef struct bb_wafer_measurement {
    bb_realtime_measurement steps;
    bb_index least_queued; ///< smallest number of unfinished steps when one was queued; -1: unknown
    bb_field_times field;
} bb_wafer_measurement;

/// Release times of the loop's steps, from the study.
bb_realtime_schedule bb_wafer_loop_schedule(const bb_wafer_loop *loop);

/// Runs and measures the steps of a loop whose state is zero (bb_realtime_loop_measure). Errors:
/// the loop's, BB_MEMORY.
BB_CHECKED bb_status bb_wafer_measurement_run(bb_wafer_loop *loop, bb_wafer_measurement *out);
void bb_wafer_measurement_release(bb_wafer_measurement *measured);

/// Appends the common table of loops, back-to-back field times and the host description, and writes
/// root axes kind, gpu and stage, /results, /latency, /worst, /stream and /host. Errors: BB_MEMORY,
/// BB_INVALID (no step was measured).
BB_CHECKED bb_status bb_wafer_measurement_report(const bb_wafer_loop *loop,
                                                 const bb_wafer_measurement *measured,
                                                 bb_results *results, bb_text *table);

#endif
