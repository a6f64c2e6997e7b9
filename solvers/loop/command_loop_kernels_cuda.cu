// SPDX-License-Identifier: Apache-2.0
//
// Kernels of a frame.
#include "precision/format_core.h"
#include "solvers/gpu/hopper_cuda.h"
#include "solvers/loop/command_loop_core.h"
#include "solvers/loop/command_loop_cuda.h"

#include <cfloat>
#include <cmath>

namespace frames
{

namespace
{

constexpr int command_threads = 256;
constexpr int lanes = 32;

__device__ __forceinline__ unsigned long long clock_ns()
{
    unsigned long long ns = 0;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    return ns;
}

__device__ __forceinline__ bool is_finite(float value)
{
    return fabsf(value) <= FLT_MAX;
}

__device__ __forceinline__ float round_slope(const frame_view &view, float slope)
{
    if (view.step > 0.0) {
        return bb_command_loop_round(slope, view.step, view.steps);
    }
    if (view.format.dropped == 0) {
        return slope;
    }
    const float rounded = bb_format_round_magnitude_f32(fabsf(slope), view.format.dropped,
                                                        view.format.normal, view.format.magic);
    return copysignf(rounded > view.format.largest ? view.format.overflow : rounded, slope);
}

// Slot of the current frame in the rings of host memory. The count is incremented after the last
// block of the frame's last kernel has ended.
__device__ __forceinline__ bb_index place_of_frame(const frame_view &view)
{
    return static_cast<bb_index>(*view.frames % BB_COMMAND_AHEAD);
}

__device__ __forceinline__ double sum_over_warp(double value)
{
#pragma unroll
    for (int half = lanes / 2; half > 0; half /= 2) {
        value += __shfl_xor_sync(0xffffffffU, value, half);
    }
    return value;
}

// Sum over a block in a fixed order, returned to all its threads.
template <int THREADS> __device__ double sum_over_block(double value)
{
    constexpr int warps = THREADS / lanes;
    static_assert(warps <= lanes, "a lane a warp");
    __shared__ double sums[warps];
    const int lane = static_cast<int>(threadIdx.x) % lanes;
    value = sum_over_warp(value);
    if (lane == 0) {
        sums[threadIdx.x / lanes] = value;
    }
    __syncthreads();
    return sum_over_warp(lane < warps ? sums[lane] : 0.0);
}

// Returns true in all threads of a block if it is the last block of its kernel to arrive; the
// writes of all other blocks are then visible.
__device__ __forceinline__ bool ends_kernel(unsigned *blocks)
{
    __shared__ bool is_last;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence_system(); // system scope, because the host reads the results
        is_last = atomicAdd(blocks, 1U) == gridDim.x - 1U;
        if (is_last) {
            *blocks = 0;
            __threadfence();
        }
    }
    __syncthreads();
    return is_last;
}

// Makes a block wait for the release of its frame. Only one block polls host memory and informs the
// others, because many readers would delay the host's write.
__device__ __forceinline__ void await_release(const frame_view &view)
{
    if (threadIdx.x == 0) {
        const unsigned long long frame = *view.frames;
        const unsigned long long wanted = frame + 1ULL;
        volatile unsigned long long *released = &view.now->released;
        if (blockIdx.x == 0) {
            const volatile frame_release *release = view.release + place_of_frame(view);
            unsigned long long word = release->word;
            while ((word & 1ULL) != mark_of(frame)) {
                __nanosleep(100);
                word = release->word;
            }
            __threadfence_system();
            while (clock_ns() < word >> 1U) {
            }
            *released = wanted;
        }
        while (*released < wanted) {
        }
        __threadfence_system();
    }
    __syncthreads();
}

// Five blocks of few_threads fit on a multiprocessor with 48 registers a thread.
template <int THREADS>
__global__ void __launch_bounds__(THREADS, THREADS == few_threads ? 5 : 1)
    take_slopes(const __grid_constant__ frame_view view)
{
    constexpr bb_index stride = static_cast<bb_index>(thread_slopes) * THREADS;
    const bb_index begin = view.begin[blockIdx.x];
    const bb_index end = view.begin[blockIdx.x + 1];
    const bb_index first = begin + threadIdx.x;
    const bool fits = end - begin <= stride; // slopes fit in registers
    const float *slopes = view.slopes + place_of_frame(view) * view.slope_stride;
    float x[thread_slopes] = {};
    bool bad = false;
    double sum = 0.0;
    hopper::let_next_kernel_start();
    await_release(view);
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        view.now->stamps[BB_COMMAND_SLOPES] = clock_ns();
    }
    for (bb_index j = first; j < end; j += stride) {
        float reference[thread_slopes];
#pragma unroll
        for (int k = 0; k < thread_slopes; ++k) {
            const bb_index column = j + k * THREADS;
            const bool there = column < end;
            x[k] = there ? __ldcv(slopes + column) : 0.0F;
            reference[k] = there && view.reference != nullptr ? view.reference[column] : 0.0F;
        }
#pragma unroll
        for (int k = 0; k < thread_slopes; ++k) {
            const bb_index column = j + k * THREADS;
            x[k] -= reference[k];
            bad = bad || !is_finite(x[k]);
            sum += static_cast<double>(x[k]);
            if (!fits && column < end) {
                view.x[column] = x[k];
            }
        }
    }
    float mean = 0.0F;
    if (view.groups > 0) {
        const bb_index count = end - view.begin[blockIdx.x];
        mean = static_cast<float>(sum_over_block<THREADS>(sum) / static_cast<double>(count));
        if (threadIdx.x == 0) {
            view.mean[blockIdx.x] = mean;
        }
    }
    for (bb_index j = first; j < end; j += stride) {
#pragma unroll
        for (int k = 0; k < thread_slopes; ++k) {
            const bb_index column = j + k * THREADS;
            if (column < end) {
                const float value = fits ? x[k] : view.x[column];
                const float rounded = round_slope(view, view.groups > 0 ? value - mean : value);
                bad = bad || !is_finite(rounded);
                view.x[column] = rounded;
            }
        }
    }
    if (bad) {
        atomicOr(&view.now->trouble, BAD_SLOPES);
    }
    __syncthreads();
    if (threadIdx.x == 0 && atomicAdd(&view.now->blocks[0], 1U) == gridDim.x - 1U) {
        view.now->blocks[0] = 0;
        view.now->stamps[BB_COMMAND_PRODUCT] = clock_ns();
    }
}

