// SPDX-License-Identifier: Apache-2.0
//
// For .cu files only: the kernel of coded_stream.h as a template over storage
// (stream_storage_cuda.h) and kind of sums (stream_sums_cuda.h).
//
// One thread block per multiprocessor. Its last warp is the producer: for each run of tiles of its
// block (stream_partition_core.h) it copies the rows of a tile, which are contiguous, and the
// tile's part of x into a ring of stages in shared memory, one bulk copy each. Each of the other 16
// warps multiplies four or two of the rows and adds them to the sums of its lanes, each lane for
// its columns. At the end of a run the lanes of a row are summed and written to the run's place.
// add_places, resident on the device long before, adds the places when all blocks have published
// theirs: one fence per block, none per run.
//
// This is the implementation for sm_90. On other GPUs the 16 warps copy the tiles themselves
// (stream_staged_cuda.h), nothing overlaps with the kernels before and after, and turns are
// assigned statically; sums are the same in the same order.
//
// Floor: the bytes of the matrix, plus the latency of the first stage and add_places. Launches
// overlap (programmatic dependent launch): the next product's producers fill their rings while this
// product's places are added. They do so one stage at a time, because outstanding loads would delay
// add_places. Both kernels fit on a multiprocessor together: 17 warps of 96 registers leave room
// for one of 32 in the sub-partition that has five of them.
//
// Order of the sums of a row: a lane's columns of a tile in the order of its chunks
// (coded_stream.h), tiles ascending within a run, a binary tree over the lanes, places in strides
// of the number of lanes per row, then a tree. It depends only on the storage, the requested rows,
// the number of operands per launch and the number of multiprocessors, so bits are repeatable.
#ifndef BB_SOLVERS_OPERATOR_STREAM_CODED_STREAM_CUDA_H
#define BB_SOLVERS_OPERATOR_STREAM_CODED_STREAM_CUDA_H

#include "core/device/device_cuda.h"
#include "solvers/operator/stream/stream_producer_cuda.h"
#include "solvers/operator/stream/stream_staged_cuda.h"
#include "solvers/operator/stream/stream_sums_cuda.h"

#include <cuda/atomic>

namespace stream
{

/// Lane l's columns of x of a tile, in the order of its chunks.
template <class S, class Product>
__device__ __forceinline__ void read_x(const Product *x, int lane, Product (&out)[S::values])
{
    constexpr int chunks = S::values / 4;
    const Product *own = x + lane * S::values;
#pragma unroll
    for (int c = 0; c < chunks; ++c) {
        const Product *source = own + 4 * bb_coded_stream_chunk(chunks, lane, c);
        if constexpr (sizeof(Product) == sizeof(float)) {
            float4 four = *reinterpret_cast<const float4 *>(source);
            out[4 * c] = four.x;
            out[4 * c + 1] = four.y;
            out[4 * c + 2] = four.z;
            out[4 * c + 3] = four.w;
        } else {
            double2 a = reinterpret_cast<const double2 *>(source)[0];
            double2 b = reinterpret_cast<const double2 *>(source)[1];
            out[4 * c] = a.x;
            out[4 * c + 1] = a.y;
            out[4 * c + 2] = b.x;
            out[4 * c + 3] = b.y;
        }
    }
}

/// Called by a block's multiplying warps at their end: announces to add_places that their sums are
/// in their places.
__device__ __forceinline__ void publish(const job &task_job)
{
    barrier_of_warps();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(&task_job.task.counts->published, 1U);
    }
}

/// Waits until `blocks` have published, which is a microsecond earlier than the end of their
/// kernel. The last block to arrive clears the counts.
__device__ __forceinline__ void await_sums(bb_stream_counts *counts, unsigned blocks)
{
    if (threadIdx.x == 0) {
        cuda::atomic_ref<unsigned, cuda::thread_scope_device> published(counts->published);
        while (published.load(cuda::memory_order_acquire) < blocks) {
            __nanosleep(64);
        }
        if (atomicAdd(&counts->known, 1U) == gridDim.x - 1U) {
            counts->turns = counts->published = counts->known = 0U;
        }
    }
    __syncthreads();
}

