// SPDX-License-Identifier: Apache-2.0
#include "core/device/device_cuda.h"
#include "core/memory.h"
#include "solvers/loop/field_stream.h"

#include <cmath>
#include <vector>

namespace
{

struct slot_events {
    cudaEvent_t begun, copied, left;
};

// Memory blocks of all operators of a field.
using block_list = std::vector<bb_coded_block>;

} // namespace

struct bb_field_stream {
    bb_device *device;
    int axes;
    cudaStream_t copies;
    block_list slots[BB_FIELD_SLOTS];
    slot_events events[BB_FIELD_SLOTS];
};

struct bb_field_image {
    size_t bytes;
    unsigned char *host; // pinned memory
};

namespace
{

bb_status list_blocks(bb_coded_operator *const *operators, int axes, block_list *out)
{
    for (int axis = 0; axis < axes; ++axis) {
        bb_coded_block blocks[BB_CODED_BLOCKS];
        int count = 0;
        BB_RETURN_IF_FAILED(bb_coded_operator_blocks(operators[axis], blocks, &count));
        out->insert(out->end(), blocks, blocks + count);
    }
    return BB_OK;
}

size_t bytes_of(const block_list &blocks)
{
    size_t bytes = 0;
    for (const bb_coded_block &block : blocks) {
        bytes += block.bytes;
    }
    return bytes;
}

bb_status check_like(const block_list &a, const block_list &b)
{
    bb_status status = BB_OK;
    BB_REQUIRE(a.size() == b.size(), BB_INVALID,
               "matrices of a field have %zu blocks, expected %zu", b.size(), a.size());
    for (size_t i = 0; i < a.size(); ++i) {
        BB_REQUIRE(a[i].bytes == b[i].bytes, BB_INVALID,
                   "matrices of a field: a block has %zu bytes, expected %zu", b[i].bytes,
                   a[i].bytes);
    }
done:
    return status;
}

bb_status open_events(bb_queue *stream, bb_index, bb_index, void *arguments)
{
    bb_field_stream *fields = static_cast<bb_field_stream *>(arguments);
    BB_CUDA_TRY(cudaStreamCreateWithFlags(&fields->copies, cudaStreamNonBlocking));
    for (slot_events &events : fields->events) {
        BB_CUDA_TRY(cudaEventCreate(&events.begun));
        BB_CUDA_TRY(cudaEventCreate(&events.copied));
        BB_CUDA_TRY(cudaEventCreate(&events.left));
        BB_CUDA_TRY(cudaEventRecord(events.left, bb_queue_stream(stream)));
        BB_CUDA_TRY(cudaEventRecord(events.copied, bb_queue_stream(stream)));
    }
    return BB_OK;
}

struct image_task {
    const block_list *blocks;
    bb_field_image *image;
};

bb_status take_image(bb_queue *stream, bb_index, bb_index, void *arguments)
{
    const image_task *task = static_cast<const image_task *>(arguments);
    cudaError_t error =
        cudaMallocHost(reinterpret_cast<void **>(&task->image->host), task->image->bytes);
    if (error == cudaErrorMemoryAllocation) {
        (void)cudaGetLastError();
        return bb_status_set(BB_MEMORY, __FILE__, __LINE__,
                             "cannot allocate %zu bytes of pinned memory", task->image->bytes);
    }
    BB_CUDA_TRY(error);
    size_t index = 0;
    for (const bb_coded_block &block : *task->blocks) {
        BB_CUDA_TRY(cudaMemcpyAsync(task->image->host + index, block.address, block.bytes,
                                    cudaMemcpyDeviceToHost, bb_queue_stream(stream)));
        index += block.bytes;
    }
    BB_CUDA_TRY(cudaStreamSynchronize(bb_queue_stream(stream)));
    return BB_OK;
}

struct slot_task {
    bb_field_stream *fields;
    int slot;
    const bb_field_image *image; // events of a copy
};

bb_status copy_slot(bb_queue *, bb_index, bb_index, void *arguments)
{
    const slot_task *task = static_cast<const slot_task *>(arguments);
    const bb_field_stream *fields = task->fields;
    const slot_events *events = &fields->events[task->slot];
    BB_CUDA_TRY(cudaStreamWaitEvent(fields->copies, events->left, 0));
    BB_CUDA_TRY(cudaEventRecord(events->begun, fields->copies));
    size_t index = 0;
    for (const bb_coded_block &block : fields->slots[task->slot]) {
        BB_CUDA_TRY(cudaMemcpyAsync(block.address, task->image->host + index, block.bytes,
                                    cudaMemcpyHostToDevice, fields->copies));
        index += block.bytes;
    }
    BB_CUDA_TRY(cudaEventRecord(events->copied, fields->copies));
    return BB_OK;
}

bb_status enter_slot(bb_queue *stream, bb_index, bb_index, void *arguments)
{
    const slot_task *task = static_cast<const slot_task *>(arguments);
    BB_CUDA_TRY(
        cudaStreamWaitEvent(bb_queue_stream(stream), task->fields->events[task->slot].copied, 0));
    return BB_OK;
}

bb_status leave_slot(bb_queue *stream, bb_index, bb_index, void *arguments)
{
    const slot_task *task = static_cast<const slot_task *>(arguments);
    BB_CUDA_TRY(cudaEventRecord(task->fields->events[task->slot].left, bb_queue_stream(stream)));
    return BB_OK;
}

const bb_kernel open_kernel = {"streamed fields", 1, {nullptr, open_events}};
const bb_kernel image_kernel = {"image of a field", 1, {nullptr, take_image}};
const bb_kernel copy_kernel = {"copy of a field", 1, {nullptr, copy_slot}};
const bb_kernel enter_kernel = {"streamed fields", 1, {nullptr, enter_slot}};
const bb_kernel leave_kernel = {"streamed fields", 1, {nullptr, leave_slot}};

} // namespace

