// SPDX-License-Identifier: Apache-2.0
//
// For .cu files only: what the host of a control loop (solvers/loop/control_loop.h) sees of its
// steps and of the device's clock.
#ifndef BB_SOLVERS_LOOP_LOOP_WATCH_CUDA_H
#define BB_SOLVERS_LOOP_LOOP_WATCH_CUDA_H

#include "solvers/loop/control_loop_cuda.h"

namespace control_loop
{

struct loop_watch {
    bb_device *device;
    loop_report *report, *on_device; // one memory, the host's
    unsigned long long queued;       // steps
};

/// The report, zero; `report` is its address on the device.
bb_status open_watch(bb_device *device, loop_watch *out, loop_report **report);
void close_watch(loop_watch *watch);

/// Steps that were queued and are not done.
bb_index steps_left(const loop_watch *watch);

/// Waits until at most `rest` of the queued steps are to be done: looks every `sleep_ns`, or polls
/// where that is 0.
bb_status await_steps(loop_watch *watch, bb_index rest, int64_t sleep_ns);

/// Of the step `rest` before the last queued one.
bb_loop_stamps stamps_of(const loop_watch *watch, bb_index rest);

bb_status hold_until(loop_watch *watch, uint64_t ns);
bb_status read_clock(loop_watch *watch, uint64_t *ns);

} // namespace control_loop

#endif
