// SPDX-License-Identifier: Apache-2.0
//
// For .cu files only: decoding of a lane's columns of a row of a tile, one type per storage.
// Layouts are those of coded_stream.h.
//
// A storage has `columns` of a tile, `row_bytes`, an upper bound, `warp_rows` and, per lane,
// load(row, lane, values), which fills columns / 32 values in the order of the lane's chunks, and
// unit(row, lane), their common factor: a power of two, the step, or NaN (`has_unit` false: one).
// Values times unit, rounded to fp32, equal the fp32 values decoded by the codec on the cpu.
#ifndef BB_SOLVERS_OPERATOR_STREAM_STREAM_STORAGE_CUDA_H
#define BB_SOLVERS_OPERATOR_STREAM_STREAM_STORAGE_CUDA_H

#include "precision/codecs/bfp_core.h"
#include "solvers/operator/stream/coded_stream.h"

#include <cuda_fp16.h>

namespace stream
{

__device__ __forceinline__ uint4 load_16(const unsigned char *source)
{
    return *reinterpret_cast<const uint4 *>(source);
}

__device__ __forceinline__ __half2 halves_of(uint32_t bits)
{
    __half2 out;
    memcpy(&out, &bits, sizeof out);
    return out;
}

__device__ __forceinline__ void widen(__half2 pair, float &a, float &b)
{
    float2 wide = __half22float2(pair);
    a = wide.x;
    b = wide.y;
}

// (a & b) ^ c in one instruction; for two constants the compiler would use two.
__device__ __forceinline__ uint32_t mask_and_turn(uint32_t a, uint32_t b, uint32_t c)
{
#if defined(__CUDA_ARCH__)
    uint32_t out;
    asm("lop3.b32 %0, %1, %2, %3, 0x6a;" : "=r"(out) : "r"(a), "r"(b), "r"(c));
    return out;
#else
    return (a & b) ^ c;
#endif
}

// 2^e of e + 127; 255, infinity, belongs to zero mantissas, which gives NaN for a poisoned block.
__device__ __forceinline__ float unit_of(uint32_t exponent)
{
    return __uint_as_float(exponent << 23);
}

// Unit as above, from byte `which` of a word.
__device__ __forceinline__ float unit_of(uint32_t exponents, int which)
{
    return __uint_as_float(__byte_perm(exponents, 0, 0x0444U | which << 12) >> 1);
}

/// A row of a tile, in shared memory or in device memory.
struct row_source {
    const unsigned char *bytes;
    uint32_t bits; // exponents of bfp; widths of the quantiser
    float step;    // step of integers and the quantiser
    uint32_t turn; // turn of the blocks in planes
};

/// Common part of storages with rows of 512 bytes or slightly more.
template <int COLUMNS, int ROW_BYTES, int WARP_ROWS> struct fixed_rows {
    static constexpr int columns = COLUMNS;
    static constexpr int values = COLUMNS / BB_STREAM_LANES;
    static constexpr int row_bytes = ROW_BYTES;
    static constexpr int warp_rows = WARP_ROWS;
    static constexpr bool varies = false;      // row distance from tile to tile
    static constexpr bool of_any_bits = false; // row bytes for this number of bits per value
    static constexpr bool has_steps = false;   // size of rows
};

/// The step of a row as the unit of all its values.
struct with_steps {
    static constexpr bool has_unit = true;
    static constexpr bool has_steps = true;
    static __device__ __forceinline__ float unit(row_source row, int)
    {
        return row.step;
    }
};

struct without_unit {
    static constexpr bool has_unit = false;
    static __device__ float unit(row_source, int)
    {
        return 1.0F;
    }
};

struct of_fp64 : fixed_rows<128, 1024, 2>, without_unit {
    using value = double;
    static __device__ __forceinline__ void load(row_source row, int lane, double (&c)[4])
    {
        const double2 *words = reinterpret_cast<const double2 *>(row.bytes) + 2 * lane;
        double2 a = words[0];
        double2 b = words[1];
        c[0] = a.x;
        c[1] = a.y;
        c[2] = b.x;
        c[3] = b.y;
    }
};

struct of_fp32 : fixed_rows<128, 512, 4>, without_unit {
    using value = float;
    static __device__ __forceinline__ void load(row_source row, int lane, float (&c)[4])
    {
        float4 words = reinterpret_cast<const float4 *>(row.bytes)[lane];
        c[0] = words.x;
        c[1] = words.y;
        c[2] = words.z;
        c[3] = words.w;
    }
};

struct of_bf16 : fixed_rows<256, 512, 4>, without_unit {
    using value = float;
    static __device__ __forceinline__ void load(row_source row, int lane, float (&c)[8])
    {
        uint4 four = load_16(row.bytes + 16 * lane);
        const uint32_t words[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            c[2 * k] = __uint_as_float(words[k] << 16);
            c[2 * k + 1] = __uint_as_float(words[k] & 0xffff0000U);
        }
    }
};

struct of_fp16 : fixed_rows<256, 512, 4>, without_unit {
    using value = float;
    static __device__ __forceinline__ void load(row_source row, int lane, float (&c)[8])
    {
        uint4 four = load_16(row.bytes + 16 * lane);
        const uint32_t words[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            widen(halves_of(words[k]), c[2 * k], c[2 * k + 1]);
        }
    }
};

// The two e4m3 values in the low bytes.
__device__ __forceinline__ void widen_e4m3(uint32_t two, float &a, float &b)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
    uint32_t halves;
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves) : "h"(static_cast<unsigned short>(two)));
    widen(halves_of(halves), a, b);
