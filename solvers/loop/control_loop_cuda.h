// SPDX-License-Identifier: Apache-2.0
//
// For .cu files only: arguments and launches of the kernels of a step of
// solvers/loop/control_loop.h, its graphs and progress. Addresses are the device's.
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

/// Progress of the steps and the device's clock, as the host sees them (loop_watch_cuda.cu).
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

// Captured graphs of the steps (loop_graphs_cuda.cu): one for steps of the state alone, one for
// steps with input, and one for steps with products for each set of matrices and each window where
// the operators do not find it on the device; each for even and odd steps, between which old and
// new state change places. Operators are borrowed.
struct graph_system {
    bb_device *device;
    loop_view view;                      // state and next are each graph's own
    float *states[2];                    // by parity
    bb_coded_operator *const *operators; // [sets][view.axes]
    bool any_row;                        // products find their rows on the device
};

// Set, first row of C (-1: the device knows), parity.
using light_key = std::tuple<bb_index, int, int>;

struct loop_graphs {
    cudaGraphExec_t dark[2], heat[2]; // [parity]: state alone, state and input
    std::map<light_key, cudaGraphExec_t> light;
};

/// Those of steps without products.
bb_status capture_graphs(const graph_system &system, loop_graphs *graphs);

/// Those of steps with products of a set, for every window given, where they are not there yet.
bb_status capture_light(const graph_system &system, bb_index set,
                        const std::vector<int32_t> &windows, loop_graphs *graphs);

/// The graph of a step with products that was captured.
cudaGraphExec_t light_graph(const graph_system &system, const loop_graphs &graphs, bb_index set,
                            int window, int parity);

void release_graphs(loop_graphs *graphs);

} // namespace control_loop

#endif
