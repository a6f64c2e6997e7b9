// SPDX-License-Identifier: Apache-2.0
//
// Floors of a light step at the wafer's sizes (283k fine and 8k coarse unknowns, 256k cells, 0.5
// mm): A 36 MB, W 15 MB, vectors 5 MB, which the last cache does not keep beside the matrices:
// 12 us at 4.5 TB/s. Launches overlap (programmatic dependent launch): while state and reading are
// under way the products' producers fill their rings.
#include "core/device_cuda.h"
#include "core/memory.h"
#include "solvers/control_loop.h"
#include "solvers/hopper_cuda.h"
#include "solvers/sliced_rows.h"

#include <algorithm>
#include <vector>

namespace
{

constexpr int threads = 256;
constexpr int lanes = 32;

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

// Where the loop is; written by the last kernel of a step and the start of a period only.
struct loop_now {
    period_view period;
    int step;
    int32_t window_row; // of the step
};

// In memory of the host that the device writes.
struct loop_report {
    unsigned long long done; // steps since the loop was made
    unsigned long long stamps[BB_LOOP_STAGES];
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

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

__device__ __forceinline__ void begin_stage(const loop_view &view, bb_loop_stage stage)
{
    hopper::let_next_kernel_start();
    hopper::wait_for_kernel_before();
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        unsigned long long ns = 0;
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
        view.report->stamps[stage] = ns;
    }
}

__device__ __forceinline__ float short_row(const device_rows &rows, bb_index row, const float *x)
{
    const bb_index slice = row / lanes;
    const int end = rows.slice_start[slice + 1];
    float sum = 0.0F;
#pragma unroll 4
    for (int line = rows.slice_start[slice]; line < end; ++line) {
        const bb_index at = static_cast<bb_index>(line) * lanes + row % lanes;
        sum = __fmaf_rn(__ldg(rows.value + at), x[__ldg(rows.column + at)], sum);
    }
    return sum;
}

__device__ __forceinline__ float long_row(const device_rows &rows, bb_index which, const float *x,
                                          int lane)
{
    const int end = rows.long_start[which + 1];
    float sum = 0.0F;
#pragma unroll 4
    for (int k = rows.long_start[which] + lane; k < end; k += lanes) {
        sum = __fmaf_rn(__ldg(rows.long_value + k), x[__ldg(rows.long_column + k)], sum);
    }
#pragma unroll
    for (int half = lanes / 2; half > 0; half /= 2) {
        sum += __shfl_down_sync(0xffffffffU, sum, half);
    }
    return sum;
}

// T' = A T: a thread a row, then a warp a long row.
__global__ void __launch_bounds__(threads) advance_state(const __grid_constant__ loop_view view)
{
    begin_stage(view, BB_LOOP_STATE);
    const device_rows &a = view.a;
    const bb_index short_blocks = (a.slices * lanes + threads - 1) / threads;
    const bb_index block = static_cast<bb_index>(blockIdx.x);
    if (block < short_blocks) {
        const bb_index row = block * threads + threadIdx.x;
        if (row < a.rows && (a.apart[row / lanes] >> (row % lanes) & 1U) == 0) {
            view.next[row] = short_row(a, row, view.state);
        }
        return;
    }
    const bb_index which = (block - short_blocks) * (threads / lanes) + threadIdx.x / lanes;
    if (which < a.long_rows) {
        const int lane = static_cast<int>(threadIdx.x) % lanes;
        const float sum = long_row(a, which, view.state, lane);
        if (lane == 0) {
            view.next[a.long_row[which]] = sum;
        }
    }
}

// T' += B u.
__global__ void __launch_bounds__(threads) add_input(const __grid_constant__ loop_view view)
{
    begin_stage(view, BB_LOOP_INPUT);
    const period_view &period = view.now->period;
    const int step = view.now->step;
    const int end = period.input_begin[step + 1];
    for (int k = period.input_begin[step] + static_cast<int>(blockIdx.x * threads + threadIdx.x);
         k < end; k += static_cast<int>(gridDim.x) * threads) {
        const int where = period.input_where[k];
        view.next[where] = __fmaf_rn(view.b[where], period.input[k], view.next[where]);
    }
}

// x = W (T + T') / 2.
__global__ void __launch_bounds__(threads) read_state(const __grid_constant__ loop_view view)
{
    begin_stage(view, BB_LOOP_READING);
    const bb_index row = static_cast<bb_index>(blockIdx.x) * threads + threadIdx.x;
    if (row < view.w.rows) {
        view.x[row] =
            0.5F * (short_row(view.w, row, view.state) + short_row(view.w, row, view.next));
    }
}

__device__ __forceinline__ void end_step(const loop_view &view)
{
    const int step = view.now->step + 1;
    view.now->step = step;
    if (step < view.now->period.light_steps) {
        view.now->window_row = view.now->period.window[step];
    }
    unsigned long long ns = 0;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    view.report->stamps[BB_LOOP_END] = ns;
    *view.steps += 1;
    __threadfence_system();
    *reinterpret_cast<volatile unsigned long long *>(&view.report->done) = *view.steps;
}

// z += weights of the windows; one block, which also ends the step.
__global__ void __launch_bounds__(1024) add_outputs(const __grid_constant__ loop_view view)
{
    begin_stage(view, BB_LOOP_OUTPUT);
    const period_view &period = view.now->period;
    const int step = view.now->step;
    const int begin = period.output_begin[step];
    const int count = period.output_begin[step + 1] - begin;
    for (int i = static_cast<int>(threadIdx.x); i < count * view.axes;
         i += static_cast<int>(blockDim.x)) {
        const int axis = i / count;
        const output_entry &entry = period.output[begin + i % count];
        const double *y = view.y + axis * view.window_rows;
        double sum = 0.0;
        for (int k = 0; k < 4; ++k) {
            sum += entry.weight[k] * y[entry.corner[k]];
        }
        view.z[axis * view.points + entry.point] += sum;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        end_step(view);
    }
}

// A dark step has no output.
__global__ void end_dark_step(const __grid_constant__ loop_view view)
{
    hopper::let_next_kernel_start();
    hopper::wait_for_kernel_before();
    view.report->stamps[BB_LOOP_INPUT] = 0;
    view.report->stamps[BB_LOOP_READING] = 0;
    view.report->stamps[BB_LOOP_OUTPUT] = 0;
    end_step(view);
}

__global__ void begin_period(const period_view *period, loop_now *now)
{
    now->period = *period;
    now->step = 0;
    now->window_row = period->light_steps > 0 ? period->window[0] : 0;
}

#else

__global__ void advance_state(const __grid_constant__ loop_view)
{
}
__global__ void add_input(const __grid_constant__ loop_view)
{
}
__global__ void read_state(const __grid_constant__ loop_view)
{
}
__global__ void add_outputs(const __grid_constant__ loop_view)
{
}
__global__ void end_dark_step(const __grid_constant__ loop_view)
{
}
__global__ void begin_period(const period_view *, loop_now *)
{
}

#endif

// Launches a kernel of a step, which may start while the one before is under way.
bb_status launch(void (*kernel)(loop_view), bb_index blocks, int block_threads,
                 const loop_view &view, cudaStream_t stream)
{
    cudaLaunchAttribute early = {};
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(static_cast<unsigned>(blocks));
    config.blockDim = dim3(static_cast<unsigned>(block_threads));
    config.stream = stream;
    config.attrs = &early;
    config.numAttrs = 1;
    BB_CUDA_TRY(cudaLaunchKernelEx(&config, kernel, view));
    return BB_OK;
}

} // namespace

