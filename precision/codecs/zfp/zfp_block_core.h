// SPDX-License-Identifier: Apache-2.0
//
// Decoder of one zfp block of floats or doubles in one to four dimensions, in the common subset of
// C and CUDA. Written from the format (P. Lindstrom, IEEE TVCG 20, 2014; libzfp 1.0, BSD-3-Clause);
// the values are libzfp's bit for bit, built without a rounding mode.
//
// A block: a bit for nonzero blocks; (reversible: a bit for values stored as integers;) the common
// exponent; (reversible: the number of planes less one;) then bit planes of the coefficients from
// the top. In a plane the n coefficients that have had a one are stored verbatim; then, while a
// group bit signals another one, zeros up to it and a one, which is omitted for the last
// coefficient. Coefficients are negabinary.
//
// With `dimensions` a constant, everything of one and two dimensions stays in registers.
#ifndef BB_PRECISION_CODECS_ZFP_ZFP_BLOCK_CORE_H
#define BB_PRECISION_CODECS_ZFP_ZFP_BLOCK_CORE_H

#include "core/portable.h"
#include "core/status.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/// libzfp's own parameters, of which every mode is a special case: fixed rate sets minimum_bits =
/// maximum_bits, fixed precision maximum_precision, fixed accuracy minimum_exponent; below -1074
/// that selects the reversible mode.
typedef struct bb_zfp_settings {
    unsigned minimum_bits, maximum_bits, maximum_precision; ///< limits per block
    int minimum_exponent;
} bb_zfp_settings;

/// An array [nw][nz][ny][nx]; extents are 1 beyond `dimensions`. For a band of a matrix, nz and nw
/// are rows.
typedef struct bb_zfp_shape {
    int dimensions;
    bb_index nx, ny, nz, nw;
} bb_zfp_shape;

// Reader of a stream: lowest bit first, in 32-bit little-endian words, two of which are buffered,
// so that 32 bits can always be peeked. After the stream's end it reads zeros: no position makes a
// reader leave the stream.

/// Must be inlined for its arrays to stay in registers.
#if defined(__CUDACC__)
#define BB_ZFP_INLINE static __host__ __device__ __forceinline__
#else
#define BB_ZFP_INLINE static inline __attribute__((always_inline))
#endif

#if defined(__CUDA_ARCH__)
#define BB_ZFP_UNROLL _Pragma("unroll")
#else
#define BB_ZFP_UNROLL
#endif

/// Words of a stream. On a device they are aligned to 4 bytes, `tail` is 0, and the word after the
/// last complete one is readable and 0.
typedef struct bb_zfp_words {
    const unsigned char *bytes;
    uint64_t word_count; ///< number of complete words of the stream
    uint32_t tail;       ///< remaining bytes, zero-extended
} bb_zfp_words;

/// Positions count from the word where it was opened; valid for 2^31 bits.
typedef struct bb_zfp_reader {
    const unsigned char *bytes;
    uint32_t word_count, tail;
    uint32_t low_word; ///< index of the word `low`; `high` is the next one
    uint32_t low, high;
    uint32_t shift; ///< consumed bits of `low`, 0 to 31
} bb_zfp_reader;

BB_ZFP_INLINE uint32_t bb_zfp_reader_load(const unsigned char *bytes, size_t word)
{
#if defined(__CUDA_ARCH__)
    return __ldg((const uint32_t *)bytes + word);
#else
    const unsigned char *cursor = bytes + 4 * word;
    return (uint32_t)cursor[0] | (uint32_t)cursor[1] << 8 | (uint32_t)cursor[2] << 16 |
           (uint32_t)cursor[3] << 24;
#endif
}

BB_ZFP_INLINE uint32_t bb_zfp_reader_word(const bb_zfp_reader *reader, uint32_t word)
{
#if defined(__CUDA_ARCH__)
    return bb_zfp_reader_load(reader->bytes, word < reader->word_count ? word : reader->word_count);
#else
    return word < reader->word_count    ? bb_zfp_reader_load(reader->bytes, word)
           : word == reader->word_count ? reader->tail
                                        : 0;
#endif
}

/// Returns the index of the lowest set bit in a nonzero word.
BB_ZFP_INLINE uint32_t bb_zfp_reader_lowest(uint32_t word)
{
#if defined(__CUDA_ARCH__)
    return (uint32_t)__ffs((int)word) - 1;
#else
    return (uint32_t)__builtin_ctz(word);
#endif
}

BB_ZFP_INLINE void bb_zfp_reader_seek(bb_zfp_reader *reader, uint32_t position)
{
    reader->low_word = position / 32;
    reader->shift = position % 32;
    reader->low = bb_zfp_reader_word(reader, reader->low_word);
    reader->high = bb_zfp_reader_word(reader, reader->low_word + 1);
}

