// SPDX-License-Identifier: Apache-2.0
//
// Products of streamed matrices stored in planes on tensor cores, with x in digits.
#include "solvers/operator/stream/stream_digits_cuda.h"

namespace stream
{

bb_status launch_plane_digits(const bb_stream_task &task, cudaStream_t queue)
{
    switch (task.layout.storage) {
    case BB_STREAM_BFP_NARROW:
        return launch_bands<of_bfp_narrow, digits_of_integers<of_bfp_narrow>>(task, queue);
    case BB_STREAM_INTEGER_NARROW:
        return launch_bands<of_integer_narrow, digits_of_integers<of_integer_narrow>>(task, queue);
    default:
        return launch_bands<of_quantiser, digits_of_integers<of_quantiser>>(task, queue);
    }
}

} // namespace stream
