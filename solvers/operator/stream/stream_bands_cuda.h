// SPDX-License-Identifier: Apache-2.0
//
// For .cu files only: products of stored values of at most 16 bits on tensor cores, the sums
// BB_STREAM_LIMBS of coded_stream.h over the ring of stream_producer_cuda.h.
//
// x is cut into limbs once per product, by one warp per quarter of a tile's columns, and stored in
// the order in which the products read it. Blocks that cut x themselves would do so for every group
// of rows, which takes longer than a stage of 4 bits. In multiply_bands a warp processes 16 rows, a
// band, and a quarter of a tile's columns; a tile's x is copied into the ring with the rows. A Way
// defines how x is cut and multiplied: limbs of fp16 for floats (stream_limbs_cuda.h), of bytes for
// integers (stream_digits_cuda.h). A tile's sums are weighted and added in fp64; the quarters of a
// band are added in shared memory at the end of a run.
//
// The multiplying warps cut x first, four tiles per block at a time, while the ring is filled with
// rows of the block's first run; the producer continues when all tiles are reported as cut. A
// separate kernel would take 0.7 to 3.5 us more (docs/lab/performance.md, 7); multiply_bands_staged
// uses one.
//
// A Way<S> of a storage S has
//   mark                   metadata of a quarter, written by the cutting warp
//   cut_bytes, cut(x, out, quarter, lane)           cuts a quarter of a tile's x into limbs
//   multiply(job, stage, note, x, mark, sum)        adds two rows of the lane to its sums
//   step(operand, line)    factor of a row's final sums
//
// Order of the sums of a row: the order of the Way within a quarter of a tile, tiles ascending in
// fp64, lanes of the limbs, quarters, and places as in coded_stream_cuda.h.
#ifndef BB_SOLVERS_OPERATOR_STREAM_STREAM_BANDS_CUDA_H
#define BB_SOLVERS_OPERATOR_STREAM_STREAM_BANDS_CUDA_H

#include "solvers/operator/stream/coded_stream_cuda.h"

namespace stream
{

constexpr int band_rows = BB_STREAM_BAND; // rows per warp
constexpr int quarters = 4;               // quarters of a tile's columns
constexpr int cut_threads = lanes * quarters;
constexpr double upper_weight = 65536.0; // factor of x for an upper tile
/// Sums of the quarters of a run, for the rows of a group, double-buffered.
struct band_sums {
    double values[2][quarters][warps * 4];
};

/// A tile of x in limbs: the limbs, then the marks of the quarters.
template <class Way> struct cut_tile {
    static constexpr int bytes =
        Way::cut_bytes + quarters * static_cast<int>(sizeof(typename Way::mark));
    static_assert(bytes % 16 == 0 && bytes <= BB_STREAM_CUT_BYTES, "as it is copied and stored");

    static __device__ __forceinline__ typename Way::mark *marks(unsigned char *tile)
    {
        return reinterpret_cast<typename Way::mark *>(tile + Way::cut_bytes);
    }
    static __device__ __forceinline__ const typename Way::mark *marks(const unsigned char *tile)
    {
        return reinterpret_cast<const typename Way::mark *>(tile + Way::cut_bytes);
    }
};

/// Tile whose x is used: the tile itself, or the source of an upper tile.
template <class S> struct cut_source {
    bb_index tile;
    bool is_upper;

    __device__ __forceinline__ cut_source(const bb_stream_task &task, bb_index index)
        : tile(index), is_upper(false)
    {
        if constexpr (S::varies) {
            const bb_index plain = (task.columns + S::columns - 1) / S::columns;
            is_upper = index >= plain;
            tile = is_upper ? task.sources[index - plain] : index;
        }
    }
};

/// Columns of x from a tile's first one on, zeros beyond the last.
struct columns_of_x {
    const float *x; // aligned to 16 bytes
    int left;

