// SPDX-License-Identifier: Apache-2.0
//
// A frame of solvers/loop/command_loop.h on a GPU: one captured graph of these kernels.
//
// - take_slopes, one block per group: waits for the release, then subtracts the reference from
//   slopes in pinned host memory, subtracts means, rounds.
// - Products (bb_coded_operator_queue) of up to three equally shaped matrices at once; if columns
//   have scales, one by one, each after divide_slopes.
// - advance: adds the product with the means in fp64 and checks for finite values; controller,
//   delay, commands to pinned host memory, and the report.
//
// take_slopes starts when the previous frame has ended. Each of the others may start while its
// predecessor runs (programmatic dependent launch). It waits for its predecessor, or for the
// counters of the products, before it reads or writes data that changes within the frame. While
// take_slopes waits for the release, blocks of the first product are already resident on the free
// multiprocessors and have filled their shared memory with matrix data, 200 kB each.
//
// Floors at 4,092 x 19,078: slopes cross the link once, 76 kB, commands 16 kB; means of 18 groups
// multiply 0.3 MB, the matrix has 44 to 312 MB. The host polls the report, which the last block of
// the last kernel writes. A launch costs 8 to 10 us, which is hidden for a frame that is queued
// ahead: its first kernel polls host memory for its release.
//
// Graphs of a stream run one after the other, so all frames share the same device memory; buffers
// in host memory have a slot for each of BB_COMMAND_AHEAD frames.
#include "core/device/device_cuda.h"
#include "solvers/loop/command_loop_cuda.h"
#include "solvers/loop/command_loop_parts.h"
#include "solvers/loop/graph_capture_cuda.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace
{

using namespace frames;

struct cuda_loop {
    frame_view view = {};
    frame_report *report = nullptr;   // [BB_COMMAND_AHEAD]
    frame_release *release = nullptr; // [BB_COMMAND_AHEAD]
    cudaGraphExec_t plan = nullptr;
    unsigned long long queued = 0; // queued frames: one more than posted if one is armed
    std::vector<void *> blocks;    // device allocations
};

cuda_loop *state_of(const bb_command_part *loop)
{
    return static_cast<cuda_loop *>(loop->state);
}

bb_status allocate(const bb_command_part *loop, size_t bytes, void **out)
{
    BB_RETURN_IF_FAILED(bb_device_allocate(loop->device, std::max<size_t>(bytes, 16), out));
    state_of(loop)->blocks.push_back(*out);
    return bb_device_zero(loop->device, *out, std::max<size_t>(bytes, 16));
}

template <class Value>
bb_status allocate_values(const bb_command_part *loop, bb_index count, Value **out)
{
    void *block = nullptr;
    BB_RETURN_IF_FAILED(allocate(loop, static_cast<size_t>(count) * sizeof(Value), &block));
    *out = static_cast<Value *>(block);
    return BB_OK;
}

// Copies values to the device.
template <class Value>
bb_status upload(const bb_command_part *loop, const Value *source, bb_index count,
                 const Value **out)
{
    Value *block = nullptr;
    BB_RETURN_IF_FAILED(allocate_values(loop, count, &block));
    if (count > 0) {
        BB_RETURN_IF_FAILED(bb_device_upload(loop->device, block, source,
                                             static_cast<size_t>(count) * sizeof(Value)));
        BB_RETURN_IF_FAILED(bb_device_wait(loop->device));
    }
    *out = block;
    return BB_OK;
}

// Columns per block: those of a group, or as many as a small block can process.
bb_status upload_runs(const bb_command_part *loop, const bb_command_system *system)
{
    frame_view *view = &state_of(loop)->view;
    std::vector<bb_index> begin;
    if (system->group_count > 0) {
        begin.assign(system->group_begin, system->group_begin + system->group_count + 1);
    } else {
        for (bb_index j = 0; j < loop->slope_count; j += thread_slopes * few_threads) {
            begin.push_back(j);
        }
        begin.push_back(loop->slope_count);
    }
    for (size_t k = 1; k < begin.size(); ++k) {
        view->has_long_runs |= begin[k] - begin[k - 1] > thread_slopes * few_threads;
    }
    view->runs = static_cast<bb_index>(begin.size()) - 1;
    return upload(loop, begin.data(), view->runs + 1, &view->begin);
}

bb_status upload_means(const bb_command_part *loop, const bb_command_system *system)
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
    BB_RETURN_IF_FAILED(
        upload(loop, means.data(), static_cast<bb_index>(means.size()), &view->means));
    BB_RETURN_IF_FAILED(upload(loop, offset.data(), loop->command_count, &view->offset));
    return upload(loop, stride.data(), loop->command_count, &view->stride);
}

