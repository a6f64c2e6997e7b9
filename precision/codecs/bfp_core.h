// SPDX-License-Identifier: Apache-2.0
//
// Block floating point in the common subset of C and CUDA: layout of a row and decoding.
//
// Blocks of 32 values share a power of two, the unit 2^e, e an int8; a value is m 2^e with m in
// two's complement of 4 to 16 bits. A row consists of the planes of its mantissas (plane_core.h),
// the widest first, each an array over the blocks of the row, then the exponents, one byte per
// block. Every part starts at a multiple of 64 bytes. e = -128 marks a block with a NaN, an
// infinity or a value out of range: all of it decodes to NaN.
#ifndef BB_PRECISION_CODECS_BFP_CORE_H
#define BB_PRECISION_CODECS_BFP_CORE_H

#include "core/status.h"
#include "precision/codecs/plane_core.h"
#include "precision/format_core.h"

enum {
    BB_BFP_LEAST_BITS = 4,
    BB_BFP_MOST_BITS = 16,
    BB_BFP_WIDTHS = 5, ///< number of widths of planes: 1, 2, 4, 8, 16
    BB_BFP_LEAST_EXPONENT = -126,
    BB_BFP_POISONED = -128,
};

/// Offsets in bytes within a row.
typedef struct bb_bfp_layout {
    int bits;
    bb_index blocks;
    size_t plane[BB_BFP_WIDTHS]; ///< plane[k] of width 2^k, if `bits` has that binary digit
    size_t exponents;
    size_t bytes; ///< row stride
} bb_bfp_layout;

BB_DEVICE_FUNCTION
bb_bfp_layout bb_bfp_layout_of(int bits, bb_index columns)
{
    bb_bfp_layout layout;
    size_t index = 0;
    layout.bits = bits;
    layout.blocks = (columns + BB_BLOCK - 1) / BB_BLOCK;
    for (int k = BB_BFP_WIDTHS - 1; k >= 0; --k) {
        layout.plane[k] = index;
        if ((bits >> k & 1) != 0) {
            index += ((size_t)layout.blocks * ((size_t)4 << k) + 63) / 64 * 64;
        }
    }
    layout.exponents = index;
    layout.bytes = index + ((size_t)layout.blocks + 63) / 64 * 64;
    return layout;
}

/// Largest exponent of a unit: the largest mantissa times 2^e is still finite in fp32.
BB_DEVICE_FUNCTION
int bb_bfp_most_exponent(int bits)
{
    return 129 - bits;
}

/// floor(log2 M) of a block's largest magnitude M, rounded up past all mantissas but the largest,
/// less the bits below it: the smallest exponent without saturation. The low 32 bits of
/// `magnitude_bits` are ignored.
BB_DEVICE_FUNCTION
int bb_bfp_exponent_of(uint64_t magnitude_bits, int bits)
{
    uint64_t rounded = magnitude_bits + ((uint64_t)1 << (53 - bits));
    return (int)(rounded >> 52) - 1023 - bits + 2;
}

/// Returns 2^-exponent for an exponent above -1024.
BB_DEVICE_FUNCTION
double bb_bfp_per_unit(int exponent)
{
    return bb_format_f64_of_bits((uint64_t)(1023 - exponent) << 52);
}

/// Returns the nearest integer number of units, ties to even, if it has at most 32 bits.
BB_DEVICE_FUNCTION
int32_t bb_bfp_rounded(double scaled, double per_unit)
{
    // 1.5 x 2^52 leaves no room for fractions: the low word is the rounded integer.
    return (int32_t)(uint32_t)bb_format_bits_of_f64(scaled * per_unit + 0x1.8p52);
}

/// Smallest magnitude beyond every exponent.
BB_DEVICE_FUNCTION
double bb_bfp_beyond(int bits)
{
    return ((double)(1 << (bits - 1)) - 0.5) * bb_bfp_per_unit(-bb_bfp_most_exponent(bits));
}

/// Returns the mantissa of value i of a block.
BB_DEVICE_FUNCTION
int32_t bb_bfp_mantissa(const bb_bfp_layout *layout, const unsigned char *row, bb_index block,
                        int i)
{
    uint32_t mantissa = 0;
    for (int k = BB_BFP_WIDTHS - 1; k >= 0; --k) {
        if ((layout->bits >> k & 1) != 0) {
            const unsigned char *plane = row + layout->plane[k] + (size_t)block * ((size_t)4 << k);
            mantissa = mantissa << (1 << k) | bb_plane_field(plane, 1 << k, i);
        }
    }
    return bb_plane_signed(mantissa, layout->bits);
}

/// Returns 2^e, a normal number, or NaN; mantissa times unit is exact in fp32 and never subnormal.
BB_DEVICE_FUNCTION
float bb_bfp_unit(const bb_bfp_layout *layout, const unsigned char *row, bb_index block)
{
    int exponent = bb_plane_signed(row[layout->exponents + (size_t)block], 8);
    uint32_t bits = exponent == BB_BFP_POISONED ? 0x7fc00000u : (uint32_t)(exponent + 127) << 23;
    return bb_format_f32_of_bits(bits);
}

#endif
