// SPDX-License-Identifier: Apache-2.0
//
// The deadline harness: steps of one pipeline's loop (wafer_loop.h), released at fixed times or
// back to back, by the host or by the device's clock (step_schedule.h). The latency of a step is
// from its release to its end: a late start counts. A step that is not done at the next release
// delays that one. Streamed, the first step of a field waits for its matrices, as a stage of its
// own: releases keep their times, and what is late is late.
//
// Times of a whole field on the loop, back to back, and, where matrices cross a link, what Table 1
// of Bamakhrama et al. predicts from transfer and computation measured by themselves beside period
// and latency as measured (physics/wafer/field_stages.h; nothing is decoded).
#ifndef BB_SIM_WAFER_REALTIME_REALTIME_MEASUREMENT_H
#define BB_SIM_WAFER_REALTIME_REALTIME_MEASUREMENT_H

#include "physics/wafer/field_stages.h"
#include "sim/realtime/realtime_report.h"
#include "sim/wafer/realtime/step_schedule.h"

enum { BB_FIELD_ROUNDS = 32 };

/// Medians, s; NaN from `transfer` on where matrices are resident.
typedef struct bb_field_times {
    double each;     ///< all steps of a scored field, its matrices in place, each waited for
    double queued;   ///< the same, queued at once
    double transfer; ///< a field's matrices to all devices, nothing else under way
    double ratio;    ///< their bytes in fp32 over those that cross
    bb_field_schedule plain;     ///< predicted for matrices in fp32
    bb_field_schedule predicted; ///< as they cross
    bb_field_schedule measured;  ///< period of fields in a row; from the start of a field's copy,
                                 ///< alone, to the end of its last step
} bb_field_times;

/// What was measured; release with bb_realtime_measurement_release.
typedef struct bb_realtime_measurement {
    /// [count] of each GPU; between them only stages differ
    bb_step_record *records[BB_LOOP_GPUS];
    bb_index count; ///< measured; less than was asked for after an interrupt
    bool interrupted;
    bb_index least_queued; ///< fewest steps still to be done when one was queued; -1: not known
    double wall_seconds;
    bb_field_times field;
    bb_realtime_host host;
    bb_device_report device[BB_LOOP_GPUS];
} bb_realtime_measurement;

/// Runs the steps of a loop that is at rest. A signal before the first measured step ends the
/// program. Errors: the loop's, BB_MEMORY.
BB_CHECKED bb_status bb_realtime_measurement_take(bb_wafer_loop *loop,
                                                  bb_realtime_measurement *out);
void bb_realtime_measurement_release(bb_realtime_measurement *measured);

#endif
