// SPDX-License-Identifier: Apache-2.0
#include "solvers/loop/control_loop_cuda.h"

#include <time.h>

namespace control_loop
{

namespace
{

bb_status allocate_report(bb_queue *, bb_index, bb_index, void *arguments)
{
    loop_watch *watch = static_cast<loop_watch *>(arguments);
    void *on_device = nullptr;
    BB_RETURN_IF_FAILED(check_device());
    BB_CUDA_TRY(cudaHostAlloc(reinterpret_cast<void **>(&watch->report), sizeof(loop_report),
                              cudaHostAllocMapped));
    *watch->report = {};
    BB_CUDA_TRY(cudaHostGetDevicePointer(&on_device, watch->report, 0));
    watch->on_device = static_cast<loop_report *>(on_device);
    return BB_OK;
}

// Reports a device error while the host waits.
bb_status query(bb_queue *stream, bb_index, bb_index, void *arguments)
{
    const loop_watch *watch = static_cast<const loop_watch *>(arguments);
    cudaError_t error = cudaStreamQuery(bb_queue_stream(stream));
    if (error == cudaErrorNotReady) {
        (void)cudaGetLastError(); // clear the error, or the next checked launch would report it
        return BB_OK;
    }
    BB_CUDA_TRY(error);
    if (steps_left(watch) > 0) {
        return bb_status_set(BB_DEVICE, __FILE__, __LINE__,
                             "control loop: the device is idle after %llu of %llu steps",
                             watch->report->done, watch->queued);
    }
    return BB_OK;
}

struct hold {
    unsigned long long ns;
};

bb_status launch_hold(bb_queue *stream, bb_index, bb_index, void *arguments)
{
    return queue_hold(static_cast<const hold *>(arguments)->ns, bb_queue_stream(stream));
}

bb_status launch_clock(bb_queue *stream, bb_index, bb_index, void *arguments)
{
    return queue_clock(static_cast<const loop_watch *>(arguments)->on_device,
                       bb_queue_stream(stream));
}

const bb_kernel report_kernel = {"report memory of a control loop", 1, {nullptr, allocate_report}};
const bb_kernel query_kernel = {"step of a control loop", 1, {nullptr, query}};
const bb_kernel hold_kernel = {"timed wait of a control loop", 1, {nullptr, launch_hold}};
const bb_kernel clock_kernel = {"device clock of a control loop", 1, {nullptr, launch_clock}};

} // namespace

bb_status open_watch(bb_device *device, loop_watch *out, loop_report **report)
{
    *out = {device, nullptr, nullptr, 0};
    BB_RETURN_IF_FAILED(bb_device_launch(device, &report_kernel, 1, out));
    *report = out->on_device;
    return BB_OK;
}

void close_watch(loop_watch *watch)
{
    if (watch->report != nullptr) {
        (void)cudaFreeHost(watch->report);
        watch->report = nullptr;
    }
}

bb_index steps_left(const loop_watch *watch)
{
    // Acquire order, so that the report is read only after the step is done.
    return static_cast<bb_index>(watch->queued -
                                 __atomic_load_n(&watch->report->done, __ATOMIC_ACQUIRE));
}

bb_status await_steps(loop_watch *watch, bb_index rest, int64_t sleep_ns)
{
    // Number of polls between queries for device errors.
    const unsigned long long looks = sleep_ns > 0 ? 256U : 1U << 20U;
    const timespec sleep = {sleep_ns / 1000000000, sleep_ns % 1000000000};
    for (unsigned long long k = 1; steps_left(watch) > rest; ++k) {
        if (k % looks == 0) {
            BB_RETURN_IF_FAILED(bb_device_launch(watch->device, &query_kernel, 1, watch));
        }
        if (sleep_ns > 0) {
            (void)nanosleep(&sleep, nullptr);
        }
    }
    return BB_OK;
}

bb_loop_stamps stamps_of(const loop_watch *watch, bb_index rest)
{
    const unsigned long long step = watch->queued - 1U - static_cast<unsigned long long>(rest);
    const volatile unsigned long long *stamps = watch->report->stamps[step % BB_LOOP_KEPT];
    bb_loop_stamps out = {};
    for (int stage = 0; stage < BB_LOOP_STAGES; ++stage) {
        out.ns[stage] = stamps[stage];
    }
    return out;
}

bb_status hold_until(loop_watch *watch, uint64_t ns)
{
    hold until = {ns};
    return bb_device_launch(watch->device, &hold_kernel, 1, &until);
}

bb_status read_clock(loop_watch *watch, uint64_t *ns)
{
    BB_RETURN_IF_FAILED(bb_device_launch(watch->device, &clock_kernel, 1, watch));
    BB_RETURN_IF_FAILED(bb_device_wait(watch->device));
    *ns = *static_cast<const volatile unsigned long long *>(&watch->report->clock);
    return BB_OK;
}

} // namespace control_loop
