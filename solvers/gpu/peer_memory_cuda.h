// SPDX-License-Identifier: Apache-2.0
//
// For .cu files only: GPUs of a host that read and write each other's memory.
#ifndef BB_SOLVERS_GPU_PEER_MEMORY_CUDA_H
#define BB_SOLVERS_GPU_PEER_MEMORY_CUDA_H

#include "core/device/device_cuda.h"

/// Lets each of `count` GPUs reach the memory of the others, for the rest of the process; one may
/// be named more than once. The last is the current one on return. Errors: BB_UNSUPPORTED (GPUs
/// that are not linked), BB_DEVICE.
BB_CHECKED bb_status bb_peer_memory_join(bb_index count, const int *ordinals);

#endif
