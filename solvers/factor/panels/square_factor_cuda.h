// SPDX-License-Identifier: Apache-2.0
//
// For .cu files only: Cholesky factor and inverse of one square, in fp32 or fp64: on sm_90 by one
// cluster of eight blocks of threads that keep it in their shared memory, as follows; in the
// portable form (square_portable_cuda.cu) a smaller square by one block. Then of the diagonal block
// of a panel, by squares.
//
// The square is cut into blocks of 32. Block rows i of A and block columns i of the inverse X lie
// with cluster rank i, or 15 - i from 8 on, which evens out the triangle. Step k, with two barriers
// of the cluster:
//     solve    L(i, k) = A(i, k) X_k^T goes to every rank, X(k, j) = -X_k Z(k, j), X_k = L_kk^-1
//     update   A(i, c) -= L(i, k) L(c, k)^T and Z(c, j) += L(c, k) X(k, j), while the rank of block
//              k + 1 factors and inverts it, its own update first
// so the chain of a step is one factor of 32 columns and two small products.
#ifndef BB_SOLVERS_FACTOR_PANELS_SQUARE_FACTOR_CUDA_H
#define BB_SOLVERS_FACTOR_PANELS_SQUARE_FACTOR_CUDA_H

#include "core/device/device_cuda.h"

#include <cfloat>
#include <cmath>

/// What stopped a factorization, in device memory; zero while all goes well.
struct bb_breakdown_cuda {
    int row;        ///< 1 + row of the matrix of the first pivot that is not positive
    int non_finite; ///< that pivot is NaN or infinite
};

/// Whether the current GPU can: BB_OK, or BB_UNSUPPORTED with a sentence.
BB_CHECKED bb_status bb_square_factor_supported(void);

/// Rows of the largest square of the form of sm_90, and of the portable one.
template <typename T> constexpr bb_index bb_square_factor_most(bool hopper)
{
    return (hopper ? 2048 : 512) / static_cast<bb_index>(sizeof(T));
}

/// Factors the lower triangle of `square` [size][stride] in place and writes the inverse of the
/// factor to `inverse` [size][stride], whose blocks above the diagonal are left alone. `size` is a
/// multiple of 32, at most bb_square_factor_most of the form that the current GPU takes. `row` is
/// its first row in the matrix. Does nothing after a breakdown. Errors: BB_DEVICE, those of
/// bb_device_cuda_uses_hopper.
template <typename T>
BB_CHECKED bb_status bb_square_factor_launch(T *square, T *inverse, bb_index size, bb_index stride,
                                             bb_index row, bb_breakdown_cuda *breakdown,
                                             cudaStream_t stream);

/// The portable form, on any GPU from sm_80 on.
template <typename T>
BB_CHECKED bb_status bb_square_factor_launch_portable(T *square, T *inverse, bb_index size,
                                                      bb_index stride, bb_index row,
                                                      bb_breakdown_cuda *breakdown,
                                                      cudaStream_t stream);

/// Pivots of both forms.
namespace square
{

__device__ __forceinline__ float inverse_root(float x)
{
    float unit;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(unit) : "f"(x));
    return fma(0.5F * unit, fma(-x * unit, unit, 1.0F), unit); // to the last bit or two
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

// Diagonal block of a panel (diagonal_factor_cuda.cu). The panel below is multiplied by the inverse
// of its factor, on tensor cores. The block is factored in squares, updated right of them in tiles,
// and the inverse grows by doubling: [L11 0; L21 L22]^-1 = [X11 0; -X22 L21 X11, X22]. Launches are
// few and short on one stream, as this chain bounds a small factorization.

/// Factors the lower triangle of `block` [size][size] in place and writes the inverse of the factor
/// to `inverse` [size][size], which holds zeros above its diagonal before and after. `size` is a
/// multiple of 128, `scratch` [size][size]. `row` is the first row of the block in the matrix.
/// Errors: BB_DEVICE.
template <typename T>
BB_CHECKED bb_status bb_square_factor_launch_diagonal(T *block, T *inverse, T *scratch,
                                                      bb_index size, bb_index row,
                                                      bb_breakdown_cuda *breakdown,
                                                      cudaStream_t stream);

#endif
