// SPDX-License-Identifier: Apache-2.0
//
// Elements of mx with a power-of-two scale in the common subset of C and CUDA (mx_codec.c).
#ifndef BB_PRECISION_CODECS_MX_CORE_H
#define BB_PRECISION_CODECS_MX_CORE_H

#include "precision/codecs/plane_core.h"
#include "precision/format_core.h"

#include <math.h>

/// A narrow float, or an integer in units of 2^(least_exponent - fraction): int8.
typedef struct bb_mx_element {
    int bits;
    int fraction;       ///< stored bits of the significand
    int least_exponent; ///< of the smallest normal, 2^least_exponent
    int emax;
    double largest;
    bool is_integer;
} bb_mx_element;

/// Two's complement in units of 2^-6, -128 unused.
#define BB_MX_INT8                                                                                 \
    {                                                                                              \
        8, 6, 0, 0, 127.0 / 64.0, true                                                             \
    }

enum { BB_MX_NOT_HELD = 255 }; ///< scale that marks a poisoned block

/// Returns whether this magnitude is representable in a block.
BB_DEVICE_FUNCTION
bool bb_mx_in_range(double magnitude)
{
    return magnitude < 0x1p128;
}

/// Returns the smallest magnitude other than zero.
BB_DEVICE_FUNCTION
double bb_mx_least(const bb_mx_element *kind)
{
    return ldexp(1.0, kind->least_exponent - kind->fraction);
}

/// Returns s of a block with this representable largest magnitude.
BB_DEVICE_FUNCTION
int bb_mx_scale(const bb_mx_element *kind, double largest)
{
    int exponent = -200;
    if (largest > 0.0) {
        (void)frexp(largest, &exponent);
        exponent -= 1 + kind->emax;
    }
    return exponent < -127 ? -127 : exponent;
}

typedef struct bb_mx_code {
    int32_t word; ///< of an integer element: its value
    bool saturated, underflowed;
} bb_mx_code;

/// Returns the code of a value over its scale, not NaN; `minimum` is bb_mx_least.
BB_DEVICE_FUNCTION
bb_mx_code bb_mx_code_of(const bb_mx_element *kind, double value, double minimum)
{
    const double magnitude = fabs(value);
    const double normal = kind->is_integer ? INFINITY : minimum * (double)(1 << kind->fraction);
    double rounded =
        bb_format_round_magnitude_f64(magnitude, 52 - kind->fraction, normal, minimum * 0x1p52);
    const bool negative = (bb_format_bits_of_f64(value) >> 63) != 0;
    bb_mx_code out;
    int32_t word = 0;
    out.saturated = rounded > kind->largest;
    out.underflowed = rounded == 0.0 && magnitude > 0.0;
    rounded = rounded > kind->largest ? kind->largest : rounded;
    if (rounded < normal) {
        word = (int32_t)(rounded / minimum); // in units of the subnormal spacing
    } else {
        const uint64_t bits = bb_format_bits_of_f64(rounded) >> (52 - kind->fraction);
        word = (int32_t)(bits - ((uint64_t)(1022 + kind->least_exponent) << kind->fraction));
    }
    // Branch-free: a branch on the sign costs the host more than all the rest.
    const int32_t below = kind->is_integer ? -word : word | 1 << (kind->bits - 1);
    out.word = negative ? below : word;
    return out;
}

#endif
