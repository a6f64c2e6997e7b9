// SPDX-License-Identifier: Apache-2.0
#include "solvers/factor/panels/panel_products_cuda.h"

namespace
{

cublasComputeType_t compute_of(bb_panel_compute compute)
{
    switch (compute) {
    case BB_PANEL_COMPUTE_FP64:
        return CUBLAS_COMPUTE_64F;
    case BB_PANEL_COMPUTE_TF32:
        return CUBLAS_COMPUTE_32F_FAST_TF32;
    case BB_PANEL_COMPUTE_FP16:
        return CUBLAS_COMPUTE_16F;
    default:
        return CUBLAS_COMPUTE_32F;
    }
}

// Factor in the type that a computation expects.
struct factor {
    double wide;
    float narrow;
    __half half;
};

factor make_factor(double value)
{
    const float narrow = static_cast<float>(value);
    return {value, narrow, __float2half(narrow)};
}

const void *factor_for(bb_panel_compute compute, const factor &value)
{
    if (compute == BB_PANEL_COMPUTE_FP64) {
        return &value.wide;
    }
    return compute == BB_PANEL_COMPUTE_FP16 ? static_cast<const void *>(&value.half)
                                            : &value.narrow;
}

} // namespace

bb_status panel::multiply(const bb_panel_part *part, const dense_product &p, bb_panel_stream stream)
{
    if (p.rows <= 0 || p.depth <= 0 || p.problems <= 0) {
        return BB_OK;
    }
    const cudaDataType own = type_of(part) == BB_F64 ? CUDA_R_64F : CUDA_R_32F;
    const cudaDataType result = p.half_result ? CUDA_R_16F : own;
    const cudaDataType operand = p.operands == OPERANDS_FP16   ? CUDA_R_16F
                                 : p.operands == OPERANDS_BF16 ? CUDA_R_16BF
                                                               : own;
    const factor factors[2] = {make_factor(p.alpha), make_factor(p.beta)};
    const void *alpha = factor_for(p.compute, factors[0]);
    const void *beta = factor_for(p.compute, factors[1]);
    const cublasOperation_t op = p.transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    const bool may_split = p.may_split && stream == BB_PANEL_BULK;
    const cublasHandle_t handle = part->handles[may_split ? static_cast<int>(BB_PANEL_SPLIT_HANDLE)
                                                          : static_cast<int>(stream)];
    const int rows = static_cast<int>(p.rows);
    const int columns = static_cast<int>(p.columns);
    const int depth = static_cast<int>(p.depth);
    const int strides[3] = {static_cast<int>(p.a_stride), static_cast<int>(p.b_stride),
                            static_cast<int>(p.c_stride)};
    if (p.problems == 1) {
        BB_CUBLAS_TRY(part->library->gemm(handle, op, CUBLAS_OP_N, columns, rows, depth, alpha, p.b,
                                          operand, strides[1], p.a, operand, strides[0], beta, p.c,
                                          result, strides[2], compute_of(p.compute),
                                          CUBLAS_GEMM_DEFAULT));
        return BB_OK;
    }
    BB_CUBLAS_TRY(part->library->gemm_batched(
        handle, op, CUBLAS_OP_N, columns, rows, depth, alpha, p.b, operand, strides[1], 0, p.a,
        operand, strides[0], p.a_apart, beta, p.c, result, strides[2], p.c_apart,
        static_cast<int>(p.problems), compute_of(p.compute), CUBLAS_GEMM_DEFAULT));
    return BB_OK;
}
