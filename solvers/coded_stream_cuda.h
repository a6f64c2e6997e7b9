// SPDX-License-Identifier: Apache-2.0
//
// For .cu files only: the kernel of coded_stream.h over a storage (stream_storage_cuda.h) and a way
// to sum.
//
// Rows are cut into groups of 16 warps x warp_rows; groups x tiles, group by group, are cut into as
// many even ranges as there are blocks, one block a multiprocessor. A warp copies its rows of the
// next tiles into a ring of its own in shared memory (cp.async, three of four slots under way:
// nothing but its own lanes has to agree on them) and adds the one that has come to its rows' sums,
// a lane its columns; x comes through a window of 16 KiB that the block shares, the next one
// waiting in registers. Where a block's range leaves a group, the lanes of a row are summed and the
// block's part is written; the last block to come to a group adds its parts.
//
// Order of the sums of a row: a lane's columns of a tile ascending, tiles ascending, lanes in a
// tree of halves, blocks ascending. It depends on the storage, the rows wanted and the number of
// multiprocessors, on nothing else: bits repeat.
#ifndef BB_SOLVERS_CODED_STREAM_CUDA_H
#define BB_SOLVERS_CODED_STREAM_CUDA_H

#include "core/device_cuda.h"
#include "solvers/stream_storage_cuda.h"

namespace stream
{

constexpr int lanes = BB_STREAM_LANES;
constexpr int warps = BB_STREAM_WARPS;
constexpr int threads = lanes * warps;
constexpr int window_bytes = 16384;

__device__ __forceinline__ void copy_16(unsigned char *to, const unsigned char *from)
{
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(
                     static_cast<uint32_t>(__cvta_generic_to_shared(to))),
                 "l"(from)
                 : "memory");
}

__device__ __forceinline__ void copies_commit()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

template <int PENDING> __device__ __forceinline__ void copies_wait()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}

/// Where a block is in its range.
struct position {
    bb_index item, end; // of groups x tiles
    bb_index group, tile;

    __device__ __forceinline__ void advance(bb_index tiles)
    {
        ++item;
        ++tile;
        if (tile == tiles) {
            tile = 0;
            ++group;
        }
    }
};

/// A warp's copies into its ring: one item a call, also past the end, where it copies nothing.
template <class S> struct feeder {
    const bb_stream_task &task;
    bb_index tiles;
    unsigned char *ring;
    int warp, lane;
    position at;
    int slot;
    bb_stream_place places[S::varies ? S::warp_rows : 1]; // of the next item

    __device__ __forceinline__ bb_index first_row() const
    {
        return at.group * (warps * S::warp_rows) + warp * S::warp_rows;
    }

    __device__ __forceinline__ void look_ahead()
    {
        if constexpr (S::varies) {
#pragma unroll
            for (int r = 0; r < S::warp_rows; ++r) {
                bb_index row = first_row() + r;
                places[r] = bb_stream_place{0, 0};
                if (at.item < at.end && row < task.rows) {
                    uint2 word = __ldg(reinterpret_cast<const uint2 *>(task.places) +
                                       (at.tile * task.matrix_rows + task.row + row));
                    places[r] = bb_stream_place{word.x, word.y};
                }
            }
        }
    }

    __device__ __forceinline__ void copy_lines(const unsigned char *from, unsigned char *to,
                                               int pieces) const
    {
        for (int i = lane; i < pieces; i += lanes) {
            copy_16(to + 16 * i, from + 16 * i);
        }
    }

    __device__ __forceinline__ void issue()
    {
        unsigned char *to = ring + slot * S::slot_bytes;
        if (at.item < at.end) {
            if constexpr (S::varies) {
#pragma unroll
                for (int r = 0; r < S::warp_rows; ++r) {
                    unsigned char *part = to + r * S::part_bytes;
                    bb_stream_place place = places[r];
                    if (lane == 0) {
                        *reinterpret_cast<uint2 *>(part) = make_uint2(place.line, place.width);
                    }
                    if (place.width <= S::most_lines) {
                        copy_lines(task.words + 128 * static_cast<size_t>(place.line),
                                   part + S::header, 8 * static_cast<int>(place.width));
                    }
                }
            } else {
                bb_index row = first_row();
                bb_index left = task.rows - row;
                int rows = left < S::warp_rows ? static_cast<int>(left) : S::warp_rows;
                bb_index bytes = S::of_any_bits ? task.layout.row_bytes : S::row_bytes;
                copy_lines(task.words + (at.tile * task.matrix_rows + task.row + row) * bytes, to,
                           rows * static_cast<int>(bytes) / 16);
            }
            at.advance(tiles);
            look_ahead();
        }
        slot = slot + 1 == S::depth ? 0 : slot + 1;
        copies_commit();
    }

    __device__ __forceinline__ row_source find(int used, int r) const
    {
        const unsigned char *from = ring + used * S::slot_bytes;
        if constexpr (S::varies) {
            const unsigned char *part = from + r * S::part_bytes;
            uint2 place = *reinterpret_cast<const uint2 *>(part);
            const unsigned char *far = task.words + 128 * static_cast<size_t>(place.x);
            return row_source{place.y <= S::most_lines ? part + S::header : far, place.y,
                              task.step};
        } else {
            int bytes = S::of_any_bits ? static_cast<int>(task.layout.row_bytes) : S::row_bytes;
            return row_source{from + r * bytes, static_cast<uint32_t>(task.layout.bits), 0.0F};
        }
    }
};

