// SPDX-License-Identifier: Apache-2.0
#include "solvers/gpu/dense_library_cuda.h"

#include <dlfcn.h>

namespace
{

#define BB_TEXT_OF(name) #name
#define BB_TEXT(name)    BB_TEXT_OF(name)

template <typename Function> bb_status find(void *library, const char *name, Function *out)
{
    *out = reinterpret_cast<Function>(dlsym(library, name));
    if (*out == nullptr) {
        return bb_status_set(BB_DEVICE, __FILE__, __LINE__, "cuBLAS does not export %s", name);
    }
    return BB_OK;
}

bb_status load(bb_dense_library_cuda *library)
{
    const char *name = "libcublas.so." BB_TEXT(CUBLAS_VER_MAJOR);
    void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
        return bb_status_set(BB_DEVICE, __FILE__, __LINE__, "%s could not be loaded: %s", name,
                             dlerror());
    }
    BB_RETURN_IF_FAILED(find(handle, "cublasCreate_v2", &library->create));
    BB_RETURN_IF_FAILED(find(handle, "cublasDestroy_v2", &library->destroy));
    BB_RETURN_IF_FAILED(find(handle, "cublasSetStream_v2", &library->set_stream));
    BB_RETURN_IF_FAILED(find(handle, "cublasSetWorkspace_v2", &library->set_workspace));
    BB_RETURN_IF_FAILED(find(handle, "cublasSetMathMode", &library->set_math_mode));
    BB_RETURN_IF_FAILED(find(handle, "cublasStrsm_v2", &library->solve_fp32));
    BB_RETURN_IF_FAILED(find(handle, "cublasDtrsm_v2", &library->solve_fp64));
    BB_RETURN_IF_FAILED(find(handle, "cublasSgemv_v2", &library->gemv_fp32));
    BB_RETURN_IF_FAILED(find(handle, "cublasDgemv_v2", &library->gemv_fp64));
    BB_RETURN_IF_FAILED(find(handle, "cublasSgemvStridedBatched", &library->gemv_batched_fp32));
    BB_RETURN_IF_FAILED(find(handle, "cublasHSSgemvStridedBatched", &library->gemv_batched_fp16));
    BB_RETURN_IF_FAILED(find(handle, "cublasGemmEx", &library->gemm));
    return find(handle, "cublasGemmStridedBatchedEx", &library->gemm_batched);
}

} // namespace

bb_status bb_dense_library_open(const bb_dense_library_cuda **out)
{
    static bb_dense_library_cuda library;
    if (library.gemm_batched == nullptr) {
        BB_RETURN_IF_FAILED(load(&library));
    }
    *out = &library;
    return BB_OK;
}

bb_status bb_dense_library_product(const bb_dense_library_cuda *library, cublasHandle_t handle,
                                   const bb_dense_product_cuda *product)
{
    const bb_dense_product_cuda &p = *product;
    BB_CUBLAS_TRY(library->gemm(
        handle, p.transposed ? CUBLAS_OP_T : CUBLAS_OP_N, CUBLAS_OP_N, static_cast<int>(p.columns),
        static_cast<int>(p.rows), static_cast<int>(p.depth), &p.alpha, p.b, CUDA_R_64F,
        static_cast<int>(p.b_stride), p.a, CUDA_R_64F, static_cast<int>(p.a_stride), &p.beta, p.c,
        CUDA_R_64F, static_cast<int>(p.c_stride), CUBLAS_COMPUTE_64F, CUBLAS_GEMM_DEFAULT));
    return BB_OK;
}
