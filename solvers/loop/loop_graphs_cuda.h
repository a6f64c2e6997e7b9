// SPDX-License-Identifier: Apache-2.0
//
// For .cu files only: the captured graphs of a control loop's steps (solvers/loop/control_loop.h).
// One for steps of the state alone, one for steps with input, and one for steps with products for
// each set of matrices and each window where the operators do not find it on the device; each for
// even and odd steps, between which old and new state change places.
#ifndef BB_SOLVERS_LOOP_LOOP_GRAPHS_CUDA_H
#define BB_SOLVERS_LOOP_LOOP_GRAPHS_CUDA_H

#include "solvers/loop/control_loop_cuda.h"

#include <map>
#include <tuple>
#include <vector>

namespace control_loop
{

// What the kernels of every step work on; operators are borrowed.
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