/// Clears the counts of cut tiles. They must stay set until all blocks of the product have seen
/// that x is cut, and add_places does not start earlier. They must be zero before the next
/// product's blocks may start, which add_places allows, because these would read them as their own.
/// Turns of cutting are drawn before the wait for the preceding kernel, so `cutting` must also be 0
/// when block 0 lets the next kernel start.
__device__ __forceinline__ void forget_cut(bb_stream_counts *counts)
{
    atomicExch(&counts->cut, 0U);
    atomicExch(&counts->cutting, 0U);
    __threadfence();
}

/// Finds row `row` of a group in a stage, or in memory; `first_row` is the first requested row.
template <class S>
__device__ __forceinline__ row_source find_row(const job &task_job, const unsigned char *stage,
                                               const stage_note &note, bb_index first_row, int row)
{
    const bb_stream_operand &operand = task_job.task.operand[note.operand];
    const bb_index line = first_row + note.row + row;
    const uint32_t turn = static_cast<uint32_t>(line % BB_STREAM_TURNS);
    if constexpr (S::varies) {
        const uint2 *places = reinterpret_cast<const uint2 *>(stage) + note.shift;
        // Rows beyond the last read the stage's first row; their sums are not used.
        const uint2 place = places[row < note.end ? row - note.begin : 0];
        const unsigned char *bytes =
            note.far ? operand.words + BB_STREAM_UNIT * static_cast<size_t>(place.x)
                     : stage + task_job.shape.units_at + BB_STREAM_UNIT * (place.x - places[0].x);
        return row_source{bytes, place.y, operand.step, turn};
    } else {
        const int row_bytes =
            S::of_any_bits ? static_cast<int>(task_job.task.layout.row_bytes) : S::row_bytes;
        float step = 0.0F;
        if constexpr (S::has_steps) {
            step = row < note.end ? operand.steps[line] : 0.0F;
        }
        return row_source{stage + row * row_bytes, static_cast<uint32_t>(task_job.task.layout.bits),
                          step, turn};
    }
}

/// A multiplying warp.
template <class S, class Sums> struct consumer {
    using product = typename Sums::product;
    const job &task_job;
    int warp, lane;
    bb_index first_row; // first of the requested rows
    Sums sums;

    __device__ __forceinline__ void multiply(const unsigned char *stage, const stage_note &note)
    {
        product x[S::values];
        bool finite = true;
        read_x<S>(reinterpret_cast<const product *>(stage + task_job.shape.x_at), lane, x);
        if constexpr (S::varies) {
#pragma unroll
            for (int v = 0; v < S::values; ++v) {
                finite = finite && isfinite(x[v]);
            }
        }
#pragma unroll
        for (int r = 0; r < S::warp_rows; ++r) {
            const row_source row =
                find_row<S>(task_job, stage, note, first_row, warp * S::warp_rows + r);
            if (!S::varies || row.bits != 0 || !finite) {
                sums.add(r, row, lane, x);
            }
        }
        sums.turn();
    }

    // Writes the lanes' sums of a run to its place.
    __device__ __forceinline__ void leave(const stage_note &note)
    {
        double total[S::warp_rows];
#pragma unroll
        for (int r = 0; r < S::warp_rows; ++r) {
            total[r] = sums.total(r);
        }
        // While there are several rows, each half of the lanes continues with half of the rows.
        int rows = S::warp_rows;
        int half = lanes / 2;
#pragma unroll
        for (int step = 0; step < 5; ++step, half /= 2) {
            const bool upper = (lane & half) != 0;
            if (rows > 1) {
                rows /= 2;
#pragma unroll
                for (int r = 0; r < rows; ++r) {
                    double kept = upper ? total[rows + r] : total[r];
                    double given = upper ? total[r] : total[rows + r];
                    total[r] = kept + __shfl_xor_sync(everyone, given, half);
                }
            } else {
                total[0] += __shfl_xor_sync(everyone, total[0], half);
            }
        }
        constexpr int lanes_of_row = lanes / S::warp_rows;
        const int own = warp * S::warp_rows + lane / lanes_of_row;
        if (lane % lanes_of_row == 0 && own < note.end) {
            const bb_index row = note.operand * task_job.task.rows + note.row + own;
            task_job.task.places[row * task_job.parts.most_places + note.place] = total[0];
        }
    }

    __device__ __forceinline__ void work(stage_control *control, const unsigned char *stages)
    {
        ring_place stage_place = {0, 0};
        plain_x<S, product>::await(task_job, control);
        sums.start(task_job.task);
        while (true) {
            hopper::barrier_wait(&control->full[stage_place.slot], stage_place.parity);
            const stage_note note = control->notes[stage_place.slot];
            if (note.operand < 0) {
                break;
            }
            const int row = warp * S::warp_rows;
            const bool wanted = row >= note.begin && row < note.end;
            if (wanted) {
                multiply(stages + static_cast<size_t>(stage_place.slot) * task_job.shape.bytes,
                         note);
            }
            __syncwarp();
            if (lane == 0) {
                hopper::barrier_arrive(&control->empty[stage_place.slot]);
            }
            if (wanted && note.place >= 0) {
                leave(note);
                sums.clear();
            }
            stage_place.advance(task_job.shape.stages);
        }
        publish(task_job);
    }
};

