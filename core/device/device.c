// SPDX-License-Identifier: Apache-2.0
#include "core/device/device.h"

#include "core/memory.h"
#include "core/thread.h"

#include <stdio.h>

enum { PAGE = 4096, PAGES_AT_ONCE = 1 << 14 };

struct bb_device {
    bb_device_kind kind;
    const bb_device_ops *ops;
    void *state;
};

const char *const bb_device_names[] = {"cpu", "cuda", "opencl", "auto", NULL};

// Operations table of each kind, or NULL with the reason.
static const struct {
    const bb_device_ops *ops;
    const char *reason;
} kinds[BB_DEVICE_KIND_COUNT] = {
    [BB_DEVICE_CPU] = {&bb_device_cpu_ops, ""},
    [BB_DEVICE_CUDA] = {BB_CUDA_TWIN(&bb_device_cuda_ops),
                        "this build has no CUDA (configure with BB_CUDA=ON and nvcc on the PATH)"},
    [BB_DEVICE_OPENCL] = {BB_OPENCL_TWIN(&bb_device_opencl_ops),
                          "this build has no OpenCL headers (package opencl-c-headers)"},
};

bb_index bb_device_count(bb_device_kind kind, char *reason, size_t reason_bytes)
{
    char unused[256];
    char *sentence = reason == NULL ? unused : reason;
    const size_t bytes = reason == NULL ? sizeof unused : reason_bytes;
    if (kinds[kind].ops == NULL) {
        (void)snprintf(sentence, bytes, "%s", kinds[kind].reason);
        return 0;
    }
    return kinds[kind].ops->count(sentence, bytes);
}

bb_status bb_device_open(bb_device_kind kind, bb_index ordinal, bb_device **out)
{
    bb_status status = BB_OK;
    bb_device *device = NULL;
    char reason[256] = "";
    *out = NULL;
    bb_index count = bb_device_count(kind, reason, sizeof reason);
    BB_REQUIRE(count > 0, BB_DEVICE, "device %s is absent: %s", bb_device_names[kind], reason);
    BB_REQUIRE(ordinal >= 0 && ordinal < count, BB_DEVICE, "device %s %td, expected 0..%td",
               bb_device_names[kind], ordinal, count - 1);
    BB_TRY(BB_ZEROED(1, &device));
    device->kind = kind;
    device->ops = kinds[kind].ops;
    BB_TRY(device->ops->open(ordinal, &device->state));
    *out = device;
    device = NULL;
done:
    BB_RELEASE(&device);
    return status;
}

void bb_device_close(bb_device **device)
{
    if (*device != NULL) {
        (*device)->ops->close(&(*device)->state);
        BB_RELEASE(device);
    }
}

bb_device_kind bb_device_kind_of(const bb_device *device)
{
    return device->kind;
}

bool bb_device_is_processor(const bb_device *device)
{
    return device->ops->is_processor != NULL && device->ops->is_processor(device->state);
}

void *bb_device_state(const bb_device *device)
{
    return device->state;
}

bb_status bb_device_describe(bb_device *device, bb_device_report *out)
{
    return device->ops->report(device->state, out);
}

bb_status bb_device_allocate(bb_device *device, size_t bytes, void **out)
{
    return device->ops->allocate(device->state, bytes, out);
}

void bb_device_release(bb_device *device, void **block)
{
    if (*block != NULL) {
        device->ops->release(device->state, block);
    }
}

bb_status bb_device_zero(bb_device *device, void *block, size_t bytes)
{
    return bytes == 0 ? BB_OK : device->ops->fill_zero(device->state, block, bytes);
}

bb_status bb_device_host_allocate(bb_device *device, size_t bytes, void **out)
{
    return device->ops->host_allocate != NULL
               ? device->ops->host_allocate(device->state, bytes, out)
               : bb_memory_allocate((bb_index)bytes, 1, out);
}

void bb_device_host_release(bb_device *device, void **block)
{
    if (*block != NULL && device->ops->host_release != NULL) {
        device->ops->host_release(device->state, block);
    } else {
        bb_memory_release(block);
    }
}

// Touches fresh memory, because pages are created at their first touch.
static bb_status touch_pages(void *context, bb_index begin, bb_index end)
{
    unsigned char *block = context;
    for (bb_index page = begin; page < end; ++page) {
        block[page * PAGE] = 0;
    }
    return BB_OK;
}

