// SPDX-License-Identifier: Apache-2.0
#include "solvers/factor/panels/square_factor_cuda.h"

namespace
{

const int tile = 32; // tile size of the products
const int tile_threads = 256;

// out <- beta out + alpha A op(B), by tiles, for blockIdx.z problems at fixed distances.
template <typename T> struct tile_product {
    const T *a, *b;
    T *out;
    bb_index stride; // stride of all operands
    bb_index rows, columns, depth;
    bb_index rows_last, depth_last; // rows of the last problem
    bb_index apart;                 // distance between problems, in items
    T alpha, beta;
    bool transposed; // B is [columns][depth]
    bool lower_only;
    T *copy; // second output for the rows of A, or NULL
    const bb_breakdown_cuda *breakdown;
};

template <typename T> struct tile_memory {
    static const int depth = sizeof(T) == sizeof(float) ? 128 : 64;
    T a[tile][depth + 1];
    T b[tile][depth + 1]; // transposed: by column
};

template <typename T>
__global__ void __launch_bounds__(tile_threads) multiply_tiles(const tile_product<T> p)
{
    extern __shared__ __align__(16) char dynamic[];
    tile_memory<T> &s = *reinterpret_cast<tile_memory<T> *>(dynamic);
    const bb_index row = static_cast<bb_index>(blockIdx.y) * tile;
    const bb_index column = static_cast<bb_index>(blockIdx.x) * tile;
    const bb_index shift = static_cast<bb_index>(blockIdx.z) * p.apart;
    const bool last = blockIdx.z + 1 == gridDim.z;
    const bb_index depth = last ? p.depth_last : p.depth;
    if (p.breakdown->row != 0 || row >= (last ? p.rows_last : p.rows) ||
        (p.lower_only && column > row)) {
        return;
    }
    const int tile_depth = tile_memory<T>::depth;
    const int x = threadIdx.x % 16;
    const int y = threadIdx.x / 16;
    T sums[2][2] = {};
    for (bb_index k = 0; k < depth; k += tile_depth) {
#pragma unroll
        for (int t = threadIdx.x; t < tile * tile_depth; t += tile_threads) {
            const int i = t / tile_depth;
            const int d = t % tile_depth;
            s.a[i][d] = p.a[shift + (row + i) * p.stride + k + d];
            if (p.transposed) {
                s.b[i][d] = p.b[shift + (column + i) * p.stride + k + d];
            } else {
                s.b[t % tile][t / tile] =
                    p.b[shift + (k + t / tile) * p.stride + column + t % tile];
            }
        }
        __syncthreads();
        if (p.copy != nullptr && blockIdx.x == 0) {
            for (int t = threadIdx.x; t < tile * tile_depth; t += tile_threads) {
                p.copy[(row + t / tile_depth) * p.stride + k + t % tile_depth] =
                    s.a[t / tile_depth][t % tile_depth];
            }
        }
#pragma unroll 16
        for (int d = 0; d < tile_depth; ++d) {
            const T a0 = s.a[y][d];
            const T a1 = s.a[y + 16][d];
            const T b0 = s.b[x][d];
            const T b1 = s.b[x + 16][d];
            sums[0][0] = fma(a0, b0, sums[0][0]);
            sums[0][1] = fma(a0, b1, sums[0][1]);
            sums[1][0] = fma(a1, b0, sums[1][0]);
            sums[1][1] = fma(a1, b1, sums[1][1]);
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
#pragma unroll
        for (int j = 0; j < 2; ++j) {
            T *out = p.out + shift + (row + y + 16 * i) * p.stride + column + x + 16 * j;
            *out = (p.beta == T(0) ? T(0) : p.beta * *out) + p.alpha * sums[i][j];
        }
    }
}

template <typename T>
bb_status multiply(const tile_product<T> &p, bb_index problems, cudaStream_t stream)
{
    const int shared = static_cast<int>(sizeof(tile_memory<T>));
    if (p.rows <= 0 || p.columns <= 0 || problems <= 0) {
        return BB_OK;
    }
    const dim3 grid(static_cast<unsigned>(p.columns / tile), static_cast<unsigned>(p.rows / tile),
                    static_cast<unsigned>(problems));
    BB_CUDA_TRY(cudaFuncSetAttribute(multiply_tiles<T>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     shared));
    multiply_tiles<T><<<grid, tile_threads, shared, stream>>>(p);
    BB_CUDA_CHECK_LAUNCH();
    return BB_OK;
}

// Solves the rows below the `square` columns from `index` on and updates the block to their right.
template <typename T>
bb_status finish_column(T *block, const T *inverse, T *scratch, bb_index size, bb_index index,
                        bb_index square, const bb_breakdown_cuda *breakdown, cudaStream_t stream)
{
    const bb_index below = size - index - square;
    T *panel = block + (index + square) * size + index;
    T *solved = scratch + (index + square) * size + index;
    tile_product<T> p = {};
    p.stride = size;
    p.rows = p.rows_last = below;
    p.depth = p.depth_last = square;
    p.transposed = true;
    p.breakdown = breakdown;
    p.a = panel;
    p.b = inverse + index * size + index;
    p.out = solved;
    p.columns = square;
    p.alpha = T(1);
    BB_RETURN_IF_FAILED(multiply(p, 1, stream));
    p.a = solved;
    p.b = solved;
    p.out = block + (index + square) * size + index + square;
    p.columns = below;
    p.alpha = T(-1);
    p.beta = T(1);
    p.lower_only = true;
    p.copy = panel;
    return multiply(p, 1, stream);
}

// Combines pairs of inverted blocks of `half` rows into inverted blocks of twice the size.
template <typename T>
bb_status double_inverse(const T *block, T *inverse, T *scratch, bb_index size, bb_index half,
                         const bb_breakdown_cuda *breakdown, cudaStream_t stream)
{
    const bb_index pairs = (size + half - 1) / (2 * half);
    const bb_index last = size - (2 * (pairs - 1) + 1) * half;
    tile_product<T> p = {};
    p.stride = size;
    p.rows = half;
    p.rows_last = last < half ? last : half;
    p.columns = half;
    p.depth = p.depth_last = half;
    p.apart = 2 * half * (size + 1);
    p.breakdown = breakdown;
    p.a = block + half * size;
    p.b = inverse;
    p.out = scratch + half * size;
    p.alpha = T(1);
    BB_RETURN_IF_FAILED(multiply(p, pairs, stream));
    p.a = inverse + half * (size + 1);
    p.b = scratch + half * size;
    p.out = inverse + half * size;
    p.depth_last = p.rows_last;
    p.alpha = T(-1);
    return multiply(p, pairs, stream);
}

} // namespace

template <typename T>
bb_status bb_square_factor_launch_diagonal(T *block, T *inverse, T *scratch, bb_index size,
                                           bb_index row, bb_breakdown_cuda *breakdown,
                                           cudaStream_t stream)
{
    bool hopper = false;
    BB_RETURN_IF_FAILED(bb_device_cuda_uses_hopper(&hopper));
    const bb_index limit = bb_square_factor_most<T>(hopper);
    for (bb_index index = 0; index < size; index += limit) {
        const bb_index corner = index * (size + 1);
        BB_RETURN_IF_FAILED(bb_square_factor_launch(block + corner, inverse + corner,
                                                    size - index < limit ? size - index : limit,
                                                    size, row + index, breakdown, stream));
        BB_RETURN_IF_FAILED(
            finish_column(block, inverse, scratch, size, index, limit, breakdown, stream));
    }
    for (bb_index half = limit; half < size; half *= 2) {
        BB_RETURN_IF_FAILED(double_inverse(block, inverse, scratch, size, half, breakdown, stream));
    }
    return BB_OK;
}

template bb_status bb_square_factor_launch_diagonal<float>(float *, float *, float *, bb_index,
                                                           bb_index, bb_breakdown_cuda *,
                                                           cudaStream_t);
template bb_status bb_square_factor_launch_diagonal<double>(double *, double *, double *, bb_index,
                                                            bb_index, bb_breakdown_cuda *,
                                                            cudaStream_t);
