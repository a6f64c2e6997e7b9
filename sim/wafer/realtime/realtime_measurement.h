// SPDX-License-Identifier: Apache-2.0
//
// Steps of one pipeline's loop (wafer_loop.h) as steps of sim/realtime/realtime_loop.h: an endless
// round, exposure after exposure from the first scored one to the last and again from rest.
// Streamed, the first step of a field waits for its matrices, as a stage of its own.
//
// By the host (ahead = 0) a step is queued at its release and polled for until it is done. By the
// device (ahead > 0) so many steps are queued before their time; each is held until the device's
// own clock shows its release, or follows the one before where steps are back to back. Release and
// latency are by that clock, up to the last kernel's writing of the report: whoever reads a
// correction over the link to the device, without the host's thread, has it then. Several devices
// have a clock each: their releases begin together within the reading of a clock and drift apart.
//
// Times of a whole field on the loop, back to back, and, where matrices cross a link, what Table 1
// of Bamakhrama et al. predicts from transfer and computation measured by themselves beside period
// and latency as measured (physics/wafer/requirements.h; nothing is decoded).
#ifndef BB_SIM_WAFER_REALTIME_REALTIME_MEASUREMENT_H
#define BB_SIM_WAFER_REALTIME_REALTIME_MEASUREMENT_H

#include "physics/wafer/requirements.h"
#include "sim/realtime/realtime_report.h"
#include "sim/wafer/realtime/wafer_loop.h"

enum { BB_FIELD_ROUNDS = 32 };

typedef enum bb_step_kind {
    BB_STEP_LIGHT, ///< input, reading, products and outputs
    BB_STEP_HEAT,  ///< input alone: a light step of a field that is not scored
    BB_STEP_DARK,  ///< the state alone
    BB_STEP_KINDS,
} bb_step_kind;

/// Parts of a step. The clocks of host and device have no common zero: what the device's stamps do
/// not cover is one part.
typedef enum bb_step_stage {
    BB_STEP_STATE,
    BB_STEP_INPUT,
    BB_STEP_PRODUCTS, ///< reading of the state and products
    BB_STEP_OUTPUTS,
    BB_STEP_MATRICES, ///< waiting for those of a field, where they cross to the device
    BB_STEP_HOST,     ///< late start, launch, and the way back to a host that polls
    BB_STEP_STAGES,
} bb_step_stage;

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

/// What was measured, the stages of each GPU among them; release with bb_wafer_measurement_release.
typedef struct bb_wafer_measurement {
    bb_realtime_measurement steps;
    bb_index least_queued; ///< fewest steps still to be done when one was queued; -1: not known
    bb_field_times field;
} bb_wafer_measurement;

/// When the study releases the steps of a loop.
bb_realtime_schedule bb_wafer_loop_schedule(const bb_wafer_loop *loop);

/// Runs the steps of a loop that is at rest (bb_realtime_loop_measure). Errors: the loop's,
/// BB_MEMORY.
BB_CHECKED bb_status bb_wafer_measurement_run(bb_wafer_loop *loop, bb_wafer_measurement *out);
void bb_wafer_measurement_release(bb_wafer_measurement *measured);

/// Appends the table (that of every loop, times of a field back to back, and the host) and writes
/// root axes kind, gpu and stage, /results, /latency, /worst, /stream and /host. Errors: BB_MEMORY,
/// BB_INVALID (no step was measured).
BB_CHECKED bb_status bb_wafer_measurement_report(const bb_wafer_loop *loop,
                                                 const bb_wafer_measurement *measured,
                                                 bb_results *results, bb_text *table);

#endif