extern "C" bb_status bb_field_stream_create(bb_device *device, int axes,
                                            bb_coded_operator *const *slots, bb_field_stream **out)
{
    *out = nullptr;
    bb_field_stream *fields = new bb_field_stream();
    fields->device = device;
    fields->axes = axes;
    bb_status status = BB_OK;
    for (int slot = 0; slot < BB_FIELD_SLOTS && status == BB_OK; ++slot) {
        status = list_blocks(slots + slot * axes, axes, &fields->slots[slot]);
        if (status == BB_OK) {
            status = check_like(fields->slots[0], fields->slots[slot]);
        }
    }
    if (status == BB_OK) {
        status = bb_device_launch(device, &open_kernel, 1, fields);
    }
    if (status != BB_OK) {
        bb_field_stream_destroy(&fields);
        return status;
    }
    *out = fields;
    return BB_OK;
}

extern "C" void bb_field_stream_destroy(bb_field_stream **stream)
{
    bb_field_stream *fields = *stream;
    if (fields == nullptr) {
        return;
    }
    if (fields->copies != nullptr) {
        (void)cudaStreamSynchronize(fields->copies);
        (void)cudaStreamDestroy(fields->copies);
    }
    for (slot_events &events : fields->events) {
        for (cudaEvent_t event : {events.begun, events.copied, events.left}) {
            if (event != nullptr) {
                (void)cudaEventDestroy(event);
            }
        }
    }
    delete fields;
    *stream = nullptr;
}

extern "C" bb_status bb_field_image_create(bb_field_stream *stream,
                                           bb_coded_operator *const *operators,
                                           bb_field_image **out)
{
    *out = nullptr;
    block_list blocks;
    BB_RETURN_IF_FAILED(list_blocks(operators, stream->axes, &blocks));
    BB_RETURN_IF_FAILED(check_like(stream->slots[0], blocks));
    bb_field_image *image = new bb_field_image();
    image->bytes = bytes_of(blocks);
    image_task task = {&blocks, image};
    bb_status status = bb_device_launch(stream->device, &image_kernel, 1, &task);
    if (status != BB_OK) {
        bb_field_image_destroy(&image);
        return status;
    }
    *out = image;
    return BB_OK;
}

extern "C" void bb_field_image_destroy(bb_field_image **image)
{
    if (*image != nullptr) {
        if ((*image)->host != nullptr) {
            (void)cudaFreeHost((*image)->host);
        }
        delete *image;
        *image = nullptr;
    }
}

extern "C" size_t bb_field_image_bytes(const bb_field_image *image)
{
    return image->bytes;
}

extern "C" bb_status bb_field_stream_fetch(bb_field_stream *stream, int slot,
                                           const bb_field_image *image)
{
    slot_task task = {stream, slot, image};
    return bb_device_launch(stream->device, &copy_kernel, 1, &task);
}

extern "C" bb_status bb_field_stream_ready(bb_field_stream *stream, int slot, bool *ready)
{
    const cudaError_t error = cudaEventQuery(stream->events[slot].copied);
    *ready = error == cudaSuccess;
    if (error == cudaErrorNotReady) {
        (void)cudaGetLastError(); // clear the error, or the next checked launch would report it
        return BB_OK;
    }
    BB_CUDA_TRY(error);
    return BB_OK;
}

extern "C" bb_status bb_field_stream_begin_use(bb_field_stream *stream, int slot)
{
    slot_task task = {stream, slot, nullptr};
    return bb_device_launch(stream->device, &enter_kernel, 1, &task);
}

extern "C" bb_status bb_field_stream_end_use(bb_field_stream *stream, int slot)
{
    slot_task task = {stream, slot, nullptr};
    return bb_device_launch(stream->device, &leave_kernel, 1, &task);
}

extern "C" bb_status bb_field_stream_seconds(bb_field_stream *stream, int slot, double *copied,
                                             double *remainder)
{
    float to_copied = 0.0F;
    float to_left = 0.0F;
    const slot_events *events = &stream->events[slot];
    BB_CUDA_TRY(cudaEventSynchronize(events->copied));
    BB_CUDA_TRY(cudaEventSynchronize(events->left));
    BB_CUDA_TRY(cudaEventElapsedTime(&to_copied, events->begun, events->copied));
    BB_CUDA_TRY(cudaEventElapsedTime(&to_left, events->begun, events->left));
    *copied = 1e-3 * static_cast<double>(to_copied);
    *remainder = to_left < to_copied ? NAN : 1e-3 * static_cast<double>(to_left);
    return BB_OK;
}