#else
    a = bb_format_decode_e4m3(static_cast<uint8_t>(two));
    b = bb_format_decode_e4m3(static_cast<uint8_t>(two >> 8));
#endif
}

struct of_e4m3 : fixed_rows<512, 512, 4>, without_unit {
    using value = float;
    static __device__ __forceinline__ void load(row_source row, int lane, float (&c)[16])
    {
        uint4 four = load_16(row.bytes + 16 * lane);
        const uint32_t words[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            widen_e4m3(words[k] & 0xffffU, c[4 * k], c[4 * k + 1]);
            widen_e4m3(words[k] >> 16, c[4 * k + 2], c[4 * k + 3]);
        }
    }
};

struct of_e5m2 : fixed_rows<512, 512, 4>, without_unit {
    using value = float;
    // e5m2 is the upper byte of an fp16.
    static __device__ __forceinline__ void load(row_source row, int lane, float (&c)[16])
    {
        uint4 four = load_16(row.bytes + 16 * lane);
        const uint32_t words[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            widen(halves_of(__byte_perm(words[k], 0, 0x1404)), c[4 * k], c[4 * k + 1]);
            widen(halves_of(__byte_perm(words[k], 0, 0x3424)), c[4 * k + 2], c[4 * k + 3]);
        }
    }
};

/// Units of blocks whose exponents follow 512 bytes of mantissas, LANES_OF lanes per block.
template <int LANES_OF> struct with_exponents {
    static constexpr bool has_unit = true;
    static __device__ __forceinline__ float unit(row_source row, int lane)
    {
        return unit_of(row.bytes[512 + lane / LANES_OF]);
    }
};

struct of_bfp16 : fixed_rows<256, 528, 4>, with_exponents<4> {
    using value = float;
    // The stored m + 2^15 is inserted below the exponent of 2^23.
    static __device__ __forceinline__ void load(row_source row, int lane, float (&c)[8])
    {
        uint4 four = load_16(row.bytes + 16 * lane);
        const uint32_t words[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            c[2 * k] = __uint_as_float(__byte_perm(words[k], 0x4b000000U, 0x7410)) - 8421376.0F;
            c[2 * k + 1] = __uint_as_float(__byte_perm(words[k], 0x4b000000U, 0x7432)) - 8421376.0F;
        }
    }
};

