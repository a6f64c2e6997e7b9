// SPDX-License-Identifier: Apache-2.0
//
// Words of a transformed block, for both sides. A block is nothing at all (every coefficient 0),
// one word (poisoned), or
//   a bit for each group of 32 coefficients that has one other than 0, filled up to whole words;
//   four bits for each of those groups, eight to a word: the code of its width;
//   each of those groups in turn, `width` words: coefficient i at bits [i width, (i + 1) width) in
//   two's complement, lowest first.
#ifndef BB_PRECISION_CODECS_TRANSFORM_CORE_H
#define BB_PRECISION_CODECS_TRANSFORM_CORE_H

#include "core/portable.h"

#include <stdint.h>

enum {
    BB_TRANSFORM_GROUP = 32, ///< coefficients that share a width
    BB_TRANSFORM_WIDE = 20,  ///< the widths after 13
    BB_TRANSFORM_WIDEST = 32,
};

/// Bits of a coefficient for a code of 1 to 15.
BB_DEVICE_FUNCTION
int bb_transform_width(int code)
{
    return code < 14 ? code : code == 14 ? BB_TRANSFORM_WIDE : BB_TRANSFORM_WIDEST;
}

/// The code of the widths above that is enough for `bits` of 0 to 32.
BB_DEVICE_FUNCTION
int bb_transform_code(int bits)
{
    return bits < 14 ? bits : bits <= BB_TRANSFORM_WIDE ? 14 : 15;
}

/// Bits that are set.
BB_DEVICE_FUNCTION
int bb_transform_ones(uint32_t word)
{
    word -= word >> 1 & 0x55555555U;
    word = (word & 0x33333333U) + (word >> 2 & 0x33333333U);
    return (int)(((word + (word >> 4)) & 0x0f0f0f0fU) * 0x01010101U >> 24);
}

/// Code of the width of the n-th group that has one.
BB_DEVICE_FUNCTION
int bb_transform_code_at(const uint32_t *codes, int n)
{
    return (int)(codes[n / 8] >> (4 * (n % 8)) & 15U);
}

/// Coefficient i of a group.
BB_DEVICE_FUNCTION
int32_t bb_transform_quotient(const uint32_t *words, int width, int i)
{
    int bit = i * width;
    int shift = bit & 31;
    uint64_t pair = words[bit >> 5];
    if (shift + width > 32) {
        pair |= (uint64_t)words[(bit >> 5) + 1] << 32;
    }
    return (int32_t)((uint32_t)(pair >> shift) << (32 - width)) >> (32 - width);
}

#endif
