// SPDX-License-Identifier: Apache-2.0
#include "core/memory.h"
#include "solvers/loop/control_loop_cuda.h"
#include "solvers/loop/sliced_rows.h"

#include <algorithm>
#include <vector>

using namespace control_loop;

// Host data of a period.
struct host_period {
    bb_index set, light_steps, steps;
    std::vector<int32_t> window;
    period_view *device_view; // copy on the device
};

struct bb_control_loop {
    bb_device *device;
    bb_index state_count, cells, matrix_rows, window_rows, points, set_count;
    int axes;
    double step_bytes[2]; // bytes of dark and light steps
    bb_coded_operator *const *operators;
    loop_view view;
    float *states[2];
    loop_watch watch;
    int parity;                 // index of the next step
    bb_index period, step;      // period of the next step
    std::vector<void *> blocks; // device allocations
    std::vector<host_period> periods;
    graph_system system;
    loop_graphs graphs;
};

namespace
{

bb_status allocate(bb_control_loop *loop, size_t bytes, void **out)
{
    BB_RETURN_IF_FAILED(bb_device_allocate(loop->device, std::max<size_t>(bytes, 16), out));
    loop->blocks.push_back(*out);
    return BB_OK;
}

// Copies values to the device.
template <class Value>
bb_status upload(bb_control_loop *loop, const Value *source, bb_index count, const Value **out)
{
    void *block = nullptr;
    const size_t bytes = static_cast<size_t>(count) * sizeof(Value);
    BB_RETURN_IF_FAILED(allocate(loop, bytes, &block));
    if (count > 0) {
        BB_RETURN_IF_FAILED(bb_device_upload(loop->device, block, source, bytes));
        BB_RETURN_IF_FAILED(bb_device_wait(loop->device));
    }
    *out = static_cast<const Value *>(block);
    return BB_OK;
}

bb_status upload_sliced(bb_control_loop *loop, const bb_sliced_rows *rows, device_rows *out)
{
    const bb_index entries = static_cast<bb_index>(rows->slice_start[rows->slices]) * BB_SLICE;
    const bb_index apart = rows->long_rows > 0 ? rows->long_start[rows->long_rows] : 0;
    *out = {};
    out->rows = rows->rows;
    out->slices = rows->slices;
    out->long_rows = rows->long_rows;
    BB_RETURN_IF_FAILED(upload(loop, rows->slice_start, rows->slices + 1, &out->slice_start));
    BB_RETURN_IF_FAILED(upload(loop, rows->apart, rows->slices, &out->apart));
    BB_RETURN_IF_FAILED(upload(loop, rows->column, entries, &out->column));
    BB_RETURN_IF_FAILED(upload(loop, rows->value, entries, &out->value));
    BB_RETURN_IF_FAILED(upload(loop, rows->long_row, rows->long_rows, &out->long_row));
    BB_RETURN_IF_FAILED(upload(loop, rows->long_start, rows->long_rows + 1, &out->long_start));
    BB_RETURN_IF_FAILED(upload(loop, rows->long_column, apart, &out->long_column));
    return upload(loop, rows->long_value, apart, &out->long_value);
}

bb_status upload_rows(bb_control_loop *loop, const bb_csr *csr, device_rows *out, double *bytes)
{
    bb_sliced_rows rows = {};
    bb_status status = bb_sliced_rows_of(csr, &rows);
    if (status == BB_OK) {
        *bytes = bb_sliced_rows_bytes(&rows);
        status = upload_sliced(loop, &rows, out);
    }
    bb_sliced_rows_release(&rows);
    return status;
}

bb_status check_system(const bb_loop_system *system)
{
    bb_status status = BB_OK;
    BB_REQUIRE(
        system->a->rows == system->a->columns && system->w->columns <= system->a->rows, BB_INVALID,
        "control loop: A is %td x %td and W is %td x %td; A must be square and W no wider than A",
        system->a->rows, system->a->columns, system->w->rows, system->w->columns);
    BB_REQUIRE(system->axes >= 1 && system->axes <= BB_CODED_TOGETHER && system->set_count >= 1 &&
                   system->window_rows >= 1 && system->points >= 0,
               BB_INVALID,
               "control loop: %d axes and %td sets; expected 1 to %d axes and at least one set and "
               "window row",
               system->axes, system->set_count, static_cast<int>(BB_CODED_TOGETHER));
    for (bb_index i = 0; i < system->set_count * system->axes; ++i) {
        const bb_coded_operator *one = system->operators[i];
        BB_REQUIRE(bb_coded_operator_columns(one) == system->w->rows &&
                       bb_coded_operator_rows(one) >= system->window_rows &&
                       bb_coded_operator_rows(one) == bb_coded_operator_rows(system->operators[0]),
                   BB_INVALID,
                   "control loop: matrix %td is %td x %td; it needs %td columns (cells of W) and "
                   "at least %td rows (window)",
                   i, bb_coded_operator_rows(one), bb_coded_operator_columns(one), system->w->rows,
                   system->window_rows);
        BB_REQUIRE(bb_coded_operator_multiply(one) == BB_FORMAT_FP32, BB_INVALID,
                   "control loop: matrix %td has %s products, expected fp32", i,
                   bb_format_names[bb_coded_operator_multiply(one)]);
    }
done:
    return status;
}

// Copies b to the device in fp32.
bb_status upload_diagonal(bb_control_loop *loop, const bb_loop_system *system)
{
    std::vector<float> narrow(static_cast<size_t>(system->a->rows));
    std::copy(system->b, system->b + system->a->rows, narrow.begin());
    return upload(loop, narrow.data(), system->a->rows, &loop->view.b);
}

bb_status build(bb_control_loop *loop, const bb_loop_system *system)
{
    const size_t n = static_cast<size_t>(system->a->rows);
    const size_t axes = static_cast<size_t>(system->axes);
    double a_bytes = 0.0;
    double w_bytes = 0.0;
    void *block = nullptr;
    loop_view *view = &loop->view;
    BB_RETURN_IF_FAILED(upload_rows(loop, system->a, &view->a, &a_bytes));
    BB_RETURN_IF_FAILED(upload_rows(loop, system->w, &view->w, &w_bytes));
    if (view->w.long_rows > 0) {
        return bb_status_set(BB_UNSUPPORTED, __FILE__, __LINE__,
                             "control loop: a row of W has more than %d entries",
                             static_cast<int>(BB_SLICED_LONG));
    }
    BB_RETURN_IF_FAILED(upload_diagonal(loop, system));
    for (float *&state : loop->states) {
        BB_RETURN_IF_FAILED(allocate(loop, n * sizeof(float), &block));
        state = static_cast<float *>(block);
    }
    BB_RETURN_IF_FAILED(allocate(loop, static_cast<size_t>(loop->cells) * sizeof(float), &block));
    view->x = static_cast<float *>(block);
    BB_RETURN_IF_FAILED(
        allocate(loop, axes * static_cast<size_t>(loop->window_rows) * sizeof(double), &block));
    view->y = static_cast<double *>(block);
    BB_RETURN_IF_FAILED(
        allocate(loop, axes * static_cast<size_t>(loop->points) * sizeof(double), &block));
    view->z = static_cast<double *>(block);
    BB_RETURN_IF_FAILED(allocate(loop, sizeof(loop_now), &block));
    view->now = static_cast<loop_now *>(block);
    BB_RETURN_IF_FAILED(allocate(loop, sizeof(unsigned long long), &block));
    view->steps = static_cast<unsigned long long *>(block);
    BB_RETURN_IF_FAILED(bb_device_zero(loop->device, view->steps, sizeof(unsigned long long)));
    view->axes = loop->axes;
    view->window_rows = loop->window_rows;
    view->points = loop->points;
    loop->step_bytes[0] = a_bytes + 8.0 * static_cast<double>(n);
    loop->step_bytes[1] = loop->step_bytes[0] + w_bytes + 8.0 * static_cast<double>(n) +
                          4.0 * static_cast<double>(loop->cells);
    return bb_control_loop_reset(loop);
}

bb_status capture_idle(bb_control_loop *loop)
{
    BB_RETURN_IF_FAILED(open_watch(loop->device, &loop->watch, &loop->view.report));
    loop->system = {loop->device,
                    loop->view,
                    {loop->states[0], loop->states[1]},
                    loop->operators,
                    bb_coded_operator_supports_row_at(loop->operators[0])};
    return capture_graphs(loop->system, &loop->graphs);
}

cudaGraphExec_t graph_of(const bb_control_loop *loop)
{
    const host_period &period = loop->periods[static_cast<size_t>(loop->period)];
    if (loop->step >= period.light_steps) {
        return loop->graphs.dark[loop->parity];
    }
    if (period.set < 0) {
        return loop->graphs.heat[loop->parity];
    }
    return light_graph(loop->system, loop->graphs, period.set,
                       period.window[static_cast<size_t>(loop->step)], loop->parity);
}

bb_status launch_graph(bb_queue *stream, bb_index, bb_index, void *arguments)
{
    const bb_control_loop *loop = static_cast<const bb_control_loop *>(arguments);
    BB_CUDA_TRY(cudaGraphLaunch(graph_of(loop), bb_queue_stream(stream)));
    return BB_OK;
}

// Zeroes the outputs and makes the period current.
bb_status launch_begin(bb_queue *on, bb_index, bb_index, void *arguments)
{
    const bb_control_loop *loop = static_cast<const bb_control_loop *>(arguments);
    cudaStream_t stream = bb_queue_stream(on);
    const size_t outputs = static_cast<size_t>(loop->axes) * static_cast<size_t>(loop->points);
    BB_CUDA_TRY(cudaMemsetAsync(loop->view.z, 0, outputs * sizeof(double), stream));
    return queue_begin(loop->periods[static_cast<size_t>(loop->period)].device_view, loop->view.now,
                       stream);
}

const bb_kernel graph_kernel = {"step of a control loop", 1, {nullptr, launch_graph}};
const bb_kernel begin_kernel = {"start of a period", 1, {nullptr, launch_begin}};

bb_status check_outputs(const bb_control_loop *loop, const bb_loop_period *period)
{
    bb_status status = BB_OK;
    for (bb_index step = 0; step < period->light_steps; ++step) {
        BB_REQUIRE(
            period->window[step] >= 0 &&
                period->window[step] + loop->window_rows <= loop->matrix_rows,
            BB_INVALID,
            "step %td of a period: window of %td rows from row %d exceeds the matrix of %td rows",
            step, loop->window_rows, static_cast<int>(period->window[step]), loop->matrix_rows);
    }
    for (bb_index k = 0; k < period->output_begin[period->light_steps]; ++k) {
        const bb_loop_output *output = &period->output[k];
        bool inside = output->point >= 0 && output->point < loop->points;
        for (int corner : output->corner) {
            inside = inside && corner >= 0 && corner < loop->window_rows;
        }
        BB_REQUIRE(
            inside, BB_INVALID,
            "output %td of a control loop: point %d of %td points or a window row is out of range",
            k, static_cast<int>(output->point), loop->points);
    }
done:
    return status;
}

bb_status check_period(const bb_control_loop *loop, const bb_loop_period *period)
{
    bb_status status = BB_OK;
    bb_index light = period->light_steps;
    BB_REQUIRE(period->set >= -1 && period->set < loop->set_count && light >= 0 &&
                   period->dark_steps >= 0,
               BB_INVALID,
               "control loop period: set %td of %td sets, %td light or %td dark steps out of range",
               period->set, loop->set_count, light, period->dark_steps);
    for (bb_index k = 0; k < period->input_begin[light]; ++k) {
        BB_REQUIRE(period->input_where[k] >= 0 && period->input_where[k] < loop->state_count,
                   BB_INVALID,
                   "input of a control loop: unknown %d of %td unknowns is out of range",
                   static_cast<int>(period->input_where[k]), loop->state_count);
    }
    if (period->set >= 0) {
        BB_TRY(check_outputs(loop, period));
    }
done:
    return status;
}

bb_status check_number(const bb_control_loop *loop, bb_index period)
{
    if (period < 0 || period >= static_cast<bb_index>(loop->periods.size())) {
        return bb_status_set(BB_INVALID, __FILE__, __LINE__,
                             "period %td does not exist: the control loop has %zu periods", period,
                             loop->periods.size());
    }
    return BB_OK;
}

bb_status upload_period(bb_control_loop *loop, const bb_loop_period *period)
{
    const bb_index light = period->light_steps;
    period_view view = {};
    const period_view *device_view = nullptr;
    // Windows and outputs are not accessed without products.
    const std::vector<int32_t> none(static_cast<size_t>(light + 1), 0);
    const int32_t *window = period->set < 0 ? none.data() : period->window;
    const int32_t *output_begin = period->set < 0 ? none.data() : period->output_begin;
    std::vector<float> input(static_cast<size_t>(period->input_begin[light]));
    std::vector<output_entry> output(static_cast<size_t>(output_begin[light]));
    std::copy(period->input, period->input + input.size(), input.begin());
    for (size_t k = 0; k < output.size(); ++k) {
        const bb_loop_output &loop_output = period->output[k];
        output[k].point = loop_output.point;
        std::copy(loop_output.corner, loop_output.corner + 4, output[k].corner);
        std::copy(loop_output.weight, loop_output.weight + 4, output[k].weight);
    }
    view.light_steps = static_cast<int>(light);
    BB_RETURN_IF_FAILED(upload(loop, period->input_begin, light + 1, &view.input_begin));
    BB_RETURN_IF_FAILED(
        upload(loop, period->input_where, period->input_begin[light], &view.input_where));
    BB_RETURN_IF_FAILED(
        upload(loop, input.data(), static_cast<bb_index>(input.size()), &view.input));
    BB_RETURN_IF_FAILED(upload(loop, window, light, &view.window));
    BB_RETURN_IF_FAILED(upload(loop, output_begin, light + 1, &view.output_begin));
    BB_RETURN_IF_FAILED(
        upload(loop, output.data(), static_cast<bb_index>(output.size()), &view.output));
    BB_RETURN_IF_FAILED(upload(loop, &view, 1, &device_view));
    host_period kept = {
        period->set, light, light + period->dark_steps, {}, const_cast<period_view *>(device_view)};
    if (period->set >= 0) {
        kept.window.assign(window, window + light);
        BB_RETURN_IF_FAILED(capture_light(loop->system, kept.set, kept.window, &loop->graphs));
    }
    loop->periods.push_back(kept);
    return BB_OK;
}

} // namespace