// Divides x by the scales of matrix t.
__global__ void __launch_bounds__(command_threads)
    divide_slopes(const __grid_constant__ frame_view view, int t)
{
    const bb_index j = static_cast<bb_index>(blockIdx.x) * command_threads + threadIdx.x;
    hopper::let_next_kernel_start();
    hopper::wait_for_kernel_before();
    if (j < view.columns) {
        view.scaled[j] = view.x[j] / view.scales[t * view.columns + j];
    }
}

// Product of one command, including the means.
__device__ __forceinline__ double whole_product(const frame_view &view, bb_index i)
{
    double y = view.y[i];
    for (bb_index k = 0; k < view.groups; ++k) {
        const float factor = view.means[view.offset[i] + k * view.stride[i]];
        y += static_cast<double>(factor) * static_cast<double>(view.mean[k]);
    }
    return y;
}

// Writes command `i` of state v: to the output, or to the delay line.
__device__ __forceinline__ void put_command(const frame_view &view, bb_index i, double v)
{
    float *const target = view.delay == 0 ? view.out + place_of_frame(view) * view.command_stride
                                          : view.late + view.now->late_next * view.commands;
    target[i] = static_cast<float>(v);
}

// Reports a frame to the host; the count is written last.
__device__ void report_frame(const frame_view &view)
{
    frame_now *now = view.now;
    frame_report *report = view.report + place_of_frame(view);
    const unsigned long long done = *view.frames + 1ULL;
    now->stamps[BB_COMMAND_STAGES] = clock_ns();
    for (int stage = 0; stage <= BB_COMMAND_STAGES; ++stage) {
        report->stamps[stage] = now->stamps[stage];
    }
    report->trouble = now->trouble;
    if (now->trouble == 0) {
        now->current ^= 1U;
    }
    now->trouble = 0;
    if (view.delay > 0) {
        now->late_next = (now->late_next + 1) % view.delay;
    }
    *view.frames = done;
    __threadfence_system();
    *static_cast<volatile unsigned long long *>(&report->done) = done;
}

