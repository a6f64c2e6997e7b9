// SPDX-License-Identifier: Apache-2.0
#include "solvers/diagonal_factor_cuda.h"

#include <cmath>

namespace
{

const int square = 128;       // factored by one block of threads
const int part = 32;          // of a square, factored by one warp
const int pitch = square + 1; // of shared memory
const int square_threads = 256;
const int tile = 64; // of the products
const int tile_depth = 16;
const int tile_threads = 256;

// A square in shared memory: below the diagonal the factor L, above it the transposed inverse of L,
// whose diagonal stands in `reciprocal`.
template <typename T> struct square_memory {
    T values[square][pitch];
    T reciprocal[square];
};

// Entry (row, column) of the inverse, row >= column.
template <typename T>
__device__ __forceinline__ T inverse_at(const square_memory<T> &s, int row, int column)
{
    return row == column ? s.reciprocal[row] : s.values[column][row];
}

// One warp: lane i holds row i of the part at `first`.
template <typename T>
__device__ void factor_part(square_memory<T> &s, int first, bb_index row,
                            bb_breakdown_cuda *breakdown)
{
    const int lane = threadIdx.x;
    T a[part];
#pragma unroll
    for (int j = 0; j < part; ++j) {
        a[j] = s.values[first + lane][first + j];
    }
#pragma unroll
    for (int j = 0; j < part; ++j) {
        const T pivot = __shfl_sync(0xFFFFFFFFU, a[j], j);
        if (!(pivot > T(0)) || isinf(pivot)) {
            if (lane == 0 && breakdown->row == 0) {
                breakdown->row = static_cast<int>(row + first + j + 1);
                breakdown->non_finite = !isfinite(pivot);
            }
            return;
        }
        const T root = sqrt(pivot);
        const T unit = T(1) / root;
        a[j] = lane == j ? root : a[j] * unit;
        if (lane == j) {
            s.reciprocal[first + j] = unit;
        }
#pragma unroll
        for (int c = j + 1; c < part; ++c) {
            a[c] = fma(-a[j], __shfl_sync(0xFFFFFFFFU, a[j], c), a[c]);
        }
    }
#pragma unroll
    for (int j = 0; j < part; ++j) {
        if (j <= lane) {
            s.values[first + lane][first + j] = a[j];
        }
    }
    __syncwarp();
    // Column `lane` of the inverse, by substitution.
    T x[part];
#pragma unroll
    for (int i = 0; i < part; ++i) {
        T sum = i == lane ? T(1) : T(0);
#pragma unroll
        for (int k = 0; k < i; ++k) {
            sum = fma(-s.values[first + i][first + k], x[k], sum);
        }
        x[i] = i < lane ? T(0) : sum * s.reciprocal[first + i];
    }
    __syncwarp();
#pragma unroll
    for (int i = 0; i < part; ++i) {
        if (i > lane) {
            s.values[first + lane][first + i] = x[i];
        }
    }
}

// Rows below the part: A <- A inverse^T. Two threads a row, half its columns each.
template <typename T> __device__ void solve_below(square_memory<T> &s, int first)
{
    const int rows = square - first - part;
    const int half = threadIdx.x >= square_threads / 2;
    const int row = static_cast<int>(threadIdx.x) % (square_threads / 2);
    T a[part];
    T out[part / 2];
    if (row < rows) {
#pragma unroll
        for (int c = 0; c < part; ++c) {
            a[c] = s.values[first + part + row][first + c];
        }
#pragma unroll
        for (int j = 0; j < part / 2; ++j) {
            const int column = half * (part / 2) + j;
            T sum = T(0);
#pragma unroll
            for (int c = 0; c < part; ++c) {
                if (c <= column) {
                    sum = fma(a[c], inverse_at(s, first + column, first + c), sum);
                }
            }
            out[j] = sum;
        }
    }
    __syncthreads();
    if (row < rows) {
#pragma unroll
        for (int j = 0; j < part / 2; ++j) {
            s.values[first + part + row][first + half * (part / 2) + j] = out[j];
        }
    }
}

// The trailing lower triangle takes the part's update, four by four entries a thread at a time.
template <typename T> __device__ void update_trailing(square_memory<T> &s, int first)
{
    const int begin = first + part;
    const int across = (square - begin) / 4;
    for (int t = threadIdx.x; t < across * across; t += square_threads) {
        const int r = begin + t / across * 4;
        const int c = begin + t % across * 4;
        if (c > r) {
            continue;
        }
        T sums[4][4] = {};
        for (int k = first; k < first + part; ++k) {
#pragma unroll
            for (int i = 0; i < 4; ++i) {
#pragma unroll
                for (int j = 0; j < 4; ++j) {
                    sums[i][j] = fma(s.values[r + i][k], s.values[c + j][k], sums[i][j]);
                }
            }
        }
#pragma unroll
        for (int i = 0; i < 4; ++i) {
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                if (c + j <= r + i) {
                    s.values[r + i][c + j] -= sums[i][j];
                }
            }
        }
    }
}