template <class S, class Sums>
__global__ void __launch_bounds__(threads, 1) multiply(const __grid_constant__ job task_job)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 900
    extern __shared__ __align__(128) unsigned char stages[];
    __shared__ stage_control control;
    const int warp = static_cast<int>(threadIdx.x) / lanes;
    const int lane = static_cast<int>(threadIdx.x) % lanes;
    if (threadIdx.x == 0) {
        start_barriers(task_job, &control);
    }
    __syncthreads();
    if (warp < warps) {
        consumer<S, Sums> own = {task_job, warp, lane, first_row_of(task_job), {}};
        own.work(&control, stages);
    } else if (lane == 0) {
        producer<S, plain_x<S, typename Sums::product>> own(task_job, &control, stages);
        own.work();
    }
#else
    __trap(); // bulk copies need sm_90; other GPUs use multiply_staged
#endif
}

/// Product as above, for blocks that copy their stages themselves (stream_staged_cuda.h).
template <class S, class Sums>
__global__ void __launch_bounds__(staged_threads, 1)
    multiply_staged(const __grid_constant__ job task_job)
{
    extern __shared__ __align__(128) unsigned char stages[];
    const int warp = static_cast<int>(threadIdx.x) / lanes;
    const int lane = static_cast<int>(threadIdx.x) % lanes;
    consumer<S, Sums> own = {task_job, warp, lane, first_row_of(task_job), {}};
    own.sums.start(task_job.task);
    walk_stages<S, plain_x<S, typename Sums::product>>(
        task_job, stages, [&](const unsigned char *stage, const stage_note &note) {
            const int row = warp * S::warp_rows;
            if (row >= note.begin && row < note.end) {
                own.multiply(stage, note);
                if (note.place >= 0) {
                    own.leave(note);
                    own.sums.clear();
                }
            }
        });
    publish(task_job);
}

/// A requested row of an operand and the location of its sums; no sums beyond the last row.
struct row_places {
    int operand, row;
    int count;
    const double *places;
};

/// For row `line` of the rows of all operands.
__device__ __forceinline__ row_places places_of(const job &task_job, int rows_of_group, int line)
{
    const int rows = static_cast<int>(task_job.task.rows);
    row_places out = {0, line, 0, task_job.task.places};
#pragma unroll
    for (int k = 1; k < BB_STREAM_OPERANDS; ++k) {
        if (out.row >= rows) {
            out.row -= rows;
            ++out.operand;
        }
    }
    if (out.operand < task_job.task.operands && out.row < rows) {
        const unsigned group_row =
            static_cast<unsigned>(out.row) / static_cast<unsigned>(rows_of_group);
        const int group = out.operand * task_job.groups + static_cast<int>(group_row);
        out.count = bb_stream_partition_places(&task_job.parts, group);
        out.places += static_cast<size_t>(line) * task_job.parts.most_places;
    }
    return out;
}

/// Scale by which the row's sum is divided.
__device__ __forceinline__ double scale_of(const job &task_job, const row_places &place)
{
    const bb_stream_operand &own = task_job.task.operand[place.operand];
    return place.count == 0 || own.scales == nullptr
               ? 1.0
               : own.scales[first_row_of(task_job) + place.row];
}

/// Adds a lane's places of its row, `first` and every `stride`-th after it, in order. Loads are
/// issued together; one after another they would take 5 us of a product of 384 rows.
__device__ __forceinline__ double add_own_places(const row_places &place, int first, int stride)
{
    double total = 0.0;
    for (int begin = first; begin < place.count; begin += adding_loads * stride) {
        double values[adding_loads];
#pragma unroll
        for (int k = 0; k < adding_loads; ++k) {
            const int i = begin + k * stride;
            values[k] = i < place.count ? __ldcg(place.places + i) : 0.0;
        }
#pragma unroll
        for (int k = 0; k < adding_loads; ++k) {
            total += values[k];
        }
    }
    return total;
}

