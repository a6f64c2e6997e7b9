// SPDX-License-Identifier: Apache-2.0
//
// Products of streamed matrices in planes with x in limbs.
#include "solvers/operator/stream/stream_limbs_cuda.h"

namespace stream
{

bb_status launch_plane_limbs(const bb_stream_task &task, cudaStream_t queue)
{
    switch (task.layout.storage) {
    case BB_STREAM_BFP_NARROW:
        return launch_storage_in_limbs<limbs_of_bfp_narrow>(task, queue);
    case BB_STREAM_INTEGER_NARROW:
        return launch_storage_in_limbs<limbs_of_integer_narrow>(task, queue);
    default:
        return launch_storage_in_limbs<limbs_of_quantiser>(task, queue);
    }
}

} // namespace stream
