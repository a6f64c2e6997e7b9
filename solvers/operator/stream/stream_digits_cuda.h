// SPDX-License-Identifier: Apache-2.0
//
// For .cu files only: the Way of stream_bands_cuda.h for integers of at most 16 bits: integers,
// quotients (wider ones in two parts; the upper tile is multiplied by 2^16 x, see cut_x), mantissas
// of block floating point.
//
// Planes are converted to bytes, four at a time by one or two instructions, and multiplied
// directly: rows of A [16][32] times x, which is stored in B [32][8] as four columns of signed
// bytes,
//     x = 2^(e - 30) (d_0 + 2^8 d_1 + 2^16 d_2 + 2^24 d_3),    2^e above the quarter's largest |x|,
// exact to 2^-31 of 2^e. Sums are integers and exact. Stored numbers are made unsigned by adding
// half their range, which is subtracted again times the sum of the digits. Planes are multiplied
// one after the other, shifting the previous sum. For six bits this takes 1.5 instructions per
// value.
//
// Sums of a row within a quarter: exact; for block floating point block by block in fp32.
#ifndef BB_SOLVERS_OPERATOR_STREAM_STREAM_DIGITS_CUDA_H
#define BB_SOLVERS_OPERATOR_STREAM_STREAM_DIGITS_CUDA_H

#include "solvers/operator/stream/stream_bands_cuda.h"
#include "solvers/operator/stream/stream_fields_cuda.h"

#include <type_traits>

namespace stream
{

constexpr int digits = 4;
constexpr int block_digit_bytes = digits * BB_BLOCK; // bytes per block of x
// Sums of the digits of a block, padded so that blocks have no bank conflicts when written.
constexpr int block_sum_bytes = 32;
constexpr int block_x_bytes = block_digit_bytes + block_sum_bytes;

/// Metadata of a quarter, written by the cutting warp.
struct digit_mark {
    double scale;     ///< 2^(e - 30), for an upper tile 2^(e - 14), NaN if x is not finite
    int sums[digits]; ///< sum of the digits of the quarter
};

// D += A B with A unsigned [16][32] and B signed [32][8].
__device__ __forceinline__ void multiply_32(int (&d)[4], uint2 upper, uint2 lower, uint2 b)
{
    asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
        : "r"(upper.x), "r"(lower.x), "r"(upper.y), "r"(lower.y), "r"(b.x), "r"(b.y));
}

/// Form of a storage: blocks, or planes of any width; with or without exponents.
template <class S> struct digit_form;
template <> struct digit_form<of_bfp4> {
    using blocks = nibbles_in_order;
    static constexpr bool has_exponents = true;
    static constexpr bool in_planes = false;
};
template <> struct digit_form<of_bfp8> {
    using blocks = bytes_in_order;
    static constexpr bool has_exponents = true;
    static constexpr bool in_planes = false;
};
template <> struct digit_form<of_integer8> {
    using blocks = bytes_turned;
    static constexpr bool has_exponents = false;
    static constexpr bool in_planes = false;
};
template <> struct digit_form<of_bfp_narrow> {
    static constexpr bool has_exponents = true;
    static constexpr bool in_planes = true;
};
template <> struct digit_form<of_integer_narrow> {
    static constexpr bool has_exponents = false;
    static constexpr bool in_planes = true;
};
template <> struct digit_form<of_quantiser> {
    static constexpr bool has_exponents = false;
    static constexpr bool in_planes = true;
};

