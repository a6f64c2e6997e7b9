// SPDX-License-Identifier: Apache-2.0
//
// For .cu files only: products of stored values of 16 bits and fewer on tensor cores, the sums
// BB_STREAM_LIMBS of coded_stream.h over the ring of stream_producer_cuda.h.
//
// A warp takes 16 rows, a band, and a quarter of a tile's columns. Two more warps cut two quarters
// each of a tile's x into limbs, up to three tiles ahead; a third would leave a thread fewer
// registers than products take. How x is cut and what is multiplied is a
// Way: limbs of fp16 for floats (stream_limbs_cuda.h), of bytes for integers
// (stream_digits_cuda.h). A tile's sums are weighted and added in fp64; the quarters of a band meet
// in shared memory at the end of a run.
//
// A Way<S> of a storage S has
//   mark                   what the cutting warp says of its quarter
//   cut_bytes, cut(x, out, quarter, lane)           a quarter of a tile's x into limbs
//   multiply(job, stage, note, x, mark, sum)        two rows of the lane, added to its sums
//   step(operand, line)    what a row's sums are multiplied by at their end
//
// Order of the sums of a row: a Way's within a quarter of a tile, tiles ascending in fp64, the
// limbs' lanes, quarters, and places as in coded_stream_cuda.h.
#ifndef BB_SOLVERS_OPERATOR_STREAM_STREAM_BANDS_CUDA_H
#define BB_SOLVERS_OPERATOR_STREAM_STREAM_BANDS_CUDA_H

#include "solvers/operator/stream/coded_stream_cuda.h"

namespace stream
{

constexpr int band_rows = BB_STREAM_BAND; // of a warp
constexpr int quarters = 4;               // of a tile's columns
constexpr int cutters = 2;                // warps
constexpr int band_threads = lanes * (warps + cutters + 1);
constexpr int cuts = 3; // tiles whose x is in limbs at once

/// Beside stage_control.
template <class Way> struct cut_control {
    uint64_t cut[cuts];
    typename Way::mark marks[cuts][quarters];
    double sums[2][quarters][warps * 4]; // of runs, by turn, a group's rows
};

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

/// A warp that cuts quarters of x, from `first` on.
template <class Way> struct cutter {
    const job &task_job;
    int first, lane;

    __device__ __forceinline__ void work(stage_control *control, cut_control<Way> *own,
                                         const unsigned char *stages,
                                         unsigned char *limbs_of_x) const
    {
        ring_place stage_place = {0, 0};
        ring_place read = {0, 0};    // `cuts` stages before
        ring_place targets = {0, 0}; // of the limbs
        start_after_kernel_before();
        for (int count = 0;; ++count) {
            hopper::barrier_wait(&control->full[stage_place.slot], stage_place.parity);
            if (control->notes[stage_place.slot].operand < 0) {
                return;
            }
            if (count >= cuts) {
                hopper::barrier_wait(&control->empty[read.slot], read.parity);
                read.advance(task_job.shape.stages);
            }
            const unsigned char *x = stages +
                                     static_cast<size_t>(stage_place.slot) * task_job.shape.bytes +
                                     task_job.shape.x_at;
#pragma unroll
            for (int quarter = first; quarter < quarters; quarter += cutters) {
                const typename Way::mark mark =
                    Way::cut(x, limbs_of_x + targets.slot * Way::cut_bytes, quarter, lane);
                if (lane == 0) {
                    own->marks[targets.slot][quarter] = mark;
                }
            }
            hopper::barrier_arrive(&own->cut[targets.slot]); // every lane for what it wrote
            stage_place.advance(task_job.shape.stages);
            targets.advance(cuts);
        }
    }
};

/// A warp that multiplies: a lane has rows lane / 4 and eight below of its band.
template <class Way> struct band_consumer {
    const job &task_job;
    int band, quarter, lane;
    bb_index first_row; // of the rows wanted
    Way way;
    double sum[2];
    int turn; // of cut_control::sums

    __device__ __forceinline__ band_consumer(const job &all, int warp, int own_lane)
        : task_job(all), band(warp / quarters), quarter(warp % quarters), lane(own_lane),
          first_row(first_row_of(all)), way(warp / quarters, warp % quarters, own_lane, first_row),
          sum(), turn(0)
    {
    }

    // The quarters' sums of a run to its place.
    __device__ __forceinline__ void leave(const stage_note &note, cut_control<Way> *own)
    {
        const int row = band_rows * band;
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            double total = sum[r];
            total += __shfl_xor_sync(everyone, total, 2);
            total += __shfl_xor_sync(everyone, total, 1);
            if (lane % 4 == 0) {
                own->sums[turn][quarter][row + 8 * r + lane / 4] = total;
            }
            sum[r] = 0.0;
        }
        asm volatile("bar.sync %0, %1;" ::"r"(barriers_of_bands + band), "n"(quarters * lanes)
                     : "memory");
        const int wanted = row + lane;
        if (quarter == 0 && lane < band_rows && wanted < note.end) {
            double total = own->sums[turn][0][wanted];
#pragma unroll
            for (int q = 1; q < quarters; ++q) {
                total += own->sums[turn][q][wanted];
            }
            const bb_index line = note.operand * task_job.task.rows + note.row + wanted;
            task_job.task
                .places[line * bb_stream_partition_most_places(&task_job.parts) + note.place] =
                total *
                Way::step(task_job.task.operand[note.operand], first_row + note.row + wanted);
        }
        turn ^= 1; // these are read before the other ones are
    }

