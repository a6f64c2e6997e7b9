// SPDX-License-Identifier: Apache-2.0
//
// For .cu files only: the kernel of coded_stream.h over a storage (stream_storage_cuda.h) and a way
// to sum.
//
// Rows are cut into groups of 16 warps x warp_rows; groups x tiles, group by group, are cut into as
// many even ranges as there are blocks, one block a multiprocessor. A warp copies its rows of the
// next tiles into a ring of its own in shared memory (cp.async, all slots but one under way:
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

__device__ __forceinline__ uint32_t shared_address(const void *pointer)
{
    return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

__device__ __forceinline__ void copy_16(uint32_t to, const unsigned char *from)
{
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(to), "l"(from)
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

// Programmatic dependent launch, where the hardware has it: a product's blocks start as those of
// the kernel before it leave and fill their rings; the matrix does not depend on that kernel.
__device__ __forceinline__ void let_next_kernel_start()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
__device__ __forceinline__ void wait_for_kernel_before()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// Where a block is in its range of groups x tiles.
struct position {
    int item, end;
    int group, tile;
};

/// A warp's copies into its ring: one item a call, also past the end, where it copies nothing.
template <class S> struct feeder {
    const bb_stream_task &task;
    int tiles;
    unsigned char *ring;   // this warp's
    uint32_t ring_address; // of this lane's first 16 bytes of it
    int warp, lane;
    position at;
    int slot;
    int row, rows;             // the warp's of the group
    const unsigned char *from; // of the next item, where rows have the same bytes
    bb_stream_place places[S::varies ? S::warp_rows : 1]; // of the next item, where they do not

    __device__ __forceinline__ int row_bytes() const
    {
        return S::of_any_bits ? static_cast<int>(task.layout.row_bytes) : S::row_bytes;
    }
    __device__ __forceinline__ int part_bytes() const // of a row of varying bytes in its slot
    {
        return S::header + 128 * task.slot_lines;
    }
    __device__ __forceinline__ int slot_bytes() const
    {
        if constexpr (S::varies) {
            return S::warp_rows * part_bytes();
        } else {
            return S::warp_rows * row_bytes();
        }
    }

    __device__ __forceinline__ void enter_group()
    {
        row = (at.group * warps + warp) * S::warp_rows;
        bb_index left = task.rows - row;
        rows = left < 0 ? 0 : left < S::warp_rows ? static_cast<int>(left) : S::warp_rows;
        if constexpr (!S::varies) {
            from = task.words + (at.tile * task.matrix_rows + task.row + row) * row_bytes() +
                   16 * lane;
        }
    }

    __device__ __forceinline__ void look_ahead()
    {
        if constexpr (S::varies) {
            const uint2 *first = reinterpret_cast<const uint2 *>(task.places) +
                                 (at.tile * task.matrix_rows + task.row + row);
#pragma unroll
            for (int r = 0; r < S::warp_rows; ++r) {
                places[r] = bb_stream_place{0, 0};
                if (at.item < at.end && r < rows) {
                    uint2 word = __ldg(first + r);
                    places[r] = bb_stream_place{word.x, word.y};
                }
            }
        }
    }

    __device__ __forceinline__ void start()
    {
        enter_group();
        look_ahead();
    }

    __device__ __forceinline__ void copy_rows(uint32_t to) const
    {
        constexpr int most = (S::row_bytes * S::warp_rows / 16 + lanes - 1) / lanes;
        const int left = rows * row_bytes() / 16 - lane; // pieces from this lane's on
#pragma unroll
        for (int k = 0; k < most; ++k) {
            if (k * lanes < left) {
                copy_16(to + 16 * lanes * k, from + 16 * lanes * k);
            }
        }
    }

    __device__ __forceinline__ void copy_places(unsigned char *slot_at, uint32_t to) const
    {
#pragma unroll
        for (int r = 0; r < S::warp_rows; ++r) {
            const int part = r * part_bytes();
            bb_stream_place place = places[r];
            const int width = static_cast<int>(place.width);
            const unsigned char *lines =
                task.words + 128 * static_cast<size_t>(place.line) + 16 * lane;
            if (lane == 0) {
                *reinterpret_cast<uint2 *>(slot_at + part) = make_uint2(place.line, place.width);
            }
            const int left = (width <= task.slot_lines ? 8 * width : 0) - lane;
#pragma unroll
            for (int k = 0; k < S::most_lines / 4; ++k) {
                if (k * lanes < left) {
                    copy_16(to + part + S::header + 16 * lanes * k, lines + 16 * lanes * k);
                }
            }
        }
    }

    __device__ __forceinline__ void issue()
    {
        if (at.item < at.end) {
            if constexpr (S::varies) {
                copy_places(ring + slot * slot_bytes(), ring_address + slot * slot_bytes());
            } else {
                copy_rows(ring_address + slot * slot_bytes());
                from += task.matrix_rows * row_bytes();
            }
            ++at.item;
            if (++at.tile == tiles) {
                at.tile = 0;
                ++at.group;
                enter_group();
            }
            look_ahead();
        }
        slot = slot + 1 == S::depth ? 0 : slot + 1;
        copies_commit();
    }

    __device__ __forceinline__ row_source find(int used, int r) const
    {
        const unsigned char *slot_at = ring + used * slot_bytes();
        if constexpr (S::varies) {
            const unsigned char *part = slot_at + r * part_bytes();
            uint2 place = *reinterpret_cast<const uint2 *>(part);
            const unsigned char *far = task.words + 128 * static_cast<size_t>(place.x);
            bool held = static_cast<int>(place.y) <= task.slot_lines;
            return row_source{held ? part + S::header : far, place.y, task.step};
        } else {
            return row_source{slot_at + r * row_bytes(), static_cast<uint32_t>(task.layout.bits),
                              0.0F};
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
    int first, end;
    bool finite;                       // all that is held
    Product waiting[chunks][of_chunk]; // of the window that begins at `end`, or at 0 after the last

    __device__ __forceinline__ void fetch(const bb_stream_task &task, int tile)
    {
#pragma unroll
        for (int k = 0; k < chunks; ++k) {
            int q = k * threads + static_cast<int>(threadIdx.x);
            int within = q % (S::columns / of_chunk);
            bb_index column =
                static_cast<bb_index>(tile + q / (S::columns / of_chunk)) * S::columns +
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
    __device__ __forceinline__ void move_to(const bb_stream_task &task, int tile, int tiles)
    {
        if (tile >= first && tile < end) {
            return;
        }
        int odd = 0;
        __syncthreads();
#pragma unroll
        for (int k = 0; k < chunks; ++k) {
            int q = k * threads + static_cast<int>(threadIdx.x);
#pragma unroll
            for (int e = 0; e < of_chunk; ++e) {
                held[q * of_chunk + e] = waiting[k][e];
                odd |= !isfinite(waiting[k][e]);
            }
        }
        finite = __syncthreads_or(odd) == 0;
        first = tile;
        end = tile + tiles_held;
        fetch(task, end < tiles ? end : 0);
    }

    __device__ __forceinline__ void read(int tile, int lane, Product (&x)[S::values]) const
    {
        const Product *from = held + (tile - first) * S::columns;
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

// The block whose range holds an item, and where its range begins.
__device__ __forceinline__ int block_of(int item, int items)
{
    return static_cast<int>(((item + 1LL) * gridDim.x - 1) / items);
}
__device__ __forceinline__ int item_of(unsigned block, int items)
{
    return static_cast<int>(static_cast<long long>(items) * block / gridDim.x);
}

// By all threads. Blocks and groups meet along a staircase, so their sum is a place of its own.
template <class S>
__device__ __forceinline__ void conclude(const bb_stream_task &task, int group, int tiles,
                                         int items)
{
    constexpr int group_rows = warps * S::warp_rows;
    __shared__ bool last;
    int first_block = block_of(group * tiles, items);
    int last_block = block_of((group + 1) * tiles - 1, items);
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned before = atomicAdd(&task.arrived[group], 1U);
        last = before == static_cast<unsigned>(last_block - first_block);
    }
    __syncthreads();
    int row = group * group_rows + static_cast<int>(threadIdx.x);
    if (!last) {
        return;
    }
    __threadfence();
    if (threadIdx.x < group_rows && row < task.rows) {
        double total = 0.0;
        for (int block = first_block; block <= last_block; ++block) {
            total += __ldcg(
                &task.partial[static_cast<bb_index>(block + group) * group_rows + threadIdx.x]);
        }
        task.y[row] = task.scales == nullptr ? total : total / task.scales[task.row + row];
    }
    if (threadIdx.x == 0) {
        task.arrived[group] = 0; // for the next product
    }
}

// A warp's part of its rows' sums.
template <class S, class Sums>
__device__ __forceinline__ void leave_group(const bb_stream_task &task, int group, int warp,
                                            int lane, Sums &sums)
{
    constexpr int group_rows = warps * S::warp_rows;
    double *part = task.partial + static_cast<bb_index>(blockIdx.x + group) * group_rows;
#pragma unroll
    for (int r = 0; r < S::warp_rows; ++r) {
        double total = sums.total(r);
        for (int half = lanes / 2; half > 0; half /= 2) {
            total += __shfl_xor_sync(0xffffffffU, total, half);
        }
        if (lane == 0) {
            part[warp * S::warp_rows + r] = total;
        }
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
    const int tiles = static_cast<int>((task.columns + S::columns - 1) / S::columns);
    const int items = static_cast<int>((task.rows + group_rows - 1) / group_rows) * tiles;
    const int begin = item_of(blockIdx.x, items);
    position at = {begin, item_of(blockIdx.x + 1, items), begin / tiles, begin % tiles};
    feeder<S> feed = {task, tiles, nullptr, 0, warp, lane, at, 0, 0, 0, nullptr, {}};
    feed.ring = shared + window_bytes + warp * (S::depth * feed.slot_bytes());
    feed.ring_address = shared_address(feed.ring) + 16 * lane;
    window<S, product> x = {reinterpret_cast<product *>(shared), 0, 0, true, {}};
    Sums sums;
    int slot = 0;
    let_next_kernel_start();
    feed.start();
    for (int d = 0; d < S::depth - 1; ++d) {
        feed.issue();
    }
    wait_for_kernel_before(); // x and the workspace are its to write
    x.fetch(task, at.tile);
    sums.start(task);
    while (at.item < at.end) {
        x.move_to(task, at.tile, tiles);
        copies_wait<S::depth - 2>();
        __syncwarp();
        feed.issue();
        if ((at.group * warps + warp) * S::warp_rows < task.rows) {
            // Rows beyond the last hold what the ring held; their sums are not read.
            product values[S::values];
            x.read(at.tile, lane, values);
#pragma unroll
            for (int r = 0; r < S::warp_rows; ++r) {
                row_source row = feed.find(slot, r);
                if (!S::varies || row.bits != 0 || !x.finite) {
                    sums.add(r, row, lane, values);
                }
            }
            sums.turn();
        }
        slot = slot + 1 == S::depth ? 0 : slot + 1;
        ++at.item;
        ++at.tile;
        if (at.tile == tiles || at.item == at.end) {
            leave_group<S>(task, at.group, warp, lane, sums);
            sums.clear();
            conclude<S>(task, at.group, tiles, items);
            at.tile = 0;
            ++at.group;
        }
    }
    copies_wait<0>();
}

// Shared memory a block may ask for on the device at hand, and its major compute capability.
inline bb_status describe_device(int *most, int *major)
{
    int device = 0;
    BB_CUDA_TRY(cudaGetDevice(&device));
    BB_CUDA_TRY(cudaDeviceGetAttribute(most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    BB_CUDA_TRY(cudaDeviceGetAttribute(major, cudaDevAttrComputeCapabilityMajor, device));
    return BB_OK;
}

template <class S, class Sums> bb_status launch(bb_stream_task task, cudaStream_t queue)
{
    constexpr int group_rows = warps * S::warp_rows;
    constexpr int parts = warps * S::depth * S::warp_rows; // rows in the rings of a block
    int most = 0;
    int major = 0;
    bb_index tiles = (task.columns + S::columns - 1) / S::columns;
    bb_index items = (task.rows + group_rows - 1) / group_rows * tiles;
    unsigned blocks = static_cast<unsigned>(items < task.blocks ? items : task.blocks);
    bb_index part = task.layout.row_bytes;
    BB_RETURN_IF_FAILED(describe_device(&most, &major));
    if constexpr (S::varies) {
        int lines = ((most - 1024 - window_bytes) / parts - S::header) / 128;
        task.slot_lines = lines < S::most_lines ? lines : S::most_lines;
        part = S::header + 128 * task.slot_lines;
    }
    int bytes = window_bytes + parts * static_cast<int>(part);
    if (task.layout.columns != S::columns || task.layout.warp_rows != S::warp_rows ||
        task.layout.row_bytes > S::row_bytes || items > INT32_MAX || bytes > most - 1024) {
        return bb_status_set(BB_UNSUPPORTED, __FILE__, __LINE__,
                             "a coded product of %td tiles with rows of %td bytes and %d bytes of "
                             "shared memory, of which the device has %d",
                             items, task.layout.row_bytes, bytes, most);
    }
    BB_CUDA_TRY(cudaFuncSetAttribute(multiply<S, Sums>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     bytes));
    cudaLaunchAttribute early = {};
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(blocks);
    config.blockDim = dim3(threads);
    config.dynamicSmemBytes = static_cast<size_t>(bytes);
    config.stream = queue;
    config.attrs = &early;
    config.numAttrs = major >= 9 ? 1 : 0;
    BB_CUDA_TRY(cudaLaunchKernelEx(&config, multiply<S, Sums>, task));
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
