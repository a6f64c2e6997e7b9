// SPDX-License-Identifier: Apache-2.0
//
// For .cu files only: products of stored values of eight bits and fewer on tensor cores, the sums
// BB_STREAM_LIMBS of coded_stream.h over the ring of stream_producer_cuda.h.
//
// Decoding to fp32 and a fused product take 4.5 instructions a value where the bytes of e4m3 leave
// time for five. Here stored values become fp16, which holds all of them, two by an instruction,
// and are multiplied as they lie: rows of A [16][16] times x, which stands in B [16][8] as limbs of
// 11 bits, every second column one,
//     x = 2^e (h_0 + 2^-11 h_1 + 2^-22 h_2),   |h_0| < 1, 2^e above the quarter's largest |x|
// (|h_0| < 4 of an x above 2^125),
// exact to 2^-34 of 2^e. A product with a limb is exact; sums of 16 are rounded to fp32 by the
// tensor core. Of e4m3 that is 1.2 instructions a value, and as many for addresses and barriers.
//
// A warp takes 16 rows, a band, and a quarter of a tile's columns. Four more warps cut a quarter
// each of a tile's x into limbs, up to three tiles ahead. A tile's sums are weighted with 2^e (and
// a step) and added in fp64; the quarters of a band meet in shared memory at the end of a run.
//
// Order of the sums of a row: steps of 16 columns of a quarter in fp32 (block floating point: two
// of them a block, then blocks), limbs, tiles ascending in fp64, the three limbs' lanes, quarters,
// and places as in coded_stream_cuda.h.
#ifndef BB_SOLVERS_OPERATOR_STREAM_STREAM_LIMBS_CUDA_H
#define BB_SOLVERS_OPERATOR_STREAM_STREAM_LIMBS_CUDA_H

#include "solvers/operator/stream/coded_stream_cuda.h"
#include "solvers/operator/stream/stream_limb_storage_cuda.h"

namespace stream
{

constexpr int limbs = BB_STREAM_LIMBS_OF_X;
constexpr int band_rows = 16; // of a warp
constexpr int quarters = 4;   // of a tile's columns
constexpr int limb_threads = lanes * (warps + quarters + 1);
constexpr int limb_bytes = 64;                      // of a slot: 16 a lane of four
constexpr int slot_bytes = limbs * limb_bytes + 16; // without bank conflicts
constexpr int cuts = 3;                             // tiles whose x is in limbs at once

template <class S> constexpr int cut_bytes = S::columns / slot_columns *slot_bytes;

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

/// Beside stage_control.
struct limb_control {
    uint64_t cut[cuts];
    float scale[cuts][quarters];         // 2^e of a tile's x
    double sums[2][quarters][warps * 4]; // of runs, by turn, a group's rows
};

/// A warp that cuts a quarter of x.
template <class S> struct cutter {
    const job &task_job;
    int quarter, lane;

    // 2^-e and 2^e of the largest x, NaN where it is not finite.
    __device__ __forceinline__ static float scales(uint32_t largest, float *down)
    {
        uint32_t exponent = largest >> 23;
        const bool finite = exponent < 255U;
        exponent = exponent < 27U ? 27U : exponent > 252U ? 252U : exponent;
        *down = __uint_as_float((253U - exponent) << 23);
        return __uint_as_float(finite ? (exponent + 1U) << 23 : 0x7fc00000U);
    }

    __device__ __forceinline__ static uint32_t next_limb(float &a, float &b)
    {
        const __half2 pair = __floats2half2_rn(a, b);
        float high_a = 0.0F;
        float high_b = 0.0F;
        widen(pair, high_a, high_b);
        a = (a - high_a) * 2048.0F;
        b = (b - high_b) * 2048.0F;
        return bits_of(pair);
    }

    // Returns 2^e.
    __device__ __forceinline__ float cut(const unsigned char *source,
                                         unsigned char *stage_place) const
    {
        constexpr int chunks = S::values / 4; // of a lane of read_x
        constexpr int turns = S::columns / 4 / quarters / lanes;
        float4 x[turns];
        unsigned char *targets[turns];
        uint32_t largest = 0;
        float down = 0.0F;
#pragma unroll
        for (int k = 0; k < turns; ++k) {
            const int unit = (quarter * turns + k) * lanes + lane;
            const int owner = unit / chunks;
            const int part = unit % chunks / 2;
            const int half = unit % 2;
            const int chunk =
                owner * chunks + bb_coded_stream_chunk(chunks, owner, S::chunk_of(part, half));
            x[k] = reinterpret_cast<const float4 *>(source)[chunk];
            targets[k] = stage_place + slot_bytes * S::slot(owner, part) +
                         16 * S::quad(owner, part) + 8 * half;
            const uint4 bits = *reinterpret_cast<const uint4 *>(&x[k]);
            largest = max(max(max(largest, bits.x & 0x7fffffffU), bits.y & 0x7fffffffU),
                          max(bits.z & 0x7fffffffU, bits.w & 0x7fffffffU));
        }
        const float scale = scales(__reduce_max_sync(everyone, largest), &down);
#pragma unroll
        for (int k = 0; k < turns; ++k) {
            float a = x[k].x * down;
            float b = (S::crossed ? x[k].z : x[k].y) * down;
            float c = (S::crossed ? x[k].y : x[k].z) * down;
            float d = x[k].w * down;
#pragma unroll
            for (int limb = 0; limb < limbs; ++limb) {
                *reinterpret_cast<uint2 *>(targets[k] + limb_bytes * limb) =
                    uint2{next_limb(a, b), next_limb(c, d)};
            }
        }
        return scale;
    }

    __device__ __forceinline__ void work(stage_control *control, limb_control *own,
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
            const float scale =
                cut(stages + static_cast<size_t>(stage_place.slot) * task_job.shape.bytes +
                        task_job.shape.x_at,
                    limbs_of_x + targets.slot * cut_bytes<S>);
            if (lane == 0) {
                own->scale[targets.slot][quarter] = scale;
            }
            hopper::barrier_arrive(&own->cut[targets.slot]); // every lane for what it wrote
            stage_place.advance(task_job.shape.stages);
            targets.advance(cuts);
        }
    }
};

