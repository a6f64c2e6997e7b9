// SPDX-License-Identifier: Apache-2.0
//
// For .cu files only: the Way of stream_bands_cuda.h for floats of eight bits.
//
// Decoding to fp32 and a fused product take 4.5 instructions per value, while the bytes of e4m3
// leave time for five. Here stored values are converted to fp16, which represents all of them, two
// per instruction, and multiplied directly: rows of A [16][16] times x, which is stored in B
// [16][8] as limbs of 11 bits, in every second column,
//     x = 2^e (h_0 + 2^-11 h_1 + 2^-22 h_2),   |h_0| < 1, 2^e above the quarter's largest |x|
// (|h_0| < 4 if x is above 2^125), exact to 2^-34 of 2^e. A product with a limb is exact; the
// tensor core rounds sums of 16 to fp32. For e4m3 this takes 1.2 instructions per value, and as
// many for addresses and barriers.
//
// Sums of a row within a quarter: two chains of steps of 16 columns in fp32, 128 columns at a time.
#ifndef BB_SOLVERS_OPERATOR_STREAM_STREAM_LIMBS_CUDA_H
#define BB_SOLVERS_OPERATOR_STREAM_STREAM_LIMBS_CUDA_H

#include "solvers/operator/stream/stream_bands_cuda.h"

namespace stream
{

constexpr int run_columns = 128; // columns that a warp processes at a time
constexpr int slot_columns = 32; // columns of two products
constexpr int slots_of_run = run_columns / slot_columns;
constexpr int limbs = BB_STREAM_LIMBS_OF_X;
constexpr int limb_bytes = 64;                      // bytes per slot: 16 for each lane of four
constexpr int slot_bytes = limbs * limb_bytes + 16; // avoids bank conflicts

__device__ __forceinline__ uint32_t bits_of(__half2 pair)
{
    uint32_t out;
    memcpy(&out, &pair, sizeof out);
    return out;
}

/// Four values as two pairs of fp16.
struct halves_of_e4m3 {
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
#else
        float values[4];
        widen_e4m3(word, values[0], values[1]);
        widen_e4m3(word >> 16, values[2], values[3]);
        out.x = bits_of(__floats2half2_rn(values[0], values[1]));
        out.y = bits_of(__floats2half2_rn(values[2], values[3]));
#endif
        return out;
    }
};

struct halves_of_e5m2 {
    static __device__ __forceinline__ uint2 widen_four(uint32_t word)
    {
        return {__byte_perm(word, 0, 0x1404), __byte_perm(word, 0, 0x3424)};
    }
};

// D += A B with A [16][16] and B [16][8].
__device__ __forceinline__ void multiply_16(float (&d)[4], uint2 upper, uint2 lower, uint32_t b0,
                                            uint32_t b1)
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(upper.x), "r"(lower.x), "r"(upper.y), "r"(lower.y), "r"(b0), "r"(b1));
}

