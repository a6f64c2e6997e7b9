// SPDX-License-Identifier: Apache-2.0
//
// For .cu files only: turns CUDA errors into bb_status.
#ifndef BB_CORE_DEVICE_DEVICE_CUDA_H
#define BB_CORE_DEVICE_DEVICE_CUDA_H

#include "core/device/device.h"

#include <cuda_runtime.h>

/// Returns from the function with BB_DEVICE where a CUDA call failed.
#define BB_CUDA_TRY(call)                                                                          \
    do {                                                                                           \
        cudaError_t error_ = (call);                                                               \
        if (error_ != cudaSuccess) {                                                               \
            return bb_status_set(BB_DEVICE, __FILE__, __LINE__, "%s: %s", #call,                   \
                                 cudaGetErrorString(error_));                                      \
        }                                                                                          \
    } while (0)

/// Returns from the function with BB_DEVICE if the launch just made failed.
#define BB_CUDA_CHECK_LAUNCH() BB_CUDA_TRY(cudaGetLastError())

/// Returns whether the current GPU uses the kernels for sm_90, rather than the portable ones for
/// sm_80 and later (core/device/device.h). Reads the environment once. Errors: BB_INVALID
/// (BB_CUDA_PORTABLE is neither 0 nor 1), BB_UNSUPPORTED (a GPU before sm_80), BB_DEVICE.
BB_CHECKED bb_status bb_device_cuda_uses_hopper(bool *out);

/// Frees the cached blocks of the current GPU; call before cudaMemGetInfo.
void bb_device_cuda_trim(void);

/// Convert a queue to its stream, and a stream to its queue.
inline cudaStream_t bb_queue_stream(bb_queue *queue)
{
    return reinterpret_cast<cudaStream_t>(queue);
}
inline bb_queue *bb_stream_queue(cudaStream_t stream)
{
    return reinterpret_cast<bb_queue *>(stream);
}

/// __cluster_dims__, empty for architectures without clusters, where these kernels must not run.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#define BB_CLUSTER_DIMS(x, y, z)
#else
#define BB_CLUSTER_DIMS(x, y, z) __cluster_dims__(x, y, z)
#endif

#endif
