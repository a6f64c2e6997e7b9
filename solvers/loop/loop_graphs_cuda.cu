// SPDX-License-Identifier: Apache-2.0
#include "solvers/loop/control_loop_cuda.h"
#include "solvers/loop/graph_capture_cuda.h"

namespace control_loop
{

namespace
{

enum step_kind { DARK, HEAT, LIGHT };

// Arguments for the capture of a step's graph.
struct capturing {
    const graph_system *system;
    step_kind kind;
    bb_index set;
    int row; // first row of the window, -1: read on the device
    int parity;
    cudaGraphExec_t plan;
};

bb_status queue_products(const capturing &step, const loop_view &view, cudaStream_t stream)
{
    double *y[BB_CODED_TOGETHER] = {};
    for (int axis = 0; axis < view.axes; ++axis) {
        y[axis] = const_cast<double *>(view.y) + axis * view.window_rows;
    }
    const bb_coded_window window = {step.row < 0 ? 0 : step.row, view.window_rows,
                                    step.row < 0 ? &view.now->window_row : nullptr};
    return bb_coded_operator_queue(step.system->operators + step.set * view.axes, view.axes,
                                   &window, view.x, y, bb_stream_queue(stream));
}

// Queues the kernels of a step on a stream that is being captured.
bb_status queue_step(const capturing &step, cudaStream_t stream)
{
    loop_view view = step.system->view;
    view.state = step.system->states[step.parity];
    view.next = step.system->states[1 - step.parity];
    BB_RETURN_IF_FAILED(queue_state(view, stream));
    if (step.kind != DARK) {
        BB_RETURN_IF_FAILED(queue_input(view, stream));
    }
    if (step.kind != LIGHT) {
        return queue_end(view, stream);
    }
    BB_RETURN_IF_FAILED(queue_reading(view, stream));
    BB_RETURN_IF_FAILED(queue_products(step, view, stream));
    return queue_outputs(view, stream);
}

bb_status capture(bb_queue *on, bb_index, bb_index, void *arguments)
{
    capturing *step = static_cast<capturing *>(arguments);
    const auto queue = [step](cudaStream_t stream) { return queue_step(*step, stream); };
    return capture_graph(bb_queue_stream(on), queue, &step->plan);
}

const bb_kernel capture_kernel = {"graph capture of a control loop", 1, {nullptr, capture}};

bb_status capture_step(capturing *step, cudaGraphExec_t *out)
{
    BB_RETURN_IF_FAILED(bb_device_launch(step->system->device, &capture_kernel, 1, step));
    *out = step->plan;
    return BB_OK;
}

int row_of(const graph_system &system, int window)
{
    return system.any_row ? -1 : window;
}

} // namespace

bb_status capture_graphs(const graph_system &system, loop_graphs *graphs)
{
    for (int parity = 0; parity < 2; ++parity) {
        capturing dark = {&system, DARK, 0, 0, parity, nullptr};
        capturing heat = {&system, HEAT, 0, 0, parity, nullptr};
        BB_RETURN_IF_FAILED(capture_step(&dark, &graphs->dark[parity]));
        BB_RETURN_IF_FAILED(capture_step(&heat, &graphs->heat[parity]));
    }
    return BB_OK;
}

bb_status capture_light(const graph_system &system, bb_index set,
                        const std::vector<int32_t> &windows, loop_graphs *graphs)
{
    bool captured = false;
    for (int32_t window : windows) {
        for (int parity = 0; parity < 2; ++parity) {
            const int row = row_of(system, window);
            const light_key key = {set, row, parity};
            if (graphs->light.count(key) == 0) {
                capturing light = {&system, LIGHT, set, row, parity, nullptr};
                cudaGraphExec_t plan = nullptr;
                BB_RETURN_IF_FAILED(capture_step(&light, &plan));
                graphs->light[key] = plan;
                captured = true;
            }
        }
    }
    return captured ? bb_device_wait(system.device) : BB_OK;
}

cudaGraphExec_t light_graph(const graph_system &system, const loop_graphs &graphs, bb_index set,
                            int window, int parity)
{
    return graphs.light.at({set, row_of(system, window), parity});
}

void release_graphs(loop_graphs *graphs)
{
    for (int parity = 0; parity < 2; ++parity) {
        for (cudaGraphExec_t plan : {graphs->dark[parity], graphs->heat[parity]}) {
            if (plan != nullptr) {
                (void)cudaGraphExecDestroy(plan);
            }
        }
    }
    for (const auto &light : graphs->light) {
        (void)cudaGraphExecDestroy(light.second);
    }
    graphs->light.clear();
}

} // namespace control_loop