struct of_bfp8 : fixed_rows<512, 528, 4>, with_exponents<2> {
    using value = float;
    // The stored m + 2^7 is inserted below the exponent of 2^23.
    static __device__ __forceinline__ void load(row_source row, int lane, float (&c)[16])
    {
        uint4 four = load_16(row.bytes + 16 * lane);
        const uint32_t words[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            c[4 * k] = __uint_as_float(__byte_perm(words[k], 0x4b000000U, 0x7440)) - 8388736.0F;
            c[4 * k + 1] = __uint_as_float(__byte_perm(words[k], 0x4b000000U, 0x7441)) - 8388736.0F;
            c[4 * k + 2] = __uint_as_float(__byte_perm(words[k], 0x4b000000U, 0x7442)) - 8388736.0F;
            c[4 * k + 3] = __uint_as_float(__byte_perm(words[k], 0x4b000000U, 0x7443)) - 8388736.0F;
        }
    }
};

struct of_integer8 : fixed_rows<512, 512, 4>, with_steps {
    using value = float;
    static constexpr bool has_steps = with_steps::has_steps;
    static __device__ __forceinline__ void load(row_source row, int lane, float (&c)[16])
    {
        of_bfp8::load(row, lane ^ static_cast<int>(row.turn), c);
    }
};

// Nibbles of bytes 0 and 2 of a word: m + 8 is inserted below the exponent of 1024 in fp16, in
// place or times sixteen. Low nibbles are values i and i + 2, high ones i + 16 and i + 18.
__device__ __forceinline__ void widen_nibbles(uint32_t word, float *c)
{
    __half2 low = halves_of(mask_and_turn(word, 0x000f000fU, 0x64086408U));
    __half2 high = halves_of(mask_and_turn(word, 0x00f000f0U, 0x64806480U));
    low = __hsub2(low, halves_of(0x64086408U));                           // 1032
    high = __hfma2(high, halves_of(0x2c002c00U), halves_of(0xd480d480U)); // 1/16, -72
    widen(low, c[0], c[2]);
    widen(high, c[16], c[18]);
}

struct of_bfp4 : fixed_rows<1024, 544, 4>, with_exponents<1> {
    using value = float;
    static __device__ __forceinline__ void load(row_source row, int lane, float (&c)[32])
    {
        uint4 four = load_16(row.bytes + 16 * lane);
        const uint32_t words[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            widen_nibbles(words[k], c + 4 * k);
            widen_nibbles(words[k] >> 8, c + 4 * k + 1);
        }
    }
};

// Words of a block in the plane of width 2^K at `plane`; those of byte planes are two halves.
template <int K>
__device__ __forceinline__ void load_plane(const unsigned char *plane, int block, uint32_t turn,
                                           uint32_t (&words)[1 << K])
{
    constexpr int count = 1 << K;
    const unsigned char *own = plane + 4 * count * (block ^ static_cast<int>(turn));
    if constexpr (count == 1) {
        words[0] = *reinterpret_cast<const uint32_t *>(own);
    } else if constexpr (count == 2) {
        const uint2 two = *reinterpret_cast<const uint2 *>(own);
        words[0] = two.x;
        words[1] = two.y;
    } else {
#pragma unroll
        for (int k = 0; k < count / 4; ++k) {
            const uint4 four = load_16(
                K == 3 ? plane + 16 * ((2 * block + k) ^ static_cast<int>(turn)) : own + 16 * k);
            words[4 * k] = four.x;
            words[4 * k + 1] = four.y;
            words[4 * k + 2] = four.z;
            words[4 * k + 3] = four.w;
        }
    }
}

// Appends the fields of the plane of width 2^K of a lane's block; returns the address of the next
// plane.
template <int K, int BLOCKS>
__device__ __forceinline__ const unsigned char *
append_plane(const unsigned char *plane, row_source row, int block, uint32_t (&v)[32])
{
    constexpr int bits = 1 << K;
    constexpr int across = bits < 8 ? 4 * bits : 32;
    uint32_t words[bits];
    if ((row.bits >> K & 1U) == 0) {
        return plane;
    }
    load_plane<K>(plane, block, row.turn, words);
#pragma unroll
    for (int j = 0; j < bits; ++j) {
#pragma unroll
        for (int f = 0; f < 32 / bits; ++f) {
            constexpr int fields = bits < 8 ? 8 / bits : 1; // of a byte
            int i = bits < 8 ? across * (f % fields) + 4 * j + f / fields : 32 / bits * j + f;
            v[i] = v[i] << bits | (words[j] >> (bits * f) & ((1U << bits) - 1U));
        }
    }
    return plane + 4 * BLOCKS * bits;
}