template <class S> struct digits_of_integers {
    using form = digit_form<S>;
    using mark = digit_mark;
    static constexpr int blocks = S::columns / BB_BLOCK / quarters; // blocks per quarter
    static constexpr int plane_blocks = S::varies ? blocks : quarters * blocks; // blocks per plane
    static constexpr int cut_bytes = S::columns / BB_BLOCK * block_x_bytes;
    static constexpr int turns = S::columns / 4 / quarters / lanes;

    /// Type of the sums of the lane's two rows and digits in a quarter of a tile.
    using part_type = std::conditional_t<form::has_exponents, float, int>;

    /// The lane's rows of a tile, for the quantiser their current quarter, and their widths.
    struct tile_rows {
        const unsigned char *upper, *lower;
        uint32_t upper_width, lower_width;
    };

    int band, quarter, lane;
    uint32_t turn;
    bb_index first_row;
    double weight; // weight of the lane's pair of digits

    __device__ __forceinline__ digits_of_integers(int own_band, int own_quarter, int own_lane,
                                                  bb_index first)
        : band(own_band), quarter(own_quarter), lane(own_lane),
          turn(static_cast<uint32_t>(first + own_lane / 4) % BB_STREAM_TURNS), first_row(first)
    {
        // A lane has two columns of the product; the other half of the columns are not digits.
        const int column = lane % 4;
        weight = column == 0 ? 1.0 : column == 1 ? 65536.0 : 0.0;
    }

    static __device__ __forceinline__ double step(const bb_stream_operand &operand, bb_index line)
    {
        if constexpr (S::has_steps) {
            return static_cast<double>(operand.steps[line]);
        }
        return S::varies ? static_cast<double>(operand.step) : 1.0;
    }

    // Digits of four values of x, one word per column of B; numbers have at most 30 bits.
    static __device__ __forceinline__ void cut_chunk(float4 x, float boost, float down,
                                                     uint32_t (&out)[digits])
    {
        constexpr int carry = 0x00808080;
        const uint32_t a = static_cast<uint32_t>(__float2int_rn(x.x * boost * down) + carry);
        const uint32_t b = static_cast<uint32_t>(__float2int_rn(x.y * boost * down) + carry);
        const uint32_t c = static_cast<uint32_t>(__float2int_rn(x.z * boost * down) + carry);
        const uint32_t d = static_cast<uint32_t>(__float2int_rn(x.w * boost * down) + carry);
        const uint32_t low_ab = __byte_perm(a, b, 0x5140); // digits 0, 0, 1, 1
        const uint32_t low_cd = __byte_perm(c, d, 0x5140);
        const uint32_t high_ab = __byte_perm(a, b, 0x7362);
        const uint32_t high_cd = __byte_perm(c, d, 0x7362);
        out[0] = __byte_perm(low_ab, low_cd, 0x5410) ^ four_of(128U);
        out[1] = __byte_perm(low_ab, low_cd, 0x7632) ^ four_of(128U);
        out[2] = __byte_perm(high_ab, high_cd, 0x5410) ^ four_of(128U);
        out[3] = __byte_perm(high_ab, high_cd, 0x7632);
    }

    static __device__ __forceinline__ int sum_of(uint32_t four, int before)
    {
        return __dp4a(static_cast<int>(four), static_cast<int>(four_of(1U)), before);
    }

    // Writes a chunk's digits, and their sums over the eight lanes of a block.
    static __device__ __forceinline__ void put(const uint32_t (&word)[digits], int block, int chunk,
                                               int lane, unsigned char *out)
    {
        unsigned char *target = out + block_x_bytes * block;
#pragma unroll
        for (int n = 0; n < digits; ++n) {
            *reinterpret_cast<uint32_t *>(target + BB_BLOCK * n + 8 * (chunk % 4) +
                                          4 * (chunk / 4)) = word[n];
        }
        if constexpr (form::has_exponents) {
#pragma unroll
            for (int n = 0; n < digits; ++n) {
                int sum = sum_of(word[n], 0);
                sum += __shfl_xor_sync(everyone, sum, 4);
                sum += __shfl_xor_sync(everyone, sum, 2);
                sum += __shfl_xor_sync(everyone, sum, 1);
                if (lane % 8 == n) {
                    *reinterpret_cast<int *>(target + block_digit_bytes + 4 * n) = sum;
                }
            }
        }
    }

    static __device__ __forceinline__ mark cut(const float4 (&x)[turns], unsigned char *out,
                                               int quarter, int lane)
    {
        uint32_t largest = 0;
#pragma unroll
        for (int k = 0; k < turns; ++k) {
            const uint4 bits = *reinterpret_cast<const uint4 *>(&x[k]);
            largest = max(max(max(largest, bits.x & 0x7fffffffU), bits.y & 0x7fffffffU),
                          max(bits.z & 0x7fffffffU, bits.w & 0x7fffffffU));
        }
        // The factor 2^e of exponent field f is 2^(f - 126); fields below 64 are scaled up by 2^90
        // first.
        const uint32_t field = __reduce_max_sync(everyone, largest) >> 23;
        const bool is_small = field < 64U;
        const uint32_t lifted = is_small ? field + 90U : field;
        const float boost = is_small ? 0x1p90F : 1.0F;
        const float down = __uint_as_float((283U - lifted) << 23);
        mark own = {};
        own.scale = field < 255U ? __hiloint2double(static_cast<int>((field + 867U) << 20), 0)
                                 : __hiloint2double(0x7ff80000, 0);
#pragma unroll
        for (int k = 0; k < turns; ++k) {
            const int unit = (quarter * turns + k) * lanes + lane;
            uint32_t word[digits];
            cut_chunk(x[k], boost, down, word);
            put(word, unit / 8, unit % 8, lane, out);
#pragma unroll
            for (int n = 0; n < digits; ++n) {
                own.sums[n] = sum_of(word[n], own.sums[n]);
            }
        }
#pragma unroll
        for (int n = 0; n < digits; ++n) {
            own.sums[n] = __reduce_add_sync(everyone, own.sums[n]);
        }
        return own;
    }

    /// Digits of x in the quarter's blocks for a lane of the lower half, whose columns are digits;
    /// loaded once for all planes.
    struct quarter_x {
        uint2 words[blocks];
    };
    __device__ __forceinline__ quarter_x digits_of(const unsigned char *x) const
    {
        quarter_x out;
#pragma unroll
        for (int k = 0; k < blocks; ++k) {
            out.words[k] = {0U, 0U};
            if (lane < lanes / 2) {
                out.words[k] = *reinterpret_cast<const uint2 *>(x + block_x_bytes * k);
            }
        }
        return out;
    }

    /// Integer sums of products, separately for even and odd blocks, so that a product waits only
    /// for the one before the last.
    struct whole_sums {
        int chains[2][4];

        __device__ __forceinline__ void scale(int factor)
        {
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                chains[0][i] *= factor;
                chains[1][i] *= factor;
            }
        }
    };

    // Position of block k of the quarter, relative to the start of the rows.
    __device__ __forceinline__ block_place place_of(int k) const
    {
        return place_of(k, static_cast<int>(turn));
    }
    __device__ __forceinline__ block_place place_of(int k, int row_turn) const
    {
        const int block = S::varies ? k : blocks * quarter + k;
        return {block / 8, block % 8, row_turn};
    }

    // Reads the turn at its use. Otherwise the compiler computes the positions of rarely used
    // planes, and keeps them in registers, before the loop over widths.
    __device__ __forceinline__ int turn_here() const
    {
        int out = static_cast<int>(turn);
        if constexpr (S::varies) {
            asm volatile("" : "+r"(out));
        }
        return out;
    }

    // Subtracts the offset of a sum of numbers made unsigned by `bias`.
    __device__ __forceinline__ void take_off(int bias, const mark &own, const whole_sums &d,
                                             int (&part)[4]) const
    {
        const int excess[2] = {bias * own.sums[2 * (lane % 2)],
                               bias * own.sums[2 * (lane % 2) + 1]};
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            part[i] += d.chains[0][i] + d.chains[1][i] - excess[i % 2];
        }
    }

    // Adds the quarter's blocks, stored as bytes.
    template <class Blocks>
    __device__ __forceinline__ void add_bytes(const tile_rows &rows, const quarter_x &x,
                                              const mark &own, int (&part)[4]) const
    {
        whole_sums d = {};
#pragma unroll
        for (int k = 0; k < blocks; ++k) {
            multiply_32(d.chains[k % 2], Blocks::load(rows.upper, place_of(k), lane % 4),
                        Blocks::load(rows.lower, place_of(k), lane % 4), x.words[k]);
        }
        take_off(Blocks::bias, own, d, part);
    }

    // Adds the quarter's blocks one by one, each with its unit.
    template <class Blocks>
    __device__ __forceinline__ void add_blocks(const tile_rows &rows, int exponents,
                                               const quarter_x &x, const unsigned char *sums,
                                               float (&part)[4]) const
    {
        const unsigned char *upper_units = rows.upper + exponents + blocks * quarter;
        const unsigned char *lower_units = rows.lower + exponents + blocks * quarter;
#pragma unroll
        for (int k = 0; k < blocks; ++k) {
            const float unit[2] = {unit_of(upper_units[k]), unit_of(lower_units[k])};
            const int2 sum = *reinterpret_cast<const int2 *>(sums + block_x_bytes * k);
            int d[4] = {-Blocks::bias * sum.x, -Blocks::bias * sum.y, -Blocks::bias * sum.x,
                        -Blocks::bias * sum.y};
            multiply_32(d, Blocks::load(rows.upper, place_of(k), lane % 4),
                        Blocks::load(rows.lower, place_of(k), lane % 4), x.words[k]);
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                part[i] = __fmaf_rn(static_cast<float>(d[i]), unit[i / 2], part[i]);
            }
        }
    }

    // Adds mantissas of 5 to 7 bits, stored in planes.
    __device__ __forceinline__ void add_mantissas(const tile_rows &rows, const quarter_x &x,
                                                  const unsigned char *sums, float (&part)[4]) const
    {
        const int exponents = 4 * plane_blocks * static_cast<int>(rows.upper_width);
        switch (rows.upper_width) {
        case 5:
            return add_blocks<planes_of<5, plane_blocks>>(rows, exponents, x, sums, part);
        case 6:
            return add_blocks<planes_of<6, plane_blocks>>(rows, exponents, x, sums, part);
        default:
            return add_blocks<planes_of<7, plane_blocks>>(rows, exponents, x, sums, part);
        }
    }

    // Adds the plane of width 2^K, if numbers of this width have one, below the sums in `d`, and
    // advances to the next plane. Words of many blocks are loaded at the same time. A row of
    // another width loads unrelated data and masks it.
    template <int K>
    __device__ __forceinline__ void add_plane(uint32_t width, tile_rows &rows, const quarter_x &x,
                                              whole_sums &d) const
    {
        constexpr int bits = 1 << K;
        constexpr int together = K == 3 ? blocks / 2 : blocks;
        if ((width >> K & 1U) == 0) {
            return;
        }
        const int column = lane % 4;
        const int row_turn = turn_here();
        const uint32_t sign = width >> (K + 1) == 0 ? four_of(1U << (bits - 1)) : 0U;
        const uint32_t above = !S::varies || rows.upper_width == width ? field_bits<K> : 0U;
        const uint32_t below = !S::varies || rows.lower_width == width ? field_bits<K> : 0U;
        d.scale(1 << bits);
#pragma unroll
        for (int first = 0; first < blocks; first += together) {
            uint2 upper[together];
            uint2 lower[together];
#pragma unroll
            for (int k = 0; k < together; ++k) {
                upper[k] = load_words<K>(rows.upper, place_of(first + k, row_turn), column);
                lower[k] = load_words<K>(rows.lower, place_of(first + k, row_turn), column);
            }
#pragma unroll
            for (int k = 0; k < together; ++k) {
                multiply_32(d.chains[k % 2], fields_of<K>(upper[k], column, above, sign),
                            fields_of<K>(lower[k], column, below, sign), x.words[first + k]);
            }
        }
        rows.upper += 4 * bits * plane_blocks;
        rows.lower += 4 * bits * plane_blocks;
    }

    // Adds numbers of 16 bits, one half after the other; sums of 256 of them are below 2^31.
    __device__ __forceinline__ void add_halves(const tile_rows &rows, const quarter_x &x,
                                               whole_sums &d) const
    {
        const bool upper_there = rows.upper_width == 16;
        const bool lower_there = rows.lower_width == 16;
        const int row_turn = turn_here();
#pragma unroll 1 // rare case; unrolling would take registers from the products
        for (int half = 1; half >= 0; --half) {
            d.scale(256);
#pragma unroll
            for (int k = 0; k < blocks; ++k) {
                multiply_32(
                    d.chains[k % 2],
                    load_halves(rows.upper, place_of(k, row_turn), lane % 4, upper_there, half),
                    load_halves(rows.lower, place_of(k, row_turn), lane % 4, lower_there, half),
                    x.words[k]);
            }
        }
    }

    // Adds numbers of `width` bits; rows of another width add nothing.
    __device__ __forceinline__ void add_planes(uint32_t width, tile_rows rows, const quarter_x &x,
                                               const mark &own, int (&part)[4]) const
    {
        whole_sums d = {};
        if constexpr (S::varies) {
            if (width == 16) {
                add_halves(rows, x, d);
            }
        }
        add_plane<3>(width, rows, x, d);
        add_plane<2>(width, rows, x, d);
        add_plane<1>(width, rows, x, d);
        add_plane<0>(width, rows, x, d);
        take_off(1 << (width - 1), own, d, part);
    }

    // Rows of a band have one width, apart from zeros; but a window may begin within a band.
    __device__ __forceinline__ void add_widths(const tile_rows &rows, const quarter_x &x,
                                               const mark &own, int (&part)[4]) const
    {
        uint32_t upper = rows.upper_width;
        uint32_t lower = rows.lower_width;
        while (__any_sync(everyone, (upper | lower) != 0U) != 0) {
            const uint32_t width = __reduce_max_sync(everyone, max(upper, lower));
            add_planes(width, rows, x, own, part);
            upper = upper < width ? upper : 0U;
            lower = lower < width ? lower : 0U;
        }
    }

    __device__ __forceinline__ tile_rows find(const job &task_job, const unsigned char *stage,
                                              const stage_note &note) const
    {
        const int line = band_rows * band + lane / 4 - note.begin;
        if constexpr (S::varies) {
            // No stage has `far` rows: half a group of planes always fits.
            static_assert(group_rows<S> / 2 * quarters * BB_STREAM_MOST_PLANES <= S::most_units,
                          "half a group of the widest rows");
            const int rows = note.end - note.begin;
            const uint2 *places = reinterpret_cast<const uint2 *>(stage) + note.shift;
            const uint2 upper = places[line < rows ? line : 0];
            const uint2 lower = places[line + 8 < rows ? line + 8 : 0];
            const unsigned char *first = stage + task_job.shape.units_at;
            const uint32_t before = (1U << (8 * quarter)) - 1U; // units of the preceding quarters
            return {first + BB_STREAM_UNIT *
                                (upper.x - places[0].x + __dp4a(upper.y & before, four_of(1U), 0U)),
                    first + BB_STREAM_UNIT *
                                (lower.x - places[0].x + __dp4a(lower.y & before, four_of(1U), 0U)),
                    bb_coded_stream_width(upper.y, quarter),
                    bb_coded_stream_width(lower.y, quarter)};
        } else {
            const int row_bytes =
                S::of_any_bits ? static_cast<int>(task_job.task.layout.row_bytes) : S::row_bytes;
            const uint32_t bits = static_cast<uint32_t>(task_job.task.layout.bits);
            const unsigned char *upper = stage + line * row_bytes;
            return {upper, upper + 8 * row_bytes, bits, bits};
        }
    }

    __device__ __forceinline__ void multiply(const job &task_job, const unsigned char *stage,
                                             const stage_note &note, const unsigned char *x,
                                             const mark &own, double (&sum)[2]) const
    {
        const tile_rows rows = find(task_job, stage, note);
        const unsigned char *own_x = x + block_x_bytes * blocks * quarter;
        const quarter_x own_digits = digits_of(own_x + 8 * lane);
        const unsigned char *own_sums = own_x + block_digit_bytes + 8 * (lane % 2);
        part_type part[4] = {0, 0, 0, 0};
        if constexpr (S::varies) {
            add_widths(rows, own_digits, own, part);
        } else if constexpr (form::in_planes && !form::has_exponents) {
            add_planes(rows.upper_width, rows, own_digits, own, part);
        } else if constexpr (form::in_planes) {
            add_mantissas(rows, own_digits, own_sums, part);
        } else if constexpr (form::has_exponents) {
            add_blocks<typename form::blocks>(rows, 512, own_digits, own_sums, part);
        } else {
            add_bytes<typename form::blocks>(rows, own_digits, own, part);
        }
        const double unit = own.scale * weight;
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            sum[r] += __fma_rn(static_cast<double>(part[2 * r + 1]), 256.0,
                               static_cast<double>(part[2 * r])) *
                      unit;
        }
    }
};

} // namespace stream

#endif
