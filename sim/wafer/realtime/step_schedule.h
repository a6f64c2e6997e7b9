// SPDX-License-Identifier: Apache-2.0
//
// The endless round of a loop's steps (wafer_loop.h), exposure after exposure from the first scored
// one to the last and again from rest: each released, queued, seen to be done and noted.
//
// Two ways to release a step:
//
// By the host (ahead = 0). It waits for the release, queues the step and polls until it is done.
// Release and latency are by its monotonic clock, so that whatever keeps the host's thread from
// running counts.
//
// By the device (ahead > 0). So many steps are queued before their time; each is held until the
// device's own clock shows its release, or follows the one before where steps are back to back.
// Release and latency are by that clock, up to the last kernel's writing of the report: the host
// only keeps the queue filled, and counts where it fails to. Whoever reads a correction without the
// host's thread, over the link to the device, has it then. Several devices have a clock each: their
// releases begin together within the reading of a clock and drift apart as clocks do.
#ifndef BB_SIM_WAFER_REALTIME_STEP_SCHEDULE_H
#define BB_SIM_WAFER_REALTIME_STEP_SCHEDULE_H

#include "sim/realtime/latency.h"
#include "sim/wafer/realtime/wafer_loop.h"

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

/// Make with bb_step_schedule_start.
typedef struct bb_step_schedule {
    bb_wafer_loop *loop;      ///< borrowed, as is the next
    const bool *has_products; ///< [period_count]
    int64_t period_ns;        ///< between releases; 0: back to back
    bb_index ahead;           ///< steps queued before their release, below BB_LOOP_KEPT
    bb_index unmeasured;      ///< steps before the first measured one
    bb_index queued, seen;    ///< steps
    /// by the devices: fewest steps still to be done when another is queued; -1: not known
    bb_index least;
    int64_t first_ns;            ///< by the host: release of step 0
    int64_t zero_ns;             ///< release of the first measured step, of device 0 where it holds
    int64_t start[BB_LOOP_GPUS]; ///< by the devices: release of step 0
    int64_t ended[BB_LOOP_GPUS]; ///< by the devices: end of the last step that was seen
    int64_t release_ns;          ///< by the host: of the last step that was queued
    double waited[BB_LOOP_KEPT][BB_LOOP_GPUS]; ///< s for the matrices of step k mod BB_LOOP_KEPT
} bb_step_schedule;

/// Readies a schedule of a loop that is at rest, whose step 0 is released 50 ms from now. Errors:
/// the loop's.
BB_CHECKED bb_status bb_step_schedule_start(bb_wafer_loop *loop, const bool *has_products,
                                            const bb_realtime_config *config,
                                            bb_step_schedule *out);

/// Queues the next step, by the host after waiting for its release. Errors: the loop's.
BB_CHECKED bb_status bb_step_schedule_queue(bb_step_schedule *schedule);

/// Waits for the first step that was queued and not seen, and notes it for every GPU: at
/// [gpus]. Errors: the loop's.
BB_CHECKED bb_status bb_step_schedule_await(bb_step_schedule *schedule,
                                            bb_step_record *const step_record[BB_LOOP_GPUS]);

/// Whether the host's thread polls throughout.
bool bb_step_schedule_never_sleeps(const bb_realtime_config *config);

#endif
