// SPDX-License-Identifier: Apache-2.0
//
// Phase structure function of von Karman turbulence.
//
// D(r) = k1 (L0 / r0)^(5/3) [k2 - x^(5/6) K_{5/6}(x)], x = 2 pi r / L0, k1 = 2 Gamma(11/6) 2^(-5/6)
// pi^(-8/3) (24/5 Gamma(6/5))^(5/6), k2 = 2^(-1/6) Gamma(5/6) (Conan 2000). Slope covariances are
// second differences of D, so D must be accurate to the last bits at every distance: the ascending
// series, with the constant k2 removed analytically, for x <= 1, and above that the trapezoidal
// rule on K_nu(x) = Int_0^inf exp(-x cosh t) cosh(nu t) dt, whose terms are positive and whose
// error decreases faster than any power of the step.
#ifndef BB_PHYSICS_AO_COVARIANCE_STRUCTURE_FUNCTION_H
#define BB_PHYSICS_AO_COVARIANCE_STRUCTURE_FUNCTION_H

#include "core/need.h"
#include "core/portable.h"
#include "core/status.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

// Evaluation of a tabulated structure function at a squared distance, for host and device.
//
// The table is a piecewise polynomial in s = (r / L0)^2. Every octave of s is cut into
// 2^BB_STRUCTURE_SPLIT_BITS intervals of equal width, so that the interval's number and the local
// coordinate follow from the bits of s: no square root, no cube root, no search. D is smooth in s
// on an interval (its only singular point, s = 0, is more than thirty half widths away), so a short
// polynomial is accurate to the rounding of D itself.

enum {
    BB_STRUCTURE_SPLIT_BITS = 6,
    BB_STRUCTURE_DEGREE = 5,       ///< six coefficients: the rounding of D
    BB_STRUCTURE_LOW_OCTAVE = -90, ///< below s = 2^-90 (r < 3e-14 L0) D is below 1e-20 of its limit
    BB_STRUCTURE_HIGH_OCTAVE = 6, ///< from s = 2^6 (r = 8 L0) on D equals its limit to the last bit
    BB_STRUCTURE_INTERVALS = (BB_STRUCTURE_HIGH_OCTAVE - BB_STRUCTURE_LOW_OCTAVE)
                             << BB_STRUCTURE_SPLIT_BITS
};

/// D for r0 = 1 m, in rad^2 at the wavelength of r0. Plain value; `coefficients` is borrowed and
/// may be in device memory.
typedef struct bb_structure_table {
    double inverse_square_scale; ///< 1 / L0^2, m^-2
    const double *coefficients;  ///< [BB_STRUCTURE_INTERVALS + 2][BB_STRUCTURE_DEGREE + 1], low
                                 ///< powers first; the outer two are the constants beyond the ends
} bb_structure_table;

/// Computes the interval number of s = r2 / L0^2, 0 .. BB_STRUCTURE_INTERVALS + 1, and the local
/// coordinate, -1 to 1. There are no branches, so that loops over it vectorise.
BB_DEVICE_FUNCTION
int64_t bb_structure_table_interval(double s, double *place)
{
    int64_t bits;
    memcpy(&bits, &s, sizeof bits);
    // The exponent and leading mantissa bits together count the intervals from s = 2^-1023.
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

/// Evaluates D at the squared distance r2 (m^2).
BB_DEVICE_FUNCTION
double bb_structure_table_value(const bb_structure_table table, double r2)
{
    double local;
    const int64_t interval = bb_structure_table_interval(r2 * table.inverse_square_scale, &local);
    // The polynomial is written out and indexed from the table's start, so that gcc vectorises the
    // loop.
    const double *c = table.coefficients;
    const int64_t k = interval * (BB_STRUCTURE_DEGREE + 1);
    double value = c[k + 5];
    value = value * local + c[k + 4];
    value = value * local + c[k + 3];
    value = value * local + c[k + 2];
    value = value * local + c[k + 1];
    return value * local + c[k];
}

/// Computes the covariance of two phase differences, phi(a+) - phi(a-) and phi(b+) - phi(b-), from
/// the structure function between their ends: `plus_minus` is D(a+, b-). The pairing of the terms
/// makes the result bitwise symmetric in a and b.
BB_DEVICE_FUNCTION
double bb_structure_function_difference(double plus_plus, double plus_minus, double minus_plus,
                                        double minus_minus)
{
    return 0.5 * ((plus_minus + minus_plus) - (plus_plus + minus_minus));
}

#ifdef __cplusplus
extern "C" {
#endif

/// D(r) for r0 = 1 m, rad^2 at the wavelength of r0; r_m >= 0, outer_scale_m > 0. About 1 us.
double bb_structure_function(double r_m, double outer_scale_m);

/// Tabulates D for the fast evaluator above, with a relative error of 1e-14. Errors: BB_MEMORY.
/// Release with bb_structure_table_release.
BB_CHECKED bb_status bb_structure_table_create(double outer_scale_m, bb_structure_table *out);

/// Memory and time of the table, and of `values` evaluations by bb_structure_table_add.
bb_need bb_structure_table_need(void);
bb_need bb_structure_table_add_need(double values);

/// A structure function of the distance (m).
typedef double (*bb_structure_law)(const void *context, double r_m);

/// Tabulates a structure function that is smooth in (r / scale_m)^2 and equal to `far` from 8
/// scale_m on. Errors: BB_MEMORY. Release with bb_structure_table_release.
BB_CHECKED bb_status bb_structure_table_fit(bb_structure_law law, const void *context,
                                            double scale_m, double far, bb_structure_table *out);

/// sums[j] += weight D(|(x, y) - (to_x[j], to_y[j])|) for `count` points (m). The bits of a sum do
/// not depend on its index in the list.
void bb_structure_table_add(bb_structure_table table, double weight, double x, double y,
                            const double *to_x, const double *to_y, bb_index count, double *sums);

/// Frees the coefficients of a table made by bb_structure_table_create; safe on a zeroed struct.
void bb_structure_table_release(bb_structure_table *table);

// Structure function of the turbulence that a mirror can correct: von Karman's spectrum below the
// cutoff fc = 1 / (2 d), d the pitch of the actuators,
//   Dlow(r) = 4 pi int_0^fc f W(f) (1 - J0(2 pi f r)) df,
//   W(f) = 0.0229 (f^2 + L0^-2)^(-11/6) r0^(-5/3).
// The remainder D - Dlow is the fitting error: 0.2740 (d / r0)^(5/3) at large r for an infinite
// outer scale. The two parts are uncorrelated.

/// Dlow(r) for r0 = 1 m, rad^2 at the wavelength of r0; all lengths in m and positive, r may be 0.
double bb_structure_function_corrected(double r_m, double outer_scale_m, double pitch_m);

/// Limit of Dlow at large r: twice the variance that a mirror can correct.
double bb_structure_function_corrected_far(double outer_scale_m, double pitch_m);

/// Tabulates Dlow for covariances of slopes, to 1e-8 of its limit. Errors: BB_MEMORY. Release with
/// bb_structure_table_release.
BB_CHECKED bb_status bb_structure_function_corrected_table(double outer_scale_m, double pitch_m,
                                                           bb_structure_table *out);

/// Memory and time of the table: integrals instead of a closed form.
bb_need bb_structure_function_corrected_need(void);

#ifdef __cplusplus
}
#endif

#endif