/// Computes y from the places. `row_lanes` lanes add those of a row. A warp has as many rows as
/// fit, and continues with further ones after those of all warps.
static __global__ void __launch_bounds__(lanes *adding_warps, adding_fit)
    add_places(const __grid_constant__ job task_job, int rows_of_group, int row_lanes)
{
    const int lane = static_cast<int>(threadIdx.x) % lanes;
    const int rows_of_warp = lanes / row_lanes;
    const int warp =
        static_cast<int>(blockIdx.x) * adding_warps + static_cast<int>(threadIdx.x) / lanes;
    const int stride = static_cast<int>(gridDim.x) * adding_warps * rows_of_warp;
    const int own = warp * rows_of_warp;
    const int end = task_job.task.operands * static_cast<int>(task_job.task.rows);
    if (threadIdx.x == 0) {
        if (blockIdx.x == 0) {
            forget_cut(task_job.task.counts);
        }
        hopper::let_next_kernel_start();
    }
    row_places place = {};
    double scale = 1.0;
    // Run once before the sums arrive, to load the instructions and the scale.
    for (int begin = own - stride; begin < end; begin += stride) {
        if (begin != own) {
            place =
                places_of(task_job, rows_of_group, (begin < 0 ? own : begin) + lane / row_lanes);
            scale = scale_of(task_job, place);
        }
        double total = add_own_places(place, lane % row_lanes, row_lanes);
        for (int half = row_lanes / 2; half > 0; half /= 2) {
            total += __shfl_xor_sync(everyone, total, half);
        }
        if (begin < 0) {
            await_sums(task_job.task.counts, static_cast<unsigned>(task_job.parts.blocks));
        } else if (lane % row_lanes == 0 && place.count > 0) {
            task_job.task.operand[place.operand].y[place.row] = total / scale;
        }
    }
}

