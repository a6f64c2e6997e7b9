// SPDX-License-Identifier: Apache-2.0
//
// Kernels of a control-loop step, except for the products.
//
// Floors of a light step at the wafer's sizes (283k fine and 8k coarse unknowns, 256k cells, 0.5
// mm): A 36 MB, W 15 MB, vectors 5 MB. They do not fit in the L2 cache together with the matrices:
// 12 us at 4.5 TB/s. Launches overlap (programmatic dependent launch): while state and measurement
// are computed, the producers of the products fill their rings.
#include "solvers/gpu/hopper_cuda.h"
#include "solvers/loop/control_loop_cuda.h"

namespace control_loop
{

namespace
{

constexpr int threads = 256;
constexpr int lanes = 32;
constexpr int input_blocks = 16;
constexpr int output_threads = 1024;

__device__ __forceinline__ unsigned long long clock_ns()
{
    unsigned long long ns = 0;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    return ns;
}

__device__ __forceinline__ void begin_stage(const loop_view &view, bb_loop_stage stage)
{
    hopper::let_next_kernel_start();
    hopper::wait_for_kernel_before();
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        view.now->stamps[stage] = clock_ns();
    }
}

// Loads eight entries at the same time and adds them in order.
__device__ __forceinline__ float short_row(const device_rows &rows, bb_index row, const float *x)
{
    constexpr int ahead = 8;
    const bb_index slice = row / lanes;
    const int end = rows.slice_start[slice + 1];
    float sum = 0.0F;
    for (int line = rows.slice_start[slice]; line < end; line += ahead) {
        const bb_index first = static_cast<bb_index>(line) * lanes + row % lanes;
        int column[ahead];
        float value[ahead];
#pragma unroll
        for (int k = 0; k < ahead; ++k) {
            const bool there = line + k < end;
            column[k] = there ? __ldg(rows.column + first + k * lanes) : 0;
            value[k] = there ? __ldg(rows.value + first + k * lanes) : 0.0F;
        }
#pragma unroll
        for (int k = 0; k < ahead; ++k) {
            if (line + k < end) {
                sum = __fmaf_rn(value[k], x[column[k]], sum);
            }
        }
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

// Computes T' = A T: one thread per row, then one warp per long row.
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

// Adds the input: T' += B u.
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

// Computes x = W (T + T') / 2.
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
    const unsigned long long done = *view.steps;
    unsigned long long *stamps = view.report->stamps[done % BB_LOOP_KEPT];
    for (int stage = 0; stage < BB_LOOP_END; ++stage) {
        stamps[stage] = __ldcg(&view.now->stamps[stage]);
    }
    stamps[BB_LOOP_END] = clock_ns();
    *view.steps = done + 1;
    __threadfence_system();
    *reinterpret_cast<volatile unsigned long long *>(&view.report->done) = done + 1;
}

// Adds window weights times y to z; a single block, which also ends the step.
__global__ void __launch_bounds__(output_threads)
    add_outputs(const __grid_constant__ loop_view view)
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

// Ends a step without products.
__global__ void end_step_alone(const __grid_constant__ loop_view view)
{
    hopper::let_next_kernel_start();
    hopper::wait_for_kernel_before();
    if (view.now->step >= view.now->period.light_steps) {
        view.now->stamps[BB_LOOP_INPUT] = 0;
    }
    view.now->stamps[BB_LOOP_READING] = 0;
    view.now->stamps[BB_LOOP_OUTPUT] = 0;
    end_step(view);
}

__global__ void begin_period(const period_view *period, loop_now *now)
{
    now->period = *period;
    now->step = 0;
    now->window_row = period->light_steps > 0 ? period->window[0] : 0;
}

__global__ void hold(unsigned long long ns)
{
    while (clock_ns() < ns) {
    }
}

__global__ void report_clock(loop_report *report)
{
    report->clock = clock_ns();
}

// Launches a kernel of a step; on sm_90 it may start while its predecessor runs.
bb_status launch(void (*kernel)(loop_view), bb_index blocks, int block_threads,
                 const loop_view &view, cudaStream_t stream)
{
    bool early = false;
    BB_RETURN_IF_FAILED(bb_device_cuda_uses_hopper(&early));
    BB_CUDA_TRY(hopper::launch({dim3(static_cast<unsigned>(blocks)),
                                dim3(static_cast<unsigned>(block_threads)), 0, stream, early},
                               kernel, view));
    return BB_OK;
}

} // namespace

bb_status check_device()
{
    bool hopper = false;
    return bb_device_cuda_uses_hopper(&hopper); // both values of `hopper` are supported
}

bb_status queue_state(const loop_view &view, cudaStream_t stream)
{
    const bb_index short_blocks = (view.a.slices * lanes + threads - 1) / threads;
    const bb_index long_blocks = (view.a.long_rows * lanes + threads - 1) / threads;
    return launch(advance_state, short_blocks + long_blocks, threads, view, stream);
}

bb_status queue_input(const loop_view &view, cudaStream_t stream)
{
    return launch(add_input, input_blocks, threads, view, stream);
}

bb_status queue_reading(const loop_view &view, cudaStream_t stream)
{
    return launch(read_state, (view.w.rows + threads - 1) / threads, threads, view, stream);
}

bb_status queue_outputs(const loop_view &view, cudaStream_t stream)
{
    return launch(add_outputs, 1, output_threads, view, stream);
}

bb_status queue_end(const loop_view &view, cudaStream_t stream)
{
    return launch(end_step_alone, 1, 1, view, stream);
}

bb_status queue_begin(const period_view *period, loop_now *now, cudaStream_t stream)
{
    begin_period<<<1, 1, 0, stream>>>(period, now);
    BB_CUDA_CHECK_LAUNCH();
    return BB_OK;
}

bb_status queue_hold(unsigned long long ns, cudaStream_t stream)
{
    hold<<<1, 1, 0, stream>>>(ns);
    BB_CUDA_CHECK_LAUNCH();
    return BB_OK;
}

bb_status queue_clock(loop_report *report, cudaStream_t stream)
{
    report_clock<<<1, 1, 0, stream>>>(report);
    BB_CUDA_CHECK_LAUNCH();
    return BB_OK;
}

} // namespace control_loop
