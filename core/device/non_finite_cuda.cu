// SPDX-License-Identifier: Apache-2.0
//
// CUDA version of non_finite.c. Grid-stride loop, one integer atomic per block: exact, so equal to
// the cpu's.
#include "core/device/device_cuda.h"
#include "core/device/non_finite.h"

namespace
{

template <typename T>
__global__ void count_values(const T *values, bb_index items, unsigned long long *found)
{
    __shared__ unsigned long long block_found;
    if (threadIdx.x == 0) {
        block_found = 0;
    }
    __syncthreads();
    unsigned long long mine = 0;
    bb_index stride = static_cast<bb_index>(gridDim.x) * blockDim.x;
    for (bb_index i = blockIdx.x * static_cast<bb_index>(blockDim.x) + threadIdx.x; i < items;
         i += stride) {
        mine += !isfinite(values[i]);
    }
    if (mine != 0) {
        atomicAdd(&block_found, mine);
    }
    __syncthreads();
    if (threadIdx.x == 0 && block_found != 0) {
        atomicAdd(found, block_found);
    }
}

} // namespace

extern "C" bb_status bb_non_finite_cuda(bb_queue *stream, bb_index, bb_index items, void *arguments)
{
    const bb_non_finite_arguments *task = static_cast<bb_non_finite_arguments *>(arguments);
    auto *found = reinterpret_cast<unsigned long long *>(task->found);
    cudaStream_t queue = bb_queue_stream(stream);
    const unsigned threads = 256;
    bb_index needed = (items + threads - 1) / threads;
    unsigned blocks = static_cast<unsigned>(needed < 2048 ? needed : 2048);
    if (task->type == BB_F64) {
        count_values<<<blocks, threads, 0, queue>>>(static_cast<const double *>(task->values),
                                                    items, found);
    } else {
        count_values<<<blocks, threads, 0, queue>>>(static_cast<const float *>(task->values), items,
                                                    found);
    }
    BB_CUDA_CHECK_LAUNCH();
    return BB_OK;
}
