// SPDX-License-Identifier: Apache-2.0
#include "solvers/diagonal_factor_cuda.h"

#include <cmath>

namespace
{

const int square = 128;       // factored by one block of threads
const int part = 32;          // of a square, factored by one warp
const int parts = square / part;
const int pitch = square + 1; // of shared memory
const int square_threads = 256;
const int warps = square_threads / 32;
const int tile = 32; // of the products
const int tile_depth = 128;
const int tile_threads = 256;

// A square in shared memory: below the diagonal the factor L. Above the parts on its diagonal grow
// the transposed inverse's parts; those on the diagonal have arrays of their own.
template <typename T> struct square_memory {
    T values[square][pitch];
    T inverses[parts][part][part + 1];
    T reciprocals[square];
};

// One warp: lane i holds row i of the part at `first`. The pivots are the chain that bounds it.
template <typename T>
__device__ __forceinline__ void factor_part(square_memory<T> &s, int first, bb_index row,
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
            if (lane == 0) {
                breakdown->row = static_cast<int>(row + first + j + 1);
                breakdown->non_finite = !isfinite(pivot);
            }
            return;
        }
        T unit = rsqrt(pivot);
        unit = fma(T(0.5) * unit, fma(-pivot * unit, unit, T(1)), unit); // to the last bit or two
        a[j] = lane == j ? pivot * unit : a[j] * unit;
        if (lane == j) {
            s.reciprocals[first + j] = unit;
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
}

// One warp: lane j makes column j of the inverse of the part, by substitution.
template <typename T> __device__ __forceinline__ void invert_part(square_memory<T> &s, int first)
{
    const int lane = threadIdx.x % 32;
    T x[part];
#pragma unroll
    for (int i = 0; i < part; ++i) {
        x[i] = i == lane ? T(1) : T(0);
    }
#pragma unroll
    for (int k = 0; k < part; ++k) {
        x[k] *= s.reciprocals[first + k];
#pragma unroll
        for (int i = k + 1; i < part; ++i) {
            x[i] = fma(-s.values[first + i][first + k], x[k], x[i]);
        }
    }
#pragma unroll
    for (int i = 0; i < part; ++i) {
        s.inverses[first / part][i][lane] = x[i];
    }
}

// Three warps at most, a row a thread: A <- A L^-T for the rows below the part.
template <typename T> __device__ __forceinline__ void solve_row(square_memory<T> &s, int first,
                                                                int row)
{
    T a[part];
#pragma unroll
    for (int c = 0; c < part; ++c) {
        a[c] = s.values[row][first + c];
    }
#pragma unroll
    for (int k = 0; k < part; ++k) {
        a[k] *= s.reciprocals[first + k];
#pragma unroll
        for (int c = k + 1; c < part; ++c) {
            a[c] = fma(-a[k], s.values[first + c][first + k], a[c]);
        }
    }
#pragma unroll
    for (int c = 0; c < part; ++c) {
        s.values[row][first + c] = a[c];
    }
}

// The trailing lower triangle of 16 ACROSS rows takes the update of the part before it.
template <typename T, int ACROSS>
__device__ __forceinline__ void update_trailing(square_memory<T> &s)
{
    const int begin = square - 16 * ACROSS;
    const int first = begin - part;
    const int x = threadIdx.x % 16;
    const int y = threadIdx.x / 16;
    T sums[ACROSS][ACROSS] = {};
    for (int k = first; k < begin; ++k) {
        T rows[ACROSS];
        T columns[ACROSS];
#pragma unroll
        for (int i = 0; i < ACROSS; ++i) {
            rows[i] = s.values[begin + y + 16 * i][k];
            columns[i] = s.values[begin + x + 16 * i][k];
        }
#pragma unroll
        for (int i = 0; i < ACROSS; ++i) {
#pragma unroll
            for (int j = 0; j <= i; ++j) {
                sums[i][j] = fma(rows[i], columns[j], sums[i][j]);
            }
        }
    }
#pragma unroll
    for (int i = 0; i < ACROSS; ++i) {
#pragma unroll
        for (int j = 0; j <= i; ++j) {
            if (i > j || x <= y) {
                s.values[begin + y + 16 * i][begin + x + 16 * j] -= sums[i][j];
            }
        }
    }
}

// Parts (c + DISTANCE, c) of the inverse X: T = L X first, kept transposed in their place, then
// -X_rr T. A lane is a column, a warp every eighth row.
template <typename T, int DISTANCE> __device__ __forceinline__ void invert_distance(
    square_memory<T> &s)
{
    const int j = threadIdx.x % 32;
    const int w = threadIdx.x / 32;
    const int each = part / warps;
    T out[parts - DISTANCE][each];
#pragma unroll
    for (int b = 0; b < parts - DISTANCE; ++b) {
        const int r = (b + DISTANCE) * part;
        const int c = b * part;
        T sums[each] = {};
#pragma unroll 8
        for (int k = 0; k < part; ++k) {
            const T x = s.inverses[b][k][j];
#pragma unroll
            for (int e = 0; e < each; ++e) {
                sums[e] = fma(s.values[r + w + e * warps][c + k], x, sums[e]);
            }
        }
#pragma unroll 8
        for (int k = c + part; k < r; ++k) {
            const T x = s.values[c + j][k];
#pragma unroll
            for (int e = 0; e < each; ++e) {
                sums[e] = fma(s.values[r + w + e * warps][k], x, sums[e]);
            }
        }
#pragma unroll
        for (int e = 0; e < each; ++e) {
            s.values[c + j][r + w + e * warps] = sums[e];
        }
    }
    __syncthreads();
#pragma unroll
    for (int b = 0; b < parts - DISTANCE; ++b) {
        const int r = (b + DISTANCE) * part;
        const int c = b * part;
        T sums[each] = {};
#pragma unroll 8
        for (int k = 0; k < part; ++k) {
            const T x = s.values[c + j][r + k];
#pragma unroll
            for (int e = 0; e < each; ++e) {
                sums[e] = fma(s.inverses[b + DISTANCE][w + e * warps][k], x, sums[e]);
            }
        }
#pragma unroll
        for (int e = 0; e < each; ++e) {
            out[b][e] = -sums[e];
        }
    }
    __syncthreads();
#pragma unroll
    for (int b = 0; b < parts - DISTANCE; ++b) {
#pragma unroll
        for (int e = 0; e < each; ++e) {
            s.values[b * part + j][(b + DISTANCE) * part + w + e * warps] = out[b][e];
        }
    }
    __syncthreads();
}

// Factors the part at `first`; then one warp inverts it while others solve the rows below.
template <typename T>
__device__ __forceinline__ bool do_part(square_memory<T> &s, int first, bb_index row,
                                        bb_breakdown_cuda *breakdown)
{
    const int warp = threadIdx.x / 32;
    if (warp == 0) {
        factor_part(s, first, row, breakdown);
    }
    __syncthreads();
    if (*static_cast<volatile int *>(&breakdown->row) != 0) {
        return false;
    }
    const int solved = first + part + static_cast<int>(threadIdx.x) - 32;
    if (warp == 0) {
        invert_part(s, first);
    } else if (solved < square) {
        solve_row(s, first, solved);
    }
    __syncthreads();
    return true;
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
#pragma unroll 16
    for (int t = threadIdx.x; t < square * square; t += square_threads) {
        s.values[t / square][t % square] = block[t / square * stride + t % square];
    }
    __syncthreads();
    if (!do_part(s, 0, row, breakdown)) {
        return;
    }
    update_trailing<T, 6>(s);
    __syncthreads();
    if (!do_part(s, part, row, breakdown)) {
        return;
    }
    update_trailing<T, 4>(s);
    __syncthreads();
    if (!do_part(s, 2 * part, row, breakdown)) {
        return;
    }
    update_trailing<T, 2>(s);
    __syncthreads();
    if (!do_part(s, 3 * part, row, breakdown)) {
        return;
    }
    for (int t = threadIdx.x; t < square * square; t += square_threads) {
        if (t % square <= t / square) {
            block[t / square * stride + t % square] = s.values[t / square][t % square];
        }
    }
    invert_distance<T, 1>(s);
    invert_distance<T, 2>(s);
    invert_distance<T, 3>(s);
    for (int t = threadIdx.x; t < square * square; t += square_threads) {
        const int r = t / square;
        const int c = t % square;
        const T own = s.inverses[r / part][r % part][c % part];
        inverse[r * stride + c] =
            r / part == c / part ? own : (r > c ? s.values[c][r] : T(0));
    }
}

// out <- beta out + alpha A op(B), in tiles, for blockIdx.z problems a fixed distance apart.
template <typename T> struct tile_product {
    const T *a, *b;
    T *out;
    bb_index stride; // of all of them
    bb_index rows, columns, depth;
    bb_index rows_last, depth_last; // of the last problem
    bb_index apart;                 // between problems, in items; the same for all
    T alpha, beta;
    bool transposed; // B is [columns][depth]
    bool lower_only;
    T *copy; // NULL, or where the rows of A are put as well
    const bb_breakdown_cuda *breakdown;
};

template <typename T> struct tile_memory {
    T a[tile][tile_depth + 1];
    T b[tile][tile_depth + 1]; // by column
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
                s.b[t % tile][t / tile] = p.b[shift + (k + t / tile) * p.stride + column + t % tile];
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
    BB_CUDA_TRY(cudaFuncSetAttribute(multiply_tiles<T>,
                                     cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
    multiply_tiles<T><<<grid, tile_threads, shared, stream>>>(p);
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
    p.copy = panel;
    return multiply(p, 1, stream);
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