    __device__ __forceinline__ float4 four(int chunk) const
    {
        const int first = 4 * chunk;
        if (first + 4 <= left) {
            return __ldcg(reinterpret_cast<const float4 *>(x) + chunk);
        }
        return {first < left ? __ldcg(x + first) : 0.0F,
                first + 1 < left ? __ldcg(x + first + 1) : 0.0F,
                first + 2 < left ? __ldcg(x + first + 2) : 0.0F, 0.0F};
    }
};
template <class S>
__device__ __forceinline__ columns_of_x columns_of_tile(const bb_stream_task &task, int index)
{
    const bb_index first = cut_source<S>(task, index).tile * S::columns;
    const bb_index left = task.columns - first;
    return {static_cast<const float *>(task.x) + first,
            static_cast<int>(left < S::columns ? left : S::columns)};
}

/// A lane's columns of a quarter of a tile, in the order of read_x's chunks.
template <class S, int Turns>
__device__ __forceinline__ void load_quarter(const columns_of_x &source, int quarter, int lane,
                                             float4 (&x)[Turns])
{
    constexpr int chunks = S::values / 4; // chunks per lane of read_x
#pragma unroll
    for (int k = 0; k < Turns; ++k) {
        const int unit = (quarter * Turns + k) * lanes + lane;
        const int owner = unit / chunks;
        x[k] = source.four(owner * chunks + bb_coded_stream_chunk(chunks, owner, unit % chunks));
    }
}

/// Cuts tile `index` of x into limbs, one warp per quarter.
template <class S, class Way>
__device__ __forceinline__ void cut_tile_of_x(const bb_stream_task &task, int index, int quarter,
                                              int lane)
{
    unsigned char *tile = task.limbs + static_cast<size_t>(index) * cut_tile<Way>::bytes;
    float4 x[Way::turns];
    load_quarter<S>(columns_of_tile<S>(task, index), quarter, lane, x);
    typename Way::mark mark = Way::cut(x, tile, quarter, lane);
    if constexpr (S::varies) { // the scaling is exact; in x itself it could exceed the range of
                               // fp32
        mark.scale *= cut_source<S>(task, index).is_upper ? upper_weight : 1.0;
    }
    if (lane == 0) {
        cut_tile<Way>::marks(tile)[quarter] = mark;
    }
}

/// Runs before multiply_bands_staged: a block cuts every gridDim.x-th tile of x.
template <class S, class Way>
__global__ void __launch_bounds__(cut_threads) cut_x(const __grid_constant__ job task_job)
{
    const int quarter = static_cast<int>(threadIdx.x) / lanes;
    const int lane = static_cast<int>(threadIdx.x) % lanes;
    for (int index = static_cast<int>(blockIdx.x); index < task_job.parts.tiles;
         index += static_cast<int>(gridDim.x)) {
        cut_tile_of_x<S, Way>(task_job.task, index, quarter, lane);
    }
}

/// Cuts x by the multiplying warps, four tiles per turn. Turns are drawn dynamically, so that
/// resident blocks need not wait for others; the first one is drawn before x is available.
template <class S, class Way>
__device__ __forceinline__ void cut_by_turns(const job &task_job, stage_control *control, int warp,
                                             int lane)
{
    constexpr int together = warps / quarters; // tiles per turn
    bb_stream_counts *counts = task_job.task.counts;
    unsigned next = 0;
    int count = 0;
    if (threadIdx.x == 0) {
        next = atomicAdd(&counts->cutting, 1U);
    }
    hopper::wait_for_kernel_before();
    for (int turn = 0;; turn ^= 1) {
        if (threadIdx.x == 0) {
            control->cutting[turn] = next;
        }
        barrier_of_warps();
        const int first = static_cast<int>(control->cutting[turn]) * together;
        if (first >= task_job.parts.tiles) {
            break;
        }
        if (threadIdx.x == 0) {
            next = atomicAdd(&counts->cutting, 1U);
        }
        const int index = first + warp / quarters;
        if (index < task_job.parts.tiles) {
            cut_tile_of_x<S, Way>(task_job.task, index, warp % quarters, lane);
        }
        count += min(together, task_job.parts.tiles - first);
        hopper::memory_before_copies();
    }
    if (threadIdx.x == 0) {
        if (count > 0) {
            __threadfence();
            atomicAdd(&counts->cut, static_cast<unsigned>(count));
        }
        hopper::barrier_arrive(&control->has_cut);
    }
}

/// x of a tile in limbs, in the form that a producer copies.
template <class Way> struct limbs_of_x {
    static constexpr bool has_end = false;

    static __device__ __forceinline__ uint32_t bytes(const job &, int)
    {
        return cut_tile<Way>::bytes;
    }
    static __device__ __forceinline__ const void *source(const job &task_job, int tile)
    {
        return task_job.task.limbs + static_cast<size_t>(tile) * cut_tile<Way>::bytes;
    }

    /// The count of cut tiles belongs to this product: forget_cut has run before these blocks could
    /// start. When all tiles are cut the preceding kernel has ended, so add_places may start. The
    /// block must have drawn its last turn before, because a later one would be counted after
    /// forget_cut.
    static __device__ __forceinline__ void await(const job &task_job, stage_control *control)
    {
        hopper::barrier_wait(&control->has_cut, 0);
        cuda::atomic_ref<unsigned, cuda::thread_scope_device> cut(task_job.task.counts->cut);
        while (cut.load(cuda::memory_order_acquire) < static_cast<unsigned>(task_job.parts.tiles)) {
            __nanosleep(32);
        }
        hopper::memory_before_copies();
        hopper::let_next_kernel_start();
    }
};

/// A multiplying warp: a lane has rows lane / 4 and lane / 4 + 8 of its band.
template <class Way> struct band_consumer {
    const job &task_job;
    int band, quarter, lane;
    bb_index first_row; // first of the requested rows
    Way way;
    double sum[2];
    int turn; // index of the buffer in band_sums

    __device__ __forceinline__ band_consumer(const job &all, int warp, int own_lane)
        : task_job(all), band(warp / quarters), quarter(warp % quarters), lane(own_lane),
          first_row(first_row_of(all)), way(warp / quarters, warp % quarters, own_lane, first_row),
          sum(), turn(0)
    {
    }

    // True if rows of the band are in a stage.
    __device__ __forceinline__ bool wants(const stage_note &note) const
    {
        return band_rows * band >= note.begin && band_rows * band < note.end;
    }

    __device__ __forceinline__ void multiply(const unsigned char *stage, const stage_note &note)
    {
        const unsigned char *x = stage + task_job.shape.x_at;
        way.multiply(task_job, stage, note, x, cut_tile<Way>::marks(x)[quarter], sum);
    }

    // Writes the quarters' sums of a run to its place.
    __device__ __forceinline__ void leave(const stage_note &note, band_sums *own)
    {
        const int row = band_rows * band;
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            double total = sum[r];
            total += __shfl_xor_sync(everyone, total, 2);
            total += __shfl_xor_sync(everyone, total, 1);
            if (lane % 4 == 0) {
                own->values[turn][quarter][row + 8 * r + lane / 4] = total;
            }
            sum[r] = 0.0;
        }
        asm volatile("bar.sync %0, %1;" ::"r"(barriers_of_bands + band), "n"(quarters * lanes)
                     : "memory");
        const int wanted = row + lane;
        if (quarter == 0 && lane < band_rows && wanted < note.end) {
            double total = own->values[turn][0][wanted];
#pragma unroll
            for (int q = 1; q < quarters; ++q) {
                total += own->values[turn][q][wanted];
            }
            const bb_index line = note.operand * task_job.task.rows + note.row + wanted;
            task_job.task.places[line * task_job.parts.most_places + note.place] =
                total *
                Way::step(task_job.task.operand[note.operand], first_row + note.row + wanted);
        }
        turn ^= 1; // wait until these sums have been read before the buffer is reused
    }

