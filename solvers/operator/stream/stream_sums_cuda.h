// SPDX-License-Identifier: Apache-2.0
//
// For .cu files only: summation of the products of a row of a tile (bb_stream_sums of
// coded_stream.h), one type per kind of sums over a storage of stream_storage_cuda.h.
#ifndef BB_SOLVERS_OPERATOR_STREAM_STREAM_SUMS_CUDA_H
#define BB_SOLVERS_OPERATOR_STREAM_STREAM_SUMS_CUDA_H

#include "solvers/operator/stream/stream_storage_cuda.h"

namespace stream
{

/// Sums of a lane for the rows of its warp. `add` adds a row of a tile, `turn` ends a tile.
template <class S> struct wide_sums { // BB_STREAM_WIDE
    using product = double;
    double sum[S::warp_rows];

    __device__ __forceinline__ void start(const bb_stream_task &)
    {
        clear();
    }
    __device__ __forceinline__ void clear()
    {
#pragma unroll
        for (int r = 0; r < S::warp_rows; ++r) {
            sum[r] = 0.0;
        }
    }
    __device__ __forceinline__ void add(int r, row_source row, int lane,
                                        const double (&x)[S::values])
    {
        typename S::value c[S::values];
        S::load(row, lane, c);
        double unit = static_cast<double>(S::unit(row, lane));
#pragma unroll
        for (int v = 0; v < S::values; ++v) {
            double value = static_cast<double>(c[v]);
            sum[r] = __fma_rn(S::has_unit ? value * unit : value, x[v], sum[r]);
        }
    }
    __device__ __forceinline__ void turn()
    {
    }
    __device__ __forceinline__ double total(int r)
    {
        return sum[r];
    }
};

template <class S> struct each_sums { // BB_STREAM_EACH
    using product = float;
    double sum[S::warp_rows];

    __device__ __forceinline__ void start(const bb_stream_task &)
    {
        clear();
    }
    __device__ __forceinline__ void clear()
    {
#pragma unroll
        for (int r = 0; r < S::warp_rows; ++r) {
            sum[r] = 0.0;
        }
    }
    __device__ __forceinline__ void add(int r, row_source row, int lane,
                                        const float (&x)[S::values])
    {
        typename S::value c[S::values];
        S::load(row, lane, c);
        float unit = S::unit(row, lane);
#pragma unroll
        for (int v = 0; v < S::values; ++v) {
            float value = static_cast<float>(c[v]);
            float product = __fmul_rn(S::has_unit ? __fmul_rn(value, unit) : value, x[v]);
            sum[r] += static_cast<double>(product);
        }
    }
    __device__ __forceinline__ void turn()
    {
    }
    __device__ __forceinline__ double total(int r)
    {
        return sum[r];
    }
};

template <class S> struct run_sums { // BB_STREAM_RUNS, BB_STREAM_NARROW
    using product = float;
    double sum[S::warp_rows];
    float run[S::warp_rows];
    int tiles, left; // length of a run

    __device__ __forceinline__ void start(const bb_stream_task &task)
    {
        // Sums in one run that ends only with the rows.
        tiles = task.sums == BB_STREAM_NARROW ? 0x7fffffff : task.run / S::values;
        clear();
    }
    __device__ __forceinline__ void clear()
    {
        left = tiles;
#pragma unroll
        for (int r = 0; r < S::warp_rows; ++r) {
            sum[r] = 0.0;
            run[r] = 0.0F;
        }
    }
    __device__ __forceinline__ void add(int r, row_source row, int lane,
                                        const float (&x)[S::values])
    {
        typename S::value c[S::values];
        S::load(row, lane, c);
        float part = S::has_unit ? 0.0F : run[r];
#pragma unroll
        for (int v = 0; v < S::values; ++v) {
            part = __fmaf_rn(static_cast<float>(c[v]), x[v], part);
        }
        run[r] = S::has_unit ? __fmaf_rn(part, S::unit(row, lane), run[r]) : part;
    }
    __device__ __forceinline__ void turn()
    {
        if (--left == 0) {
            promote();
            left = tiles;
        }
    }
    __device__ __forceinline__ void promote()
    {
#pragma unroll
        for (int r = 0; r < S::warp_rows; ++r) {
            sum[r] += static_cast<double>(run[r]);
            run[r] = 0.0F;
        }
    }
    __device__ __forceinline__ double total(int r)
    {
        return sum[r] + static_cast<double>(run[r]);
    }
};

} // namespace stream

#endif
