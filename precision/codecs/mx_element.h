// SPDX-License-Identifier: Apache-2.0
//
// Elements of mx: narrow floats and a fixed-point byte, their codes and what codes stand for.
#ifndef BB_PRECISION_CODECS_MX_ELEMENT_H
#define BB_PRECISION_CODECS_MX_ELEMENT_H

#include "precision/codec_row.h"
#include "precision/codecs/plane_core.h"
#include "precision/format_core.h"

#include <math.h>

/// A narrow float, or a whole number of 2^(least_exponent - fraction): int8.
typedef struct bb_mx_element {
    int bits;
    int fraction;       // stored bits of the significand
    int least_exponent; // of the smallest normal, 2^least_exponent
    int emax;
    double largest;
    bool is_integer;
} bb_mx_element;

/// In the order of mx's words.
static const bb_mx_element bb_mx_elements[] = {
    {8, 3, -6, 8, 448.0, false},      // e4m3
    {8, 2, -14, 15, 57344.0, false},  // e5m2
    {6, 2, -2, 4, 28.0, false},       // e3m2
    {6, 3, 0, 2, 7.5, false},         // e2m3
    {4, 1, 0, 2, 6.0, false},         // e2m1
    {8, 6, 0, 0, 127.0 / 64.0, true}, // int8
};

/// Of the magnitudes other than zero.
static inline double bb_mx_element_least(const bb_mx_element *kind)
{
    return ldexp(1.0, kind->least_exponent - kind->fraction);
}

/// s of a block whose largest magnitude, which is held, this is.
static inline int bb_mx_element_scale(const bb_mx_element *kind, double largest)
{
    int exponent = -200;
    if (largest > 0.0) {
        (void)frexp(largest, &exponent);
        exponent -= 1 + kind->emax;
    }
    return exponent < -127 ? -127 : exponent;
}

/// Value of a code; what a code of e4m3 and e5m2 beyond the largest stands for is never stored.
static inline double bb_mx_element_value(const bb_mx_element *kind, int code)
{
    const int sign = code >> (kind->bits - 1);
    const int rest = code & ((1 << (kind->bits - 1)) - 1);
    const int exponent = rest >> kind->fraction;
    const int fraction = rest & ((1 << kind->fraction) - 1);
    if (kind->is_integer) {
        return ldexp((double)bb_plane_signed((uint32_t)code, kind->bits), -kind->fraction);
    }
    const double magnitude = exponent == 0
                                 ? ldexp(fraction, kind->least_exponent - kind->fraction)
                                 : ldexp((1 << kind->fraction) + fraction,
                                         kind->least_exponent - kind->fraction + exponent - 1);
    return sign != 0 ? -magnitude : magnitude;
}

/// Code of a value over its scale, which is no NaN.
static inline int32_t bb_mx_element_code(const bb_mx_element *kind, double value, double minimum,
                                         bb_codec_counts *counts)
{
    const double magnitude = fabs(value);
    const double normal = kind->is_integer ? INFINITY : minimum * (double)(1 << kind->fraction);
    double rounded =
        bb_format_round_magnitude_f64(magnitude, 52 - kind->fraction, normal, minimum * 0x1p52);
    counts->saturated += rounded > kind->largest;
    counts->underflowed += rounded == 0.0 && magnitude > 0.0;
    rounded = rounded > kind->largest ? kind->largest : rounded;
    int32_t code = 0;
    if (rounded < normal) {
        code = (int32_t)(rounded / minimum); // in spacings of the subnormals
    } else {
        const uint64_t bits = bb_format_bits_of_f64(rounded) >> (52 - kind->fraction);
        code = (int32_t)(bits - ((uint64_t)(1022 + kind->least_exponent) << kind->fraction));
    }
    if (kind->is_integer) {
        return signbit(value) ? -code : code;
    }
    return signbit(value) ? code | 1 << (kind->bits - 1) : code;
}

#endif
