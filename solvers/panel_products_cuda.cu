// SPDX-License-Identifier: Apache-2.0
#include "solvers/panel_products_cuda.h"

namespace
{

cublasComputeType_t compute_of(bb_panel_compute compute)
{
    switch (compute) {
    case BB_PANEL_COMPUTE_FP64:
        return CUBLAS_COMPUTE_64F;
    case BB_PANEL_COMPUTE_TF32:
        return CUBLAS_COMPUTE_32F_FAST_TF32;
    default:
        return CUBLAS_COMPUTE_32F;
    }
}

} // namespace

bb_status panel::multiply(const bb_panel_part *part, const dense_product &p, bb_panel_stream stream)
{
    if (p.rows <= 0 || p.depth <= 0 || p.problems <= 0) {
        return BB_OK;
    }
    const bool wide = type_of(part) == BB_F64;
    const cudaDataType type = wide ? CUDA_R_64F : CUDA_R_32F;
    const cudaDataType operand = p.halves ? CUDA_R_16F : type;
    const float narrow[2] = {static_cast<float>(p.alpha), static_cast<float>(p.beta)};
    const double doubles[2] = {p.alpha, p.beta};
    const void *alpha = wide ? static_cast<const void *>(&doubles[0]) : &narrow[0];
    const void *beta = wide ? static_cast<const void *>(&doubles[1]) : &narrow[1];
    const cublasOperation_t op = p.transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    const int rows = static_cast<int>(p.rows);
    const int columns = static_cast<int>(p.columns);
    const int depth = static_cast<int>(p.depth);
    const int strides[3] = {static_cast<int>(p.a_stride), static_cast<int>(p.b_stride),
                            static_cast<int>(p.c_stride)};
    if (p.problems == 1) {
        BB_CUBLAS_TRY(part->library->gemm(part->handles[stream], op, CUBLAS_OP_N, columns, rows,
                                          depth, alpha, p.b, operand, strides[1], p.a, operand,
                                          strides[0], beta, p.c, type, strides[2],
                                          compute_of(p.compute), CUBLAS_GEMM_DEFAULT));
        return BB_OK;
    }
    BB_CUBLAS_TRY(part->library->gemm_batched(
        part->handles[stream], op, CUBLAS_OP_N, columns, rows, depth, alpha, p.b, operand,
        strides[1], 0, p.a, operand, strides[0], p.a_apart, beta, p.c, type, strides[2], p.c_apart,
        static_cast<int>(p.problems), compute_of(p.compute), CUBLAS_GEMM_DEFAULT));
    return BB_OK;
}
