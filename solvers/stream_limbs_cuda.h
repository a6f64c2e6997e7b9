// SPDX-License-Identifier: Apache-2.0
//
// For .cu files only: products of stored values of eight bits and fewer on tensor cores, the sums
// BB_STREAM_LIMBS of coded_stream.h over the ring of stream_producer_cuda.h.
//
// Decoding to fp32 and a fused product take 4.5 instructions a value where the bytes of e4m3 leave
// time for five. Here stored values become fp16, which holds all of them, two by an instruction,
// and are multiplied as they lie: rows of A [16][16] times x, which stands in B [16][8] as limbs of
// 11 bits, one a column,
//     x = 2^e (h_0 + 2^-11 h_1 + 2^-22 h_2),   |h_0| < 1, 2^e above the tile's largest |x|,
// exact to 2^-34 of 2^e. A product with a limb is exact; sums of 16 are rounded to fp32 by the
// tensor core. About 1.1 instructions a value.
//
// A warp takes 16 rows, a band, and a quarter of a tile's columns. One more warp cuts the tile's x
// into limbs, over the x that the ring brought. A tile's sums are weighted with 2^e and added in
// fp64; the quarters of a band meet in shared memory at the end of a run.
//
// Order of the sums of a row: steps of 16 columns of a quarter in fp32 (block floating point: two
// of them a block, then blocks), limbs, tiles ascending in fp64, the three limbs' lanes, quarters,
// and places as in coded_stream_cuda.h.
#ifndef BB_SOLVERS_STREAM_LIMBS_CUDA_H
#define BB_SOLVERS_STREAM_LIMBS_CUDA_H

#include "solvers/coded_stream_cuda.h"

namespace stream
{

constexpr int limbs = BB_STREAM_LIMBS_OF_X;
constexpr int limb_threads = threads + lanes; // one warp more: it cuts x
constexpr int band_rows = 16;
constexpr int quarters = 4;
constexpr int run_columns = 128;           // of a tile, that a warp takes at once
constexpr int slot_columns = 32;           // of them, two products
constexpr int slot_bytes = limbs * 4 * 16; // limbs, lanes of a quad, eight fp16
constexpr int part_values = 8;             // of x, that a lane of a quad takes in a slot

/// What limbs need of a storage. words(row, run, quad) are those that lane `quad` of four takes of
/// 128 columns of a row, pair(words, slot, step) its values of one product as two pairs of fp16.
/// A lane's columns of x (read_x) are parts of eight: which slot and lane of a quad takes one, and
/// in what order.
template <class S> struct eight_bits {
    static constexpr int words_of_run = 8;
    static __device__ __forceinline__ void words(const unsigned char *row, int run, int quad,
                                                 uint32_t (&out)[8])
    {
        uint4 a = load_16(row + run_columns * run + 16 * quad);
        uint4 b = load_16(row + run_columns * run + 64 + 16 * quad);
        out[0] = a.x;
        out[1] = a.y;
        out[2] = a.z;
        out[3] = a.w;
        out[4] = b.x;
        out[5] = b.y;
        out[6] = b.z;
        out[7] = b.w;
    }
    static __device__ __forceinline__ uint2 pair(const uint32_t (&words)[8], int slot, int step)
    {
        return S::widen_four(words[2 * slot + step]);
    }
    static __device__ __forceinline__ int slot(int lane, int part)
    {
        return 2 * (lane / 4) + part;
    }
    static __device__ __forceinline__ int quad(int lane, int)
    {
        return lane % 4;
    }
    static __device__ __forceinline__ int value_of(int part, int i)
    {
        return part_values * part + i;
    }
};

struct limbs_of_e4m3 : of_e4m3, eight_bits<limbs_of_e4m3> {
    static __device__ __forceinline__ uint2 widen_four(uint32_t word)
    {
        uint2 out = {0U, 0U};
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
        asm("{\n"
            ".reg .b16 low, high;\n"
            "mov.b32 {low, high}, %2;\n"
            "cvt.rn.f16x2.e4m3x2 %0, low;\n"
            "cvt.rn.f16x2.e4m3x2 %1, high;\n"
            "}\n"
            : "=r"(out.x), "=r"(out.y)
            : "r"(word));
#endif
        return out;
    }
};

struct limbs_of_e5m2 : of_e5m2, eight_bits<limbs_of_e5m2> {
    static __device__ __forceinline__ uint2 widen_four(uint32_t word)
    {
        return {__byte_perm(word, 0, 0x1404), __byte_perm(word, 0, 0x3424)};
    }
};

__device__ __forceinline__ uint32_t bits_of(__half2 pair)
{
    uint32_t out;
    memcpy(&out, &pair, sizeof out);
    return out;
}

struct limbs_of_bfp8 : of_bfp8 {
    static constexpr int words_of_run = 8;
    // A slot is a block.
    static __device__ __forceinline__ void words(const unsigned char *row, int run, int quad,
                                                 uint32_t (&out)[8])
    {
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            uint2 two = *reinterpret_cast<const uint2 *>(row + run_columns * run +
                                                         slot_columns * k + 8 * quad);
            out[2 * k] = two.x;
            out[2 * k + 1] = two.y;
        }
    }
    // m + 128 is put below the exponent of 1024.
    static __device__ __forceinline__ uint2 pair(const uint32_t (&words)[8], int slot, int step)
    {
        const uint32_t word = words[2 * slot + step];
        const __half2 bias = halves_of(0x64806480U); // 1152
        return {bits_of(__hsub2(halves_of(__byte_perm(word, 0x64646464U, 0x4140)), bias)),
                bits_of(__hsub2(halves_of(__byte_perm(word, 0x64646464U, 0x4342)), bias))};
    }
    static __device__ __forceinline__ int slot(int lane, int)
    {
        return lane / 2;
    }
    static __device__ __forceinline__ int quad(int lane, int part)
    {
        return 2 * (lane % 2) + part;
    }
    static __device__ __forceinline__ int value_of(int part, int i)
    {
        return part_values * part + i;
    }
};