/// Opens at bit `bit` of the stream; the position is then bit % 32.
BB_ZFP_INLINE bb_zfp_reader bb_zfp_reader_open(const bb_zfp_words *words, uint64_t bit)
{
    const uint32_t limit = UINT32_C(1) << 27;
    bb_zfp_reader reader;
    uint64_t first = bit / 32 < words->word_count ? bit / 32 : words->word_count;
    uint64_t rest = words->word_count - first;
    reader.bytes = words->bytes + 4 * first;
    reader.word_count = rest < limit ? (uint32_t)rest : limit;
#if defined(__CUDA_ARCH__)
    reader.tail = 0;
#else
    // Far beyond the end everything is zero, including the tail.
    reader.tail = bit / 32 <= words->word_count && rest < limit ? words->tail : 0;
#endif
    bb_zfp_reader_seek(&reader, (uint32_t)(bit % 32));
    return reader;
}

BB_ZFP_INLINE uint32_t bb_zfp_reader_position(const bb_zfp_reader *reader)
{
    return 32 * reader->low_word + reader->shift;
}

/// Returns the next 32 bits, the first one lowest.
BB_ZFP_INLINE uint32_t bb_zfp_reader_peek(const bb_zfp_reader *reader)
{
#if defined(__CUDA_ARCH__)
    return __funnelshift_r(reader->low, reader->high, reader->shift);
#else
    return (uint32_t)(((uint64_t)reader->high << 32 | reader->low) >> reader->shift);
#endif
}

/// Skips `bits` <= 32 bits.
BB_ZFP_INLINE void bb_zfp_reader_advance(bb_zfp_reader *reader, uint32_t bits)
{
    reader->shift += bits;
    if (reader->shift >= 32) {
        reader->shift -= 32;
        ++reader->low_word;
        reader->low = reader->high;
        reader->high = bb_zfp_reader_word(reader, reader->low_word + 1);
    }
}

BB_ZFP_INLINE uint32_t bb_zfp_reader_read_bit(bb_zfp_reader *reader)
{
    uint32_t bit = bb_zfp_reader_peek(reader) & 1;
    bb_zfp_reader_advance(reader, 1);
    return bit;
}

BB_ZFP_INLINE uint32_t bb_zfp_reader_least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

// Order of a block's coefficients: by total sequency i + j + k + l, then by the sum of squares;
// among equals in the order of the format. Coefficient n is at position i + 4 j + 16 k + 64 l of
// the block. One and two dimensions fit in a word each.
// clang-format off
#define BB_ZFP_ORDER_3                                                                         \
    0, 1, 4, 16, 20, 17, 5, 2, 8, 32, 21, 6, 18, 24, 9, 33,                                    \
    36, 3, 12, 48, 22, 25, 37, 40, 34, 10, 7, 19, 28, 13, 49, 52,                              \
    41, 38, 26, 23, 29, 53, 11, 35, 44, 14, 50, 56, 42, 27, 39, 45,                            \
    30, 54, 57, 60, 51, 15, 43, 46, 58, 61, 55, 31, 62, 59, 47, 63

#define BB_ZFP_ORDER_4                                                                         \
    0, 1, 4, 16, 64, 5, 80, 17, 68, 65, 20, 2, 8, 32, 128, 84,                                 \
    81, 69, 21, 6, 18, 66, 24, 72, 9, 96, 33, 36, 129, 132, 144, 3,                            \
    12, 48, 192, 85, 82, 70, 22, 73, 25, 88, 37, 100, 97, 148, 145, 133,                       \
    10, 160, 34, 136, 130, 40, 7, 19, 67, 28, 76, 13, 112, 49, 52, 193,                        \
    196, 208, 86, 89, 101, 149, 161, 137, 41, 134, 38, 164, 26, 152, 146, 104,                 \
    98, 74, 83, 71, 23, 77, 29, 92, 53, 116, 113, 212, 209, 197, 11, 35,                       \
    131, 44, 140, 14, 176, 50, 56, 194, 200, 224, 90, 165, 102, 153, 150, 105,                 \
    168, 162, 138, 42, 87, 93, 117, 213, 27, 75, 99, 39, 135, 147, 108, 45,                    \
    141, 156, 30, 78, 177, 180, 54, 114, 120, 57, 198, 210, 216, 201, 225, 228,                \
    15, 240, 51, 204, 195, 60, 169, 166, 154, 106, 91, 103, 151, 109, 157, 94,                 \
    181, 118, 121, 214, 217, 229, 163, 139, 43, 142, 46, 172, 58, 184, 178, 232,               \
    226, 202, 241, 205, 61, 199, 55, 244, 31, 220, 211, 124, 115, 79, 170, 167,                \
    155, 107, 158, 110, 173, 122, 185, 182, 233, 230, 218, 95, 245, 119, 221, 215,             \
    125, 242, 206, 62, 203, 59, 248, 47, 236, 227, 188, 179, 143, 171, 174, 186,               \
    234, 246, 222, 126, 219, 123, 249, 111, 237, 231, 189, 183, 159, 252, 243, 207,            \
    63, 175, 250, 187, 238, 235, 190, 253, 247, 223, 127, 254, 251, 239, 191, 255