// Only the last block knows whether all products are finite. Until then the new state is kept in a
// second buffer, so that the previous one remains if a product is not finite.
__global__ void __launch_bounds__(command_threads) advance(const __grid_constant__ frame_view view)
{
    const bb_index i = static_cast<bb_index>(blockIdx.x) * command_threads + threadIdx.x;
    hopper::wait_for_kernel_before();
    const double *const held = view.v + view.now->current * view.commands;
    double *const next = view.v + (view.now->current ^ 1U) * view.commands;
    if (i == 0) {
        view.now->stamps[BB_COMMAND_CONTROL] = clock_ns();
    }
    if (i < view.commands) {
        const bool is_held = (view.now->trouble & BAD_SLOPES) != 0;
        const double y = whole_product(view, i);
        const double v = is_held ? held[i] : bb_command_loop_advance(held[i], y, view.gain);
        if (!is_held && !(fabs(y) <= static_cast<double>(FLT_MAX))) {
            atomicOr(&view.now->trouble, BAD_PRODUCTS);
        }
        next[i] = v;
        if (view.delay > 0) {
            view.out[place_of_frame(view) * view.command_stride + i] =
                view.late[view.now->late_next * view.commands + i];
        }
        put_command(view, i, v);
    }
    if (!ends_kernel(&view.now->blocks[1])) {
        return;
    }
    if ((view.now->trouble & BAD_PRODUCTS) != 0) {
        for (bb_index k = threadIdx.x; k < view.commands; k += command_threads) {
            put_command(view, k, held[k]);
        }
        __threadfence_system();
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        report_frame(view);
    }
}

// Launches a kernel with this number of threads. Where the device supports it, the kernel may start
// while its predecessor runs.
template <class... Arguments>
bb_status launch_early(void (*kernel)(Arguments...), bb_index items, cudaStream_t stream,
                       Arguments... arguments)
{
    bool can_wait = false;
    BB_RETURN_IF_FAILED(bb_device_cuda_uses_hopper(&can_wait));
    const bb_index blocks = (items + command_threads - 1) / command_threads;
    BB_CUDA_TRY(hopper::launch(
        {dim3(static_cast<unsigned>(blocks)), dim3(command_threads), 0, stream, can_wait}, kernel,
        arguments...));
    return BB_OK;
}

} // namespace

bb_status queue_slopes(const frame_view &view, cudaStream_t stream)
{
    const unsigned blocks = static_cast<unsigned>(view.runs);
    if (view.has_long_runs) {
        take_slopes<many_threads><<<blocks, many_threads, 0, stream>>>(view);
    } else {
        take_slopes<few_threads><<<blocks, few_threads, 0, stream>>>(view);
    }
    BB_CUDA_CHECK_LAUNCH();
    return BB_OK;
}

bb_status queue_division(const frame_view &view, int t, cudaStream_t stream)
{
    return launch_early(divide_slopes, view.columns, stream, view, t);
}

bb_status queue_control(const frame_view &view, cudaStream_t stream)
{
    return launch_early(advance, view.commands, stream, view);
}

} // namespace frames
