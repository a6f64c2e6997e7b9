// SPDX-License-Identifier: Apache-2.0
//
// Products of streamed matrices with words of two bytes and more.
#include "solvers/operator/stream/coded_stream_cuda.h"

namespace stream
{

bb_status launch_plain(const bb_stream_task &task, cudaStream_t queue)
{
    switch (task.layout.storage) {
    case BB_STREAM_FP64:
        return launch_storage<of_fp64>(task, queue);
    case BB_STREAM_BF16:
        return launch_storage<of_bf16>(task, queue);
    case BB_STREAM_FP16:
        return launch_storage<of_fp16>(task, queue);
    default:
        return launch_storage<of_fp32>(task, queue);
    }
}

} // namespace stream

extern "C" bb_status bb_coded_stream_multiply_cuda(bb_queue *queue, bb_index, bb_index rows,
                                                   void *arguments)
{
    const bb_stream_task &task = *static_cast<const bb_stream_task *>(arguments);
    (void)rows;
    cudaStream_t on = bb_queue_stream(queue);
    if (task.sums == BB_STREAM_LIMBS) {
        return task.layout.columns == stream::of_quantiser::columns &&
                       task.layout.storage != BB_STREAM_BFP4
                   ? stream::launch_plane_digits(task, on)
                   : stream::launch_limbs(task, on);
    }
    switch (task.layout.storage) {
    case BB_STREAM_FP64:
    case BB_STREAM_FP32:
    case BB_STREAM_BF16:
    case BB_STREAM_FP16:
        return stream::launch_plain(task, on);
    case BB_STREAM_BFP:
    case BB_STREAM_BFP_NARROW:
    case BB_STREAM_QUANTISER:
        return stream::launch_planes(task, on);
    case BB_STREAM_INTEGER8:
    case BB_STREAM_INTEGER_NARROW:
    case BB_STREAM_INTEGER:
        return stream::launch_integers(task, on);
    default:
        return stream::launch_narrow(task, on);
    }
}
