// SPDX-License-Identifier: Apache-2.0
//
// For .cu files only: the cuBLAS calls of the program, resolved at first use, so that it starts on
// hosts without the library.
#ifndef BB_SOLVERS_GPU_DENSE_LIBRARY_CUDA_H
#define BB_SOLVERS_GPU_DENSE_LIBRARY_CUDA_H

#include "core/device/device_cuda.h"

#include <cublas_v2.h>

/// Entry points of libcublas under their own names.
struct bb_dense_library_cuda {
    decltype(&cublasCreate_v2) create;
    decltype(&cublasDestroy_v2) destroy;
    decltype(&cublasSetStream_v2) set_stream;
    decltype(&cublasSetWorkspace_v2) set_workspace;
    decltype(&cublasSetMathMode) set_math_mode;
    decltype(&cublasStrsm_v2) solve_fp32;
    decltype(&cublasDtrsm_v2) solve_fp64;
    decltype(&cublasSgemv_v2) gemv_fp32;
    decltype(&cublasDgemv_v2) gemv_fp64;
    decltype(&cublasSgemvStridedBatched) gemv_batched_fp32;
    decltype(&cublasHSSgemvStridedBatched) gemv_batched_fp16;
    // cublasGemmEx and cublasGemmStridedBatchedEx, whose names are overloaded in C++.
    cublasStatus_t (*gemm)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int,
                           const void *, const void *, cudaDataType, int, const void *,
                           cudaDataType, int, const void *, void *, cudaDataType, int,
                           cublasComputeType_t, cublasGemmAlgo_t);
    cublasStatus_t (*gemm_batched)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int,
                                   int, const void *, const void *, cudaDataType, int, long long,
                                   const void *, cudaDataType, int, long long, const void *, void *,
                                   cudaDataType, int, long long, int, cublasComputeType_t,
                                   cublasGemmAlgo_t);
};

/// Loads the library. Errors: BB_DEVICE, with the loader's reason if the library is missing.
BB_CHECKED bb_status bb_dense_library_open(const bb_dense_library_cuda **out);

/// C [rows][columns] <- alpha A [rows][depth] op(B) + beta C in fp64, all row-major in device
/// memory; `transposed`: B is [columns][depth].
struct bb_dense_product_cuda {
    const double *a, *b;
    double *c;
    bb_index a_stride, b_stride, c_stride;
    bb_index rows, columns, depth;
    bool transposed;
    double alpha, beta;
};
BB_CHECKED bb_status bb_dense_library_product(const bb_dense_library_cuda *library,
                                              cublasHandle_t handle,
                                              const bb_dense_product_cuda *product);

/// Returns BB_DEVICE from the calling function if a cuBLAS call fails.
#define BB_CUBLAS_TRY(call)                                                                        \
    do {                                                                                           \
        cublasStatus_t result_ = (call);                                                           \
        if (result_ != CUBLAS_STATUS_SUCCESS) {                                                    \
            return bb_status_set(BB_DEVICE, __FILE__, __LINE__, "%s: cuBLAS status %d", #call,     \
                                 static_cast<int>(result_));                                       \
        }                                                                                          \
    } while (0)

#endif
