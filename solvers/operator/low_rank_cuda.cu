// SPDX-License-Identifier: Apache-2.0
//
// The two launches of solvers/operator/low_rank_stream.h. Every sum has a fixed order: no atomics.
#include "core/device/device_cuda.h"
#include "solvers/gpu/hopper_cuda.h"
#include "solvers/operator/lane_sums_cuda.h"
#include "solvers/operator/low_rank_stream.h"

#include <cuda_fp16.h>

namespace
{

constexpr int lanes = 32;
constexpr int warps = BB_LOW_RANK_WARPS;
constexpr int threads = lanes * warps;
constexpr int chunk = 8;                                      // fp16 values in 16 bytes
constexpr int most_steps = BB_LOW_RANK_CELLS / chunk / lanes; // chunks per lane and tile
constexpr int item_rows = BB_LOW_RANK_ITEM_NARROW;            // sums per lane
constexpr int narrow_steps = 6;                               // chunks of U prefetched into
constexpr int wide_steps = 4;                                 // registers
static_assert(BB_LOW_RANK_ITEM_NARROW == 2 * BB_LOW_RANK_ITEM_WIDE, "an item is so many bytes");

using namespace lane_sums;

template <class T> __device__ T over_lanes(T sum)
{
#pragma unroll
    for (int step = lanes / 2; step > 0; step /= 2) {
        sum += __shfl_xor_sync(0xffffffffu, sum, step);
    }
    return sum;
}

__device__ void widen(uint4 words, float (&out)[chunk])
{
    const unsigned pairs[4] = {words.x, words.y, words.z, words.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const __half2_raw raw = {static_cast<unsigned short>(pairs[i] & 0xffffu),
                                 static_cast<unsigned short>(pairs[i] >> 16)};
        const float2 two = __half22float2(__half2(raw));
        out[2 * i] = two.x;
        out[2 * i + 1] = two.y;
    }
}

__device__ void widen(uint4 words, float (&out)[4])
{
    out[0] = __uint_as_float(words.x);
    out[1] = __uint_as_float(words.y);
    out[2] = __uint_as_float(words.z);
    out[3] = __uint_as_float(words.w);
}

// Loads `count` factors, 4 at a time, from shared memory or (t) bypassing the L1 cache.
template <int count> __device__ void read_shared(const float *source, float (&out)[count])
{
#pragma unroll
    for (int i = 0; i < count; i += 4) {
        const float4 four = *reinterpret_cast<const float4 *>(source + i);
        out[i] = four.x;
        out[i + 1] = four.y;
        out[i + 2] = four.z;
        out[i + 3] = four.w;
    }
}

template <int count> __device__ void read_shared(const double *source, double (&out)[count])
{
#pragma unroll
    for (int i = 0; i < count; i += 2) {
        const double2 two = *reinterpret_cast<const double2 *>(source + i);
        out[i] = two.x;
        out[i + 1] = two.y;
    }
}

template <int count> __device__ void read_terms(const float *source, float (&out)[count])
{
#pragma unroll
    for (int i = 0; i < count; i += 4) {
        const float4 four = __ldcg(reinterpret_cast<const float4 *>(source + i));
        out[i] = four.x;
        out[i + 1] = four.y;
        out[i + 2] = four.z;
        out[i + 3] = four.w;
    }
}

template <int count> __device__ void read_terms(const double *source, double (&out)[count])
{
#pragma unroll
    for (int i = 0; i < count; i += 2) {
        const double2 two = __ldcg(reinterpret_cast<const double2 *>(source + i));
        out[i] = two.x;
        out[i + 1] = two.y;
    }
}

__device__ int job_of(const uint32_t *first, int count, uint32_t block)
{
    int job = 0;
    while (job + 1 < count && block >= first[job + 1]) {
        ++job;
    }
    return job;
}

// Copies x of a tile into shared memory, lines padded with zeros to `pitch`; 8 lines are loaded at
// the same time.
template <class T>
__device__ void gather(const bb_low_rank_job &job, const bb_low_rank_item &item, int pitch,
                       int lane, T *out)
{
    constexpr int batch = 8;
    const size_t origin = static_cast<size_t>(item.line) * job.mesh_columns + item.column;
    for (int column = lane; column < pitch; column += lanes) {
        for (int line = 0; line < item.lines; line += batch) {
            T values[batch];
#pragma unroll
            for (int b = 0; b < batch; ++b) {
                const size_t index = origin + static_cast<size_t>(line + b) * job.mesh_columns +
                                     static_cast<size_t>(column);
                values[b] = T(0);
                if (line + b < item.lines && column < item.columns) {
                    values[b] = job.x != nullptr ? static_cast<T>(__ldcg(job.x + index))
                                                 : static_cast<T>(__ldcg(job.x_f32 + index));
                }
            }
#pragma unroll
            for (int b = 0; b < batch; ++b) {
                if (line + b < item.lines) {
                    out[(line + b) * pitch + column] = values[b];
                }
            }
        }
    }
}

// A lane's part of the rows of V of an item; if rows are fp32, word 2 row + half has half a chunk.
__device__ void fetch(const bb_low_rank_job &job, const bb_low_rank_item &item, int chunks,
                      int lane, uint4 (&words)[most_steps][item_rows])
{
    const uint4 *v = reinterpret_cast<const uint4 *>(job.v) + item.v;
#pragma unroll
    for (int step = 0; step < most_steps; ++step) {
        const int index = step * lanes + lane;
#pragma unroll
        for (int r = 0; r < item_rows; ++r) {
            const int row = item.wide ? r / 2 : r;
            words[step][r] = make_uint4(0, 0, 0, 0);
            if (index < chunks && row < item.rows) {
                const int place =
                    item.wide ? 2 * (row * chunks + index) + r % 2 : row * chunks + index;
                words[step][r] = __ldcs(v + place);
            }
        }
    }
}

template <class Sums>
__device__ void add_chunk(bool wide, const uint4 (&words)[item_rows],
                          const typename Sums::factor *x, typename Sums::total (&sums)[item_rows])
{
    typename Sums::factor b[chunk];
    read_shared(x, b);
#pragma unroll
    for (int r = 0; r < item_rows; ++r) {
        if (!wide) {
            float a[chunk];
            widen(words[r], a);
            Sums::add(sums[r], a, b);
        } else {
            constexpr int half = chunk / 2;
            float a[half];
            const typename Sums::factor of_half[half] = {b[r % 2 * half], b[r % 2 * half + 1],
                                                         b[r % 2 * half + 2], b[r % 2 * half + 3]};
            widen(words[r], a);
            Sums::add(sums[r / 2], a, of_half);
        }
    }
}

// Computes t = scale (V x) for the rows of an item.
template <class Sums>
__global__ void __launch_bounds__(threads) project(const __grid_constant__ bb_low_rank_task task)
{
    using factor = typename Sums::factor;
    extern __shared__ __align__(16) unsigned char shared[];
    const int warp = static_cast<int>(threadIdx.x) / lanes;
    const int lane = static_cast<int>(threadIdx.x) % lanes;
    const int which = job_of(task.first_items, task.count, blockIdx.x);
    const bb_low_rank_job &job = task.jobs[which];
    const uint32_t index = (blockIdx.x - task.first_items[which]) * warps + warp;
    factor *x = reinterpret_cast<factor *>(shared) + warp * task.cells;
    hopper::let_next_kernel_start();
    if (index >= job.item_count) {
        hopper::wait_for_kernel_before();
        return;
    }
    const bb_low_rank_item item = job.items[index];
    const int pitch = (item.columns + chunk - 1) / chunk * chunk;
    const int chunks = pitch / chunk * item.lines;
    uint4 words[most_steps][item_rows];
    fetch(job, item, chunks, lane, words);
    hopper::wait_for_kernel_before(); // x may be written by the preceding kernel, t may be read by
                                      // it
    gather(job, item, pitch, lane, x);
    __syncwarp();
    typename Sums::total sums[item_rows] = {};
#pragma unroll
    for (int step = 0; step < most_steps; ++step) {
        const int position = step * lanes + lane;
        if (position < chunks) {
            add_chunk<Sums>(item.wide != 0, words[step], x + position * chunk, sums);
        }
    }
#pragma unroll
    for (int r = 0; r < item_rows; ++r) {
        const typename Sums::total sum = over_lanes(sums[r]);
        if (lane == r && r < item.rows) {
            static_cast<factor *>(job.terms)[item.term + r] =
                static_cast<factor>(sum * job.scale[item.term + r]);
        }
    }
}

// A lane's part of a row of U, `count` values per 16 bytes; the first steps are prefetched into
// registers.
template <class Sums, int steps, int count> struct row_of_u {
    const uint4 *words;
    int chunks;
    uint4 first[steps];

    __device__ void fetch(int lane)
    {
#pragma unroll
        for (int step = 0; step < steps; ++step) {
            const int index = step * lanes + lane;
            first[step] = index < chunks ? __ldcs(words + index) : make_uint4(0, 0, 0, 0);
        }
    }

    __device__ void add_chunk(uint4 chunk_words, const typename Sums::factor *terms,
                              typename Sums::total &sum) const
    {
        float a[count];
        typename Sums::factor b[count];
        widen(chunk_words, a);
        read_terms(terms, b);
        Sums::add(sum, a, b);
    }

    __device__ void add(const typename Sums::factor *terms, int lane,
                        typename Sums::total &sum) const
    {
#pragma unroll
        for (int step = 0; step < steps; ++step) {
            const int index = step * lanes + lane;
            if (index < chunks) {
                add_chunk(first[step], terms + index * count, sum);
            }
        }
        for (int index = steps * lanes + lane; index < chunks; index += lanes) {
            add_chunk(__ldcs(words + index), terms + index * count, sum);
        }
    }
};

// Computes y = U t, one warp per row.
template <class Sums>
__global__ void __launch_bounds__(threads) expand(const __grid_constant__ bb_low_rank_task task)
{
    using factor = typename Sums::factor;
    using total = typename Sums::total;
    const int warp = static_cast<int>(threadIdx.x) / lanes;
    const int lane = static_cast<int>(threadIdx.x) % lanes;
    const int which = job_of(task.first_rows, task.count, blockIdx.x);
    const bb_low_rank_job &job = task.jobs[which];
    const uint32_t index = (blockIdx.x - task.first_rows[which]) * warps + warp;
    hopper::let_next_kernel_start();
    if (index >= job.rows) {
        hopper::wait_for_kernel_before();
        return;
    }
    const uint32_t row = job.row + index;
    const bb_low_rank_band_place &band = job.bands[row / job.band_rows];
    const uint32_t i = row % job.band_rows;
    const size_t first_narrow = band.u_narrow + static_cast<size_t>(i) * band.narrow;
    const size_t first_wide = band.u_wide + static_cast<size_t>(i) * band.wide;
    row_of_u<Sums, narrow_steps, chunk> narrow = {
        reinterpret_cast<const uint4 *>(job.u_narrow + first_narrow),
        static_cast<int>(band.narrow / chunk),
        {}};
    row_of_u<Sums, wide_steps, 4> wide = {reinterpret_cast<const uint4 *>(job.u_wide + first_wide),
                                          static_cast<int>(band.wide / 4),
                                          {}};
    narrow.fetch(lane);
    wide.fetch(lane);
    hopper::wait_for_kernel_before(); // t is written by the preceding kernel
    const factor *terms = static_cast<const factor *>(job.terms) + band.term;
    total sum = 0;
    narrow.add(terms, lane, sum);
    wide.add(terms + band.narrow, lane, sum);
    terms += band.narrow + band.wide + i;
    for (int tile = lane; tile < static_cast<int>(band.dense_tiles); tile += lanes) {
        sum += static_cast<total>(__ldcg(terms + static_cast<size_t>(tile) * band.rows));
    }
    sum = over_lanes(sum);
    if (lane == 0) {
        job.y[index] = static_cast<double>(sum);
    }
}

template <class Sums> bb_status launch_both(const bb_low_rank_task &task, cudaStream_t queue)
{
    bool early = false;
    const size_t bytes = static_cast<size_t>(warps * task.cells) * sizeof(typename Sums::factor);
    BB_RETURN_IF_FAILED(bb_device_cuda_uses_hopper(&early));
    const dim3 items(task.first_items[task.count]);
    const dim3 rows(task.first_rows[task.count]);
    BB_CUDA_TRY(hopper::launch({items, dim3(threads), bytes, queue, early}, project<Sums>, task));
    BB_CUDA_TRY(hopper::launch({rows, dim3(threads), 0, queue, early}, expand<Sums>, task));
    return BB_OK;
}

} // namespace

bb_status bb_low_rank_stream_multiply_cuda(bb_queue *queue, bb_index, bb_index rows,
                                           void *arguments)
{
    bb_low_rank_task task = *static_cast<const bb_low_rank_task *>(arguments);
    (void)rows;
    for (int j = 0; j < task.count; ++j) {
        // A band of zeros has no items, but the next launch still has to follow the preceding
        // kernel.
        const uint32_t items = (task.jobs[j].item_count + warps - 1) / warps;
        task.first_items[j + 1] = task.first_items[j] + (items > 0 ? items : 1);
        task.first_rows[j + 1] = task.first_rows[j] + (task.jobs[j].rows + warps - 1) / warps;
    }
    cudaStream_t stream = bb_queue_stream(queue);
    switch (task.sums) {
    case BB_STREAM_WIDE:
        return launch_both<wide_sums>(task, stream);
    case BB_STREAM_EACH:
        return launch_both<each_sums>(task, stream);
    case BB_STREAM_RUNS:
        return launch_both<run_sums>(task, stream);
    default:
        return launch_both<narrow_sums>(task, stream);
    }
}
