// SPDX-License-Identifier: Apache-2.0
//
// The two launches of solvers/operator/transform_stream.h. Every sum has a fixed order: no atomics.
#include "core/device/device_cuda.h"
#include "solvers/gpu/hopper_cuda.h"
#include "solvers/operator/lane_sums_cuda.h"
#include "solvers/operator/transform_stream.h"

namespace
{

constexpr uint32_t lanes = BB_TRANSFORM_LANES;
constexpr uint32_t warps = BB_TRANSFORM_WARPS;
constexpr uint32_t threads = lanes * warps;
constexpr uint32_t panel_cells = BB_TRANSFORM_PANEL_CELLS;
constexpr int steps = 2; // chunks per lane prefetched into registers, for this slice and the next
constexpr uint32_t rows_at_once = 4;
constexpr uint32_t adders = 256; // threads of a block of the second launch
constexpr uint32_t add_warps = adders / lanes;
constexpr uint32_t stride = adders / rows_at_once; // panels that are read at the same time

using namespace lane_sums;

template <class Sums> struct room {
    alignas(16) double values[2 * panel_cells]; // x and its half transform, then the half inverse
                                                // transform of rows
    alignas(16) double sums[BB_TRANSFORM_SUMS]; // [jobs][blocks of rows][frequencies]
    alignas(16) double basis[BB_TRANSFORM_BASES];
    alignas(16) typename Sums::factor x[panel_cells]; // transform of x
    bb_transform_slices slices;
};
static_assert(BB_TRANSFORM_SUMS <= 2 * panel_cells, "rows half way back");

template <class Sums>
__device__ void add_chunk(const bb_transform_lane &lane, bool narrow, const uint4 &chunk,
                          const typename Sums::factor *x, typename Sums::total &sum)
{
    const uint32_t words[4] = {chunk.x, chunk.y, chunk.z, chunk.w};
    if (narrow) {
        int32_t q[BB_TRANSFORM_NARROW];
        typename Sums::factor with[BB_TRANSFORM_NARROW];
#pragma unroll
        for (int i = 0; i < BB_TRANSFORM_NARROW; ++i) {
            const uint32_t entry = words[i / 2] >> 16 * (i % 2);
            q[i] = bb_transform_stream_entry_narrow(entry);
            with[i] = x[bb_transform_stream_entry_cell(entry)];
        }
        Sums::add(sum, q, with);
    } else if (lane.is_long == 0) {
        int32_t q[BB_TRANSFORM_WIDER];
        typename Sums::factor with[BB_TRANSFORM_WIDER];
#pragma unroll
        for (int i = 0; i < BB_TRANSFORM_WIDER; ++i) {
            q[i] = bb_transform_stream_entry_wide(words[i]);
            with[i] = x[bb_transform_stream_entry_cell(words[i])];
        }
        Sums::add(sum, q, with);
    } else {
        const int32_t q[BB_TRANSFORM_LONG] = {static_cast<int32_t>(words[1]),
                                              static_cast<int32_t>(words[3])};
        const typename Sums::factor with[BB_TRANSFORM_LONG] = {x[words[0]], x[words[2]]};
        Sums::add(sum, q, with);
    }
}

// Current state of a slice in a warp.
struct slice_work {
    int job; // -1: none
    bb_transform_slice slice;
    uint32_t word; // descriptor of the lane

    __device__ void find(const bb_transform_task &task, const bb_transform_slices &slices,
                         uint32_t index, uint32_t lane)
    {
        uint32_t position = 0;
        job = -1;
        word = 0;
        slice = {0, 0};
        if (bb_transform_slice_at(&task, &slices, index, &job, &position)) {
            const uint2 both =
                __ldcs(reinterpret_cast<const uint2 *>(task.jobs[job].slices) + position);
            slice = {both.x, both.y};
            word = __ldcs(task.jobs[job].lanes + static_cast<size_t>(position) * lanes + lane);
        }
    }

    // Loads the next chunk of each lane that has one; advances `base`.
    __device__ bool fetch(const bb_transform_task &task, const bb_transform_lane &part,
                          uint32_t lane, uint32_t step, uint32_t &base, uint4 &out) const
    {
        const bool takes = bb_transform_lane_chunk(&part, lane, step) < part.narrow + part.others;
        const unsigned all = __ballot_sync(0xffffffffu, takes);
        out = make_uint4(0, 0, 0, 0);
        if (takes) {
            const uint32_t before = static_cast<uint32_t>(__popc(all & ((1u << lane) - 1u)));
            out = __ldcs(reinterpret_cast<const uint4 *>(task.jobs[job].chunks) + slice.chunk +
                         base + before);
        }
        base += static_cast<uint32_t>(__popc(all));
        return all != 0; // false: no later step has one
    }
};

// First chunks of a slice.
struct first_chunks {
    uint4 words[steps];
    uint32_t base; // index of the next chunk; none: all have been loaded
    static constexpr uint32_t none = 0xffffffffu;

