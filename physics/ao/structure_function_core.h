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
#ifndef BB_PHYSICS_AO_STRUCTURE_FUNCTION_CORE_H
#define BB_PHYSICS_AO_STRUCTURE_FUNCTION_CORE_H

#include "core/portable.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

enum {
    BB_STRUCTURE_SPLIT_BITS = 5,
    BB_STRUCTURE_DEGREE = 7, ///< eight coefficients: one line of a cache
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

/// D at the squared distance r2 (m^2). Without branches, so that loops over it become vectors.
BB_DEVICE_FUNCTION
double bb_structure_table_value(const bb_structure_table table, double r2)
{
    const double s = r2 * table.inverse_square_scale;
    int64_t bits;
    memcpy(&bits, &s, sizeof bits);
    // Exponent and leading mantissa bits together count the intervals from s = 2^-1023.
    const int64_t before = ((1023 + BB_STRUCTURE_LOW_OCTAVE) << BB_STRUCTURE_SPLIT_BITS) - 1;
    int64_t interval = (int64_t)((uint64_t)bits >> (52 - BB_STRUCTURE_SPLIT_BITS)) - before;
    interval = interval < 0 ? 0 : interval;
    interval = interval > BB_STRUCTURE_INTERVALS + 1 ? BB_STRUCTURE_INTERVALS + 1 : interval;
    const int64_t rest = ((int64_t)1 << (52 - BB_STRUCTURE_SPLIT_BITS)) - 1;
    const int64_t one_plus = (bits & rest) | ((int64_t)1023 << 52);
    double local;
    memcpy(&local, &one_plus, sizeof local);
    local = (local - 1.0) * (double)(2 << BB_STRUCTURE_SPLIT_BITS) - 1.0;
    // Written out and indexed from the table's start: this is what gcc takes for gathers.
    const double *c = table.coefficients;
    const int64_t k = interval * (BB_STRUCTURE_DEGREE + 1);
    double value = c[k + 7];
    value = value * local + c[k + 6];
    value = value * local + c[k + 5];
    value = value * local + c[k + 4];
    value = value * local + c[k + 3];
    value = value * local + c[k + 2];
    value = value * local + c[k + 1];
    return value * local + c[k];
}

/// Covariance of an x slope and an x slope (a along the axis of du; for y swap du and dv), before
/// the factors of strength and size. (du, dv) is the separation a - b at the layer (m), s1 and s2
/// half the projected sizes. The pairing of the terms makes the result the same, bit for bit, when
/// a and b change places.
BB_DEVICE_FUNCTION
double bb_slope_parallel(const bb_structure_table table, double du, double dv, double s1, double s2)
{
    const double v2 = dv * dv;
    const double near_right = du + (s1 - s2);
    const double near_left = du - (s1 - s2);
    const double far_right = du + (s1 + s2);
    const double far_left = du - (s1 + s2);
    return 0.5 * ((bb_structure_table_value(table, far_right * far_right + v2) +
                   bb_structure_table_value(table, far_left * far_left + v2)) -
                  (bb_structure_table_value(table, near_right * near_right + v2) +
                   bb_structure_table_value(table, near_left * near_left + v2)));
}

/// Covariance of an x slope of a and a y slope of b; for y of a and x of b swap du and dv.
BB_DEVICE_FUNCTION
double bb_slope_crossed(const bb_structure_table table, double du, double dv, double s1, double s2)
{
    const double right = (du + s1) * (du + s1);
    const double left = (du - s1) * (du - s1);
    const double up = (dv + s2) * (dv + s2);
    const double down = (dv - s2) * (dv - s2);
    return 0.5 * ((bb_structure_table_value(table, right + up) +
                   bb_structure_table_value(table, left + down)) -
                  (bb_structure_table_value(table, right + down) +
                   bb_structure_table_value(table, left + up)));
}

#endif
