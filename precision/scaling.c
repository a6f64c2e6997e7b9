// SPDX-License-Identifier: Apache-2.0
#include "precision/scaling.h"

#include <math.h>

double bb_scaling_row(bb_format format, const double *row, bb_index count)
{
    double largest = 0.0;
    for (bb_index i = 0; i < count; ++i) {
        largest = fmax(largest, fabs(row[i]));
    }
    if (largest == 0.0 || !isfinite(largest)) {
        return 1.0;
    }
    const bb_format_info *info = bb_format_describe(format);
    double top = info->bytes <= 2 ? fmin(info->largest, 65536.0) : 1.0;
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
