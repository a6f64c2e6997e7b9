// SPDX-License-Identifier: Apache-2.0
//
// Decoder of one zfp block of floats or doubles in one to four dimensions, in the common subset of
// C and CUDA. Written from the format (P. Lindstrom, IEEE TVCG 20, 2014; libzfp 1.0, BSD-3-Clause);
// the values are libzfp's bit for bit, as built without a rounding mode.
//
// A block: a bit that says whether it is not all zero; (reversible: a bit that says whether values
// are integers as they stand;) the common exponent; (reversible: the number of planes less one;)
// then bit planes of the coefficients from the top. In a plane the n coefficients that have had a
// one stand verbatim; then, while a group bit says that there is another, zeros up to it and a one,
// which is left out at the last coefficient. Coefficients are negabinary.
//
// With `dimensions` a constant, everything of one and two dimensions stays in registers.
#ifndef BB_PRECISION_CODECS_ZFP_ZFP_BLOCK_CORE_H
#define BB_PRECISION_CODECS_ZFP_ZFP_BLOCK_CORE_H

#include "precision/codecs/zfp/zfp_order_core.h"
#include "precision/codecs/zfp/zfp_reader_core.h"
#include "precision/codecs/zfp/zfp_settings.h"

#include <string.h>

enum {
    BB_ZFP_LEAST_EXPONENT = -1074, ///< below: reversible
    BB_ZFP_BLOCK_MOST = 256,       ///< values of a block
};

/// How the next plane of at most 16 coefficients begins, of which the first `known` have had a one.
typedef struct bb_zfp_front {
    uint32_t known;
    uint32_t mask; ///< of the coefficients that stand verbatim
    uint32_t test; ///< of the group bit behind them, 0 where all are known
    uint32_t bits; ///< of both
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

/// The next plane; all of its bits are at hand, 31 at most, and the block has them. *used: how
/// many.
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

/// The same where the block's bits may end within the plane.
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

/// Passes the zeros up to the next coefficient that gets its one, `room` at most; returns how many.
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

/// What stands before the planes of a block.
typedef struct bb_zfp_head {
    int is_zero;
    int is_integers;    ///< values are their bit patterns, without an exponent
    int exponent;       ///< the block's values are below 2^exponent
    uint32_t planes;    ///< from the top
    uint32_t bits;      ///< of the head
    uint32_t from_zero; ///< reversible: exponent field 0, which means zeros
} bb_zfp_head;

BB_ZFP_INLINE int bb_zfp_block_reversible(const bb_zfp_settings *settings)
{
    return settings->minimum_exponent < BB_ZFP_LEAST_EXPONENT;
}

/// `exponent_bits` 8 or 11, of words of 32 or 64 bits.
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

/// Passes what fills a block that began at `start` up to its least size.
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
