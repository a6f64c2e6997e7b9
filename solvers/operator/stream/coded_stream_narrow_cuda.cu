// SPDX-License-Identifier: Apache-2.0
//
// Products of streamed matrices in eight-bit formats and in bfp with mantissas in a single plane.
#include "solvers/operator/stream/coded_stream_cuda.h"

namespace stream
{

bb_status launch_narrow(const bb_stream_task &task, cudaStream_t queue)
{
    switch (task.layout.storage) {
    case BB_STREAM_E4M3:
        return launch_storage<of_e4m3>(task, queue);
    case BB_STREAM_E5M2:
        return launch_storage<of_e5m2>(task, queue);
    case BB_STREAM_BFP4:
        return launch_storage<of_bfp4>(task, queue);
    case BB_STREAM_BFP8:
        return launch_storage<of_bfp8>(task, queue);
    default:
        return launch_storage<of_bfp16>(task, queue);
    }
}

} // namespace stream