// Bit patterns for both halves of a __half2: an integer from 1 to 2047, and 2^-n.
__host__ __device__ constexpr uint32_t both(uint32_t half)
{
    return half << 16 | half;
}
__host__ __device__ constexpr uint32_t half_of(uint32_t value)
{
    uint32_t exponent = 0;
    while (value >> (exponent + 1) != 0) {
        ++exponent;
    }
    return (exponent + 15) << 10 | (value << (10 - exponent) & 0x3ffU);
}
__host__ __device__ constexpr uint32_t half_of_power(int n)
{
    return static_cast<uint32_t>(15 - n) << 10;
}

// Appends fields in fp16, exact up to 12 bits, two values at a time. A field is inserted below the
// exponent of 1024 at its position, and one fused multiplication removes both exponent and
// position. All planes pair value v with v + 2: h[2 m + o] has 4 m + o and 4 m + o + 2. TOP: the
// widest plane, whose fields are signed.
template <int K, bool TOP>
__device__ __forceinline__ void append_halves(const uint32_t (&words)[1 << K], __half2 (&h)[16])
{
    constexpr int bits = 1 << K;
    constexpr uint32_t sign = TOP ? 1U << (bits - 1) : 0U;
#pragma unroll
    for (int j = 0; j < bits; ++j) {
        const uint32_t word = words[j];
#pragma unroll
        for (int f = 0; f < 8 / bits; ++f) {
            const int place = f * bits;
            const uint32_t mask = both(((1U << bits) - 1U) << place);
            const uint32_t magic = both(0x6400U | sign << place);
            const __half2 scale = halves_of(both(half_of_power(place)));
            const __half2 bias = halves_of(both(0x8000U | half_of((1024U >> place) + sign)));
            const int m = f * bits + j; // position of the pairs, f * 4 bits / 4 + j
#pragma unroll
            for (int o = 0; o < 2; ++o) {
                __half2 field = halves_of(mask_and_turn(word >> (8 * o), mask, magic));
                field = __hfma2(field, scale, bias);
                if (TOP) {
                    h[2 * m + o] = field;
                } else {
                    h[2 * m + o] =
                        __hfma2(h[2 * m + o], halves_of(both(half_of(1U << bits))), field);
                }
            }
        }
    }
}

// Planes of width 2^K and narrower, after wider ones or (`first`) as the widest.
template <int K, int BLOCKS>
__device__ __forceinline__ const unsigned char *
append_if(const unsigned char *plane, row_source row, int block, __half2 (&h)[16])
{
    uint32_t words[1 << K];
    if ((row.bits >> K & 1U) == 0) {
        return plane;
    }
    load_plane<K>(plane, block, row.turn, words);
    if (row.bits >> (K + 1) == 0) {
        append_halves<K, true>(words, h);
    } else {
        append_halves<K, false>(words, h);
    }
    return plane + (4 * BLOCKS << K);
}

template <int BLOCKS>
__device__ __forceinline__ void load_narrow_planes(row_source row, int block, float (&c)[32])
{
    const unsigned char *plane = row.bytes;
    __half2 h[16];
#pragma unroll
    for (int p = 0; p < 16; ++p) {
        h[p] = halves_of(0);
    }
    plane = append_if<3, BLOCKS>(plane, row, block, h);
    plane = append_if<2, BLOCKS>(plane, row, block, h);
    plane = append_if<1, BLOCKS>(plane, row, block, h);
    append_if<0, BLOCKS>(plane, row, block, h);
#pragma unroll
    for (int p = 0; p < 16; ++p) {
        int v = 4 * (p / 2) + p % 2;
        widen(h[p], c[v], c[v + 2]);
    }
}