/// Way for a storage of eight bits whose values `Halves` converts. x is cut in chunks of four
/// columns (bb_coded_stream_chunk): halves of a part of a lane's columns, stored in slot(lane,
/// part) in the order of lanes 0 to 3.
template <class S, class Halves> struct limbs_of_floats {
    static constexpr int cut_bytes = S::columns / slot_columns * slot_bytes;
    static constexpr int chunks = S::values / 4; // chunks per lane of read_x
    static constexpr int turns = S::columns / 4 / quarters / lanes;
    using mark = float; // 2^e

    int rows_at;  // byte offset in a stage of the lane's first row
    int limbs_at; // byte offset in the limbs of the lane's share of its quarter
    int quarter, lane;
    float weight; // weight of the lane's limb

    __device__ __forceinline__ limbs_of_floats(int band, int own_quarter, int own_lane, bb_index)
        : quarter(own_quarter), lane(own_lane)
    {
        // Even columns of B are limbs, so a lane has one of them; odd columns are not used.
        const int limb = lane / 8 < limbs ? lane / 8 : limbs - 1;
        const int column = lane % 4;
        rows_at = (band_rows * band + lane / 4) * S::row_bytes;
        limbs_at = slot_bytes * S::columns / slot_columns / quarters * quarter + limb_bytes * limb +
                   16 * column;
        weight = column == 0 ? 1.0F : column == 1 ? 0x1p-11F : column == 2 ? 0x1p-22F : 0.0F;
    }

    static __device__ __forceinline__ double step(const bb_stream_operand &, bb_index)
    {
        return 1.0;
    }

    // Factors 2^-e and 2^e for the largest x; NaN if x is not finite.
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

    __device__ __forceinline__ static mark cut(const float4 (&x)[turns], unsigned char *out,
                                               int quarter, int lane)
    {
        unsigned char *targets[turns];
        uint32_t largest = 0;
        float down = 0.0F;
#pragma unroll
        for (int k = 0; k < turns; ++k) {
            const int unit = (quarter * turns + k) * lanes + lane;
            const int owner = unit / chunks;
            const int part = unit % chunks / 2;
            const int half = unit % 2;
            targets[k] = out + slot_bytes * (2 * (owner / 4) + part) + 16 * (owner % 4) + 8 * half;
            const uint4 bits = *reinterpret_cast<const uint4 *>(&x[k]);
            largest = max(max(max(largest, bits.x & 0x7fffffffU), bits.y & 0x7fffffffU),
                          max(bits.z & 0x7fffffffU, bits.w & 0x7fffffffU));
        }
        const float scale = scales(__reduce_max_sync(everyone, largest), &down);
#pragma unroll
        for (int k = 0; k < turns; ++k) {
            float a = x[k].x * down;
            float b = x[k].y * down;
            float c = x[k].z * down;
            float d = x[k].w * down;
#pragma unroll
            for (int limb = 0; limb < limbs; ++limb) {
                *reinterpret_cast<uint2 *>(targets[k] + limb_bytes * limb) =
                    uint2{next_limb(a, b), next_limb(c, d)};
            }
        }
        return scale;
    }

    // Values of the lane in 128 columns of a row. Rows are 512 bytes apart: odd ones read their
    // halves in reverse order to avoid bank conflicts with even ones.
    __device__ __forceinline__ void load(const unsigned char *row, int run,
                                         uint32_t (&out)[2 * slots_of_run]) const
    {
        const bool odd = (lane & 4) != 0;
        const unsigned char *own = row + run_columns * run + 16 * (lane % 4);
        const uint4 a = load_16(own + (odd ? 64 : 0));
        const uint4 b = load_16(own + (odd ? 0 : 64));
        out[0] = odd ? b.x : a.x;
        out[1] = odd ? b.y : a.y;
        out[2] = odd ? b.z : a.z;
        out[3] = odd ? b.w : a.w;
        out[4] = odd ? a.x : b.x;
        out[5] = odd ? a.y : b.y;
        out[6] = odd ? a.z : b.z;
        out[7] = odd ? a.w : b.w;
    }

    // Multiplies 128 columns of a band by their x, for the lane's two rows and its limb.
    __device__ __forceinline__ float2 multiply_run(const unsigned char *upper,
                                                   const unsigned char *x, int run) const
    {
        uint32_t above[2 * slots_of_run];
        uint32_t below[2 * slots_of_run];
        float d[4] = {0.0F, 0.0F, 0.0F, 0.0F};
        float e[4] = {0.0F, 0.0F, 0.0F, 0.0F}; // two chains of sums
        load(upper, run, above);
        load(upper + 8 * S::row_bytes, run, below);
#pragma unroll
        for (int slot = 0; slot < slots_of_run; ++slot) {
            const uint4 b = load_16(x + slot_bytes * slot);
            multiply_16(d, Halves::widen_four(above[2 * slot]), Halves::widen_four(below[2 * slot]),
                        b.x, b.y);
            multiply_16(e, Halves::widen_four(above[2 * slot + 1]),
                        Halves::widen_four(below[2 * slot + 1]), b.z, b.w);
        }
        return {d[0] + e[0], d[2] + e[2]};
    }

    __device__ __forceinline__ void multiply(const job &, const unsigned char *stage,
                                             const stage_note &, const unsigned char *x, mark scale,
                                             double (&sum)[2]) const
    {
        constexpr int runs = S::columns / run_columns / quarters;
        const float own = scale * weight;
#pragma unroll
        for (int k = 0; k < runs; ++k) {
            const float2 part = multiply_run(
                stage + rows_at, x + limbs_at + slot_bytes * slots_of_run * k, runs * quarter + k);
            sum[0] += static_cast<double>(part.x * own);
            sum[1] += static_cast<double>(part.y * own);
        }
    }
};

} // namespace stream

#endif