bb_status upload_scales(const bb_command_part *loop, const bb_command_system *system)
{
    frame_view *view = &state_of(loop)->view;
    std::vector<float> scales;
    for (int t = 0; t < loop->matrix_count; ++t) {
        scales.insert(scales.end(), system->scales[t], system->scales[t] + loop->slope_count);
    }
    BB_RETURN_IF_FAILED(allocate_values(loop, loop->slope_count, &view->scaled));
    return upload(loop, scales.data(), static_cast<bb_index>(scales.size()), &view->scales);
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

// Maps a zeroed ring in host memory into the device's address space.
template <class Value> bb_status share_ring(Value **out, void **address)
{
    BB_CUDA_TRY(cudaHostAlloc(reinterpret_cast<void **>(out), BB_COMMAND_AHEAD * sizeof(Value),
                              cudaHostAllocMapped));
    std::fill_n(*out, static_cast<int>(BB_COMMAND_AHEAD), Value());
    BB_CUDA_TRY(cudaHostGetDevicePointer(address, *out, 0));
    return BB_OK;
}

// Maps all host memory that is shared with the device.
bb_status share(bb_queue *, bb_index, bb_index, void *arguments)
{
    const bb_command_part *loop = static_cast<const bb_command_part *>(arguments);
    cuda_loop *state = state_of(loop);
    void *address = nullptr;
    BB_RETURN_IF_FAILED(share_ring(&state->report, &address));
    state->view.report = static_cast<frame_report *>(address);
    BB_RETURN_IF_FAILED(share_ring(&state->release, &address));
    state->view.release = static_cast<const frame_release *>(address);
    BB_CUDA_TRY(cudaHostGetDevicePointer(&address, loop->slopes, 0));
    state->view.slopes = static_cast<const float *>(address);
    BB_CUDA_TRY(cudaHostGetDevicePointer(&address, loop->commands, 0));
    state->view.out = static_cast<float *>(address);
    return BB_OK;
}

// Number of matrices from `first` on that one launch multiplies: they have equal shapes and the
// same x.
int count_together(const bb_command_part *loop, int first)
{
    int count = 1;
    while (state_of(loop)->view.scales == nullptr && count < BB_CODED_TOGETHER &&
           first + count < loop->matrix_count &&
           bb_coded_operator_alike(loop->operators[first], loop->operators[first + count])) {
        ++count;
    }
    return count;
}

// Queues the kernels of a frame on a stream that is being captured.
bb_status queue_frame(const bb_command_part *loop, cudaStream_t stream)
{
    const frame_view &view = state_of(loop)->view;
    int count = 0;
    BB_RETURN_IF_FAILED(queue_slopes(view, stream));
    for (int t = 0; t < loop->matrix_count; t += count) {
        const bb_coded_window window = {0, loop->row[t + 1] - loop->row[t], nullptr};
        double *y[BB_CODED_TOGETHER] = {};
        count = count_together(loop, t);
        for (int k = 0; k < count; ++k) {
            y[k] = view.y + loop->row[t + k];
        }
        if (view.scales != nullptr) {
            BB_RETURN_IF_FAILED(queue_division(view, t, stream));
        }
        const float *const x = view.scales != nullptr ? view.scaled : view.x;
        BB_RETURN_IF_FAILED(bb_coded_operator_queue(loop->operators + t, count, &window, x, y,
                                                    bb_stream_queue(stream)));
    }
    return queue_control(view, stream);
}

bb_status capture(bb_queue *queue, bb_index, bb_index, void *arguments)
{
    const bb_command_part *loop = static_cast<const bb_command_part *>(arguments);
    const auto frame = [loop](cudaStream_t stream) { return queue_frame(loop, stream); };
    return capture_graph(bb_queue_stream(queue), frame, &state_of(loop)->plan);
}

bb_status launch_graph(bb_queue *queue, bb_index, bb_index, void *arguments)
{
    const bb_command_part *loop = static_cast<const bb_command_part *>(arguments);
    BB_CUDA_TRY(cudaGraphLaunch(state_of(loop)->plan, bb_queue_stream(queue)));
    return BB_OK;
}

// True if the next frame to be received has been reported.
bool is_done(const bb_command_part *loop)
{
    // Acquire order, so that the report is read only after the frame is done.
    const frame_report *report = state_of(loop)->report + bb_command_loop_turn(loop->taken);
    return __atomic_load_n(&report->done, __ATOMIC_ACQUIRE) > loop->taken;
}

// Reports a device error while the host waits.
bb_status query(bb_queue *queue, bb_index, bb_index, void *arguments)
{
    const bb_command_part *loop = static_cast<const bb_command_part *>(arguments);
    const cudaError_t error = cudaStreamQuery(bb_queue_stream(queue));
    if (error == cudaErrorNotReady) {
        (void)cudaGetLastError(); // clear the error, or the next checked launch would report it
        return BB_OK;
    }
    BB_CUDA_TRY(error);
    if (!is_done(loop)) {
        return bb_status_set(BB_DEVICE, __FILE__, __LINE__,
                             "command loop: the device is idle after %llu of %llu frames",
                             loop->taken, state_of(loop)->queued);
    }
    return BB_OK;
}

const bb_kernel share_kernel = {"memory of the command loop", 1, {nullptr, share}};
const bb_kernel capture_kernel = {"graph capture of a frame", 1, {nullptr, capture}};
const bb_kernel graph_kernel = {"frame", 1, {nullptr, launch_graph}};
const bb_kernel query_kernel = {"wait for a frame", 1, {nullptr, query}};

bb_status check_operators(const bb_command_part *loop)
{
    bb_status status = BB_OK;
    for (int t = 0; t < loop->matrix_count; ++t) {
        BB_REQUIRE(bb_coded_operator_multiply(loop->operators[t]) == BB_FORMAT_FP32, BB_UNSUPPORTED,
                   "matrix %d has %s products; frames on a GPU support fp32 products only", t,
                   bb_format_names[bb_coded_operator_multiply(loop->operators[t])]);
    }
done:
    return status;
}

bb_status cuda_open(bb_command_part *loop, const bb_command_system *system)
{
    BB_RETURN_IF_FAILED(check_operators(loop));
    cuda_loop *state = new cuda_loop();
    loop->state = state;
    frame_view *view = &state->view;
    view->columns = loop->slope_count;
    view->commands = loop->command_count;
    view->slope_stride = bb_command_loop_stride(loop->slope_count);
    view->command_stride = bb_command_loop_stride(loop->command_count);
    view->groups = loop->group_count;
    view->delay = loop->delay;
    view->format = rounding_to(loop->rounding.format);
    view->step = loop->rounding.step;
    view->steps = loop->rounding.steps;
    view->gain = loop->gain;
    if (system->reference != nullptr) {
        BB_RETURN_IF_FAILED(upload(loop, system->reference, view->columns, &view->reference));
    }
    BB_RETURN_IF_FAILED(upload_runs(loop, system));
    if (view->groups > 0) {
        BB_RETURN_IF_FAILED(upload_means(loop, system));
    }
    if (system->scales != nullptr) {
        BB_RETURN_IF_FAILED(upload_scales(loop, system));
    }
    BB_RETURN_IF_FAILED(allocate_values(loop, view->groups, &view->mean));
    BB_RETURN_IF_FAILED(allocate_values(loop, view->columns, &view->x));
    BB_RETURN_IF_FAILED(allocate_values(loop, view->commands, &view->y));
    BB_RETURN_IF_FAILED(allocate_values(loop, 2 * view->commands, &view->v));
    BB_RETURN_IF_FAILED(allocate_values(loop, view->commands * view->delay, &view->late));
    BB_RETURN_IF_FAILED(allocate_values(loop, 1, &view->now));
    BB_RETURN_IF_FAILED(allocate_values(loop, 1, &view->frames));
    BB_RETURN_IF_FAILED(bb_device_launch(loop->device, &share_kernel, 1, loop));
    BB_RETURN_IF_FAILED(bb_device_launch(loop->device, &capture_kernel, 1, loop));
    return bb_device_wait(loop->device);
}

bb_status cuda_arm(bb_command_part *loop)
{
    cuda_loop *state = state_of(loop);
    if (state->queued == loop->posted) {
        BB_RETURN_IF_FAILED(bb_device_launch(loop->device, &graph_kernel, 1, loop));
        state->queued += 1;
    }
    return BB_OK;
}

// Releases frame `frame`, queued or not; 0 ns: at once.
void release_frame(const bb_command_part *loop, unsigned long long frame, int64_t ns)
{
    frame_release *release = state_of(loop)->release + bb_command_loop_turn(frame);
    const unsigned long long word = static_cast<unsigned long long>(ns) << 1U | mark_of(frame);
    __atomic_store_n(&release->word, word, __ATOMIC_RELEASE);
}

bb_status cuda_post(bb_command_part *loop, int64_t release_ns)
{
    release_frame(loop, loop->posted, release_ns);
    return cuda_arm(loop);
}

// Waits for the report of frame `taken`.
bb_status await_report(bb_command_part *loop)
{
    // Every 2^20 polls the device is queried for errors.
    for (unsigned long long k = 1; !is_done(loop); ++k) {
        if (k % (1U << 20U) == 0) {
            BB_RETURN_IF_FAILED(bb_device_launch(loop->device, &query_kernel, 1, loop));
        }
    }
    return BB_OK;
}

bb_status cuda_receive(bb_command_part *loop, bb_command_frame *out)
{
    BB_RETURN_IF_FAILED(await_report(loop));
    const volatile frame_report *report =
        state_of(loop)->report + bb_command_loop_turn(loop->taken);
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

// Receives posted frames, then releases and receives an armed one, which may share a slot with the
// oldest posted frame.
bb_status drain(bb_command_part *loop)
{
    for (unsigned long long frame = loop->taken; frame < loop->posted; ++frame) {
        release_frame(loop, frame, 0); // release frames that have not yet read their release time
    }
    for (; loop->taken < state_of(loop)->queued; loop->taken += 1) {
        if (loop->taken == loop->posted) {
            release_frame(loop, loop->posted, 0);
            loop->posted += 1;
        }
        BB_RETURN_IF_FAILED(await_report(loop));
    }
    return BB_OK;
}

bb_status cuda_reset(bb_command_part *loop)
{
    const frame_view &view = state_of(loop)->view;
    const size_t commands = static_cast<size_t>(view.commands);
    BB_RETURN_IF_FAILED(drain(loop));
    BB_RETURN_IF_FAILED(bb_device_zero(loop->device, view.v, 2 * commands * sizeof *view.v));
    if (view.delay > 0) {
        BB_RETURN_IF_FAILED(
            bb_device_zero(loop->device, view.late,
                           static_cast<size_t>(view.delay) * commands * sizeof *view.late));
    }
    BB_RETURN_IF_FAILED(bb_device_zero(loop->device, view.now, sizeof *view.now));
    return bb_device_wait(loop->device);
}

void cuda_close(bb_command_part *loop)
{
    cuda_loop *state = state_of(loop);
    if (state == nullptr) {
        return;
    }
    if (drain(loop) != BB_OK) {
        bb_status_clear(); // a failed device has no waiting frame
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

extern "C" const bb_command_twin bb_command_loop_cuda_twin = {cuda_open,    cuda_arm,   cuda_post,
                                                              cuda_receive, cuda_reset, cuda_close};