    __device__ __forceinline__ void work(stage_control *control, band_sums *own,
                                         const unsigned char *stages)
    {
        ring_place stage_place = {0, 0};
        while (true) {
            hopper::barrier_wait(&control->full[stage_place.slot], stage_place.parity);
            const stage_note note = control->notes[stage_place.slot];
            if (note.operand < 0) {
                break;
            }
            // Same tests as in wants() and multiply(), written out because calls would spill the
            // quantiser's registers.
            const bool wanted = band_rows * band >= note.begin && band_rows * band < note.end;
            if (wanted) {
                const unsigned char *stage =
                    stages + static_cast<size_t>(stage_place.slot) * task_job.shape.bytes;
                const unsigned char *x = stage + task_job.shape.x_at;
                way.multiply(task_job, stage, note, x, cut_tile<Way>::marks(x)[quarter], sum);
            }
            __syncwarp();
            if (lane == 0) {
                hopper::barrier_arrive(&control->empty[stage_place.slot]);
            }
            if (wanted && note.place >= 0) {
                leave(note, own);
            }
            stage_place.advance(task_job.shape.stages);
        }
        publish(task_job);
    }
};

template <class S, class Way>
__global__ void __launch_bounds__(threads, 1) multiply_bands(const __grid_constant__ job task_job)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 900
    extern __shared__ __align__(128) unsigned char stages[];
    __shared__ stage_control control;
    __shared__ band_sums own;
    const int warp = static_cast<int>(threadIdx.x) / lanes;
    const int lane = static_cast<int>(threadIdx.x) % lanes;
    if (threadIdx.x == 0) {
        start_barriers(task_job, &control);
    }
    __syncthreads();
    if (warp < warps) {
        cut_by_turns<S, Way>(task_job, &control, warp, lane);
        band_consumer<Way> consumer(task_job, warp, lane);
        consumer.work(&control, &own, stages);
    } else if (lane == 0) {
        producer<S, limbs_of_x<Way>> producing(task_job, &control, stages);
        producing.work();
    }
#else
    __trap(); // as in multiply
#endif
}

/// Product as above, for blocks that copy their stages themselves.
template <class S, class Way>
__global__ void __launch_bounds__(staged_threads, 1)
    multiply_bands_staged(const __grid_constant__ job task_job)
{
    extern __shared__ __align__(128) unsigned char stages[];
    __shared__ band_sums own;
    band_consumer<Way> consumer(task_job, static_cast<int>(threadIdx.x) / lanes,
                                static_cast<int>(threadIdx.x) % lanes);
    walk_stages<S, limbs_of_x<Way>>(task_job, stages,
                                    [&](const unsigned char *stage, const stage_note &note) {
                                        if (consumer.wants(note)) {
                                            consumer.multiply(stage, note);
                                            if (note.place >= 0) {
                                                consumer.leave(note, &own);
                                            }
                                        }
                                    });
    publish(task_job);
}

template <class S, class Way> bb_status launch_bands(const bb_stream_task &task, cudaStream_t queue)
{
    return launch<S>(task,
                     {multiply_bands<S, Way>, multiply_bands_staged<S, Way>, cut_x<S, Way>,
                      cut_threads, 2, cut_tile<Way>::bytes,
                      static_cast<int>(sizeof(stage_control) + sizeof(band_sums))},
                     queue);
}

} // namespace stream

#endif
