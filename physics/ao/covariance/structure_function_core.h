// SPDX-License-Identifier: Apache-2.0
//
// Evaluation of a tabulated structure function at a squared distance: the scalar code that host and
// device share.
//
// The table is a piecewise polynomial in s = (r / L0)^2. Every octave of s is cut into
// 2^BB_STRUCTURE_SPLIT_BITS intervals of equal width, so that the interval's number and the local
// coordinate are read off the bits of s: no square root, no cube root, no search. D is smooth in s
// on an interval (its only singular point, s = 0, is more than thirty half widths away), so a short
// polynomial reaches the rounding of D itself.
#ifndef BB_PHYSICS_AO_COVARIANCE_STRUCTURE_FUNCTION_CORE_H
#define BB_PHYSICS_AO_COVARIANCE_STRUCTURE_FUNCTION_CORE_H

#include "core/portable.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

enum {
    BB_STRUCTURE_SPLIT_BITS = 6,
    BB_STRUCTURE_DEGREE = 5, ///< six coefficients: the rounding of D
    BB_STRUCTURE_LOW_OCTAVE =
        -90, ///< below s = 2^-90 (r < 3e-14 L0) D is 0 but for 1e-20 of its limit
    BB_STRUCTURE_HIGH_OCTAVE = 6, ///< from s = 2^6 (r = 8 L0) on D is its limit to the last bit
    BB_STRUCTURE_INTERVALS = (BB_STRUCTURE_HIGH_OCTAVE - BB_STRUCTURE_LOW_OCTAVE)
                             << BB_STRUCTURE_SPLIT_BITS
};

/// D for r0 = 1 m, in rad^2 at the wavelength of r0. Plain value; `coefficients` is borrowed and
/// may be a copy on a device.
typedef struct bb_structure_table {
    double inverse_square_scale; ///< 1 / L0^2, m^-2
    const double *coefficients;  ///< [BB_STRUCTURE_INTERVALS + 2][BB_STRUCTURE_DEGREE + 1], low
                                 ///< powers first; the outer two are the constants beyond the ends
} bb_structure_table;

/// Number of the interval of s = r2 / L0^2, 0 .. BB_STRUCTURE_INTERVALS + 1, and the place in it,
/// -1 to 1. Without branches, so that loops over it become vectors.
BB_DEVICE_FUNCTION
int64_t bb_structure_table_interval(double s, double *place)
{
    int64_t bits;
    memcpy(&bits, &s, sizeof bits);
    // Exponent and leading mantissa bits together count the intervals from s = 2^-1023.
    const int64_t before = ((1023 + BB_STRUCTURE_LOW_OCTAVE) << BB_STRUCTURE_SPLIT_BITS) - 1;
    int64_t interval = (int64_t)((uint64_t)bits >> (52 - BB_STRUCTURE_SPLIT_BITS)) - before;
    interval = interval < 0 ? 0 : interval;
    interval = interval > BB_STRUCTURE_INTERVALS + 1 ? BB_STRUCTURE_INTERVALS + 1 : interval;
    const int64_t mask = ((int64_t)1 << (52 - BB_STRUCTURE_SPLIT_BITS)) - 1;
    const int64_t one_plus = (bits & mask) | ((int64_t)1023 << 52);
    double local;
    memcpy(&local, &one_plus, sizeof local);
    *place = (local - 1.0) * (double)(2 << BB_STRUCTURE_SPLIT_BITS) - 1.0;
    return interval;
}

/// D at the squared distance r2 (m^2).
BB_DEVICE_FUNCTION
double bb_structure_table_value(const bb_structure_table table, double r2)
{
    double local;
    const int64_t interval = bb_structure_table_interval(r2 * table.inverse_square_scale, &local);
    // Written out and indexed from the table's start: this is what gcc takes for a vector loop.
    const double *c = table.coefficients;
    const int64_t k = interval * (BB_STRUCTURE_DEGREE + 1);
    double value = c[k + 5];
    value = value * local + c[k + 4];
    value = value * local + c[k + 3];
    value = value * local + c[k + 2];
    value = value * local + c[k + 1];
    return value * local + c[k];
}

/// Covariance of two phase differences, phi(a+) - phi(a-) and phi(b+) - phi(b-), from the structure
/// function between their ends: `plus_minus` is D(a+, b-). The pairing of the terms makes the
/// result the same, bit for bit, when a and b change places.
BB_DEVICE_FUNCTION
double bb_structure_function_difference(double plus_plus, double plus_minus, double minus_plus,
                                        double minus_minus)
{
    return 0.5 * ((plus_minus + minus_plus) - (plus_plus + minus_minus));
}

#endif
