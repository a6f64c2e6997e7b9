// SPDX-License-Identifier: Apache-2.0
#include "precision/variant.h"

#define NAME_OF(id, name, ...) #name,
const char *const bb_variant_names[] = {BB_VARIANTS(NAME_OF) NULL};

#define ROW_OF(id, label, by, sums, into, planes, narrows, speed, kept, mixed, wider)              \
    [BB_VARIANT_##id] = {.name = #label,                                                           \
                         .operand = BB_FORMAT_##by,                                                \
                         .accumulator = BB_FORMAT_##sums,                                          \
                         .output = BB_FORMAT_##into,                                               \
                         .products = (planes),                                                     \
                         .rounds = (narrows),                                                      \
                         .rate = (speed),                                                          \
                         .panels = BB_VARIANT_PANELS_##kept,                                       \
                         .in_halves = BB_VARIANT_##mixed,                                          \
                         .next = BB_VARIANT_##wider},
static const bb_variant_info table[BB_VARIANT_COUNT] = {BB_VARIANTS(ROW_OF)};

const bb_variant_info *bb_variant_describe(bb_variant variant)
{
    return &table[variant];
}

double bb_variant_unit_roundoff(bb_variant variant)
{
    const bb_variant_info *info = &table[variant];
    return info->products == 3 ? 0x1p-23 : bb_format_unit_roundoff(info->operand);
}

double bb_variant_product_error(bb_variant variant)
{
    const bb_variant_info *info = &table[variant];
    double roundoff = bb_format_unit_roundoff(info->operand);
    if (!info->rounds) {
        return 0.0;
    }
    return info->products == 3 ? 0x1p-21 : (2.0 + roundoff) * roundoff;
}

bool bb_variant_mixes(bb_variant variant)
{
    return table[table[variant].in_halves].panels == BB_VARIANT_PANELS_HALVES;
}

bb_variant bb_variant_on_diagonal(bb_variant variant)
{
    return table[variant].output == BB_FORMAT_FP64 ? BB_VARIANT_DP : BB_VARIANT_SP;
}

double bb_variant_relative_cost(const double *shares)
{
    double cost = 0.0;
    for (int v = 0; v < BB_VARIANT_COUNT; ++v) {
        cost += shares[v] * table[BB_VARIANT_SP].rate / table[v].rate;
    }
    return cost;
}