struct limbs_of_bfp4 : of_bfp4 {
    static constexpr int words_of_run = 4;
    // A slot is a block, of a lane of read_x.
    static __device__ __forceinline__ void words(const unsigned char *row, int run, int quad,
                                                 uint32_t (&out)[4])
    {
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            out[k] = *reinterpret_cast<const uint32_t *>(row + run_columns / 2 * run +
                                                         slot_columns / 2 * k + 4 * quad);
        }
    }
    // As widen_nibbles has it.
    static __device__ __forceinline__ uint2 pair(const uint32_t (&words)[4], int slot, int step)
    {
        const uint32_t word = words[slot];
        const uint32_t next = word >> 8;
        if (step == 0) {
            const __half2 bias = halves_of(0x64086408U); // 1032
            return {
                bits_of(__hsub2(halves_of(mask_and_turn(word, 0x000f000fU, 0x64086408U)), bias)),
                bits_of(__hsub2(halves_of(mask_and_turn(next, 0x000f000fU, 0x64086408U)), bias))};
        }
        const __half2 scale = halves_of(0x2c002c00U); // 1/16
        const __half2 bias = halves_of(0xd480d480U);  // -72
        return {
            bits_of(__hfma2(halves_of(mask_and_turn(word, 0x00f000f0U, 0x64806480U)), scale, bias)),
            bits_of(
                __hfma2(halves_of(mask_and_turn(next, 0x00f000f0U, 0x64806480U)), scale, bias))};
    }
    static __device__ __forceinline__ int slot(int lane, int)
    {
        return lane;
    }
    static __device__ __forceinline__ int quad(int, int part)
    {
        return part;
    }
    static __device__ __forceinline__ int value_of(int part, int i)
    {
        return 16 * (i / 4) + 4 * part + 2 * (i % 2) + i % 4 / 2;
    }
};

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

/// Beside stage_control.
struct limb_control {
    uint64_t cut[most_stages];
    float scale[most_stages];                               // 2^e of the stage's x
    double sums[2][quarters][warps / quarters * band_rows]; // of runs, by turn
};