extern "C" bb_status bb_control_loop_create(bb_device *device, const bb_loop_system *system,
                                            bb_control_loop **out)
{
    *out = nullptr;
    BB_RETURN_IF_FAILED(check_system(system));
    bb_control_loop *loop = new bb_control_loop();
    loop->device = device;
    loop->period = -1; // no period has begun
    loop->state_count = system->a->rows;
    loop->cells = system->w->rows;
    loop->window_rows = system->window_rows;
    loop->points = system->points;
    loop->set_count = system->set_count;
    loop->axes = system->axes;
    loop->operators = system->operators;
    loop->matrix_rows = bb_coded_operator_rows(system->operators[0]);
    bb_status status = build(loop, system);
    if (status == BB_OK) {
        status = capture_idle(loop);
    }
    if (status != BB_OK) {
        bb_control_loop_destroy(&loop);
        return status;
    }
    *out = loop;
    return BB_OK;
}

extern "C" void bb_control_loop_destroy(bb_control_loop **loop)
{
    bb_control_loop *control_loop = *loop;
    if (control_loop == nullptr) {
        return;
    }
    release_graphs(&control_loop->graphs);
    for (void *block : control_loop->blocks) {
        bb_device_release(control_loop->device, &block);
    }
    close_watch(&control_loop->watch);
    delete control_loop;
    *loop = nullptr;
}

