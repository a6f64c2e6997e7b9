// SPDX-License-Identifier: Apache-2.0
//
// Products of factor_solve.h on tensor cores: m8n8k4 of fp64, operands staged in shared memory by
// asynchronous copies, two stages of BB_DEPTH. A tile of M' x or of M x is summed by one block over
// all of its rows, without atomics.
//
// Traffic: a value of the factor is read once for each 64 or 128 right-hand sides, a row of x once
// for each supernode below it.
#include "core/device/device_cuda.h"
#include "physics/wafer/response/factor_solve.h"

#include <cuda_pipeline.h>

namespace
{

constexpr int depth = 16; // of a stage
constexpr int warps = 4;  // per block
constexpr int threads = 32 * warps;
constexpr int pad = 4; // doubles: avoids bank conflicts of fragments

// A block's tile: `down` x `across` warps of (8 high) x (8 wide) fragments.
template <int Down, int High, int Wide> struct shape {
    static constexpr int across = warps / Down, high = High, wide = Wide;
    static constexpr int rows = 8 * Down * High;
    static constexpr int columns = 8 * across * Wide;
};
using small_shape = shape<1, 2, 4>; // 16 x 128
using large_shape = shape<2, 4, 4>; // 64 x 64

template <typename S> struct stage {
    double a[S::rows][depth + pad];
    double b[depth][S::columns + pad];
};

template <typename S> struct sums {
    double value[S::high][S::wide][2];
};

__device__ void multiply(double (&c)[2], double a, double b)
{
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
        : "+d"(c[0]), "+d"(c[1])
        : "d"(a), "d"(b));
}

template <typename S> __device__ void add_stage(const stage<S> &from, sums<S> &out)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int row = warp / S::across * 8 * S::high + lane / 4;
    const int column = warp % S::across * 8 * S::wide + lane / 4;
#pragma unroll
    for (int k = 0; k < depth; k += 4) {
        double a[S::high], b[S::wide];
#pragma unroll
        for (int i = 0; i < S::high; ++i) {
            a[i] = from.a[row + 8 * i][k + lane % 4];
        }
#pragma unroll
        for (int j = 0; j < S::wide; ++j) {
            b[j] = from.b[k + lane % 4][column + 8 * j];
        }
#pragma unroll
        for (int i = 0; i < S::high; ++i) {
#pragma unroll
            for (int j = 0; j < S::wide; ++j) {
                multiply(out.value[i][j], a[i], b[j]);
            }
        }
    }
}

__device__ void copy(double *target, const double *source, bool there)
{
    __pipeline_memcpy_async(target, source, sizeof(double), there ? 0 : sizeof(double));
}

// Sums of a tile over k in [begin, end): `a(i, k)` and `b(k)` are addresses of a value and of a row
// of x, both defined inside `rows` and [begin, end).
template <typename S, bool along_k, typename A, typename B>
__device__ void add_all(stage<S> (&stages)[2], int rows, int begin, int end, bb_index column,
                        bb_index width, A a, B b, sums<S> &out)
{
    const auto load = [&](stage<S> &to, int first) {
        for (int item = threadIdx.x; item < S::rows * depth; item += threads) {
            const int i = along_k ? item / depth : item % S::rows;
            const int k = along_k ? item % depth : item / S::rows;
            const bool there = i < rows && first + k < end;
            copy(&to.a[i][k], there ? a(i, first + k) : a(0, begin), there);
        }
        for (int item = threadIdx.x; item < S::columns * depth; item += threads) {
            const int j = item % S::columns, k = item / S::columns;
            const bool there = column + j < width && first + k < end;
            copy(&to.b[k][j], there ? b(first + k) + column + j : b(begin), there);
        }
        __pipeline_commit();
    };
    if (begin >= end) {
        return;
    }
    load(stages[0], begin);
    for (int first = begin, turn = 0; first < end; first += depth, turn ^= 1) {
        if (first + depth < end) {
            load(stages[turn ^ 1], first + depth);
            __pipeline_wait_prior(1);
        } else {
            __pipeline_wait_prior(0);
        }
        __syncthreads();
        add_stage(stages[turn], out);
        __syncthreads();
    }
}

// Calls put(row, column, value) for all sums of a tile.
template <typename S, typename Put> __device__ void put_all(const sums<S> &from, Put put)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int row = warp / S::across * 8 * S::high + lane / 4;
    const int column = warp % S::across * 8 * S::wide + 2 * (lane % 4);
#pragma unroll
    for (int i = 0; i < S::high; ++i) {
#pragma unroll
        for (int j = 0; j < S::wide; ++j) {
            put(row + 8 * i, column + 8 * j, from.value[i][j][0]);
            put(row + 8 * i, column + 8 * j + 1, from.value[i][j][1]);
        }
    }
}