/// The warp that cuts x.
template <class S> struct cutter {
    const job &of;
    int lane;

    // 2^-e and 2^e of the tile's largest x, NaN where it is not finite.
    __device__ __forceinline__ static float scales(uint32_t largest, float *down)
    {
        uint32_t exponent = largest >> 23;
        const bool finite = exponent < 255U;
        exponent = exponent < 27U ? 27U : exponent > 252U ? 252U : exponent;
        *down = __uint_as_float((253U - exponent) << 23);
        return __uint_as_float(finite ? (exponent + 1U) << 23 : 0x7fc00000U);
    }

    __device__ __forceinline__ float cut(unsigned char *at)
    {
        float x[S::values];
        uint32_t largest = 0;
        float down = 0.0F;
        read_x<S>(reinterpret_cast<const float *>(at), lane, x);
#pragma unroll
        for (int v = 0; v < S::values; ++v) {
            largest = max(largest, __float_as_uint(x[v]) & 0x7fffffffU);
        }
        largest = __reduce_max_sync(everyone, largest); // all have read
        const float scale = scales(largest, &down);
#pragma unroll
        for (int part = 0; part < S::values / part_values; ++part) {
            unsigned char *to = at + slot_bytes * S::slot(lane, part) + 16 * S::quad(lane, part);
            float rest[part_values];
#pragma unroll
            for (int i = 0; i < part_values; ++i) {
                rest[i] = x[S::value_of(part, i)] * down;
            }
#pragma unroll
            for (int limb = 0; limb < limbs; ++limb) {
                uint32_t words[part_values / 2];
#pragma unroll
                for (int i = 0; i < part_values; i += 2) {
                    const __half2 pair = __floats2half2_rn(rest[i], rest[i + 1]);
                    words[i / 2] = bits_of(pair);
                    float high = 0.0F;
                    float low = 0.0F;
                    widen(pair, low, high);
                    rest[i] = (rest[i] - low) * 2048.0F;
                    rest[i + 1] = (rest[i + 1] - high) * 2048.0F;
                }
                *reinterpret_cast<uint4 *>(to + 64 * limb) =
                    uint4{words[0], words[1], words[2], words[3]};
            }
        }
        return scale;
    }

    __device__ __forceinline__ void work(stage_control *control, limb_control *own,
                                         unsigned char *stages)
    {
        ring_place at = {0, 0};
        while (true) {
            hopper::barrier_wait(&control->full[at.slot], at.parity);
            if (control->notes[at.slot].operand < 0) {
                return;
            }
            const float scale =
                cut(stages + static_cast<size_t>(at.slot) * of.shape.bytes + of.shape.x_at);
            hopper::plain_before_copies(); // the next x comes to the same place
            __syncwarp();
            if (lane == 0) {
                own->scale[at.slot] = scale;
                hopper::barrier_arrive(&own->cut[at.slot]);
            }
            at.advance(of.shape.stages);
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

/// A warp that multiplies: rows lane / 4 and eight below of its band.
template <class S> struct limb_consumer {
    const job &of;
    int warp, lane;
    double sum[2];
    int turn; // of limb_control::sums

    __device__ __forceinline__ int band() const
    {
        return warp / quarters;
    }
    __device__ __forceinline__ int quarter() const
    {
        return warp % quarters;
    }
    __device__ __forceinline__ const unsigned char *row_of(const unsigned char *stage, int eight)
    {
        return stage + (band_rows * band() + 8 * eight + lane / 4) * S::row_bytes;
    }

    // Adds 128 columns of the band, `d` [row of two][column of B of two].
    __device__ __forceinline__ void multiply(const unsigned char *upper, const unsigned char *lower,
                                             const unsigned char *x, int run, float (&d)[4])
    {
        constexpr int slots = run_columns / slot_columns;
        uint32_t above[S::words_of_run];
        uint32_t below[S::words_of_run];
        uint32_t exponents[2] = {0U, 0U};
        const int limb = lane / 4 < limbs ? lane / 4 : limbs - 1; // other columns are not read
        const unsigned char *own = x + slot_bytes * slots * run + 64 * limb + 16 * (lane % 4);
        S::words(upper, run, lane % 4, above);
        S::words(lower, run, lane % 4, below);
        if constexpr (S::has_unit) {
            exponents[0] = *reinterpret_cast<const uint32_t *>(upper + 512 + slots * run);
            exponents[1] = *reinterpret_cast<const uint32_t *>(lower + 512 + slots * run);
        }
#pragma unroll
        for (int slot = 0; slot < slots; ++slot) {
            const uint4 b = load_16(own + slot_bytes * slot);
            if constexpr (S::has_unit) {
                float part[4] = {0.0F, 0.0F, 0.0F, 0.0F};
                const float upper_unit = unit_of(exponents[0] >> 8 * slot & 0xffU);
                const float lower_unit = unit_of(exponents[1] >> 8 * slot & 0xffU);
                multiply_16(part, S::pair(above, slot, 0), S::pair(below, slot, 0), b.x, b.y);
                multiply_16(part, S::pair(above, slot, 1), S::pair(below, slot, 1), b.z, b.w);
                d[0] = __fmaf_rn(part[0], upper_unit, d[0]);
                d[1] = __fmaf_rn(part[1], upper_unit, d[1]);
                d[2] = __fmaf_rn(part[2], lower_unit, d[2]);
                d[3] = __fmaf_rn(part[3], lower_unit, d[3]);
            } else {
                multiply_16(d, S::pair(above, slot, 0), S::pair(below, slot, 0), b.x, b.y);
                multiply_16(d, S::pair(above, slot, 1), S::pair(below, slot, 1), b.z, b.w);
            }
        }
    }

    __device__ __forceinline__ void multiply(const unsigned char *stage, float scale)
    {
        constexpr int runs = S::columns / run_columns / quarters;
        const unsigned char *upper = row_of(stage, 0);
        const unsigned char *lower = row_of(stage, 1);
        // Lane 0 of four has limbs 0 and 1, lane 1 has limb 2.
        const int quad = lane % 4;
        const float first = quad == 0 ? scale : quad == 1 ? scale * 0x1p-22F : 0.0F;
        const float second = quad == 0 ? scale * 0x1p-11F : 0.0F;
#pragma unroll
        for (int k = 0; k < runs; ++k) {
            float d[4] = {0.0F, 0.0F, 0.0F, 0.0F};
            multiply(upper, lower, stage + of.shape.x_at, runs * quarter() + k, d);
            sum[0] += static_cast<double>(__fmaf_rn(d[0], first, __fmul_rn(d[1], second)));
            sum[1] += static_cast<double>(__fmaf_rn(d[2], first, __fmul_rn(d[3], second)));
        }
    }

    // The quarters' sums of a run to its place.
    __device__ __forceinline__ void leave(const stage_note &note, limb_control *own)
    {
        const int row = band_rows * band();
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            const double total = sum[r] + __shfl_xor_sync(everyone, sum[r], 1);
            if (lane % 4 == 0) {
                own->sums[turn][quarter()][row + 8 * r + lane / 4] = total;
            }
            sum[r] = 0.0;
        }
        asm volatile("bar.sync %0, %1;" ::"r"(1 + band()), "n"(quarters * lanes) : "memory");
        const int wanted = row + lane;
        if (quarter() == 0 && lane < band_rows && wanted < note.rows) {
            double total = own->sums[turn][0][wanted];
#pragma unroll
            for (int q = 1; q < quarters; ++q) {
                total += own->sums[turn][q][wanted];
            }
            const bb_index line = note.operand * of.task.rows + note.row + wanted;
            of.task.places[line * bb_stream_most_places(&of.parts) + note.place] = total;
        }
        turn ^= 1; // these are read before the other ones are
    }

    __device__ __forceinline__ void work(stage_control *control, limb_control *own,
                                         const unsigned char *stages)
    {
        ring_place at = {0, 0};
        hopper::wait_for_kernel_before();
        while (true) {
            hopper::barrier_wait(&control->full[at.slot], at.parity);
            const stage_note note = control->notes[at.slot];
            if (note.operand < 0) {
                return;
            }
            const bool wanted = band_rows * band() < note.rows;
            if (wanted) {
                hopper::barrier_wait(&own->cut[at.slot], at.parity);
                multiply(stages + static_cast<size_t>(at.slot) * of.shape.bytes,
                         own->scale[at.slot]);
            }
            __syncwarp();
            if (lane == 0) {
                hopper::barrier_arrive(&control->empty[at.slot]);
            }
            if (wanted && note.place >= 0) {
                leave(note, own);
            }
            at.advance(of.shape.stages);
        }
    }
};

template <class S>
__global__ void __launch_bounds__(limb_threads, 1) multiply_limbs(const __grid_constant__ job of)
{
    extern __shared__ __align__(128) unsigned char stages[];
    __shared__ stage_control control;
    __shared__ limb_control own;
    const int warp = static_cast<int>(threadIdx.x) / lanes;
    const int lane = static_cast<int>(threadIdx.x) % lanes;
    if (threadIdx.x == 0) {
        for (int s = 0; s < of.shape.stages; ++s) {
            hopper::barrier_start(&control.full[s], 1);
            hopper::barrier_start(&own.cut[s], 1);
            hopper::barrier_start(&control.empty[s], warps);
        }
        hopper::barrier_starts_visible();
    }
    __syncthreads();
    hopper::let_next_kernel_start();
    if (warp < warps) {
        limb_consumer<S> consumer = {
            of, warp, lane, {0.0, 0.0},
               0
        };
        consumer.work(&control, &own, stages);
    } else if (warp == warps) {
        cutter<S> cutting = {of, lane};
        cutting.work(&control, &own, stages);
    } else if (lane == 0) {
        const bb_index row = of.task.row_at == nullptr ? of.task.row : *of.task.row_at;
        producer<S, float> producing = {
            of, &control, stages, {0, 0},
               row
        };
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

} // namespace stream

#endif
