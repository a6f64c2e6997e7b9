// SPDX-License-Identifier: Apache-2.0
//
// Products of streamed matrices whose integers lie in planes: bfp of any width, and the quantiser.
#include "solvers/operator/coded_stream_cuda.h"

namespace stream
{

bb_status launch_planes(const bb_stream_task &task, cudaStream_t queue)
{
    return task.layout.storage == BB_STREAM_BFP ? launch_storage<of_bfp>(task, queue)
                                                : launch_storage<of_quantiser>(task, queue);
}

} // namespace stream