/// The window on x: tiles [first, end) of it, for every lane its columns in chunks of 16 bytes,
/// chunk c of all lanes together, so that reading them meets no bank twice.
template <class S, class Product> struct window {
    static constexpr int of_chunk = 16 / static_cast<int>(sizeof(Product));
    static constexpr int count = window_bytes / static_cast<int>(sizeof(Product));
    static constexpr int tiles_held = count / S::columns;
    static constexpr int chunks = count / of_chunk / threads; // of a thread
    static_assert(tiles_held > 0 && count % S::columns == 0 && S::values % of_chunk == 0 &&
                      count % (of_chunk * threads) == 0,
                  "a window of whole tiles");

    Product *held;
    bb_index first, end;
    Product waiting[chunks][of_chunk]; // of the window that begins at `end`, or at 0 after the last

    __device__ __forceinline__ void fetch(const bb_stream_task &task, bb_index tile)
    {
#pragma unroll
        for (int k = 0; k < chunks; ++k) {
            int q = k * threads + static_cast<int>(threadIdx.x);
            int within = q % (S::columns / of_chunk);
            bb_index column = (tile + q / (S::columns / of_chunk)) * S::columns +
                              (within % lanes) * S::values + within / lanes * of_chunk;
#pragma unroll
            for (int e = 0; e < of_chunk; ++e) {
                Product value = 0;
                if (column + e < task.columns) {
                    value = task.x_f32 != nullptr ? static_cast<Product>(task.x_f32[column + e])
                                                  : static_cast<Product>(task.x[column + e]);
                }
                waiting[k][e] = value;
            }
        }
    }

    // By all threads of the block, before `tile` is read.
    __device__ __forceinline__ void move_to(const bb_stream_task &task, bb_index tile,
                                            bb_index tiles)
    {
        if (tile >= first && tile < end) {
            return;
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < chunks; ++k) {
            int q = k * threads + static_cast<int>(threadIdx.x);
#pragma unroll
            for (int e = 0; e < of_chunk; ++e) {
                held[q * of_chunk + e] = waiting[k][e];
            }
        }
        __syncthreads();
        first = tile;
        end = tile + tiles_held;
        fetch(task, end < tiles ? end : 0);
    }

    __device__ __forceinline__ void read(bb_index tile, int lane, Product (&x)[S::values]) const
    {
        const Product *from = held + static_cast<int>(tile - first) * S::columns;
#pragma unroll
        for (int c = 0; c < S::values / of_chunk; ++c) {
            if constexpr (sizeof(Product) == sizeof(float)) {
                float4 four = reinterpret_cast<const float4 *>(from)[c * lanes + lane];
                x[4 * c] = four.x;
                x[4 * c + 1] = four.y;
                x[4 * c + 2] = four.z;
                x[4 * c + 3] = four.w;
            } else {
                double2 two = reinterpret_cast<const double2 *>(from)[c * lanes + lane];
                x[2 * c] = two.x;
                x[2 * c + 1] = two.y;
            }
        }
    }
};

/// Sums of a lane for the rows of its warp. `add` takes a row of a tile, `turn` ends a tile.
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
    int tiles, left; // of a run

    __device__ __forceinline__ void start(const bb_stream_task &task)
    {
        // A run that never ends but with the rows.
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

// The block whose range holds an item.
__device__ __forceinline__ bb_index block_of(bb_index item, bb_index items)
{
    return ((item + 1) * gridDim.x - 1) / items;
}

// By all threads. Blocks and groups meet along a staircase, so their sum is a place of its own.
template <class S>
__device__ __forceinline__ void conclude(const bb_stream_task &task, bb_index group, bb_index tiles,
                                         bb_index items)
{
    constexpr int group_rows = warps * S::warp_rows;
    __shared__ bool last;
    bb_index first_block = block_of(group * tiles, items);
    bb_index last_block = block_of((group + 1) * tiles - 1, items);
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned before = atomicAdd(&task.arrived[group], 1U);
        last = before == static_cast<unsigned>(last_block - first_block);
    }
    __syncthreads();
    bb_index row = group * group_rows + threadIdx.x;
    if (!last) {
        return;
    }
    __threadfence();
    if (threadIdx.x < group_rows && row < task.rows) {
        double total = 0.0;
        for (bb_index block = first_block; block <= last_block; ++block) {
            total += __ldcg(&task.partial[(block + group) * group_rows + threadIdx.x]);
        }
        task.y[row] = task.scales == nullptr ? total : total / task.scales[task.row + row];
    }
    if (threadIdx.x == 0) {
        task.arrived[group] = 0; // for the next product
    }
}