// D += A B of [16][16] and [16][8].
__device__ __forceinline__ void multiply_16(float (&d)[4], uint2 upper, uint2 lower, uint32_t b0,
                                            uint32_t b1)
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(upper.x), "r"(lower.x), "r"(upper.y), "r"(lower.y), "r"(b0), "r"(b1));
}

/// A warp that multiplies: a lane has rows lane / 4 and eight below of its band.
template <class S> struct limb_consumer {
    static constexpr bool has_step = S::has_unit && !S::has_exponents;
    const job &task_job;
    int band, quarter, lane;
    bb_index first_row; // of the rows wanted
    int limbs_at;       // bytes in limbs to what the lane takes of its quarter
    float weight;       // of the lane's limb
    double sum[2];
    int turn; // of limb_control::sums

    __device__ __forceinline__ limb_consumer(const job &all, int warp, int own_lane)
        : task_job(all), band(warp / quarters), quarter(warp % quarters), lane(own_lane),
          first_row(first_row_of(all)), sum(), turn(0)
    {
        // Even columns of B are limbs, so that a lane has one of them; the others are not read.
        const int limb = lane / 8 < limbs ? lane / 8 : limbs - 1;
        const int column = lane % 4;
        limbs_at = slot_bytes * S::columns / slot_columns / quarters * quarter + limb_bytes * limb +
                   16 * column;
        weight = column == 0 ? 1.0F : column == 1 ? 0x1p-11F : column == 2 ? 0x1p-22F : 0.0F;
    }

    // 128 columns of a band times `x`: of each of the lane's two rows and its limb.
    __device__ __forceinline__ float2 multiply(row_source upper, row_source lower, int run,
                                               const uint4 (&x)[slots_of_run]) const
    {
        uint32_t above[S::words_of_run];
        uint32_t below[S::words_of_run];
        uint32_t exponents[2] = {0U, 0U};
        float d[4] = {0.0F, 0.0F, 0.0F, 0.0F};
        float e[4] = {0.0F, 0.0F, 0.0F, 0.0F}; // two chains of sums
        S::words(upper, run, lane, above);
        S::words(lower, run, lane, below);
        if constexpr (S::has_exponents) {
            const int first = S::exponents_at(upper) + slots_of_run * run;
            exponents[0] = *reinterpret_cast<const uint32_t *>(upper.bytes + first);
            exponents[1] = *reinterpret_cast<const uint32_t *>(lower.bytes + first);
        }
#pragma unroll
        for (int slot = 0; slot < slots_of_run; ++slot) {
            const uint4 b = x[slot];
            if constexpr (S::has_exponents) {
                float part[4] = {0.0F, 0.0F, 0.0F, 0.0F};
                multiply_16(part, S::pair(above, slot, 0), S::pair(below, slot, 0), b.x, b.y);
                multiply_16(part, S::pair(above, slot, 1), S::pair(below, slot, 1), b.z, b.w);
                d[0] = __fmaf_rn(part[0], unit_of(exponents[0], slot), d[0]);
                d[2] = __fmaf_rn(part[2], unit_of(exponents[1], slot), d[2]);
            } else {
                multiply_16(d, S::pair(above, slot, 0), S::pair(below, slot, 0), b.x, b.y);
                multiply_16(e, S::pair(above, slot, 1), S::pair(below, slot, 1), b.z, b.w);
            }
        }
        return {d[0] + e[0], d[2] + e[2]};
    }

    // Steps come in where sums are in fp64, which they do not take out of its range.
    __device__ __forceinline__ void multiply(const unsigned char *stage, const stage_note &note,
                                             const unsigned char *x, float scale)
    {
        constexpr int runs = S::columns / run_columns / quarters;
        const int line = band_rows * band + lane / 4;
        const row_source upper = find_row<S>(task_job, stage, note, first_row, line);
        const row_source lower = find_row<S>(task_job, stage, note, first_row, line + 8);
        const double own = static_cast<double>(scale) * static_cast<double>(weight);
        const double upper_unit = has_step ? own * static_cast<double>(upper.step) : own;
        const double lower_unit = has_step ? own * static_cast<double>(lower.step) : own;
#pragma unroll
        for (int k = 0; k < runs; ++k) {
            uint4 b[slots_of_run];
#pragma unroll
            for (int slot = 0; slot < slots_of_run; ++slot) {
                b[slot] = load_16(x + limbs_at + slot_bytes * (slots_of_run * k + slot));
            }
            const float2 part = multiply(upper, lower, runs * quarter + k, b);
            sum[0] += static_cast<double>(part.x) * upper_unit;
            sum[1] += static_cast<double>(part.y) * lower_unit;
        }
    }

    // The quarters' sums of a run to its place.
    __device__ __forceinline__ void leave(const stage_note &note, limb_control *own)
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
        if (quarter == 0 && lane < band_rows && wanted < note.rows) {
            double total = own->sums[turn][0][wanted];
#pragma unroll
            for (int q = 1; q < quarters; ++q) {
                total += own->sums[turn][q][wanted];
            }
            const bb_index line = note.operand * task_job.task.rows + note.row + wanted;
            task_job.task
                .places[line * bb_stream_partition_most_places(&task_job.parts) + note.place] =
                total;
        }
        turn ^= 1; // these are read before the other ones are
    }

    __device__ __forceinline__ void work(stage_control *control, limb_control *own,
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
            const bool wanted = band_rows * band < note.rows;
            if (wanted) {
                hopper::barrier_wait(&own->cut[limb_turn.slot], limb_turn.parity);
                multiply(stages + static_cast<size_t>(stage_place.slot) * task_job.shape.bytes,
                         note, limbs_of_x + limb_turn.slot * cut_bytes<S>,
                         own->scale[limb_turn.slot][quarter]);
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

template <class S>
__global__ void __launch_bounds__(limb_threads, 1)
    multiply_limbs(const __grid_constant__ job task_job)
{
    extern __shared__ __align__(128) unsigned char stages[];
    __shared__ stage_control control;
    __shared__ limb_control own;
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
            hopper::barrier_start(&own.cut[s], quarters * lanes);
        }
        hopper::barrier_starts_visible();
    }
    __syncthreads();
    if (warp < warps) {
        limb_consumer<S> consumer(task_job, warp, lane);
        consumer.work(&control, &own, stages, limbs_of_x);
    } else if (warp < warps + quarters) {
        const cutter<S> cutting = {task_job, warp - warps, lane};
        cutting.work(&control, &own, stages, limbs_of_x);
    } else if (lane == 0) {
        producer<S, float> producing = {task_job, &control, stages, {0, 0}, first_row_of(task_job)};
        producing.work();
    }
}

#else

struct limb_control {
};
template <class S> __global__ void multiply_limbs(const __grid_constant__ job)
{
}

#endif

template <class S> bb_status launch_storage_in_limbs(const bb_stream_task &task, cudaStream_t queue)
{
    return launch<S>(
        task,
        {multiply_limbs<S>, limb_threads, cuts, S::columns * static_cast<int>(sizeof(float)),
         static_cast<int>(sizeof(stage_control) + sizeof(limb_control)), cuts * cut_bytes<S>},
        queue);
}

} // namespace stream

#endif