// clang-format on

static const unsigned char bb_zfp_order_3[64] = {BB_ZFP_ORDER_3};
static const unsigned char bb_zfp_order_4[256] = {BB_ZFP_ORDER_4};
#if defined(__CUDACC__)
static __device__ const unsigned char bb_zfp_device_order_3[64] = {BB_ZFP_ORDER_3};
static __device__ const unsigned char bb_zfp_device_order_4[256] = {BB_ZFP_ORDER_4};
#endif

BB_ZFP_INLINE uint32_t bb_zfp_block_place(int dimensions, uint32_t coefficient)
{
    const uint64_t order_2 = UINT64_C(0xfebd7ac396825410);
    if (dimensions == 1) {
        return coefficient;
    }
    if (dimensions == 2) {
        return (uint32_t)(order_2 >> 4 * coefficient) & 15;
    }
#if defined(__CUDA_ARCH__)
    return dimensions == 3 ? bb_zfp_device_order_3[coefficient]
                           : bb_zfp_device_order_4[coefficient];
#else
    return dimensions == 3 ? bb_zfp_order_3[coefficient] : bb_zfp_order_4[coefficient];
#endif
}

enum {
    BB_ZFP_LEAST_EXPONENT = -1074, ///< below: reversible
    BB_ZFP_BLOCK_MOST = 256,       ///< values of the largest block
};

/// Start of the next plane of at most 16 coefficients, of which the first `known` have had a one.
typedef struct bb_zfp_front {
    uint32_t known;
    uint32_t mask; ///< mask of the coefficients stored verbatim
    uint32_t test; ///< mask of the group bit after them, 0 if all are known
    uint32_t bits; ///< number of both
} bb_zfp_front;

BB_ZFP_INLINE bb_zfp_front bb_zfp_front_of(uint32_t size, uint32_t known)
{
    bb_zfp_front front;
    front.known = known;
    front.mask = (UINT32_C(1) << known) - 1;
    front.test = known < size ? UINT32_C(1) << known : 0;
    front.bits = known < size ? known + 1 : size;
    return front;
}

/// Reads the next plane; all of its bits, at most 31, are buffered and within the block's budget.
/// *used: their number.
BB_ZFP_INLINE uint32_t bb_zfp_block_read_plane(bb_zfp_reader *reader, uint32_t size,
                                               bb_zfp_front *front, uint32_t *used)
{
    uint32_t window = bb_zfp_reader_peek(reader);
    uint32_t plane = window & front->mask;
    uint32_t bits = front->bits;
    if ((window & front->test) != 0) {
        uint32_t i = front->known;
        uint32_t more;
        window >>= bits;
        do {
            uint32_t room = size - 1 - i;
            uint32_t zeros = bb_zfp_reader_lowest(window | UINT32_C(1) << room);
            uint32_t taken = zeros + (zeros < room ? 1 : 0);
            i += zeros;
            plane |= UINT32_C(1) << i;
            ++i;
            window >>= taken;
            bits += taken + (i < size ? 1 : 0);
            more = i < size ? window & 1 : 0;
            window >>= 1;
        } while (more != 0);
        *front = bb_zfp_front_of(size, i);
    }
    bb_zfp_reader_advance(reader, bits);
    *used = bits;
    return plane;
}

/// As bb_zfp_block_read_plane, for a block whose bits may end within the plane.
BB_ZFP_INLINE uint32_t bb_zfp_block_read_last_plane(bb_zfp_reader *reader, uint32_t size,
                                                    uint32_t *known, uint32_t *budget)
{
    uint32_t i = *known;
    uint32_t verbatim = bb_zfp_reader_least(i, *budget);
    uint32_t plane = bb_zfp_reader_peek(reader) & ((UINT32_C(1) << verbatim) - 1);
    bb_zfp_reader_advance(reader, verbatim);
    *budget -= verbatim;
    while (i<size && * budget> 0) {
        --*budget;
        if (bb_zfp_reader_read_bit(reader) == 0) {
            break;
        }
        for (; i < size - 1 && *budget > 0; ++i) {
            --*budget;
            if (bb_zfp_reader_read_bit(reader) != 0) {
                break;
            }
        }
        plane |= UINT32_C(1) << i;
        ++i;
    }
    *known = i;
    return plane;
}

