// SPDX-License-Identifier: Apache-2.0
//
// For .cu files only: arguments and launches of the step kernels of solvers/loop/control_loop.h,
// their graphs and progress. All addresses are device addresses.
#ifndef BB_SOLVERS_LOOP_CONTROL_LOOP_CUDA_H
#define BB_SOLVERS_LOOP_CONTROL_LOOP_CUDA_H

#include "core/device/device_cuda.h"
#include "solvers/loop/control_loop.h"

#include <map>
#include <tuple>
#include <vector>

namespace control_loop
{

struct device_rows {
    bb_index rows, slices, long_rows;
    const int32_t *slice_start, *column, *long_row, *long_start, *long_column;
    const uint32_t *apart;
    const float *value, *long_value;
};

// Device form of an output.
struct output_entry {
    int32_t point;
    int32_t corner[4];
    float padding;
    double weight[4];
};

// Device form of a period.
struct period_view {
    int light_steps;
    const int32_t *input_begin, *input_where;
    const float *input;
    const int32_t *window, *output_begin;
    const output_entry *output;
};

// Progress of the loop. Only the last kernel of a step and the start of a period write it, except
// for the stamps.
struct loop_now {
    period_view period;
    int step;
    int32_t window_row; // time stamps of the step
    unsigned long long stamps[BB_LOOP_STAGES];
};

// Report in host memory, written by the device.
struct loop_report {
    unsigned long long done; // completed steps since creation
    unsigned long long clock;
    // Stamps of step k are at index k mod BB_LOOP_KEPT.
    unsigned long long stamps[BB_LOOP_KEPT][BB_LOOP_STAGES];
};

// Arguments of every kernel of a step.
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
    unsigned long long *steps; // completed steps, in device memory
    loop_report *report;
    const float *b;
};

/// Returns an error for a device that these kernels do not support.
bb_status check_device();

/// Queue the kernels of a step; each may start while its predecessor runs.
bb_status queue_state(const loop_view &view, cudaStream_t stream);
bb_status queue_input(const loop_view &view, cudaStream_t stream);
bb_status queue_reading(const loop_view &view, cudaStream_t stream);
/// queue_outputs ends a step with products, queue_end a step without.
bb_status queue_outputs(const loop_view &view, cudaStream_t stream);
bb_status queue_end(const loop_view &view, cudaStream_t stream);

/// Makes a period current.
bb_status queue_begin(const period_view *period, loop_now *now, cudaStream_t stream);

/// Queue a wait for the device clock, and a report of its time.
bb_status queue_hold(unsigned long long ns, cudaStream_t stream);
bb_status queue_clock(loop_report *report, cudaStream_t stream);

/// The host's view of the completed steps and of the device clock (loop_watch_cuda.cu).
struct loop_watch {
    bb_device *device;
    loop_report *report, *on_device; // addresses of the same host memory on host and device
    unsigned long long queued;       // queued steps
};

/// Allocates a zeroed report; `report` is its device address.
bb_status open_watch(bb_device *device, loop_watch *out, loop_report **report);
void close_watch(loop_watch *watch);

/// Number of queued steps that are incomplete.
bb_index steps_left(const loop_watch *watch);

/// Waits until at most `rest` of the queued steps are incomplete, sleeping `sleep_ns` between polls
/// (0: none).
bb_status await_steps(loop_watch *watch, bb_index rest, int64_t sleep_ns);

/// Time stamps of the step `rest` before the last queued one.
bb_loop_stamps stamps_of(const loop_watch *watch, bb_index rest);

bb_status hold_until(loop_watch *watch, uint64_t ns);
bb_status read_clock(loop_watch *watch, uint64_t *ns);

// Captured graphs of the steps (loop_graphs_cuda.cu): steps without input, with input, and with
// products. Steps with products need one for each set of matrices, and one for each window if the
// operators cannot read the window index on the device. Each exists for even and odd steps, which
// swap old and new state. Operators are borrowed.
struct graph_system {
    bb_device *device;
    loop_view view;                      // each graph has its own `state` and `next`
    float *states[2];                    // states by parity
    bb_coded_operator *const *operators; // [sets][view.axes]
    bool any_row;                        // operators read the window index on the device
};

// Key: set, first row of C (-1: read on the device), parity.
using light_key = std::tuple<bb_index, int, int>;

struct loop_graphs {
    cudaGraphExec_t dark[2], heat[2]; // [parity]: without input, with input
    std::map<light_key, cudaGraphExec_t> light;
};

/// Captures the graphs of steps without products.
bb_status capture_graphs(const graph_system &system, loop_graphs *graphs);

/// Captures the missing graphs of steps with products of one set, for all windows given.
bb_status capture_light(const graph_system &system, bb_index set,
                        const std::vector<int32_t> &windows, loop_graphs *graphs);

/// Returns a captured graph of a step with products.
cudaGraphExec_t light_graph(const graph_system &system, const loop_graphs &graphs, bb_index set,
                            int window, int parity);

void release_graphs(loop_graphs *graphs);

} // namespace control_loop

#endif
