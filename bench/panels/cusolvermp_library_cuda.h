// SPDX-License-Identifier: Apache-2.0
//
// For .cu files only: the few calls of cuSOLVERMp and NCCL that a peer makes, declared here as
// their headers of 0.9.1 and 2.29 declare them and looked up when first asked for, so that neither
// is needed to build or to start.
#ifndef BB_BENCH_PANELS_CUSOLVERMP_LIBRARY_CUDA_H
#define BB_BENCH_PANELS_CUSOLVERMP_LIBRARY_CUDA_H

#include "core/device/device_cuda.h"

#include <cstdint>
#include <cusolverDn.h>

// Opaque there.
typedef struct bb_nccl_team *bb_nccl_team_t;
typedef struct bb_mp_handle *bb_mp_handle_t;
typedef struct bb_mp_grid *bb_mp_grid_t;
typedef struct bb_mp_matrix *bb_mp_matrix_t;

enum { BB_NCCL_SUCCESS = 0, BB_MP_COLUMN_MAJOR = 0 };

/// Entry points, named in cusolvermp_library_cuda.cu. Indices of matrices start at 1; blocks are
/// square for potrf; a local matrix is column-major.
struct bb_cusolvermp_library_cuda {
    int (*nccl_version)(int *version);
    int (*join)(bb_nccl_team_t *members, int count, const int *devices);
    int (*leave)(bb_nccl_team_t member);
    const char *(*nccl_reason)(int result);
    cusolverStatus_t (*create)(bb_mp_handle_t *handle, int device, cudaStream_t stream);
    cusolverStatus_t (*destroy)(bb_mp_handle_t handle);
    cusolverStatus_t (*version)(bb_mp_handle_t handle, int *version);
    cusolverStatus_t (*create_grid)(bb_mp_handle_t handle, bb_mp_grid_t *grid,
                                    bb_nccl_team_t member, int32_t rows, int32_t columns,
                                    int mapping);
    cusolverStatus_t (*destroy_grid)(bb_mp_grid_t grid);
    cusolverStatus_t (*create_matrix)(bb_mp_matrix_t *matrix, bb_mp_grid_t grid, cudaDataType type,
                                      int64_t rows, int64_t columns, int64_t row_block,
                                      int64_t column_block, uint32_t row_source,
                                      uint32_t column_source, int64_t stride);
    cusolverStatus_t (*destroy_matrix)(bb_mp_matrix_t matrix);
    int64_t (*count)(int64_t n, int64_t block, uint32_t place, uint32_t source, uint32_t places);
    cusolverStatus_t (*workspace)(bb_mp_handle_t handle, cublasFillMode_t triangle, int64_t n,
                                  const void *values, int64_t row, int64_t column,
                                  bb_mp_matrix_t matrix, cudaDataType type, size_t *bytes,
                                  size_t *host_bytes);
    cusolverStatus_t (*factor)(bb_mp_handle_t handle, cublasFillMode_t triangle, int64_t n,
                               void *values, int64_t row, int64_t column, bb_mp_matrix_t matrix,
                               cudaDataType type, void *workspace, size_t bytes,
                               void *host_workspace, size_t host_bytes, int *info);
};

/// Errors: BB_UNSUPPORTED, with what to install and the loader's reason where a library is absent.
BB_CHECKED bb_status bb_cusolvermp_library_open(const bb_cusolvermp_library_cuda **out);

/// Returns from the function where a call of cuSOLVERMp failed: BB_MEMORY where it ran out of
/// memory, else BB_DEVICE.
#define BB_CUSOLVERMP_TRY(call)                                                                    \
    do {                                                                                           \
        cusolverStatus_t result_ = (call);                                                         \
        if (result_ != CUSOLVER_STATUS_SUCCESS) {                                                  \
            return bb_status_set(result_ == CUSOLVER_STATUS_ALLOC_FAILED ? BB_MEMORY : BB_DEVICE,  \
                                 __FILE__, __LINE__, "%s: cuSOLVERMp status %d", #call,            \
                                 static_cast<int>(result_));                                       \
        }                                                                                          \
    } while (0)

#endif
