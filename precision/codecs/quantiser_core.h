// SPDX-License-Identifier: Apache-2.0
//
// Quotients of the quantiser in the common subset of C and CUDA (quantiser_codec.c).
#ifndef BB_PRECISION_CODECS_QUANTISER_CORE_H
#define BB_PRECISION_CODECS_QUANTISER_CORE_H

#include "precision/format_core.h"

/// Returns whether a quotient of this magnitude, possibly NaN, fits 32 bits after rounding.
BB_DEVICE_FUNCTION
bool bb_quantiser_in_range(double magnitude)
{
    return magnitude < 0x1p31 - 0.5;
}

/// Returns the nearest integer, ties to even.
BB_DEVICE_FUNCTION
int32_t bb_quantiser_rounded(double quotient)
{
    // 1.5 x 2^52 leaves no room for fractions: the low word is the rounded integer.
    return (int32_t)(uint32_t)bb_format_bits_of_f64(quotient + 0x1.8p52);
}

/// Returns the two's complement width of a block: `magnitudes` is the OR of q ^ (q >> 31) over all
/// quotients q, `any` that of q. 0: zeros; all -1 needs one bit.
BB_DEVICE_FUNCTION
int bb_quantiser_width(uint32_t magnitudes, uint32_t any)
{
    if (magnitudes == 0) {
        return any != 0;
    }
#if defined(__CUDA_ARCH__)
    return 33 - __clz((int)magnitudes);
#else
    return 33 - __builtin_clz(magnitudes);
#endif
}

#endif
