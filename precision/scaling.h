// SPDX-License-Identifier: Apache-2.0
//
// Scaling before rounding: keeps values within a narrow format's range.
#ifndef BB_PRECISION_SCALING_H
#define BB_PRECISION_SCALING_H

#include "core/array.h"
#include "precision/format.h"

/// Returns a power of two s with s * largest_magnitude in (top / 2, top]: top is the format's
/// largest value for fp16, e4m3 and e5m2, 2^16 for bf16 and 1 for wider formats. 1 for a row of
/// zeros. Multiplying by s and by 1/s is exact, and rounding does not leave the range.
double bb_scaling_row(bb_format format, const double *row, bb_index count);

/// Returns the scale as bb_scaling_row, for a given largest number; top is at most 2^16.
double bb_scaling_row_to(double largest_number, const double *row, bb_index count);

/// Returns the scale as bb_scaling_row_to, for a row of known largest magnitude.
double bb_scaling_of_largest(double largest_number, double largest);

/// Computes the unit-diagonal scaling of a symmetric matrix from its diagonal: scale[i] = 1 /
/// sqrt(diagonal[i]), so that D A D has a diagonal of ones. Errors: BB_INVALID if diagonal[i] is
/// not positive and finite, with index and value.
BB_CHECKED bb_status bb_scaling_unit_diagonal(const double *diagonal, bb_index count,
                                              double *scale);

#endif