/// Integers of 0 to 16 bits from the words of all planes, which have BLOCKS blocks.
template <int BLOCKS>
__device__ __forceinline__ void load_planes(row_source row, int block, float (&c)[32])
{
    const uint32_t width = row.bits;
    if (width <= 12) {
        load_narrow_planes<BLOCKS>(row, block, c);
        return;
    }
    const unsigned char *plane = row.bytes;
    uint32_t v[32] = {};
    plane = append_plane<4, BLOCKS>(plane, row, block, v);
    plane = append_plane<3, BLOCKS>(plane, row, block, v);
    plane = append_plane<2, BLOCKS>(plane, row, block, v);
    plane = append_plane<1, BLOCKS>(plane, row, block, v);
    append_plane<0, BLOCKS>(plane, row, block, v);
    int spare = 32 - static_cast<int>(width);
#pragma unroll
    for (int i = 0; i < 32; ++i) {
        c[i] = static_cast<float>(static_cast<int32_t>(v[i] << spare) >> spare);
    }
}

/// Rows of planes with at most MOST bits per value, as the layout specifies, and MORE bytes.
template <int MOST, int MORE, int WARP_ROWS> struct rows_of_planes {
    using value = float;
    static constexpr int columns = 1024;
    static constexpr int values = 32;
    static constexpr int row_bytes = 128 * MOST + MORE;
    static constexpr int warp_rows = WARP_ROWS;
    static constexpr bool varies = false;
    static constexpr bool of_any_bits = true;
    static __device__ __forceinline__ void load(row_source row, int lane, float (&c)[32])
    {
        load_planes<BB_STREAM_LANES>(row, lane, c);
    }
};

/// bfp of 9 bits and more, or of 5 to 7 (MOST 7), four rows per warp.
template <int MOST, int WARP_ROWS>
struct of_bfp_planes : rows_of_planes<MOST, BB_STREAM_LANES, WARP_ROWS> {
    static constexpr bool has_unit = true;
    static constexpr bool has_steps = false;
    static __device__ __forceinline__ float unit(row_source row, int lane)
    {
        return unit_of(row.bytes[128 * row.bits + lane]);
    }
};
using of_bfp = of_bfp_planes<BB_BFP_MOST_BITS - 1, 2>;
using of_bfp_narrow = of_bfp_planes<7, 4>;

struct of_integer : rows_of_planes<16, 0, 2>, with_steps {
};
struct of_integer_narrow : rows_of_planes<7, 0, 4>, with_steps {
};

// A quarter of a row of the quantiser.
__device__ __forceinline__ row_source quarter_of(row_source row, int quarter)
{
    return {row.bytes + BB_STREAM_UNIT * bb_coded_stream_units_before(row.bits, quarter),
            bb_coded_stream_width(row.bits, quarter), row.step, row.turn};
}

/// Half groups of more than most_units are read from memory.
struct of_quantiser {
    using value = float;
    static constexpr int columns = 1024;
    static constexpr int values = 32;
    static constexpr int row_bytes = 0;
    static constexpr int warp_rows = 4;
    static constexpr int most_units = BB_STREAM_STAGE_UNITS; // units of rows in a stage
    static constexpr bool varies = true;
    static constexpr bool has_unit = true;
    static constexpr bool of_any_bits = false;
    static constexpr bool has_steps = false;
    static constexpr int quarter_lanes = BB_STREAM_LANES / BB_STREAM_QUARTERS;
    static __device__ __forceinline__ float unit(row_source row, int)
    {
        return (row.bits & 255U) == BB_STREAM_RAW ? 1.0F : row.step;
    }
    static __device__ __forceinline__ void load(row_source row, int lane, float (&c)[32])
    {
        if ((row.bits & 255U) < BB_STREAM_QUOTIENTS) {
            load_planes<quarter_lanes>(quarter_of(row, lane / quarter_lanes), lane % quarter_lanes,
                                       c);
            return;
        }
        const uint32_t *words = reinterpret_cast<const uint32_t *>(row.bytes) + lane;
#pragma unroll
        for (int i = 0; i < 32; ++i) {
            uint32_t word = words[BB_STREAM_LANES * i];
            c[i] = (row.bits & 255U) == BB_STREAM_RAW
                       ? __uint_as_float(word)
                       : static_cast<float>(static_cast<int32_t>(word));
        }
    }
};

} // namespace stream

#endif
