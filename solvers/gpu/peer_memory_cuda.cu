// SPDX-License-Identifier: Apache-2.0
#include "solvers/gpu/peer_memory_cuda.h"

namespace
{

// Enables access from the current GPU to GPU `ordinal`.
bb_status join(int ordinal, int other)
{
    int possible = 0;
    BB_CUDA_TRY(cudaDeviceCanAccessPeer(&possible, ordinal, other));
    if (possible == 0) {
        return bb_status_set(
            BB_UNSUPPORTED, __FILE__, __LINE__,
            "GPU %d cannot access the memory of GPU %d; use GPUs with peer access, or a single one",
            ordinal, other);
    }
    const cudaError_t error = cudaDeviceEnablePeerAccess(other, 0);
    if (error == cudaErrorPeerAccessAlreadyEnabled) {
        (void)cudaGetLastError();
        return BB_OK;
    }
    BB_CUDA_TRY(error);
    return BB_OK;
}

} // namespace

bb_status bb_peer_memory_join(bb_index count, const int *ordinals)
{
    for (bb_index g = 0; g < count; ++g) {
        BB_CUDA_TRY(cudaSetDevice(ordinals[g]));
        for (bb_index other = 0; other < count; ++other) {
            if (ordinals[other] != ordinals[g]) {
                BB_RETURN_IF_FAILED(join(ordinals[g], ordinals[other]));
            }
        }
    }
    return BB_OK;
}