// Shared memory that a block may request on the current device.
inline bb_status describe_device(int *maximum)
{
    int device = 0;
    BB_CUDA_TRY(cudaGetDevice(&device));
    BB_CUDA_TRY(cudaDeviceGetAttribute(maximum, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    return BB_OK;
}

template <class S>
stage_shape shape_of(const bb_stream_task &task, int room, int x_bytes, int stages)
{
    constexpr int align = 128;
    const bb_index of_16 = task.sums == BB_STREAM_WIDE ? 2 : 4;
    stage_shape out = {};
    int rows = group_rows<S> * static_cast<int>(task.layout.row_bytes);
    if constexpr (S::varies) {
        out.units_at = (8 * group_rows<S> + 16 + align - 1) / align * align;
        rows = out.units_at + BB_STREAM_UNIT * S::most_units;
    }
    out.x_at = (rows + align - 1) / align * align;
    out.bytes = out.x_at + (x_bytes + align - 1) / align * align;
    out.stages = room / out.bytes < stages ? room / out.bytes : stages;
    out.whole_columns = task.columns / of_16 * of_16;
    return out;
}

/// Launch parameters of a kernel of this family.
struct launch_plan {
    void (*kernel)(job); ///< kernel for sm_90
    void (*staged)(job); ///< kernel for other GPUs
    void (*cut)(job);    ///< launched only before `staged`; nullptr: x is not cut
    int cut_threads;
    int least_stages; ///< least number of stages of the sm_90 kernel
    int x_bytes;      ///< bytes of x per stage
    int static_bytes; ///< additional static shared memory
};

template <class S>
bb_status check(const bb_stream_task &task, const stage_shape &shape, int least_stages)
{
    const bb_index most_rows = bb_index(1) << 30; // limit of add_places
    if (task.layout.columns != S::columns || task.layout.warp_rows != S::warp_rows ||
        (!S::varies && task.layout.row_bytes > S::row_bytes) || shape.stages < least_stages) {
        return bb_status_set(BB_UNSUPPORTED, __FILE__, __LINE__,
                             "coded product with rows of %td bytes: stages have %d bytes, the "
                             "device's shared memory holds %d of them, expected %d",
                             task.layout.row_bytes, shape.bytes, shape.stages, least_stages);
    }
    if (task.operands * task.rows > most_rows) {
        return bb_status_set(BB_UNSUPPORTED, __FILE__, __LINE__,
                             "coded product of %td rows in one launch, expected at most %td",
                             task.operands * task.rows, most_rows);
    }
    return BB_OK;
}

template <class S>
bb_status launch(const bb_stream_task &task, const launch_plan &plan, cudaStream_t queue)
{
    int limit = 0;
    bool of_sm_90 = false;
    BB_RETURN_IF_FAILED(bb_device_cuda_uses_hopper(&of_sm_90));
    BB_RETURN_IF_FAILED(describe_device(&limit));
    bb_index groups = (task.rows + group_rows<S> - 1) / group_rows<S>;
    job task_job = {task, bb_stream_partition_of(groups * task.operands, task.tiles, task.blocks),
                    shape_of<S>(task, limit - 1024 - plan.static_bytes, plan.x_bytes,
                                of_sm_90 ? most_stages : most_staged),
                    static_cast<int>(groups)};
    BB_RETURN_IF_FAILED(check<S>(task, task_job.shape, of_sm_90 ? plan.least_stages : 1));
    const int bytes = task_job.shape.stages * task_job.shape.bytes;
    void (*const kernel)(job) = of_sm_90 ? plan.kernel : plan.staged;
    BB_CUDA_TRY(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    const int row_lanes = bb_stream_partition_row_lanes(&task_job.parts);
    const bb_index taken = adding_warps * (lanes / row_lanes); // rows per block at a time
    const bb_index adding = (task.operands * task.rows + taken - 1) / taken;
    const bb_index limit_blocks = static_cast<bb_index>(adding_blocks) * task.blocks;
    const auto blocks_of = [](bb_index count) { return dim3(static_cast<unsigned>(count)); };
    cudaError_t error = cudaSuccess;
    if (plan.cut != nullptr && !of_sm_90) {
        const dim3 cutting(static_cast<unsigned>(plan.cut_threads));
        const bb_index room = cutting_blocks * static_cast<bb_index>(task.blocks);
        const bb_index blocks = task.tiles < room ? task.tiles : room;
        error = hopper::launch({blocks_of(blocks), cutting, 0, queue, false}, plan.cut, task_job);
    }
    if (error == cudaSuccess) {
        const size_t room = static_cast<size_t>(bytes);
        const dim3 of_block(static_cast<unsigned>(of_sm_90 ? threads : staged_threads));
        error = hopper::launch({blocks_of(task.blocks), of_block, room, queue, of_sm_90}, kernel,
                               task_job);
    }
    if (error == cudaSuccess) {
        const bb_index blocks = adding < limit_blocks ? adding : limit_blocks;
        error = hopper::launch({blocks_of(blocks), dim3(lanes * adding_warps), 0, queue, of_sm_90},
                               add_places, task_job, group_rows<S>, row_lanes);
    }
    if (error != cudaSuccess) { // reset the counts, which the failed kernels would have cleared
        (void)cudaMemsetAsync(task.counts, 0, sizeof *task.counts, queue);
    }
    BB_CUDA_TRY(error);
    return BB_OK;
}

template <class S, class Sums> bb_status launch_sums(const bb_stream_task &task, cudaStream_t queue)
{
    return launch<S>(task,
                     {multiply<S, Sums>, multiply_staged<S, Sums>, nullptr, 0, 2,
                      S::columns * static_cast<int>(sizeof(typename Sums::product)),
                      static_cast<int>(sizeof(stage_control))},
                     queue);
}

template <class S> bb_status launch_storage(const bb_stream_task &task, cudaStream_t queue)
{
    switch (task.sums) {
    case BB_STREAM_WIDE:
        return launch_sums<S, wide_sums<S>>(task, queue);
    case BB_STREAM_EACH:
        return launch_sums<S, each_sums<S>>(task, queue);
    default: // run lengths, and a single run
        return launch_sums<S, run_sums<S>>(task, queue);
    }
}

/// One or two .cu files per storage, so that they compile in parallel.
bb_status launch_plain(const bb_stream_task &task, cudaStream_t queue);
bb_status launch_narrow(const bb_stream_task &task, cudaStream_t queue);
bb_status launch_planes(const bb_stream_task &task, cudaStream_t queue);
bb_status launch_integers(const bb_stream_task &task, cudaStream_t queue);
bb_status launch_limbs(const bb_stream_task &task, cudaStream_t queue);
bb_status launch_plane_digits(const bb_stream_task &task, cudaStream_t queue);

} // namespace stream

#endif
