// SPDX-License-Identifier: Apache-2.0
#include "precision/scaling.h"

#include "core/portable.h"

#include <math.h>

enum { LANES = 16 };

// Returns the largest magnitude, ignoring NaN. Values are compared in lanes, so that the loop
// vectorises.
BB_CLONES static double largest_magnitude(const double *values, bb_index count)
{
    double lanes[LANES] = {0.0};
    double largest = 0.0;
    bb_index multiple = count / LANES * LANES;
    for (bb_index i = 0; i < multiple; i += LANES) {
        for (int l = 0; l < LANES; ++l) {
            double magnitude = fabs(values[i + l]);
            lanes[l] = magnitude > lanes[l] ? magnitude : lanes[l];
        }
    }
    for (bb_index i = multiple; i < count; ++i) {
        largest = fmax(largest, fabs(values[i]));
    }
    for (int l = 0; l < LANES; ++l) {
        largest = fmax(largest, lanes[l]);
    }
    return largest;
}

double bb_scaling_row(bb_format format, const double *row, bb_index count)
{
    const bb_format_info *info = bb_format_describe(format);
    return bb_scaling_row_to(info->bytes <= 2 ? info->largest : 1.0, row, count);
}

double bb_scaling_row_to(double largest_number, const double *row, bb_index count)
{
    return bb_scaling_of_largest(largest_number, largest_magnitude(row, count));
}

double bb_scaling_of_largest(double largest_number, double largest)
{
    const double top = fmin(largest_number, 65536.0);
    if (largest == 0.0 || !isfinite(largest)) {
        return 1.0;
    }
    int exponent = 0;
    double ratio = fmin(top / largest, 0x1p1000);
    (void)frexp(ratio, &exponent);
    // 2^(exponent - 1) <= ratio, which is limited so that 1 / scale is a normal number.
    return ldexp(1.0, exponent - 1);
}

bb_status bb_scaling_unit_diagonal(const double *diagonal, bb_index count, double *scale)
{
    bb_status status = BB_OK;
    for (bb_index i = 0; i < count; ++i) {
        BB_REQUIRE(diagonal[i] > 0.0 && isfinite(diagonal[i]), BB_INVALID,
                   "diagonal entry %td is %g, expected a positive finite number", i, diagonal[i]);
        scale[i] = 1.0 / sqrt(diagonal[i]);
    }
done:
    return status;
}
