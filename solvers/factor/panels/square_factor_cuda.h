// SPDX-License-Identifier: Apache-2.0
//
// For .cu files only: Cholesky factor and inverse of one square, in fp32 or fp64, by one cluster of
// eight blocks of threads that keep it in their shared memory.
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

/// What stopped a factorization, in device memory; zero while all goes well.
struct bb_breakdown_cuda {
    int row;        ///< 1 + row of the matrix of the first pivot that is not positive
    int non_finite; ///< that pivot is NaN or infinite
};

/// Whether the current GPU has clusters: BB_OK, or BB_UNSUPPORTED with a sentence.
BB_CHECKED bb_status bb_square_factor_supported(void);

/// Rows of the largest square.
template <typename T> constexpr bb_index bb_square_factor_most()
{
    return sizeof(T) == sizeof(float) ? 512 : 256;
}

/// Factors the lower triangle of `square` [size][stride] in place and writes the inverse of the
/// factor to `inverse` [size][stride], whose blocks above the diagonal are left alone. `size` is a
/// multiple of 32, at most bb_square_factor_most. `row` is its first row in the matrix. Does
/// nothing after a breakdown. Errors: BB_DEVICE.
template <typename T>
BB_CHECKED bb_status bb_square_factor_launch(T *square, T *inverse, bb_index size, bb_index stride,
                                             bb_index row, bb_breakdown_cuda *breakdown,
                                             cudaStream_t stream);

#endif