    __device__ void fetch(const bb_transform_task &task, const slice_work &work, uint32_t lane)
    {
        const bb_transform_lane part = bb_transform_lane_of(work.word);
        base = 0;
#pragma unroll
        for (int step = 0; step < steps; ++step) {
            if (!work.fetch(task, part, lane, static_cast<uint32_t>(step), base, words[step])) {
                base = none;
            }
        }
    }
};

// Sum of a frequency over the lanes that share it.
__device__ double over_lanes(double sum, uint32_t log_lanes)
{
#pragma unroll
    for (uint32_t log = 0; log < 5; ++log) {
        const double other = __shfl_xor_sync(0xffffffffu, sum, 1 << log);
        sum = log < log_lanes ? sum + other : sum;
    }
    return sum;
}

template <class Sums>
__device__ double multiply_slice(const bb_transform_task &task, const slice_work &work,
                                 first_chunks &first, uint32_t lane, const typename Sums::factor *x)
{
    const bb_transform_lane transform_lane = bb_transform_lane_of(work.word);
    const uint32_t all = transform_lane.narrow + transform_lane.others;
    typename Sums::total sum = 0;
#pragma unroll
    for (int step = 0; step < steps; ++step) {
        const uint32_t number =
            bb_transform_lane_chunk(&transform_lane, lane, static_cast<uint32_t>(step));
        if (number < all) {
            add_chunk<Sums>(transform_lane, number < transform_lane.narrow, first.words[step], x,
                            sum);
        }
    }
    uint32_t base = first.base;
    uint4 words;
    for (uint32_t step = steps;
         base != first_chunks::none && work.fetch(task, transform_lane, lane, step, base, words);
         ++step) {
        const uint32_t number = bb_transform_lane_chunk(&transform_lane, lane, step);
        if (number < all) {
            add_chunk<Sums>(transform_lane, number < transform_lane.narrow, words, x, sum);
        }
    }
    const double total = over_lanes(static_cast<double>(sum), transform_lane.log_lanes);
    return transform_lane.poisoned != 0 ? nan("") : total;
}

// Transforms x of a panel, in the format of products; returns true if it is finite.
template <class Sums>
__device__ bool transform_x(const bb_transform_task &task, const double *basis, uint32_t panel,
                            room<Sums> &shared)
{
    const bb_transform_shape &shape = task.shape;
    double *half = shared.values + panel_cells;
    bool finite = true;
    for (uint32_t work = threadIdx.x; work < shape.panel_blocks * shape.cells; work += threads) {
        uint32_t origin = 0;
        uint32_t index = 0;
        if (bb_transform_stream_cell(&shape, panel, work, &origin, &index)) {
            shared.values[index] = task.x != nullptr
                                       ? __ldcg(task.x + origin)
                                       : static_cast<double>(__ldcg(task.x_f32 + origin));
        }
    }
    __syncthreads();
    for (uint32_t work = threadIdx.x; work < bb_transform_stream_cell_works(&shape, 2);
         work += threads) {
        const bb_transform_quad out = bb_transform_stream_along_cells(
            &shape, &task.bases, basis, panel, 2, work, shared.values);
#pragma unroll
        for (uint32_t o = 0; o < BB_TRANSFORM_TILE; ++o) {
            if (o < out.count) {
                half[out.start + o] = out.value[o];
            }
        }
    }
    __syncthreads();
    for (uint32_t work = threadIdx.x; work < bb_transform_stream_cell_works(&shape, 3);
         work += threads) {
        const bb_transform_quad out =
            bb_transform_stream_along_cells(&shape, &task.bases, basis, panel, 3, work, half);
#pragma unroll
        for (uint32_t o = 0; o < BB_TRANSFORM_TILE; ++o) {
            if (o < out.count) {
                finite = finite && isfinite(out.value[o]);
                shared.x[out.start + o] = static_cast<typename Sums::factor>(out.value[o]);
            }
        }
    }
    return __syncthreads_and(finite) != 0;
}

// Transforms the sums of `groups` blocks of rows of each job back to rows; a NaN in x spreads to
// all of them.
template <class Sums>
__device__ void transform_back(const bb_transform_task &task, const double *basis, uint32_t first,
                               uint32_t groups, bool finite, room<Sums> &shared)
{
    const bb_transform_shape &shape = task.shape;
    const uint32_t all = groups * static_cast<uint32_t>(task.count); // one job after the other
    uint32_t number = 0;
    uint32_t c = 0;
    uint32_t k = 0;
    for (uint32_t work = threadIdx.x; work < bb_transform_stream_row_works(&shape, 0, all);
         work += threads) {
        bb_transform_stream_row_work(&shape, 0, all, work, &number, &c, &k);
        const bb_transform_quad out =
            bb_transform_stream_along_rows(&shape, &task.bases, basis, first + number % groups, 0,
                                           c, k, shared.sums + number * shape.block_rows);
#pragma unroll
        for (uint32_t o = 0; o < BB_TRANSFORM_TILE; ++o) {
            if (o < out.count) {
                shared.values[number * shape.block_rows + out.start + o] = out.value[o];
            }
        }
    }
    __syncthreads();
    for (uint32_t work = threadIdx.x; work < bb_transform_stream_row_works(&shape, 1, all);
         work += threads) {
        bb_transform_stream_row_work(&shape, 1, all, work, &number, &c, &k);
        const bb_transform_quad out =
            bb_transform_stream_along_rows(&shape, &task.bases, basis, first + number % groups, 1,
                                           c, k, shared.values + number * shape.block_rows);
        double *parts =
            task.jobs[number / groups].parts + static_cast<size_t>(blockIdx.x) * task.part_pitch;
#pragma unroll
        for (uint32_t o = 0; o < BB_TRANSFORM_TILE; ++o) {
            const uint64_t row =
                bb_transform_stream_row(&shape, first + number % groups, out.start + o);
            if (o < out.count && row >= task.row && row < task.row + task.rows) {
                parts[row - task.row] = finite ? out.value[o] : nan("");
            }
        }
    }
}

// Slices of a warp: the current and the next one with chunks, and one more.
struct pipeline {
    slice_work work, next, after;
    first_chunks chunks, next_chunks;
    uint32_t index;

