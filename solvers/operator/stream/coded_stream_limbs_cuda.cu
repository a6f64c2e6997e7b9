// SPDX-License-Identifier: Apache-2.0
//
// Products of streamed matrices on tensor cores: floats of eight bits with x in limbs, and integers
// of fixed width with x in digits.
#include "solvers/operator/stream/stream_digits_cuda.h"
#include "solvers/operator/stream/stream_limbs_cuda.h"

namespace stream
{

template <class S> static bb_status launch_digits(const bb_stream_task &task, cudaStream_t queue)
{
    return launch_bands<S, digits_of_integers<S>>(task, queue);
}

bb_status launch_limbs(const bb_stream_task &task, cudaStream_t queue)
{
    switch (task.layout.storage) {
    case BB_STREAM_E4M3:
        return launch_bands<of_e4m3, limbs_of_floats<of_e4m3, halves_of_e4m3>>(task, queue);
    case BB_STREAM_E5M2:
        return launch_bands<of_e5m2, limbs_of_floats<of_e5m2, halves_of_e5m2>>(task, queue);
    case BB_STREAM_INTEGER8:
        return launch_digits<of_integer8>(task, queue);
    case BB_STREAM_BFP8:
        return launch_digits<of_bfp8>(task, queue);
    default:
        return launch_digits<of_bfp4>(task, queue);
    }
}

} // namespace stream
