// SPDX-License-Identifier: Apache-2.0
//
// Portable implementation of square_factor_cuda.h: one thread block, with the square in shared
// memory.
//
// L is stored in the lower triangle, its inverse X, transposed, above the diagonal, and the
// diagonal of X in a separate array. Columns are processed by blocks of 32:
//     factor   one warp, one row per lane, in registers
//     solve    the rows below, one row per thread
//     update   the columns to the right, all threads
// then X: diagonal blocks, one warp each, and X(i, :) = -X_ii (L(i, :) X) from the top.
#include "solvers/factor/panels/square_factor_cuda.h"

using namespace square;

namespace
{

const int edge = 32; // rows of a block, and lanes of a warp
const int threads = 256;
const unsigned everyone = 0xffffffffU;

template <typename T> struct memory_of {
    static const int limit = static_cast<int>(bb_square_factor_most<T>(false));
    T value[limit][limit + 1];
    T unit[limit]; // reciprocals of the diagonal of L
    int failed;
};

// Square in global memory.
template <typename T> struct square_job {
    T *square, *inverse;
    bb_index stride, row;
    int size;
    bb_breakdown_cuda *breakdown;
};

// Factors diagonal block k with one warp. An invalid pivot ends the factorization.
template <typename T>
__device__ void factor_block(memory_of<T> &s, const square_job<T> &job, int first)
{
    const int lane = static_cast<int>(threadIdx.x);
    T d[edge];
#pragma unroll
    for (int j = 0; j < edge; ++j) {
        d[j] = j <= lane ? s.value[first + lane][first + j] : T(0);
    }
#pragma unroll
    for (int j = 0; j < edge; ++j) {
        const T pivot = __shfl_sync(everyone, d[j], j);
        if (!is_pivot(pivot)) {
            if (lane == 0) {
                job.breakdown->row = static_cast<int>(job.row) + first + j + 1;
                job.breakdown->non_finite = !isfinite(pivot);
                s.failed = 1;
            }
            return;
        }
        const T unit = inverse_root(pivot);
        d[j] *= unit;
        if (lane == j) {
            s.unit[first + j] = unit;
        }
#pragma unroll
        for (int c = j + 1; c < edge; ++c) {
            d[c] = fma(-d[j], __shfl_sync(everyone, d[j], c), d[c]);
        }
    }
#pragma unroll
    for (int j = 0; j < edge; ++j) {
        if (j <= lane) {
            s.value[first + lane][first + j] = d[j];
        }
    }
}

// Solves the columns of a block in the rows below it.
template <typename T> __device__ void solve_rows(memory_of<T> &s, int size, int first)
{
    const int row = first + edge + static_cast<int>(threadIdx.x);
    T x[edge];
    if (row >= size) {
        return;
    }
#pragma unroll
    for (int j = 0; j < edge; ++j) {
        x[j] = s.value[row][first + j];
    }
#pragma unroll
    for (int j = 0; j < edge; ++j) {
        x[j] *= s.unit[first + j];
#pragma unroll
        for (int c = j + 1; c < edge; ++c) {
            x[c] = fma(-x[j], s.value[first + c][first + j], x[c]);
        }
        s.value[row][first + j] = x[j];
    }
}

template <typename T> __device__ void update_rest(memory_of<T> &s, int size, int first)
{
    const int rest = first + edge;
    const int count = size - rest;
    for (int t = static_cast<int>(threadIdx.x); t < count * count; t += threads) {
        const int row = rest + t / count;
        const int column = rest + t % count;
        T sum = T(0);
        if (column > row) {
            continue;
        }
#pragma unroll 8
        for (int k = first; k < rest; ++k) {
            sum = fma(s.value[row][k], s.value[column][k], sum);
        }
        s.value[row][column] -= sum;
    }
}

// Inverts the diagonal blocks into X: one warp per block, one lane per column.
template <typename T> __device__ void invert_blocks(memory_of<T> &s, int size)
{
    const int first = static_cast<int>(threadIdx.x) / edge * edge;
    const int lane = static_cast<int>(threadIdx.x) % edge;
    T x[edge];
    if (first >= size) {
        return;
    }
#pragma unroll
    for (int i = 0; i < edge; ++i) {
        T sum = T(0);
#pragma unroll
        for (int k = 0; k < i; ++k) {
            sum = fma(s.value[first + i][first + k], x[k], sum);
        }
        x[i] = ((i == lane ? T(1) : T(0)) - sum) * s.unit[first + i]; // zeros above the diagonal
        if (i > lane) {
            s.value[first + lane][first + i] = x[i];
        }
    }
}

// Computes X in a block row left of the diagonal: L X from the rows above, then times -X_ii, one
// thread per column.
template <typename T> __device__ void invert_row(memory_of<T> &s, int first)
{
    for (int t = static_cast<int>(threadIdx.x); t < first * edge; t += threads) {
        const int row = first + t / first;
        const int column = t % first;
        T sum = s.value[row][column] * s.unit[column];
#pragma unroll 4
        for (int k = column + 1; k < first; ++k) {
            sum = fma(s.value[row][k], s.value[column][k], sum);
        }
        s.value[column][row] = sum;
    }
    __syncthreads();
    const int column = static_cast<int>(threadIdx.x);
    if (column < first) {
        T x[edge];
#pragma unroll
        for (int q = 0; q < edge; ++q) {
            x[q] = s.value[column][first + q];
        }
#pragma unroll
        for (int r = 0; r < edge; ++r) {
            T sum = x[r] * s.unit[first + r];
#pragma unroll
            for (int q = 0; q < r; ++q) {
                sum = fma(s.value[first + q][first + r], x[q], sum);
            }
            s.value[column][first + r] = -sum;
        }
    }
    __syncthreads();
}

template <typename T>
__device__ void copy_square(memory_of<T> &s, const square_job<T> &job, bool out)
{
    for (int t = static_cast<int>(threadIdx.x); t < job.size * job.size; t += threads) {
        const int row = t / job.size;
        const int column = t % job.size;
        const bb_index item = row * job.stride + column;
        if (column > row) {
            continue;
        }
        if (out) {
            job.square[item] = s.value[row][column];
            job.inverse[item] = row == column ? s.unit[row] : s.value[column][row];
        } else {
            s.value[row][column] = job.square[item];
        }
    }
}

template <typename T>
__global__ void __launch_bounds__(threads, 1) factor_square(const square_job<T> job)
{
    extern __shared__ __align__(16) char dynamic[];
    memory_of<T> &s = *reinterpret_cast<memory_of<T> *>(dynamic);
    if (threadIdx.x == 0) {
        s.failed = job.breakdown->row;
    }
    __syncthreads();
    if (s.failed != 0) {
        return;
    }
    copy_square(s, job, false);
    __syncthreads();
    for (int first = 0; first < job.size; first += edge) {
        if (threadIdx.x < edge) {
            factor_block(s, job, first);
        }
        __syncthreads();
        if (s.failed != 0) {
            return;
        }
        solve_rows(s, job.size, first);
        __syncthreads();
        update_rest(s, job.size, first);
        __syncthreads();
    }
    invert_blocks(s, job.size);
    __syncthreads();
    for (int first = edge; first < job.size; first += edge) {
        invert_row(s, first);
    }
    copy_square(s, job, true);
}

} // namespace

template <typename T>
bb_status bb_square_factor_launch_portable(T *square, T *inverse, bb_index size, bb_index stride,
                                           bb_index row, bb_breakdown_cuda *breakdown,
                                           cudaStream_t stream)
{
    const int shared = static_cast<int>(sizeof(memory_of<T>));
    const square_job<T> job = {square, inverse, stride, row, static_cast<int>(size), breakdown};
    BB_CUDA_TRY(cudaFuncSetAttribute(factor_square<T>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     shared));
    factor_square<T><<<1, threads, shared, stream>>>(job);
    BB_CUDA_CHECK_LAUNCH();
    return BB_OK;
}

template bb_status bb_square_factor_launch_portable<float>(float *, float *, bb_index, bb_index,
                                                           bb_index, bb_breakdown_cuda *,
                                                           cudaStream_t);
template bb_status bb_square_factor_launch_portable<double>(double *, double *, bb_index, bb_index,
                                                            bb_index, bb_breakdown_cuda *,
                                                            cudaStream_t);
