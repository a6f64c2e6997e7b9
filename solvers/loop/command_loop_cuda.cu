// SPDX-License-Identifier: Apache-2.0
//
// A frame of solvers/loop/command_loop.h on a GPU, one captured graph of these kernels.
//
// - take_slopes, a block a group: the release, slopes from the host's pinned memory less the
//   reference, means, rounding.
// - Products, a launch a matrix (bb_coded_operator_queue), after divide_slopes where columns have
//   scales.
// - add_means: what multiplies means, in fp64, and whether all is finite.
// - advance: controller, delay, commands to the host's pinned memory, and the report.
//
// Floors at 4,092 x 19,078: slopes cross the link once, 76 kB, commands 16 kB; means of 18 groups
// multiply 0.3 MB, the matrix has 44 to 312 MB. The host polls the report, which the last block of
// the last kernel writes. A launch costs 8 to 10 us, which a frame that is queued ahead has behind
// it: its first kernel polls the host's memory for its release.
#include "core/device/device_cuda.h"
#include "precision/format_core.h"
#include "solvers/loop/command_loop_core.h"
#include "solvers/loop/command_loop_parts.h"
#include "solvers/loop/graph_capture_cuda.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <vector>

namespace
{

constexpr int slope_threads = 1024;
constexpr int command_threads = 256;

enum trouble : unsigned { BAD_SLOPES = 1, BAD_PRODUCTS = 2 };

// Rounding to a format, as bb_format_round_f32 does it.
struct format_rounding {
    int dropped; // bits; 0: it is not rounded
    float normal, magic, largest, overflow;
};

// In the host's memory, which the device reads.
struct frame_release {
    unsigned long long count; // frames released
    unsigned long long time;  // of the device's clock, before which the last of them does not begin
};

// In the host's memory, which the device writes.
struct frame_report {
    unsigned long long done; // frames
    unsigned long long stamps[BB_COMMAND_STAGES + 1];
    unsigned trouble;
};

// Where a frame is, on the device.
struct frame_now {
    unsigned trouble;
    unsigned blocks[2];          // of take_slopes and of advance that have ended
    unsigned long long released; // frames
    bb_index late_next;          // whose turn it is
    unsigned long long stamps[BB_COMMAND_STAGES + 1];
};

// What every kernel gets; addresses are the device's.
struct frame_view {
    bb_index columns, commands, groups, runs, delay;
    const float *slopes; // the host's
    float *out;          // the host's
    const float *reference;
    const bb_index *begin; // [runs + 1] of blocks' columns: groups, or even runs without them
    float *mean, *x;
    const float *scales;    // [matrices][columns], nullptr: there are none
    float *scaled;          // [columns] x of the matrix that is multiplied
    const float *means;     // of each matrix [groups][rows]
    const bb_index *offset; // [commands] of a command's first entry there
    const bb_index *stride; // [commands] to the next group's
    double *y, *v;
    float *late;
    frame_now *now;
    unsigned long long *frames;   // done, on the device
    frame_report *report;         // the host's
    const frame_release *release; // the host's
    format_rounding format;
    double step, steps, gain;
};

struct cuda_loop {
    frame_view view = {};
    frame_report *report = nullptr;
    frame_release *release = nullptr;
    bool is_armed = false; // a frame is queued that waits
    cudaGraphExec_t plan = nullptr;
    unsigned long long queued = 0;
    std::vector<void *> blocks; // of device memory
};

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

// The sum over a block in a fixed order, for all its threads.
__device__ double sum_over_block(double value)
{
    __shared__ double sums[slope_threads];
    sums[threadIdx.x] = value;
    __syncthreads();
    for (unsigned half = slope_threads / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            sums[threadIdx.x] += sums[threadIdx.x + half];
        }
        __syncthreads();
    }
    return sums[0];
}