struct bb_control_loop {
    bb_device *device;
    bb_index state_count, cells, window_rows, points, set_count;
    int axes;
    double step_bytes[2]; // dark, light
    bb_coded_operator *const *operators;
    loop_view view;
    loop_report *report;        // of the host
    unsigned long long queued;  // steps
    int parity;                 // of the next step
    bb_index period, step;      // where the host is
    std::vector<void *> blocks; // of device memory
    std::vector<period_view> periods;
    std::vector<period_view *> period_at; // on the device
    std::vector<bb_index> sets, light, steps;
    std::vector<cudaGraphExec_t> graphs; // [set][dark, light][parity]
    float *states[2];
};

namespace
{

bb_status take(bb_control_loop *loop, size_t bytes, void **out)
{
    BB_RETURN_IF_FAILED(bb_device_allocate(loop->device, std::max<size_t>(bytes, 16), out));
    loop->blocks.push_back(*out);
    return BB_OK;
}

// A copy on the device.
template <class Value>
bb_status put(bb_control_loop *loop, const Value *from, bb_index count, const Value **out)
{
    void *block = nullptr;
    const size_t bytes = static_cast<size_t>(count) * sizeof(Value);
    BB_RETURN_IF_FAILED(take(loop, bytes, &block));
    if (count > 0) {
        BB_RETURN_IF_FAILED(bb_device_upload(loop->device, block, from, bytes));
        BB_RETURN_IF_FAILED(bb_device_wait(loop->device));
    }
    *out = static_cast<const Value *>(block);
    return BB_OK;
}

bb_status put_sliced(bb_control_loop *loop, const bb_sliced_rows *rows, device_rows *out)
{
    const bb_index entries = static_cast<bb_index>(rows->slice_start[rows->slices]) * BB_SLICE;
    const bb_index apart = rows->long_rows > 0 ? rows->long_start[rows->long_rows] : 0;
    *out = {};
    out->rows = rows->rows;
    out->slices = rows->slices;
    out->long_rows = rows->long_rows;
    BB_RETURN_IF_FAILED(put(loop, rows->slice_start, rows->slices + 1, &out->slice_start));
    BB_RETURN_IF_FAILED(put(loop, rows->apart, rows->slices, &out->apart));
    BB_RETURN_IF_FAILED(put(loop, rows->column, entries, &out->column));
    BB_RETURN_IF_FAILED(put(loop, rows->value, entries, &out->value));
    BB_RETURN_IF_FAILED(put(loop, rows->long_row, rows->long_rows, &out->long_row));
    BB_RETURN_IF_FAILED(put(loop, rows->long_start, rows->long_rows + 1, &out->long_start));
    BB_RETURN_IF_FAILED(put(loop, rows->long_column, apart, &out->long_column));
    return put(loop, rows->long_value, apart, &out->long_value);
}

bb_status put_rows(bb_control_loop *loop, const bb_csr *from, device_rows *out, double *bytes)
{
    bb_sliced_rows rows = {};
    bb_status status = bb_sliced_rows_of(from, &rows);
    if (status == BB_OK) {
        *bytes = bb_sliced_rows_bytes(&rows);
        status = put_sliced(loop, &rows, out);
    }
    bb_sliced_rows_release(&rows);
    return status;
}

bb_status check_system(const bb_loop_system *system)
{
    bb_status status = BB_OK;
    BB_REQUIRE(system->a->rows == system->a->columns && system->w->columns <= system->a->rows,
               BB_INVALID,
               "control loop: A %td x %td, W %td x %td, expected A square and W to read "
               "some of its unknowns",
               system->a->rows, system->a->columns, system->w->rows, system->w->columns);
    BB_REQUIRE(system->axes >= 1 && system->axes <= BB_CODED_TOGETHER && system->set_count >= 1 &&
                   system->window_rows >= 1 && system->points >= 0,
               BB_INVALID, "control loop: %d axes and %td sets, expected 1 to %d and one at least",
               system->axes, system->set_count, static_cast<int>(BB_CODED_TOGETHER));
done:
    return status;
}

// b in fp32.
bb_status put_diagonal(bb_control_loop *loop, const bb_loop_system *system)
{
    std::vector<float> narrow(static_cast<size_t>(system->a->rows));
    std::copy(system->b, system->b + system->a->rows, narrow.begin());
    return put(loop, narrow.data(), system->a->rows, &loop->view.b);
}

bb_status build(bb_control_loop *loop, const bb_loop_system *system)
{
    const size_t n = static_cast<size_t>(system->a->rows);
    const size_t axes = static_cast<size_t>(system->axes);
    double a_bytes = 0.0;
    double w_bytes = 0.0;
    void *block = nullptr;
    loop_view *view = &loop->view;
    BB_RETURN_IF_FAILED(put_rows(loop, system->a, &view->a, &a_bytes));
    BB_RETURN_IF_FAILED(put_rows(loop, system->w, &view->w, &w_bytes));
    if (view->w.long_rows > 0) {
        return bb_status_set(BB_UNSUPPORTED, __FILE__, __LINE__,
                             "control loop: a row of W of more than %d entries",
                             static_cast<int>(BB_SLICED_LONG));
    }
    BB_RETURN_IF_FAILED(put_diagonal(loop, system));
    for (float *&state : loop->states) {
        BB_RETURN_IF_FAILED(take(loop, n * sizeof(float), &block));
        state = static_cast<float *>(block);
    }
    BB_RETURN_IF_FAILED(take(loop, static_cast<size_t>(loop->cells) * sizeof(float), &block));
    view->x = static_cast<float *>(block);
    BB_RETURN_IF_FAILED(
        take(loop, axes * static_cast<size_t>(loop->window_rows) * sizeof(double), &block));
    view->y = static_cast<double *>(block);
    BB_RETURN_IF_FAILED(
        take(loop, axes * static_cast<size_t>(loop->points) * sizeof(double), &block));
    view->z = static_cast<double *>(block);
    BB_RETURN_IF_FAILED(take(loop, sizeof(loop_now), &block));
    view->now = static_cast<loop_now *>(block);
    BB_RETURN_IF_FAILED(take(loop, sizeof(unsigned long long), &block));
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

// The kernels of a step, on a stream that is being captured.
bb_status queue_step(bb_control_loop *loop, bb_index set, bool light, int parity,
                     cudaStream_t stream)
{
    loop_view view = loop->view;
    view.state = loop->states[parity];
    view.next = loop->states[1 - parity];
    const bb_index short_blocks = (view.a.slices * lanes + threads - 1) / threads;
    const bb_index long_blocks = (view.a.long_rows * lanes + threads - 1) / threads;
    BB_RETURN_IF_FAILED(launch(advance_state, short_blocks + long_blocks, threads, view, stream));
    if (!light) {
        return launch(end_dark_step, 1, 1, view, stream);
    }
    BB_RETURN_IF_FAILED(launch(add_input, 16, threads, view, stream));
    BB_RETURN_IF_FAILED(
        launch(read_state, (view.w.rows + threads - 1) / threads, threads, view, stream));
    double *y[BB_CODED_TOGETHER] = {};
    for (int axis = 0; axis < loop->axes; ++axis) {
        y[axis] = const_cast<double *>(view.y) + axis * loop->window_rows;
    }
    bb_coded_window window = {0, loop->window_rows, &view.now->window_row};
    BB_RETURN_IF_FAILED(bb_coded_operator_queue(loop->operators + set * loop->axes, loop->axes,
                                                &window, view.x, y, stream));
    return launch(add_outputs, 1, 1024, view, stream);
}

bb_status capture(bb_control_loop *loop, bb_index set, bool light, int parity, cudaStream_t stream)
{
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t plan = nullptr;
    BB_CUDA_TRY(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    bb_status status = queue_step(loop, set, light, parity, stream);
    cudaError_t error = cudaStreamEndCapture(stream, &graph);
    if (status != BB_OK) {
        (void)cudaGraphDestroy(graph);
        return status;
    }
    BB_CUDA_TRY(error);
    error = cudaGraphInstantiate(&plan, graph, 0);
    (void)cudaGraphDestroy(graph);
    BB_CUDA_TRY(error);
    loop->graphs.push_back(plan);
    BB_CUDA_TRY(cudaGraphUpload(plan, stream));
    return BB_OK;
}

bb_status capture_all(void *stream, bb_index, void *arguments)
{
    bb_control_loop *loop = static_cast<bb_control_loop *>(arguments);
    void *report = nullptr;
    BB_CUDA_TRY(cudaHostAlloc(reinterpret_cast<void **>(&loop->report), sizeof(loop_report),
                              cudaHostAllocMapped));
    *loop->report = {};
    BB_CUDA_TRY(cudaHostGetDevicePointer(&report, loop->report, 0));
    loop->view.report = static_cast<loop_report *>(report);
    for (bb_index set = 0; set < loop->set_count; ++set) {
        for (int kind = 0; kind < 4; ++kind) {
            BB_RETURN_IF_FAILED(
                capture(loop, set, kind / 2 == 1, kind % 2, static_cast<cudaStream_t>(stream)));
        }
    }
    BB_CUDA_TRY(cudaStreamSynchronize(static_cast<cudaStream_t>(stream)));
    return BB_OK;
}

bb_status launch_graph(void *stream, bb_index graph, void *arguments)
{
    const bb_control_loop *loop = static_cast<const bb_control_loop *>(arguments);
    BB_CUDA_TRY(cudaGraphLaunch(loop->graphs[static_cast<size_t>(graph - 1)],
                                static_cast<cudaStream_t>(stream)));
    return BB_OK;
}

bb_status launch_begin(void *stream, bb_index period, void *arguments)
{
    const bb_control_loop *loop = static_cast<const bb_control_loop *>(arguments);
    begin_period<<<1, 1, 0, static_cast<cudaStream_t>(stream)>>>(
        loop->period_at[static_cast<size_t>(period - 1)], loop->view.now);
    BB_CUDA_CHECK_LAUNCH();
    return BB_OK;
}

// Names a failure of what was queued while the host polls.
bb_status query(void *stream, bb_index, void *)
{
    cudaError_t error = cudaStreamQuery(static_cast<cudaStream_t>(stream));
    if (error != cudaErrorNotReady) {
        BB_CUDA_TRY(error);
    }
    return BB_OK;
}

const bb_kernel capture_kernel = {"capture of a control loop", 1, nullptr, capture_all};
const bb_kernel graph_kernel = {"step of a control loop", 1, nullptr, launch_graph};
const bb_kernel begin_kernel = {"begin of a period", 1, nullptr, launch_begin};
const bb_kernel query_kernel = {"step of a control loop", 1, nullptr, query};

bb_status check_period(const bb_control_loop *loop, const bb_loop_period *period)
{
    bb_status status = BB_OK;
    bb_index light = period->light_steps;
    BB_REQUIRE(
        period->set >= 0 && period->set < loop->set_count && light >= 0 && period->dark_steps >= 0,
        BB_INVALID, "period of a control loop: set %td of %td", period->set, loop->set_count);
    for (bb_index k = 0; k < period->input_begin[light]; ++k) {
        BB_REQUIRE(period->input_where[k] >= 0 && period->input_where[k] < loop->state_count,
                   BB_INVALID, "input of a control loop: unknown %d of %td",
                   static_cast<int>(period->input_where[k]), loop->state_count);
    }
    for (bb_index k = 0; k < period->output_begin[light]; ++k) {
        const bb_loop_output *output = &period->output[k];
        bool inside = output->point >= 0 && output->point < loop->points;
        for (int corner : output->corner) {
            inside = inside && corner >= 0 && corner < loop->window_rows;
        }
        BB_REQUIRE(inside, BB_INVALID, "output %td of a control loop: point %d of %td", k,
                   static_cast<int>(output->point), loop->points);
    }
done:
    return status;
}

bb_status put_period(bb_control_loop *loop, const bb_loop_period *period)
{
    const bb_index light = period->light_steps;
    period_view view = {};
    const period_view *at = nullptr;
    std::vector<float> input(static_cast<size_t>(period->input_begin[light]));
    std::vector<output_entry> output(static_cast<size_t>(period->output_begin[light]));
    std::copy(period->input, period->input + input.size(), input.begin());
    for (size_t k = 0; k < output.size(); ++k) {
        const bb_loop_output &from = period->output[k];
        output[k].point = from.point;
        std::copy(from.corner, from.corner + 4, output[k].corner);
        std::copy(from.weight, from.weight + 4, output[k].weight);
    }
    view.light_steps = static_cast<int>(light);
    BB_RETURN_IF_FAILED(put(loop, period->input_begin, light + 1, &view.input_begin));
    BB_RETURN_IF_FAILED(
        put(loop, period->input_where, period->input_begin[light], &view.input_where));
    BB_RETURN_IF_FAILED(put(loop, input.data(), static_cast<bb_index>(input.size()), &view.input));
    BB_RETURN_IF_FAILED(put(loop, period->window, light, &view.window));
    BB_RETURN_IF_FAILED(put(loop, period->output_begin, light + 1, &view.output_begin));
    BB_RETURN_IF_FAILED(
        put(loop, output.data(), static_cast<bb_index>(output.size()), &view.output));
    BB_RETURN_IF_FAILED(put(loop, &view, 1, &at));
    loop->period_at.push_back(const_cast<period_view *>(at));
    loop->sets.push_back(period->set);
    loop->light.push_back(light);
    loop->steps.push_back(light + period->dark_steps);
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
    loop->state_count = system->a->rows;
    loop->cells = system->w->rows;
    loop->window_rows = system->window_rows;
    loop->points = system->points;
    loop->set_count = system->set_count;
    loop->axes = system->axes;
    loop->operators = system->operators;
    bb_status status = build(loop, system);
    if (status == BB_OK) {
        status = bb_device_launch(device, &capture_kernel, 1, loop);
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
    bb_control_loop *whole = *loop;
    if (whole == nullptr) {
        return;
    }
    for (cudaGraphExec_t graph : whole->graphs) {
        (void)cudaGraphExecDestroy(graph);
    }
    for (void *block : whole->blocks) {
        bb_device_release(whole->device, &block);
    }
    if (whole->report != nullptr) {
        (void)cudaFreeHost(whole->report);
    }
    delete whole;
    *loop = nullptr;
}

extern "C" bb_status bb_control_loop_add(bb_control_loop *loop, const bb_loop_period *period)
{
    BB_RETURN_IF_FAILED(check_period(loop, period));
    return put_period(loop, period);
}

extern "C" bb_status bb_control_loop_begin(bb_control_loop *loop, bb_index period)
{
    if (period < 0 || period >= static_cast<bb_index>(loop->steps.size())) {
        return bb_status_set(BB_INVALID, __FILE__, __LINE__,
                             "period %td of a control loop that has %zu", period,
                             loop->steps.size());
    }
    loop->period = period;
    loop->step = 0;
    BB_RETURN_IF_FAILED(bb_device_zero(loop->device, loop->view.z,
                                       static_cast<size_t>(loop->axes) *
                                           static_cast<size_t>(loop->points) * sizeof(double)));
    return bb_device_launch(loop->device, &begin_kernel, period + 1, loop);
}

extern "C" bb_status bb_control_loop_step(bb_control_loop *loop)
{
    const size_t period = static_cast<size_t>(loop->period);
    if (period >= loop->steps.size() || loop->step >= loop->steps[period]) {
        return bb_status_set(BB_INVALID, __FILE__, __LINE__,
                             "step %td of period %td of a control loop: expected a period that has "
                             "begun and has it",
                             loop->step, loop->period);
    }
    const bool light = loop->step < loop->light[period];
    const bb_index graph = loop->sets[period] * 4 + (light ? 2 : 0) + loop->parity;
    BB_RETURN_IF_FAILED(bb_device_launch(loop->device, &graph_kernel, graph + 1, loop));
    loop->parity = 1 - loop->parity;
    loop->step += 1;
    loop->queued += 1;
    return BB_OK;
}

extern "C" bb_status bb_control_loop_wait(bb_control_loop *loop)
{
    enum { POLLS = 1 << 20 }; // then the device is asked whether it failed
    const volatile unsigned long long *done = &loop->report->done;
    for (unsigned long long polls = 1; *done < loop->queued; ++polls) {
        if (polls % POLLS == 0) {
            BB_RETURN_IF_FAILED(bb_device_launch(loop->device, &query_kernel, 1, loop));
        }
    }
    return BB_OK;
}

extern "C" bb_loop_stamps bb_control_loop_stamps(const bb_control_loop *loop)
{
    bb_loop_stamps out = {};
    for (int stage = 0; stage < BB_LOOP_STAGES; ++stage) {
        out.ns[stage] = loop->report->stamps[stage];
    }
    return out;
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
