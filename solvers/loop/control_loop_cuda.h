// SPDX-License-Identifier: Apache-2.0
//
// For .cu files only: what the kernels of a step of solvers/loop/control_loop.h work on, and their
// launches. Addresses are the device's.
#ifndef BB_SOLVERS_LOOP_CONTROL_LOOP_CUDA_H
#define BB_SOLVERS_LOOP_CONTROL_LOOP_CUDA_H

#include "core/device/device_cuda.h"
#include "solvers/loop/control_loop.h"

namespace control_loop
{

struct device_rows {
    bb_index rows, slices, long_rows;
    const int32_t *slice_start, *column, *long_row, *long_start, *long_column;
    const uint32_t *apart;
    const float *value, *long_value;
};

// An output as the device has it.
struct output_entry {
    int32_t point;
    int32_t corner[4];
    float padding;
    double weight[4];
};

// A period on the device.
struct period_view {
    int light_steps;
    const int32_t *input_begin, *input_where;
    const float *input;
    const int32_t *window, *output_begin;
    const output_entry *output;
};

// Where the loop is; but for stamps, written by the last kernel of a step and the start of a period
// only.
struct loop_now {
    period_view period;
    int step;
    int32_t window_row; // of the step
    unsigned long long stamps[BB_LOOP_STAGES];
};

// In memory of the host that the device writes.
struct loop_report {
    unsigned long long done; // steps since the loop was made
    unsigned long long clock;
    unsigned long long stamps[BB_LOOP_KEPT][BB_LOOP_STAGES]; // of step k at k mod BB_LOOP_KEPT
};

// What every kernel of a step gets.
struct loop_view {
    device_rows a, w;
    const float *state;
    float *next;
    float *x;
    const double *y; // [axes][window_rows]
    double *z;       // [axes][points]
    int axes;
    bb_index window_rows, points;
    loop_now *now;
    unsigned long long *steps; // done, on the device
    loop_report *report;
    const float *b;
};

/// Refuses a device that these kernels are not made for.
bb_status check_device();

/// Queue parts of a step; each may start while the one before is under way.
bb_status queue_state(const loop_view &view, cudaStream_t stream);
bb_status queue_input(const loop_view &view, cudaStream_t stream);
bb_status queue_reading(const loop_view &view, cudaStream_t stream);
/// Outputs end a step with products, queue_end one without.
bb_status queue_outputs(const loop_view &view, cudaStream_t stream);
bb_status queue_end(const loop_view &view, cudaStream_t stream);

/// Makes a period the running one.
bb_status queue_begin(const period_view *period, loop_now *now, cudaStream_t stream);

/// Waits for the device's clock; reports it.
bb_status queue_hold(unsigned long long ns, cudaStream_t stream);
bb_status queue_clock(loop_report *report, cudaStream_t stream);

} // namespace control_loop

#endif
