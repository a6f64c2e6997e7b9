// SPDX-License-Identifier: Apache-2.0
//
// For .cu files only: peer access between the GPUs of a host.
#ifndef BB_SOLVERS_GPU_PEER_MEMORY_CUDA_H
#define BB_SOLVERS_GPU_PEER_MEMORY_CUDA_H

#include "core/device/device_cuda.h"

/// Enables peer access among `count` GPUs for the rest of the process; the same GPU may occur more
/// than once. The last GPU is current on return. Errors: BB_UNSUPPORTED (no peer access),
/// BB_DEVICE.
BB_CHECKED bb_status bb_peer_memory_join(bb_index count, const int *ordinals);

#endif