bb_status bb_device_host_lock(bb_device *device, void *block, size_t bytes)
{
    if (device->ops->host_lock == NULL || bytes == 0) {
        return BB_OK;
    }
    BB_RETURN_IF_FAILED(
        bb_thread_ranges((bb_index)((bytes + PAGE - 1) / PAGE), PAGES_AT_ONCE, touch_pages, block));
    return device->ops->host_lock(device->state, block, bytes);
}

void bb_device_host_unlock(bb_device *device, void *block)
{
    if (block != NULL && device->ops->host_unlock != NULL) {
        device->ops->host_unlock(device->state, block);
    }
}

bb_status bb_device_upload(bb_device *device, void *target, const void *from_host, size_t bytes)
{
    return bytes == 0 ? BB_OK : device->ops->upload(device->state, target, from_host, bytes);
}

bb_status bb_device_download(bb_device *device, void *to_host, const void *source, size_t bytes)
{
    return bytes == 0 ? BB_OK : device->ops->download(device->state, to_host, source, bytes);
}

bb_status bb_device_fetch(bb_device *device, void *to_host, const void *source, size_t bytes)
{
    return bytes == 0 ? BB_OK : device->ops->fetch(device->state, to_host, source, bytes);
}

bb_status bb_device_allocate_copy(bb_device *device, const void *from_host, size_t bytes,
                                  void **out)
{
    bb_status status = BB_OK;
    BB_TRY(bb_device_allocate(device, bytes, out));
    BB_TRY(bb_device_upload(device, *out, from_host, bytes));
done:
    return status;
}

bb_status bb_device_launch(bb_device *device, const bb_kernel *kernel, bb_index items,
                           void *arguments)
{
    if (kernel->run[device->kind] == NULL) {
        return bb_status_set(BB_UNSUPPORTED, __FILE__, __LINE__,
                             "kernel %s is not implemented on device %s", kernel->name,
                             bb_device_names[device->kind]);
    }
    return items == 0 ? BB_OK : device->ops->launch(device->state, kernel, items, arguments);
}

bb_status bb_device_wait(bb_device *device)
{
    return device->ops->wait(device->state);
}

bool bb_device_is_idle(const bb_device *device)
{
    return device->ops->is_idle == NULL || device->ops->is_idle(device->state);
}

bb_status bb_device_timer_start(bb_device *device)
{
    return device->ops->mark(device->state, 0);
}

bb_status bb_device_timer_stop(bb_device *device, double *seconds)
{
    BB_RETURN_IF_FAILED(device->ops->mark(device->state, 1));
    return device->ops->elapsed(device->state, seconds);
}

struct bb_device_graph {
    bb_device *device;
    bb_status (*work)(void *context);
    void *context;
    void *recorded; // NULL: a replay calls `work`
};

static bb_status record(bb_device_graph *graph)
{
    bb_status status = BB_OK;
    const bb_device_ops *ops = graph->device->ops;
    void *state = graph->device->state;
    if (ops->record_start != NULL) {
        BB_TRY(ops->wait(state));
        BB_TRY(ops->record_start(state));
        const bb_status noted = graph->work(graph->context);
        const bb_status stopped = ops->record_stop(state, &graph->recorded);
        status = noted != BB_OK ? noted : stopped;
    }
done:
    return status;
}

bb_status bb_device_graph_create(bb_device *device, bb_status (*work)(void *context), void *context,
                                 bb_device_graph **out)
{
    bb_status status = BB_OK;
    bb_device_graph *graph = NULL;
    BB_TRY(BB_ZEROED(1, &graph));
    *graph = (bb_device_graph){.device = device, .work = work, .context = context};
    BB_TRY(work(context));
    BB_TRY(record(graph));
    *out = graph;
    graph = NULL;
done:
    bb_device_graph_destroy(&graph);
    return status;
}

void bb_device_graph_destroy(bb_device_graph **graph)
{
    if (*graph == NULL) {
        return;
    }
    const bb_device *device = (*graph)->device;
    if ((*graph)->recorded != NULL) {
        device->ops->forget(device->state, &(*graph)->recorded);
    }
    BB_RELEASE(graph);
}

bb_status bb_device_graph_replay(bb_device_graph *graph)
{
    const bb_device *device = graph->device;
    return graph->recorded != NULL ? device->ops->replay(device->state, graph->recorded)
                                   : graph->work(graph->context);
}
