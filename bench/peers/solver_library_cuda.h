// SPDX-License-Identifier: Apache-2.0
//
// For .cu files only: the few calls of cuSOLVER that peers make, looked up when first asked for, so
// that the program starts on hosts without the library.
#ifndef BB_BENCH_PEERS_SOLVER_LIBRARY_CUDA_H
#define BB_BENCH_PEERS_SOLVER_LIBRARY_CUDA_H

#include "core/device/device_cuda.h"

#include <cusolverDn.h>

/// Entry points of libcusolver, named as there.
struct bb_solver_library_cuda {
    decltype(&cusolverDnCreate) create;
    decltype(&cusolverDnDestroy) destroy;
    decltype(&cusolverDnSetStream) set_stream;
    decltype(&cusolverDnCreateParams) create_params;
    decltype(&cusolverDnDestroyParams) destroy_params;
    decltype(&cusolverDnXpotrf_bufferSize) workspace;
    decltype(&cusolverDnXpotrf) factor;
};

/// Errors: BB_UNSUPPORTED, with the loader's reason where the library is absent.
BB_CHECKED bb_status bb_solver_library_open(const bb_solver_library_cuda **out);

/// Returns from the function where a call of cuSOLVER failed: BB_MEMORY where it ran out of memory,
/// else BB_DEVICE.
#define BB_CUSOLVER_TRY(call)                                                                      \
    do {                                                                                           \
        cusolverStatus_t result_ = (call);                                                         \
        if (result_ != CUSOLVER_STATUS_SUCCESS) {                                                  \
            return bb_status_set(result_ == CUSOLVER_STATUS_ALLOC_FAILED ? BB_MEMORY : BB_DEVICE,  \
                                 __FILE__, __LINE__, "%s: cuSOLVER status %d", #call,              \
                                 static_cast<int>(result_));                                       \
        }                                                                                          \
    } while (0)

#endif
