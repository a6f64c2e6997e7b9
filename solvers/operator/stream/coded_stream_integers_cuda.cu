// SPDX-License-Identifier: Apache-2.0
//
// Products of streamed matrices of integers with one step per row.
#include "solvers/operator/stream/coded_stream_cuda.h"

namespace stream
{

bb_status launch_integers(const bb_stream_task &task, cudaStream_t queue)
{
    switch (task.layout.storage) {
    case BB_STREAM_INTEGER8:
        return launch_storage<of_integer8>(task, queue);
    case BB_STREAM_INTEGER_NARROW:
        return launch_storage<of_integer_narrow>(task, queue);
    default:
        return launch_storage<of_integer>(task, queue);
    }
}

} // namespace stream