// Blocks (c + distance, c) of the inverse, in parts: first L X, kept transposed above the diagonal,
// then its product with the inverse of the row's own part.
template <typename T> __device__ void invert_distance(square_memory<T> &s, int distance)
{
    const int count = square / part - distance;
    const int each = part * part / square_threads;
    T out[3 * each];
    for (int b = 0; b < count; ++b) {
        const int r = (b + distance) * part;
        const int c = b * part;
#pragma unroll
        for (int e = 0; e < each; ++e) {
            const int i = (static_cast<int>(threadIdx.x) + e * square_threads) / part;
            const int j = (static_cast<int>(threadIdx.x) + e * square_threads) % part;
            T sum = T(0);
            for (int k = c + j; k < r; ++k) {
                sum = fma(s.values[r + i][k], inverse_at(s, k, c + j), sum);
            }
            s.values[c + j][r + i] = sum;
        }
    }
    __syncthreads();
    for (int b = 0; b < count; ++b) {
        const int r = (b + distance) * part;
        const int c = b * part;
#pragma unroll
        for (int e = 0; e < each; ++e) {
            const int i = (static_cast<int>(threadIdx.x) + e * square_threads) / part;
            const int j = (static_cast<int>(threadIdx.x) + e * square_threads) % part;
            T sum = T(0);
            for (int k = 0; k <= i; ++k) {
                sum = fma(inverse_at(s, r + i, r + k), s.values[c + j][r + k], sum);
            }
            out[b * each + e] = -sum;
        }
    }
    __syncthreads();
    for (int b = 0; b < count; ++b) {
        const int r = (b + distance) * part;
        const int c = b * part;
#pragma unroll
        for (int e = 0; e < each; ++e) {
            const int i = (static_cast<int>(threadIdx.x) + e * square_threads) / part;
            const int j = (static_cast<int>(threadIdx.x) + e * square_threads) % part;
            s.values[c + j][r + i] = out[b * each + e];
        }
    }
}

template <typename T>
__global__ void __launch_bounds__(square_threads)
    factor_square(T *block, T *inverse, bb_index stride, bb_index row, bb_breakdown_cuda *breakdown)
{
    extern __shared__ __align__(16) char dynamic[];
    square_memory<T> &s = *reinterpret_cast<square_memory<T> *>(dynamic);
    if (breakdown->row != 0) {
        return;
    }
    for (int t = threadIdx.x; t < square * square; t += square_threads) {
        s.values[t / square][t % square] = block[t / square * stride + t % square];
    }
    __syncthreads();
    for (int first = 0; first < square; first += part) {
        if (threadIdx.x < part) {
            factor_part(s, first, row, breakdown);
        }
        __syncthreads();
        if (breakdown->row != 0) {
            return;
        }
        if (first + part < square) {
            solve_below(s, first);
            __syncthreads();
            update_trailing(s, first);
            __syncthreads();
        }
    }
    for (int distance = 1; distance < square / part; ++distance) {
        invert_distance(s, distance);
        __syncthreads();
    }
    for (int t = threadIdx.x; t < square * square; t += square_threads) {
        const int r = t / square;
        const int c = t % square;
        if (c <= r) {
            block[r * stride + c] = s.values[r][c];
        }
        inverse[r * stride + c] = c <= r ? inverse_at(s, r, c) : T(0);
    }
}

// out <- beta out + alpha A op(B), in tiles, for blockIdx.z problems a fixed distance apart.
template <typename T> struct tile_product {
    const T *a, *b;
    T *out;
    bb_index stride;   // of all three
    bb_index rows, columns, depth;
    bb_index rows_last, depth_last; // of the last problem
    bb_index apart;     // between problems, in items; the same for all three
    T alpha, beta;
    bool transposed; // B is [columns][depth]
    bool lower_only;
    const bb_breakdown_cuda *breakdown;
};

