// SPDX-License-Identifier: Apache-2.0
//
// Products of streamed matrices of eight bits and fewer with x in limbs.
#include "solvers/operator/stream/stream_limbs_cuda.h"

namespace stream
{

bb_status launch_limbs(const bb_stream_task &task, cudaStream_t queue)
{
    switch (task.layout.storage) {
    case BB_STREAM_E4M3:
        return launch_storage_in_limbs<limbs_of_e4m3>(task, queue);
    case BB_STREAM_E5M2:
        return launch_storage_in_limbs<limbs_of_e5m2>(task, queue);
    case BB_STREAM_INTEGER8:
        return launch_storage_in_limbs<limbs_of_integer8>(task, queue);
    case BB_STREAM_BFP8:
        return launch_storage_in_limbs<limbs_of_bfp8>(task, queue);
    default:
        return launch_storage_in_limbs<limbs_of_bfp4>(task, queue);
    }
}

} // namespace stream