extern "C" bb_status bb_control_loop_add(bb_control_loop *loop, const bb_loop_period *period)
{
    BB_RETURN_IF_FAILED(check_period(loop, period));
    return upload_period(loop, period);
}

extern "C" bb_status bb_control_loop_use(bb_control_loop *loop, bb_index period, bb_index set)
{
    BB_RETURN_IF_FAILED(check_number(loop, period));
    host_period &one = loop->periods[static_cast<size_t>(period)];
    if (one.set < 0 || set < 0 || set >= loop->set_count) {
        return bb_status_set(BB_INVALID, __FILE__, __LINE__,
                             "set %td of %td sets for period %td of a control loop: the set must "
                             "exist and the period must have products",
                             set, loop->set_count, period);
    }
    BB_RETURN_IF_FAILED(capture_light(loop->system, set, one.window, &loop->graphs));
    one.set = set;
    return BB_OK;
}

extern "C" bb_status bb_control_loop_begin(bb_control_loop *loop, bb_index period)
{
    BB_RETURN_IF_FAILED(check_number(loop, period));
    loop->period = period;
    loop->step = 0;
    return bb_device_launch(loop->device, &begin_kernel, 1, loop);
}

extern "C" bb_status bb_control_loop_step(bb_control_loop *loop)
{
    const size_t period = static_cast<size_t>(loop->period);
    if (loop->period < 0 || period >= loop->periods.size() ||
        loop->step >= loop->periods[period].steps) {
        return bb_status_set(BB_INVALID, __FILE__, __LINE__,
                             "step %td of period %td of a control loop: start the period first and "
                             "stay within its steps",
                             loop->step, loop->period);
    }
    BB_RETURN_IF_FAILED(bb_device_launch(loop->device, &graph_kernel, 1, loop));
    loop->parity = 1 - loop->parity;
    loop->step += 1;
    loop->watch.queued += 1;
    return BB_OK;
}