    __device__ __forceinline__ void work(stage_control *control, cut_control<Way> *own,
                                         const unsigned char *stages,
                                         const unsigned char *limbs_of_x)
    {
        ring_place stage_place = {0, 0};
        ring_place limb_turn = {0, 0}; // of the limbs
        start_after_kernel_before();
        while (true) {
            hopper::barrier_wait(&control->full[stage_place.slot], stage_place.parity);
            const stage_note note = control->notes[stage_place.slot];
            if (note.operand < 0) {
                break;
            }
            const bool wanted = band_rows * band >= note.begin && band_rows * band < note.end;
            // A band of no rows waits, too: it would be more than a phase of the barrier ahead.
            hopper::barrier_wait(&own->cut[limb_turn.slot], limb_turn.parity);
            if (wanted) {
                way.multiply(task_job,
                             stages + static_cast<size_t>(stage_place.slot) * task_job.shape.bytes,
                             note, limbs_of_x + limb_turn.slot * Way::cut_bytes,
                             own->marks[limb_turn.slot][quarter], sum);
            }
            __syncwarp();
            if (lane == 0) {
                hopper::barrier_arrive(&control->empty[stage_place.slot]);
            }
            if (wanted && note.place >= 0) {
                leave(note, own);
            }
            stage_place.advance(task_job.shape.stages);
            limb_turn.advance(cuts);
        }
        publish(task_job);
    }
};

template <class S, class Way>
__global__ void __launch_bounds__(band_threads, 1)
    multiply_bands(const __grid_constant__ job task_job)
{
    extern __shared__ __align__(128) unsigned char stages[];
    __shared__ stage_control control;
    __shared__ cut_control<Way> own;
    unsigned char *limbs_of_x = stages + task_job.shape.stages * task_job.shape.bytes;
    const int warp = static_cast<int>(threadIdx.x) / lanes;
    const int lane = static_cast<int>(threadIdx.x) % lanes;
    if (threadIdx.x == 0) {
        for (int s = 0; s < task_job.shape.stages; ++s) {
            hopper::barrier_start(&control.full[s], 1);
            hopper::barrier_start(&control.landed[s], 1);
            hopper::barrier_start(&control.empty[s], warps);
        }
        for (int s = 0; s < cuts; ++s) {
            hopper::barrier_start(&own.cut[s], cutters * lanes);
        }
        hopper::barrier_starts_visible();
    }
    __syncthreads();
    if (warp < warps) {
        band_consumer<Way> consumer(task_job, warp, lane);
        consumer.work(&control, &own, stages, limbs_of_x);
    } else if (warp < warps + cutters) {
        const cutter<Way> cutting = {task_job, warp - warps, lane};
        cutting.work(&control, &own, stages, limbs_of_x);
    } else if (lane == 0) {
        producer<S, float> producing = {task_job, &control, stages, {0, 0}, first_row_of(task_job)};
        producing.work();
    }
}

#else

template <class S, class Way> __global__ void multiply_bands(const __grid_constant__ job)
{
}

#endif

template <class S, class Way> bb_status launch_bands(const bb_stream_task &task, cudaStream_t queue)
{
    return launch<S>(
        task,
        {multiply_bands<S, Way>, band_threads, cuts, S::columns * static_cast<int>(sizeof(float)),
         static_cast<int>(sizeof(stage_control) + sizeof(cut_control<Way>)), cuts * Way::cut_bytes},
        queue);
}

} // namespace stream

#endif