template <class S, class Sums>
__global__ void __launch_bounds__(threads, 1) multiply(const bb_stream_task task)
{
    using product = typename Sums::product;
    extern __shared__ __align__(16) unsigned char shared[];
    constexpr int group_rows = warps * S::warp_rows;
    const int warp = static_cast<int>(threadIdx.x) / lanes;
    const int lane = static_cast<int>(threadIdx.x) % lanes;
    const bb_index tiles = (task.columns + S::columns - 1) / S::columns;
    const bb_index items = (task.rows + group_rows - 1) / group_rows * tiles;
    const bb_index begin = items * blockIdx.x / gridDim.x;
    position at = {begin, items * (blockIdx.x + 1) / gridDim.x, begin / tiles, begin % tiles};
    feeder<S> feed = {task, tiles, shared + window_bytes + warp * (S::depth * S::slot_bytes),
                      warp, lane,  at,
                      0,    {}};
    window<S, product> x = {reinterpret_cast<product *>(shared), 0, 0, {}};
    Sums sums;
    int slot = 0;
    feed.look_ahead();
    for (int d = 0; d < S::depth - 1; ++d) {
        feed.issue();
    }
    x.fetch(task, at.tile);
    sums.start(task);
    while (at.item < at.end) {
        x.move_to(task, at.tile, tiles);
        copies_wait<S::depth - 2>();
        __syncwarp();
        feed.issue();
        bb_index row = at.group * group_rows + warp * S::warp_rows;
        if (row < task.rows) {
            // Rows beyond the last hold what the ring held; their sums are not read.
            product values[S::values];
            x.read(at.tile, lane, values);
#pragma unroll
            for (int r = 0; r < S::warp_rows; ++r) {
                sums.add(r, feed.find(slot, r), lane, values);
            }
            sums.turn();
        }
        slot = slot + 1 == S::depth ? 0 : slot + 1;
        bb_index group = at.group;
        at.advance(tiles);
        if (at.group != group || at.item == at.end) {
#pragma unroll
            for (int r = 0; r < S::warp_rows; ++r) {
                double total = sums.total(r);
                for (int half = lanes / 2; half > 0; half /= 2) {
                    total += __shfl_xor_sync(0xffffffffU, total, half);
                }
                if (lane == 0) {
                    task.partial[(blockIdx.x + group) * group_rows + warp * S::warp_rows + r] =
                        total;
                }
            }
            sums.clear();
            conclude<S>(task, group, tiles, items);
        }
    }
    copies_wait<0>();
}

template <class S, class Sums> bb_status launch(const bb_stream_task &task, cudaStream_t queue)
{
    constexpr int bytes = window_bytes + warps * S::depth * S::slot_bytes;
    constexpr int group_rows = warps * S::warp_rows;
    bb_index tiles = (task.columns + S::columns - 1) / S::columns;
    bb_index items = (task.rows + group_rows - 1) / group_rows * tiles;
    unsigned blocks = static_cast<unsigned>(items < task.blocks ? items : task.blocks);
    if (task.layout.columns != S::columns || task.layout.warp_rows != S::warp_rows ||
        (!S::of_any_bits && task.layout.row_bytes != S::row_bytes)) {
        return bb_status_set(BB_INTERNAL, __FILE__, __LINE__,
                             "layout of a coded stream: %td columns, %td bytes a row, expected %d "
                             "and %d",
                             task.layout.columns, task.layout.row_bytes, S::columns, S::row_bytes);
    }
    BB_CUDA_TRY(cudaFuncSetAttribute(multiply<S, Sums>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     bytes));
    multiply<S, Sums><<<blocks, threads, bytes, queue>>>(task);
    BB_CUDA_CHECK_LAUNCH();
    return BB_OK;
}

template <class S> bb_status launch_storage(const bb_stream_task &task, cudaStream_t queue)
{
    switch (task.sums) {
    case BB_STREAM_WIDE:
        return launch<S, wide_sums<S>>(task, queue);
    case BB_STREAM_EACH:
        return launch<S, each_sums<S>>(task, queue);
    default: // runs, and one run
        return launch<S, run_sums<S>>(task, queue);
    }
}

/// One storage a .cu file or two, so that they compile side by side.
bb_status launch_plain(const bb_stream_task &task, cudaStream_t queue);
bb_status launch_narrow(const bb_stream_task &task, cudaStream_t queue);
bb_status launch_planes(const bb_stream_task &task, cudaStream_t queue);

} // namespace stream

#endif