/// Skips the zeros up to the next coefficient that gets its one, `room` at most; returns their
/// number.
BB_ZFP_INLINE uint32_t bb_zfp_block_read_zeros(bb_zfp_reader *reader, uint32_t room, uint32_t *used)
{
    uint32_t passed = 0;
    for (;;) {
        uint32_t window = bb_zfp_reader_peek(reader);
        uint32_t zeros = window == 0 ? 32 : bb_zfp_reader_lowest(window);
        uint32_t rest = room - passed;
        if (zeros >= rest) {
            bb_zfp_reader_advance(reader, rest);
            *used += rest;
            return room;
        }
        if (zeros < 32) {
            bb_zfp_reader_advance(reader, zeros + 1);
            *used += zeros + 1;
            return passed + zeros;
        }
        bb_zfp_reader_advance(reader, 32);
        *used += 32;
        passed += 32;
    }
}

/// Header of a block, before its planes.
typedef struct bb_zfp_head {
    int is_zero;
    int is_integers;    ///< values are integer bit patterns, without an exponent
    int exponent;       ///< the block's values are below 2^exponent
    uint32_t planes;    ///< from the top down
    uint32_t bits;      ///< bits of the header
    uint32_t from_zero; ///< reversible: exponent field 0, which means zeros
} bb_zfp_head;

BB_ZFP_INLINE int bb_zfp_block_reversible(const bb_zfp_settings *settings)
{
    return settings->minimum_exponent < BB_ZFP_LEAST_EXPONENT;
}

/// `exponent_bits` is 8 or 11, for words of 32 or 64 bits.
BB_ZFP_INLINE bb_zfp_head bb_zfp_block_read_head(bb_zfp_reader *reader,
                                                 const bb_zfp_settings *settings, int dimensions,
                                                 int reversible, uint32_t exponent_bits)
{
    const uint32_t plane_bits = exponent_bits == 8 ? 5 : 6;
    const int bias = (1 << (exponent_bits - 1)) - 1;
    uint32_t window = bb_zfp_reader_peek(reader);
    bb_zfp_head head = {0, 0, 0, 0, 1, 0};
    head.is_zero = (window & 1) == 0;
    if (head.is_zero) {
        bb_zfp_reader_advance(reader, 1);
        return head;
    }
    if (reversible) {
        head.is_integers = (int)(window >> 1 & 1);
        head.bits = 2;
    }
    if (!head.is_integers) {
        uint32_t field = window >> head.bits & ((UINT32_C(1) << exponent_bits) - 1);
        head.exponent = (int)field - bias;
        head.from_zero = field == 0;
        head.bits += exponent_bits;
    }
    if (reversible) {
        head.planes = (window >> head.bits & ((UINT32_C(1) << plane_bits) - 1)) + 1;
        head.bits += plane_bits;
    } else {
        int kept = head.exponent - settings->minimum_exponent + 2 * (dimensions + 1);
        head.from_zero = 0;
        head.planes = kept < 0 ? 0 : (uint32_t)kept;
        head.planes = bb_zfp_reader_least(head.planes, settings->maximum_precision);
    }
    bb_zfp_reader_advance(reader, head.bits);
    return head;
}

/// Skips the padding up to the minimum size of a block that began at `start`.
BB_ZFP_INLINE void bb_zfp_block_fill_up(bb_zfp_reader *reader, const bb_zfp_settings *settings,
                                        uint32_t start)
{
    if (bb_zfp_reader_position(reader) - start < settings->minimum_bits) {
        bb_zfp_reader_seek(reader, start + settings->minimum_bits);
    }
}

#define BB_ZFP_NAME(name)    bb_zfp_##name##_f32
#define BB_ZFP_REAL          float
#define BB_ZFP_SIGNED        int32_t
#define BB_ZFP_UNSIGNED      uint32_t
#define BB_ZFP_WIDTH         32
#define BB_ZFP_EXPONENT_BITS 8
#define BB_ZFP_MANTISSA_BITS 23
#include "precision/codecs/zfp/zfp_block_kind_core.h"

#define BB_ZFP_NAME(name)    bb_zfp_##name##_f64
#define BB_ZFP_REAL          double
#define BB_ZFP_SIGNED        int64_t
#define BB_ZFP_UNSIGNED      uint64_t
#define BB_ZFP_WIDTH         64
#define BB_ZFP_EXPONENT_BITS 11
#define BB_ZFP_MANTISSA_BITS 52
#include "precision/codecs/zfp/zfp_block_kind_core.h"

#endif
