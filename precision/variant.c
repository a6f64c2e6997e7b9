// SPDX-License-Identifier: Apache-2.0
#include "precision/variant.h"

const char *const bb_variant_names[] = {"dp",  "sp",  "tf32", "bf16", "hp1",
                                        "hp2", "hp3", "x3",   "fp8",  NULL};

static const bb_variant_info table[BB_VARIANT_COUNT] = {
    [BB_VARIANT_DP] = {"dp",   BB_FORMAT_FP64, BB_FORMAT_FP64, BB_FORMAT_FP64, 1},
    [BB_VARIANT_SP] = {"sp",   BB_FORMAT_FP32, BB_FORMAT_FP32, BB_FORMAT_FP32, 1},
    [BB_VARIANT_TF32] = {"tf32", BB_FORMAT_TF32, BB_FORMAT_FP32, BB_FORMAT_FP32, 1},
    [BB_VARIANT_BF16] = {"bf16", BB_FORMAT_BF16, BB_FORMAT_FP32, BB_FORMAT_FP32, 1},
    [BB_VARIANT_HP1] = {"hp1",  BB_FORMAT_FP16, BB_FORMAT_FP32, BB_FORMAT_FP32, 1},
    [BB_VARIANT_HP2] = {"hp2",  BB_FORMAT_FP16, BB_FORMAT_FP32, BB_FORMAT_FP16, 1},
    [BB_VARIANT_HP3] = {"hp3",  BB_FORMAT_FP16, BB_FORMAT_FP16, BB_FORMAT_FP16, 1},
    [BB_VARIANT_X3] = {"x3",   BB_FORMAT_FP16, BB_FORMAT_FP32, BB_FORMAT_FP32, 3},
    [BB_VARIANT_FP8] = {"fp8",  BB_FORMAT_E4M3, BB_FORMAT_FP32, BB_FORMAT_FP32, 1},
};

const bb_variant_info *bb_variant_describe(bb_variant variant)
{
    return &table[variant];
}

double bb_variant_unit_roundoff(bb_variant variant)
{
    return variant == BB_VARIANT_X3 ? 0x1p-23 : bb_format_unit_roundoff(table[variant].operand);
}

double bb_variant_product_error(bb_variant variant)
{
    double roundoff = bb_format_unit_roundoff(table[variant].operand);
    if (variant <= BB_VARIANT_SP) {
        return 0.0;
    }
    return variant == BB_VARIANT_X3 ? 0x1p-21 : (2.0 + roundoff) * roundoff;
}

double bb_variant_nominal_rate(bb_variant variant)
{
    static const double rates[BB_VARIANT_COUNT] = {
        [BB_VARIANT_DP] = 59.0,    [BB_VARIANT_SP] = 53.0,   [BB_VARIANT_TF32] = 261.0,
        [BB_VARIANT_BF16] = 714.0, [BB_VARIANT_HP1] = 714.0, [BB_VARIANT_HP2] = 729.0,
        [BB_VARIANT_HP3] = 753.0,  [BB_VARIANT_X3] = 220.0,  [BB_VARIANT_FP8] = 714.0,
    };
    return rates[variant];
}

double bb_variant_relative_cost(const double *shares)
{
    double cost = 0.0;
    for (int v = 0; v < BB_VARIANT_COUNT; ++v) {
        cost += shares[v] * bb_variant_nominal_rate(BB_VARIANT_SP) /
                bb_variant_nominal_rate((bb_variant)v);
    }
    return cost;
}