// Whether the caller is the first thread of the last block of its kernel to come here; what all of
// them wrote is seen then.
__device__ __forceinline__ bool ends_kernel(unsigned *blocks)
{
    __syncthreads();
    if (threadIdx.x != 0) {
        return false;
    }
    __threadfence_system(); // what the host reads too
    const bool is_last = atomicAdd(blocks, 1U) == gridDim.x - 1U;
    if (is_last) {
        *blocks = 0;
        __threadfence_system();
    }
    return is_last;
}

// Holds a block until its frame is released. One block reads the host's memory and tells the
// others: of many readers the host's own write would have to wait.
__device__ __forceinline__ void await_release(const frame_view &view)
{
    if (threadIdx.x == 0) {
        const unsigned long long wanted = *view.frames + 1ULL;
        volatile unsigned long long *released = &view.now->released;
        if (blockIdx.x == 0) {
            const volatile frame_release *release = view.release;
            while (release->count < wanted) {
                __nanosleep(100);
            }
            __threadfence_system();
            const unsigned long long time = release->time;
            while (clock_ns() < time) {
            }
            *released = wanted;
        }
        while (*released < wanted) {
        }
        __threadfence_system();
    }
    __syncthreads();
}

__global__ void __launch_bounds__(slope_threads)
    take_slopes(const __grid_constant__ frame_view view)
{
    const bb_index end = view.begin[blockIdx.x + 1];
    const bb_index first = view.begin[blockIdx.x] + threadIdx.x;
    bool bad = false;
    double sum = 0.0;
    await_release(view);
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        view.now->stamps[BB_COMMAND_SLOPES] = clock_ns();
    }
    for (bb_index j = first; j < end; j += slope_threads) {
        const float value =
            __ldcv(view.slopes + j) - (view.reference == nullptr ? 0.0F : view.reference[j]);
        bad = bad || !is_finite(value);
        view.x[j] = value;
        sum += static_cast<double>(value);
    }
    float mean = 0.0F;
    if (view.groups > 0) {
        const bb_index count = end - view.begin[blockIdx.x];
        mean = static_cast<float>(sum_over_block(sum) / static_cast<double>(count));
        if (threadIdx.x == 0) {
            view.mean[blockIdx.x] = mean;
        }
    }
    for (bb_index j = first; j < end; j += slope_threads) {
        const float value = round_slope(view, view.groups > 0 ? view.x[j] - mean : view.x[j]);
        bad = bad || !is_finite(value);
        view.x[j] = value;
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

// x over the scales of matrix t.
__global__ void __launch_bounds__(command_threads)
    divide_slopes(const __grid_constant__ frame_view view, int t)
{
    const bb_index j = static_cast<bb_index>(blockIdx.x) * command_threads + threadIdx.x;
    if (j < view.columns) {
        view.scaled[j] = view.x[j] / view.scales[t * view.columns + j];
    }
}

__global__ void __launch_bounds__(command_threads)
    add_means(const __grid_constant__ frame_view view)
{
    const bb_index i = static_cast<bb_index>(blockIdx.x) * command_threads + threadIdx.x;
    if (i == 0) {
        view.now->stamps[BB_COMMAND_CONTROL] = clock_ns();
    }
    if (i >= view.commands) {
        return;
    }
    double y = view.y[i];
    for (bb_index k = 0; k < view.groups; ++k) {
        const float factor = view.means[view.offset[i] + k * view.stride[i]];
        y += static_cast<double>(factor) * static_cast<double>(view.mean[k]);
    }
    view.y[i] = y;
    if (!(fabs(y) <= static_cast<double>(FLT_MAX))) {
        atomicOr(&view.now->trouble, BAD_PRODUCTS);
    }
}

// What the host sees of a frame; the count comes last.
__device__ void report_frame(const frame_view &view)
{
    frame_now *now = view.now;
    frame_report *report = view.report;
    now->stamps[BB_COMMAND_STAGES] = clock_ns();
    for (int stage = 0; stage <= BB_COMMAND_STAGES; ++stage) {
        report->stamps[stage] = now->stamps[stage];
    }
    report->trouble = now->trouble;
    now->trouble = 0;
    if (view.delay > 0) {
        now->late_next = (now->late_next + 1) % view.delay;
    }
    *view.frames += 1;
    __threadfence_system();
    *static_cast<volatile unsigned long long *>(&report->done) = *view.frames;
}

__global__ void __launch_bounds__(command_threads) advance(const __grid_constant__ frame_view view)
{
    const bb_index i = static_cast<bb_index>(blockIdx.x) * command_threads + threadIdx.x;
    if (i < view.commands) {
        if (view.now->trouble == 0) {
            view.v[i] = bb_command_loop_advance(view.v[i], view.y[i], view.gain);
        }
        const float command = static_cast<float>(view.v[i]);
        if (view.delay == 0) {
            view.out[i] = command;
        } else {
            float *late = view.late + view.now->late_next * view.commands + i;
            view.out[i] = *late;
            *late = command;
        }
    }
    if (ends_kernel(&view.now->blocks[1])) {
        report_frame(view);
    }
}

cuda_loop *state_of(const bb_command_loop *loop)
{
    return static_cast<cuda_loop *>(loop->state);
}

bb_status take(const bb_command_loop *loop, size_t bytes, void **out)
{
    BB_RETURN_IF_FAILED(bb_device_allocate(loop->device, std::max<size_t>(bytes, 16), out));
    state_of(loop)->blocks.push_back(*out);
    return bb_device_zero(loop->device, *out, std::max<size_t>(bytes, 16));
}

template <class Value>
bb_status take_values(const bb_command_loop *loop, bb_index count, Value **out)
{
    void *block = nullptr;
    BB_RETURN_IF_FAILED(take(loop, static_cast<size_t>(count) * sizeof(Value), &block));
    *out = static_cast<Value *>(block);
    return BB_OK;
}

// A copy on the device.
template <class Value>
bb_status put(const bb_command_loop *loop, const Value *source, bb_index count, const Value **out)
{
    Value *block = nullptr;
    BB_RETURN_IF_FAILED(take_values(loop, count, &block));
    if (count > 0) {
        BB_RETURN_IF_FAILED(bb_device_upload(loop->device, block, source,
                                             static_cast<size_t>(count) * sizeof(Value)));
        BB_RETURN_IF_FAILED(bb_device_wait(loop->device));
    }
    *out = block;
    return BB_OK;
}

// Columns of a block: a group's, or as many as it has threads.
bb_status put_runs(const bb_command_loop *loop, const bb_command_system *system)
{
    frame_view *view = &state_of(loop)->view;
    std::vector<bb_index> begin;
    if (system->group_count > 0) {
        begin.assign(system->group_begin, system->group_begin + system->group_count + 1);
    } else {
        for (bb_index j = 0; j < loop->slope_count; j += slope_threads) {
            begin.push_back(j);
        }
        begin.push_back(loop->slope_count);
    }
    view->runs = static_cast<bb_index>(begin.size()) - 1;
    return put(loop, begin.data(), view->runs + 1, &view->begin);
}

bb_status put_means(const bb_command_loop *loop, const bb_command_system *system)
{
    frame_view *view = &state_of(loop)->view;
    const bb_index groups = system->group_count;
    std::vector<float> means(static_cast<size_t>(groups * loop->command_count));
    std::vector<bb_index> offset(static_cast<size_t>(loop->command_count));
    std::vector<bb_index> stride(static_cast<size_t>(loop->command_count));
    for (int t = 0; t < loop->matrix_count; ++t) {
        const bb_index rows = loop->row[t + 1] - loop->row[t];
        for (bb_index i = 0; i < rows; ++i) {
            const size_t command = static_cast<size_t>(loop->row[t] + i);
            offset[command] = groups * loop->row[t] + i;
            stride[command] = rows;
            for (bb_index k = 0; k < groups; ++k) {
                means[static_cast<size_t>(offset[command] + k * rows)] =
                    system->means[t][i * groups + k];
            }
        }
    }
    BB_RETURN_IF_FAILED(put(loop, means.data(), static_cast<bb_index>(means.size()), &view->means));
    BB_RETURN_IF_FAILED(put(loop, offset.data(), loop->command_count, &view->offset));
    return put(loop, stride.data(), loop->command_count, &view->stride);
}

bb_status put_scales(const bb_command_loop *loop, const bb_command_system *system)
{
    frame_view *view = &state_of(loop)->view;
    std::vector<float> scales;
    for (int t = 0; t < loop->matrix_count; ++t) {
        scales.insert(scales.end(), system->scales[t], system->scales[t] + loop->slope_count);
    }
    BB_RETURN_IF_FAILED(take_values(loop, loop->slope_count, &view->scaled));
    return put(loop, scales.data(), static_cast<bb_index>(scales.size()), &view->scales);
}

format_rounding rounding_to(bb_format format)
{
    const bb_format_info *info = bb_format_describe(format);
    if (info->significand >= 24) {
        return {};
    }
    const float largest = static_cast<float>(info->largest);
    return {24 - info->significand, static_cast<float>(bb_format_smallest_normal(format)),
            static_cast<float>(std::ldexp(bb_format_smallest_subnormal(format), 23)), largest,
            info->saturates ? largest : INFINITY};
}

// The device's addresses of what the host shares with it.
bb_status share(bb_queue *, bb_index, bb_index, void *arguments)
{
    const bb_command_loop *loop = static_cast<const bb_command_loop *>(arguments);
    cuda_loop *state = state_of(loop);
    void *address = nullptr;
    BB_CUDA_TRY(cudaHostAlloc(reinterpret_cast<void **>(&state->report), sizeof(frame_report),
                              cudaHostAllocMapped));
    *state->report = {};
    BB_CUDA_TRY(cudaHostGetDevicePointer(&address, state->report, 0));
    state->view.report = static_cast<frame_report *>(address);
    BB_CUDA_TRY(cudaHostAlloc(reinterpret_cast<void **>(&state->release), sizeof(frame_release),
                              cudaHostAllocMapped));
    *state->release = {};
    BB_CUDA_TRY(cudaHostGetDevicePointer(&address, state->release, 0));
    state->view.release = static_cast<const frame_release *>(address);
    BB_CUDA_TRY(cudaHostGetDevicePointer(&address, loop->slopes, 0));
    state->view.slopes = static_cast<const float *>(address);
    BB_CUDA_TRY(cudaHostGetDevicePointer(&address, loop->commands, 0));
    state->view.out = static_cast<float *>(address);
    return BB_OK;
}

unsigned blocks_of(bb_index items)
{
    return static_cast<unsigned>((items + command_threads - 1) / command_threads);
}

// The kernels of a frame, on a stream that is being captured.
bb_status queue_frame(const bb_command_loop *loop, cudaStream_t stream)
{
    const frame_view &view = state_of(loop)->view;
    take_slopes<<<static_cast<unsigned>(view.runs), slope_threads, 0, stream>>>(view);
    BB_CUDA_CHECK_LAUNCH();
    for (int t = 0; t < loop->matrix_count; ++t) {
        const bb_coded_window window = {0, loop->row[t + 1] - loop->row[t], nullptr};
        double *const y = view.y + loop->row[t];
        if (view.scales != nullptr) {
            divide_slopes<<<blocks_of(view.columns), command_threads, 0, stream>>>(view, t);
            BB_CUDA_CHECK_LAUNCH();
        }
        const float *const x = view.scales != nullptr ? view.scaled : view.x;
        BB_RETURN_IF_FAILED(bb_coded_operator_queue(loop->operators + t, 1, &window, x, &y,
                                                    bb_stream_queue(stream)));
    }
    add_means<<<blocks_of(view.commands), command_threads, 0, stream>>>(view);
    BB_CUDA_CHECK_LAUNCH();
    advance<<<blocks_of(view.commands), command_threads, 0, stream>>>(view);
    BB_CUDA_CHECK_LAUNCH();
    return BB_OK;
}

bb_status capture(bb_queue *queue, bb_index, bb_index, void *arguments)
{
    const bb_command_loop *loop = static_cast<const bb_command_loop *>(arguments);
    const auto frame = [loop](cudaStream_t stream) { return queue_frame(loop, stream); };
    return capture_graph(bb_queue_stream(queue), frame, &state_of(loop)->plan);
}

bb_status launch_graph(bb_queue *queue, bb_index, bb_index, void *arguments)
{
    const bb_command_loop *loop = static_cast<const bb_command_loop *>(arguments);
    BB_CUDA_TRY(cudaGraphLaunch(state_of(loop)->plan, bb_queue_stream(queue)));
    return BB_OK;
}

unsigned long long frames_done(const cuda_loop *state)
{
    // What a frame reported is read after it is known to be done.
    return __atomic_load_n(&state->report->done, __ATOMIC_ACQUIRE);
}

// Names a failure of what was queued while the host waits.
bb_status query(bb_queue *queue, bb_index, bb_index, void *arguments)
{
    const cuda_loop *state = state_of(static_cast<const bb_command_loop *>(arguments));
    const cudaError_t error = cudaStreamQuery(bb_queue_stream(queue));
    if (error == cudaErrorNotReady) {
        (void)cudaGetLastError(); // or the next launch that is checked would find it
        return BB_OK;
    }
    BB_CUDA_TRY(error);
    if (frames_done(state) < state->queued) {
        return bb_status_set(BB_DEVICE, __FILE__, __LINE__,
                             "loop of frames: the device is idle after %llu of %llu frames",
                             frames_done(state), state->queued);
    }
    return BB_OK;
}

const bb_kernel share_kernel = {"memory of a loop of frames", 1, {nullptr, share}};
const bb_kernel capture_kernel = {"capture of a frame", 1, {nullptr, capture}};
const bb_kernel graph_kernel = {"frame", 1, {nullptr, launch_graph}};
const bb_kernel query_kernel = {"wait for a frame", 1, {nullptr, query}};

bb_status check_operators(const bb_command_loop *loop)
{
    bb_status status = BB_OK;
    for (int t = 0; t < loop->matrix_count; ++t) {
        BB_REQUIRE(bb_coded_operator_multiply(loop->operators[t]) == BB_FORMAT_FP32, BB_UNSUPPORTED,
                   "products of matrix %d in %s: a frame on a GPU multiplies in fp32", t,
                   bb_format_names[bb_coded_operator_multiply(loop->operators[t])]);
    }
done:
    return status;
}

bb_status cuda_open(bb_command_loop *loop, const bb_command_system *system)
{
    BB_RETURN_IF_FAILED(check_operators(loop));
    cuda_loop *state = new cuda_loop();
    loop->state = state;
    frame_view *view = &state->view;
    view->columns = loop->slope_count;
    view->commands = loop->command_count;
    view->groups = loop->group_count;
    view->delay = loop->delay;
    view->format = rounding_to(loop->rounding.format);
    view->step = loop->rounding.step;
    view->steps = loop->rounding.steps;
    view->gain = loop->gain;
    if (system->reference != nullptr) {
        BB_RETURN_IF_FAILED(put(loop, system->reference, view->columns, &view->reference));
    }
    BB_RETURN_IF_FAILED(put_runs(loop, system));
    if (view->groups > 0) {
        BB_RETURN_IF_FAILED(put_means(loop, system));
    }
    if (system->scales != nullptr) {
        BB_RETURN_IF_FAILED(put_scales(loop, system));
    }
    BB_RETURN_IF_FAILED(take_values(loop, view->groups, &view->mean));
    BB_RETURN_IF_FAILED(take_values(loop, view->columns, &view->x));
    BB_RETURN_IF_FAILED(take_values(loop, view->commands, &view->y));
    BB_RETURN_IF_FAILED(take_values(loop, view->commands, &view->v));
    BB_RETURN_IF_FAILED(take_values(loop, view->commands * view->delay, &view->late));
    BB_RETURN_IF_FAILED(take_values(loop, 1, &view->now));
    BB_RETURN_IF_FAILED(take_values(loop, 1, &view->frames));
    BB_RETURN_IF_FAILED(bb_device_launch(loop->device, &share_kernel, 1, loop));
    BB_RETURN_IF_FAILED(bb_device_launch(loop->device, &capture_kernel, 1, loop));
    return bb_device_wait(loop->device);
}

bb_status cuda_arm(bb_command_loop *loop)
{
    cuda_loop *state = state_of(loop);
    if (!state->is_armed) {
        BB_RETURN_IF_FAILED(bb_device_launch(loop->device, &graph_kernel, 1, loop));
        state->queued += 1;
        state->is_armed = true;
    }
    return BB_OK;
}

// Releases the frame that is queued and waits for its report.
bb_status finish_frame(bb_command_loop *loop, unsigned long long time)
{
    cuda_loop *state = state_of(loop);
    state->release->time = time;
    __atomic_store_n(&state->release->count, state->queued, __ATOMIC_RELEASE);
    state->is_armed = false;
    // Now and then the device is asked whether it failed.
    for (unsigned long long k = 1; frames_done(state) < state->queued; ++k) {
        if (k % (1U << 20U) == 0) {
            BB_RETURN_IF_FAILED(bb_device_launch(loop->device, &query_kernel, 1, loop));
        }
    }
    return BB_OK;
}

bb_status cuda_step(bb_command_loop *loop, int64_t release_ns, bb_command_frame *out)
{
    cuda_loop *state = state_of(loop);
    BB_RETURN_IF_FAILED(cuda_arm(loop));
    BB_RETURN_IF_FAILED(finish_frame(loop, static_cast<unsigned long long>(release_ns)));
    const volatile frame_report *report = state->report;
    for (int stage = 0; stage < BB_COMMAND_STAGES; ++stage) {
        out->seconds[stage] =
            1e-9 * static_cast<double>(report->stamps[stage + 1] - report->stamps[stage]);
    }
    out->begin_ns = static_cast<int64_t>(report->stamps[0]);
    out->end_ns = static_cast<int64_t>(report->stamps[BB_COMMAND_STAGES]);
    out->slopes_finite = (report->trouble & BAD_SLOPES) == 0;
    out->products_finite = (report->trouble & BAD_PRODUCTS) == 0 || !out->slopes_finite;
    return BB_OK;
}

bb_status cuda_reset(bb_command_loop *loop)
{
    const frame_view &view = state_of(loop)->view;
    const size_t commands = static_cast<size_t>(view.commands);
    if (state_of(loop)->is_armed) {
        BB_RETURN_IF_FAILED(finish_frame(loop, 0));
    }
    BB_RETURN_IF_FAILED(bb_device_zero(loop->device, view.v, commands * sizeof *view.v));
    if (view.delay > 0) {
        BB_RETURN_IF_FAILED(
            bb_device_zero(loop->device, view.late,
                           static_cast<size_t>(view.delay) * commands * sizeof *view.late));
    }
    BB_RETURN_IF_FAILED(bb_device_zero(loop->device, view.now, sizeof *view.now));
    return bb_device_wait(loop->device);
}

void cuda_close(bb_command_loop *loop)
{
    cuda_loop *state = state_of(loop);
    if (state == nullptr) {
        return;
    }
    if (state->is_armed && finish_frame(loop, 0) != BB_OK) {
        bb_status_clear(); // a device that failed has no frame that waits
    }
    if (state->plan != nullptr) {
        (void)cudaGraphExecDestroy(state->plan);
    }
    for (void *block : state->blocks) {
        bb_device_release(loop->device, &block);
    }
    if (state->report != nullptr) {
        (void)cudaFreeHost(state->report);
    }
    if (state->release != nullptr) {
        (void)cudaFreeHost(state->release);
    }
    delete state;
    loop->state = nullptr;
}

} // namespace

extern "C" const bb_command_twin bb_command_loop_cuda_twin = {cuda_open, cuda_arm, cuda_step,
                                                              cuda_reset, cuda_close};