template <typename S> __global__ void __launch_bounds__(threads) go_back(bb_factor_task task)
{
    __shared__ stage<S> stages[2];
    const bb_factor_tile tile = task.tiles[blockIdx.x];
    const bb_index column = static_cast<bb_index>(blockIdx.y) * S::columns;
    const bb_index width = task.width;
    const double *values = task.values + tile.value + static_cast<int64_t>(tile.column) * tile.rows;
    const int32_t *rows = task.rows + tile.row;
    const int wanted = min(S::rows, tile.columns - tile.column);
    const int saved = task.saved[tile.supernode];
    const double *own = saved < 0 ? nullptr : task.own + saved * width;
    sums<S> out = {};
    const auto a = [&](int i, int k) { return values + static_cast<int64_t>(i) * tile.rows + k; };
    const auto b = [&](int k) {
        return k < tile.columns ? own + k * width : task.x + rows[k] * width;
    };
    add_all<S, true>(stages, wanted, own == nullptr ? tile.columns : 0, tile.rows, column, width, a,
                     b, out);
    double *target = task.x + static_cast<int64_t>(rows[tile.column]) * width;
    put_all(out, [&](int i, int j, double value) {
        if (i < wanted && column + j < width) {
            target[i * width + column + j] = value;
        }
    });
}

template <typename S> __global__ void __launch_bounds__(threads) go_forward(bb_factor_task task)
{
    __shared__ stage<S> stages[2];
    const bb_factor_tile tile = task.supernode;
    const int first = tile.columns + static_cast<int>(blockIdx.x) * S::rows;
    const bb_index column = static_cast<bb_index>(blockIdx.y) * S::columns;
    const bb_index width = task.width;
    const int wanted = min(S::rows, tile.rows - first);
    const double *values = task.values + tile.value + first;
    const int32_t *rows = task.rows + tile.row;
    const double *own = task.x + static_cast<int64_t>(rows[0]) * width;
    sums<S> out = {};
    const auto a = [&](int i, int k) { return values + static_cast<int64_t>(k) * tile.rows + i; };
    const auto b = [&](int k) { return own + k * width; };
    add_all<S, false>(stages, wanted, 0, tile.columns, column, width, a, b, out);
    put_all(out, [&](int i, int j, double value) {
        if (i < wanted && column + j < width) {
            task.x[static_cast<int64_t>(rows[first + i]) * width + column + j] += value;
        }
    });
}

__global__ void add_entries(bb_entries_task task, bb_index items)
{
    const bb_index i = static_cast<bb_index>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < items) {
        task.out[task.row[i] * task.row_stride + task.column[i] * task.column_stride] +=
            task.value[i];
    }
}

__global__ void save_rows(bb_rows_task task)
{
    double *source = task.x + static_cast<int64_t>(task.place[blockIdx.x]) * task.width;
    for (bb_index j = threadIdx.x; j < task.width; j += blockDim.x) {
        if (task.own == nullptr) {
            source[j] = 0.0;
        } else {
            task.own[static_cast<int64_t>(blockIdx.x) * task.width + j] = source[j];
        }
    }
}

unsigned parts(bb_index items, bb_index of)
{
    return static_cast<unsigned>((items + of - 1) / of);
}

} // namespace

extern "C" bb_status bb_factor_solve_forward_cuda(bb_queue *queue, bb_index begin, bb_index items,
                                                  void *arguments)
{
    const bb_factor_task *task = static_cast<const bb_factor_task *>(arguments);
    using S = large_shape;
    const dim3 grid(parts(items, S::rows), parts(task->width, S::columns));
    (void)begin;
    go_forward<S><<<grid, threads, 0, bb_queue_stream(queue)>>>(*task);
    BB_CUDA_CHECK_LAUNCH();
    return BB_OK;
}

extern "C" bb_status bb_factor_solve_back_cuda(bb_queue *queue, bb_index begin, bb_index items,
                                               void *arguments)
{
    const bb_factor_task *task = static_cast<const bb_factor_task *>(arguments);
    const unsigned tiles = static_cast<unsigned>(items);
    const cudaStream_t stream = bb_queue_stream(queue);
    (void)begin;
    if (task->small) {
        const dim3 grid(tiles, parts(task->width, small_shape::columns));
        go_back<small_shape><<<grid, threads, 0, stream>>>(*task);
    } else {
        const dim3 grid(tiles, parts(task->width, large_shape::columns));
        go_back<large_shape><<<grid, threads, 0, stream>>>(*task);
    }
    BB_CUDA_CHECK_LAUNCH();
    return BB_OK;
}

extern "C" bb_status bb_factor_solve_add_entries_cuda(bb_queue *queue, bb_index begin,
                                                      bb_index items, void *arguments)
{
    const bb_entries_task *task = static_cast<const bb_entries_task *>(arguments);
    (void)begin;
    add_entries<<<parts(items, 256), 256, 0, bb_queue_stream(queue)>>>(*task, items);
    BB_CUDA_CHECK_LAUNCH();
    return BB_OK;
}

extern "C" bb_status bb_factor_solve_save_rows_cuda(bb_queue *queue, bb_index begin, bb_index items,
                                                    void *arguments)
{
    const bb_rows_task *task = static_cast<const bb_rows_task *>(arguments);
    (void)begin;
    save_rows<<<static_cast<unsigned>(items), 128, 0, bb_queue_stream(queue)>>>(*task);
    BB_CUDA_CHECK_LAUNCH();
    return BB_OK;
}