    __device__ void start(const bb_transform_task &task, const bb_transform_slices &slices,
                          uint32_t first, uint32_t distance, uint32_t lane)
    {
        work.find(task, slices, first, lane);
        next.find(task, slices, first + distance, lane);
        index = first + 2 * distance;
        after.find(task, slices, index, lane);
        chunks.fetch(task, work, lane);
        next_chunks.fetch(task, next, lane);
    }

    __device__ void move(const bb_transform_task &task, const bb_transform_slices &slices,
                         uint32_t distance, uint32_t lane)
    {
        work = next;
        chunks = next_chunks;
        next = after;
        next_chunks.fetch(task, next, lane);
        index += distance;
        after.find(task, slices, index, lane);
    }
};

// Initialises shared memory before x is loaded.
template <class Sums>
__device__ void prepare(const bb_transform_task &task, bool keeps, uint32_t panel,
                        room<Sums> &shared)
{
    const uint32_t all = static_cast<uint32_t>(task.count) * task.bands;
    if (threadIdx.x < all) {
        bb_transform_stream_find_slices(&task, panel, threadIdx.x, &shared.slices);
    }
    for (uint32_t i = threadIdx.x; keeps && i < task.bases.values; i += threads) {
        shared.basis[i] = task.basis[i];
    }
    for (uint32_t i = threadIdx.x; i < BB_TRANSFORM_SUMS; i += threads) {
        shared.sums[i] = 0.0;
    }
    __syncthreads();
}

// Computes the contribution of a panel, or of a share of it, to y.
template <class Sums>
__global__ void __launch_bounds__(threads, 3)
    multiply(const __grid_constant__ bb_transform_task task)
{
    extern __shared__ __align__(16) unsigned char memory[];
    room<Sums> &shared = *reinterpret_cast<room<Sums> *>(memory);
    const bb_transform_shape &shape = task.shape;
    const uint32_t lane = threadIdx.x % lanes;
    uint32_t panel = 0;
    uint32_t share = 0;
    uint32_t shares = 0;
    bb_transform_stream_share_of(&task, blockIdx.x, &panel, &share, &shares);
    const uint32_t first_slice = share * warps + threadIdx.x / lanes;
    const uint32_t distance = shares * warps;
    const uint32_t at_once = bb_transform_stream_groups_at_once(&task);
    const uint32_t begin = task.band * shape.count[1];
    const uint32_t end = begin + task.bands * shape.count[1];
    const bool keeps = task.bases.values <= BB_TRANSFORM_BASES;
    const double *basis = keeps ? shared.basis : task.basis;
    pipeline slices;
    hopper::let_next_kernel_start();
    prepare(task, keeps, panel, shared);
    slices.start(task, shared.slices, first_slice, distance, lane);
    hopper::wait_for_kernel_before(); // the preceding kernel may write x and read the parts
    const bool finite = transform_x(task, basis, panel, shared);
    for (uint32_t first = begin; first < end; first += at_once) {
        const uint32_t groups = end - first < at_once ? end - first : at_once;
        if (first > begin) {
            __syncthreads(); // until all threads have read the previous sums
            prepare(task, false, panel, shared);
            slices.start(task, shared.slices, first_slice, distance, lane);
        }
        for (; slices.work.job >= 0; slices.move(task, shared.slices, distance, lane)) {
            const uint32_t group = slices.work.slice.group - first; // or beyond the last row
            if (group < groups) {
                const double sum =
                    multiply_slice<Sums>(task, slices.work, slices.chunks, lane, shared.x);
                const bb_transform_lane transform_lane = bb_transform_lane_of(slices.work.word);
                if (transform_lane.present != 0 &&
                    (lane & ((1u << transform_lane.log_lanes) - 1u)) == 0) {
                    const uint32_t block = static_cast<uint32_t>(slices.work.job) * groups + group;
                    shared.sums[block * shape.block_rows + transform_lane.row] = sum;
                }
            }
        }
        __syncthreads();
        transform_back(task, basis, first, groups, finite, shared);
    }
}

// Computes y: four rows of a job over all panels.
__global__ void __launch_bounds__(adders) add(const __grid_constant__ bb_transform_task task)
{
    __shared__ double sums[add_warps][rows_at_once];
    const bb_transform_job &job = task.jobs[blockIdx.y];
    const uint32_t warp = threadIdx.x / lanes;
    const uint32_t lane = threadIdx.x % lanes;
    const uint32_t row = blockIdx.x * rows_at_once + threadIdx.x % rows_at_once;
    double sum = 0.0;
    hopper::let_next_kernel_start();
    hopper::wait_for_kernel_before(); // the preceding kernel writes the parts
    if (row < task.rows) {
#pragma unroll 8
        for (uint32_t p = threadIdx.x / rows_at_once; p < task.blocks; p += stride) {
            sum += __ldcg(job.parts + static_cast<size_t>(p) * task.part_pitch + row);
        }
    }
#pragma unroll
    for (uint32_t step = lanes / 2; step >= rows_at_once; step /= 2) {
        sum += __shfl_xor_sync(0xffffffffu, sum, static_cast<int>(step));
    }
    if (lane < rows_at_once) {
        sums[warp][lane] = sum;
    }
    __syncthreads();
    if (threadIdx.x < rows_at_once && row < task.rows) {
        double all = 0.0;
#pragma unroll
        for (uint32_t w = 0; w < add_warps; ++w) {
            all += sums[w][threadIdx.x];
        }
        job.y[row] = all * job.step;
    }
}

template <class Sums> bb_status launch_both(const bb_transform_task &task, cudaStream_t queue)
{
    bool early = false;
    BB_RETURN_IF_FAILED(bb_device_cuda_uses_hopper(&early));
    const int bytes = static_cast<int>(sizeof(room<Sums>));
    BB_CUDA_TRY(
        cudaFuncSetAttribute(multiply<Sums>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    BB_CUDA_TRY(hopper::launch({dim3(task.blocks), dim3(threads), sizeof(room<Sums>), queue, early},
                               multiply<Sums>, task));
    const dim3 blocks((task.rows + rows_at_once - 1) / rows_at_once,
                      static_cast<unsigned>(task.count));
    BB_CUDA_TRY(hopper::launch({blocks, dim3(adders), 0, queue, early}, add, task));
    return BB_OK;
}

} // namespace

bb_status bb_transform_stream_multiply_cuda(bb_queue *queue, bb_index, bb_index rows,
                                            void *arguments)
{
    const bb_transform_task &task = *static_cast<const bb_transform_task *>(arguments);
    cudaStream_t stream = bb_queue_stream(queue);
    (void)rows;
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
