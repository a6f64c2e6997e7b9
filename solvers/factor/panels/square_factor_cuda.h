// SPDX-License-Identifier: Apache-2.0
//
// For .cu files only: Cholesky factor and inverse of one square block, in fp32 or fp64, and of the
// diagonal block of a panel by such squares. On sm_90 a cluster of eight thread blocks keeps the
// square in shared memory, as described below; the portable implementation
// (square_portable_cuda.cu) factors a smaller square in one thread block.
//
// The square is cut into blocks of 32. Cluster rank i, or 15 - i from 8 on, owns block row i of A
// and block column i of the inverse X, which balances the triangle. Step k, with two barriers of
// the cluster:
//     solve    L(i, k) = A(i, k) X_k^T goes to every rank, X(k, j) = -X_k Z(k, j), X_k = L_kk^-1
//     update   A(i, c) -= L(i, k) L(c, k)^T and Z(c, j) += L(c, k) X(k, j), while the owner of
//              block k + 1 updates it first, then factors and inverts it
// The critical path of a step is thus one factor of 32 columns and two small products.
#ifndef BB_SOLVERS_FACTOR_PANELS_SQUARE_FACTOR_CUDA_H
#define BB_SOLVERS_FACTOR_PANELS_SQUARE_FACTOR_CUDA_H

#include "core/device/device_cuda.h"

#include <cfloat>
#include <cmath>

/// Breakdown of a factorization, in device memory; zero if there was none.
struct bb_breakdown_cuda {
    int row;        ///< 1 + matrix row of the first pivot that is not positive
    int non_finite; ///< that pivot is NaN or infinite
};

/// Checks the current GPU: BB_OK, or BB_UNSUPPORTED with a message.
BB_CHECKED bb_status bb_square_factor_supported(void);

/// Rows of the largest square in the sm_90 and in the portable implementation.
template <typename T> constexpr bb_index bb_square_factor_most(bool hopper)
{
    return (hopper ? 2048 : 512) / static_cast<bb_index>(sizeof(T));
}

/// Factors the lower triangle of `square` [size][stride] in place and writes the inverse of the
/// factor to `inverse` [size][stride], without its blocks above the diagonal. `size` is a multiple
/// of 32, at most bb_square_factor_most of the current GPU's implementation. `row` is its first row
/// in the matrix. Does nothing after a breakdown. Errors: BB_DEVICE, those of
/// bb_device_cuda_uses_hopper.
template <typename T>
BB_CHECKED bb_status bb_square_factor_launch(T *square, T *inverse, bb_index size, bb_index stride,
                                             bb_index row, bb_breakdown_cuda *breakdown,
                                             cudaStream_t stream);

/// Portable implementation for any GPU from sm_80 on.
template <typename T>
BB_CHECKED bb_status bb_square_factor_launch_portable(T *square, T *inverse, bb_index size,
                                                      bb_index stride, bb_index row,
                                                      bb_breakdown_cuda *breakdown,
                                                      cudaStream_t stream);

/// Pivots of both implementations.
namespace square
{

__device__ __forceinline__ float inverse_root(float x)
{
    float unit;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(unit) : "f"(x));
    return fma(0.5F * unit, fma(-x * unit, unit, 1.0F), unit); // accurate to the last bit or two
}

__device__ __forceinline__ double inverse_root(double x)
{
    const double unit = rsqrt(x);
    return fma(0.5 * unit, fma(-x * unit, unit, 1.0), unit);
}

__device__ __forceinline__ bool is_pivot(float x)
{
    return (x >= FLT_MIN) & (x < INFINITY);
}

__device__ __forceinline__ bool is_pivot(double x)
{
    return (x >= DBL_MIN) & (x < static_cast<double>(INFINITY));
}

} // namespace square

// Factor and inverse of a panel's diagonal block (diagonal_factor_cuda.cu). The panel below is
// multiplied by the inverse of its factor, on tensor cores. The block is factored in squares and
// updated to the right of them in tiles. The inverse grows by doubling: [L11 0; L21 L22]^-1 = [X11
// 0; -X22 L21 X11, X22]. Launches are few and short on one stream, because this chain limits a
// small factorization.

/// Factors the lower triangle of `block` [size][size] in place and writes the inverse of the factor
/// to `inverse` [size][size], which must have zeros above its diagonal and keeps them. `size` is a
/// multiple of 128, `scratch` [size][size]. `row` is the first row of the block in the matrix.
/// Errors: BB_DEVICE.
template <typename T>
BB_CHECKED bb_status bb_square_factor_launch_diagonal(T *block, T *inverse, T *scratch,
                                                      bb_index size, bb_index row,
                                                      bb_breakdown_cuda *breakdown,
                                                      cudaStream_t stream);

#endif