template <typename T>
__global__ void __launch_bounds__(tile_threads) multiply_tiles(const tile_product<T> p)
{
    __shared__ T a[tile_depth][tile + 1];
    __shared__ T b[tile_depth][tile + 1];
    const bb_index row = static_cast<bb_index>(blockIdx.y) * tile;
    const bb_index column = static_cast<bb_index>(blockIdx.x) * tile;
    const bb_index shift = static_cast<bb_index>(blockIdx.z) * p.apart;
    const bool last = blockIdx.z + 1 == gridDim.z;
    const bb_index rows = last ? p.rows_last : p.rows;
    const bb_index depth = last ? p.depth_last : p.depth;
    if (p.breakdown->row != 0 || row >= rows || (p.lower_only && column > row)) {
        return;
    }
    const int x = threadIdx.x % 16;
    const int y = threadIdx.x / 16;
    T sums[4][4] = {};
    for (bb_index k = 0; k < depth; k += tile_depth) {
        for (int t = threadIdx.x; t < tile * tile_depth; t += tile_threads) {
            const int i = t / tile_depth;
            const int d = t % tile_depth;
            a[d][i] = p.a[shift + (row + i) * p.stride + k + d];
            if (p.transposed) {
                b[d][i] = p.b[shift + (column + i) * p.stride + k + d];
            } else {
                b[t / tile][t % tile] = p.b[shift + (k + t / tile) * p.stride + column + t % tile];
            }
        }
        __syncthreads();
#pragma unroll
        for (int d = 0; d < tile_depth; ++d) {
#pragma unroll
            for (int i = 0; i < 4; ++i) {
#pragma unroll
                for (int j = 0; j < 4; ++j) {
                    sums[i][j] = fma(a[d][y + 16 * i], b[d][x + 16 * j], sums[i][j]);
                }
            }
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            T *out = p.out + shift + (row + y + 16 * i) * p.stride + column + x + 16 * j;
            *out = (p.beta == T(0) ? T(0) : p.beta * *out) + p.alpha * sums[i][j];
        }
    }
}

template <typename T>
bb_status multiply(const tile_product<T> &p, bb_index problems, cudaStream_t stream)
{
    if (p.rows <= 0 || p.columns <= 0 || problems <= 0) {
        return BB_OK;
    }
    const dim3 grid(static_cast<unsigned>(p.columns / tile), static_cast<unsigned>(p.rows / tile),
                    static_cast<unsigned>(problems));
    multiply_tiles<T><<<grid, tile_threads, 0, stream>>>(p);
    BB_CUDA_CHECK_LAUNCH();
    return BB_OK;
}

// Solves the rows below the square at `at` and updates what is right of it.
template <typename T>
bb_status finish_column(T *block, const T *inverse, T *scratch, bb_index size, bb_index at,
                        const bb_breakdown_cuda *breakdown, cudaStream_t stream)
{
    const bb_index below = size - at - square;
    T *panel = block + (at + square) * size + at;
    T *solved = scratch + (at + square) * size + at;
    tile_product<T> p = {};
    p.stride = size;
    p.rows = p.rows_last = below;
    p.depth = p.depth_last = square;
    p.transposed = true;
    p.breakdown = breakdown;
    p.a = panel;
    p.b = inverse + at * size + at;
    p.out = solved;
    p.columns = square;
    p.alpha = T(1);
    BB_RETURN_IF_FAILED(multiply(p, 1, stream));
    p.a = solved;
    p.b = solved;
    p.out = block + (at + square) * size + at + square;
    p.columns = below;
    p.alpha = T(-1);
    p.beta = T(1);
    p.lower_only = true;
    BB_RETURN_IF_FAILED(multiply(p, 1, stream));
    if (below > 0) {
        BB_CUDA_TRY(cudaMemcpy2DAsync(panel, size * sizeof(T), solved, size * sizeof(T),
                                      square * sizeof(T), below, cudaMemcpyDeviceToDevice, stream));
    }
    return BB_OK;
}

// Pairs of inverted blocks of `half` rows become inverted blocks of twice as many.
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
bb_status bb_diagonal_factor_launch(T *block, T *inverse, T *scratch, bb_index size, bb_index row,
                                    bb_breakdown_cuda *breakdown, cudaStream_t stream)
{
    const size_t shared = sizeof(square_memory<T>);
    BB_CUDA_TRY(cudaFuncSetAttribute(factor_square<T>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     static_cast<int>(shared)));
    BB_CUDA_TRY(cudaMemsetAsync(inverse, 0, size * size * sizeof(T), stream));
    for (bb_index at = 0; at < size; at += square) {
        factor_square<T><<<1, square_threads, shared, stream>>>(
            block + at * size + at, inverse + at * size + at, size, row + at, breakdown);
        BB_CUDA_CHECK_LAUNCH();
        BB_RETURN_IF_FAILED(finish_column(block, inverse, scratch, size, at, breakdown, stream));
    }
    for (bb_index half = square; half < size; half *= 2) {
        BB_RETURN_IF_FAILED(
            double_inverse(block, inverse, scratch, size, half, breakdown, stream));
    }
    return BB_OK;
}

template bb_status bb_diagonal_factor_launch<float>(float *, float *, float *, bb_index, bb_index,
                                                    bb_breakdown_cuda *, cudaStream_t);
template bb_status bb_diagonal_factor_launch<double>(double *, double *, double *, bb_index,
                                                     bb_index, bb_breakdown_cuda *, cudaStream_t);
