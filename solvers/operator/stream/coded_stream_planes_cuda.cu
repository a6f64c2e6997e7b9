// SPDX-License-Identifier: Apache-2.0
//
// Products of streamed matrices stored in planes: bfp of any width, and the quantiser.
#include "solvers/operator/stream/coded_stream_cuda.h"

namespace stream
{

bb_status launch_planes(const bb_stream_task &task, cudaStream_t queue)
{
    switch (task.layout.storage) {
    case BB_STREAM_BFP:
        return launch_storage<of_bfp>(task, queue);
    case BB_STREAM_BFP_NARROW:
        return launch_storage<of_bfp_narrow>(task, queue);
    default:
        return launch_storage<of_quantiser>(task, queue);
    }
}

} // namespace stream