extern "C" bb_status bb_control_loop_wait(bb_control_loop *loop)
{
    return await_steps(&loop->watch, 0, 0);
}

extern "C" bb_status bb_control_loop_await(bb_control_loop *loop, bb_index rest, int64_t sleep_ns)
{
    return await_steps(&loop->watch, rest, sleep_ns);
}

extern "C" bb_index bb_control_loop_left(const bb_control_loop *loop)
{
    return steps_left(&loop->watch);
}

extern "C" bb_loop_stamps bb_control_loop_stamps(const bb_control_loop *loop, bb_index rest)
{
    return stamps_of(&loop->watch, rest);
}

extern "C" bb_status bb_control_loop_wait_until(bb_control_loop *loop, uint64_t ns)
{
    return hold_until(&loop->watch, ns);
}

extern "C" bb_status bb_control_loop_clock(bb_control_loop *loop, uint64_t *ns)
{
    return read_clock(&loop->watch, ns);
}

extern "C" bb_status bb_control_loop_reset(bb_control_loop *loop)
{
    const size_t bytes = static_cast<size_t>(loop->state_count) * sizeof(float);
    BB_RETURN_IF_FAILED(bb_device_zero(loop->device, loop->states[0], bytes));
    return bb_device_zero(loop->device, loop->states[1], bytes);
}

extern "C" bb_status bb_control_loop_state(bb_control_loop *loop, float *out)
{
    return bb_device_download(loop->device, out, loop->states[loop->parity],
                              static_cast<size_t>(loop->state_count) * sizeof *out);
}

extern "C" bb_status bb_control_loop_reading(bb_control_loop *loop, float *out)
{
    return bb_device_download(loop->device, out, loop->view.x,
                              static_cast<size_t>(loop->cells) * sizeof *out);
}

extern "C" bb_status bb_control_loop_windows(bb_control_loop *loop, double *out)
{
    return bb_device_download(loop->device, out, loop->view.y,
                              static_cast<size_t>(loop->axes * loop->window_rows) * sizeof *out);
}

extern "C" bb_status bb_control_loop_outputs(bb_control_loop *loop, double *out)
{
    return bb_device_download(loop->device, out, loop->view.z,
                              static_cast<size_t>(loop->axes * loop->points) * sizeof *out);
}

extern "C" double bb_control_loop_bytes(const bb_control_loop *loop, bool light)
{
    return loop->step_bytes[light ? 1 : 0];
}
