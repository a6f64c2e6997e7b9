// SPDX-License-Identifier: Apache-2.0
#include "solvers/operator/product_rounding.h"

#include <math.h>

enum { ROUNDINGS = 4, LANES = 16, FOLDINGS = 128, LIMB_SUMS = 17 * 8 + 8 };

bb_sum_rounding bb_product_rounding(const bb_codec_config *storage, bb_gemv_arithmetic arithmetic,
                                    bb_index run, bb_index columns)
{
    const bool in_limbs = run > 1 && bb_coded_operator_has_limbs(storage);
    const double path = ceil((double)columns / LANES) + FOLDINGS;
    const double wide = bb_format_unit_roundoff(BB_FORMAT_FP64);
    double exponent = ROUNDINGS * bb_format_unit_roundoff(arithmetic.multiply) + path * wide;
    if (arithmetic.accumulate != BB_FORMAT_FP64) {
        exponent += path * bb_format_unit_roundoff(arithmetic.accumulate);
    } else if (run > 1) {
        exponent += fmax((double)run, in_limbs ? LIMB_SUMS : 0.0) *
                    bb_format_unit_roundoff(arithmetic.multiply);
    }
    return (bb_sum_rounding){
        .relative = expm1(exponent),
        .subnormal = bb_format_smallest_subnormal(arithmetic.multiply),
        .largest = bb_format_describe(arithmetic.multiply)->largest,
        .multiply_unit = bb_format_unit_roundoff(arithmetic.multiply),
        .sum_unit = bb_format_unit_roundoff(arithmetic.accumulate),
        .in_runs = run > 1,
        .of_largest = in_limbs ? 0x1p-30 : 0.0,
    };
}
