// SPDX-License-Identifier: Apache-2.0
#include "solvers/factor/tiles/tile_operand.h"

#include "core/portable.h"

#include <math.h>

bb_operand bb_tile_operand_of(bb_variant variant)
{
    const bb_variant_info *info = bb_variant_describe(variant);
    return info->products == 3 ? (bb_operand)BB_OPERAND_SPLIT : (bb_operand)info->operand;
}

size_t bb_tile_operand_bytes(bb_operand operand)
{
    if (operand == (bb_operand)BB_OPERAND_SPLIT) {
        return 2 * sizeof(float);
    }
    return operand == (bb_operand)BB_FORMAT_FP64 ? sizeof(double) : sizeof(float);
}

bool bb_tile_has_operand(const bb_tile *tile, bb_operand operand)
{
    if (operand == (bb_operand)BB_OPERAND_SPLIT || operand == (bb_operand)BB_FORMAT_E4M3) {
        return false;
    }
    if (operand == (bb_operand)BB_FORMAT_FP64 || tile->format == BB_FORMAT_FP64) {
        return operand == (bb_operand)tile->format;
    }
    return operand == (bb_operand)BB_FORMAT_FP32 || (bb_operand)tile->format == operand;
}

const void *bb_tile_values(const bb_tile *tile)
{
    return tile->f64 != NULL ? (const void *)tile->f64 : tile->f32;
}

const float *bb_tile_as_f32(const bb_tile *tile, float *scratch)
{
    if (tile->f32 != NULL) {
        return tile->f32;
    }
    for (bb_index i = 0; i < tile->rows * tile->columns; ++i) {
        scratch[i] = (float)tile->f64[i];
    }
    return scratch;
}

// `values` may be `hi`.
BB_CLONES static void split(const float *values, bb_index count, float *hi, float *lo)
{
    for (bb_index i = 0; i < count; ++i) {
        lo[i] = values[i];
    }
    (void)bb_format_round_f32(BB_FORMAT_FP16, lo, count, hi);
    for (bb_index i = 0; i < count; ++i) {
        lo[i] = (lo[i] - hi[i]) * 0x1p11F;
    }
    (void)bb_format_round_f32(BB_FORMAT_FP16, lo, count, lo);
}

BB_CLONES float bb_tile_operand_scale(const float *values, bb_index count)
{
    float largest = 0.0F;
    for (bb_index i = 0; i < count; ++i) {
        float magnitude = fabsf(values[i]);
        largest = magnitude > largest ? magnitude : largest;
    }
    if (largest == 0.0F || !isfinite(largest)) {
        return 1.0F;
    }
    int exponent = 0;
    (void)frexpf(448.0F / fmaxf(largest, 0x1p-110F), &exponent);
    return ldexpf(1.0F, exponent - 1);
}

// `values` may be `out`.
BB_CLONES static bb_index round_scaled(const float *values, bb_index count, float *out)
{
    float scale = bb_tile_operand_scale(values, count);
    float back = 1.0F / scale;
    for (bb_index i = 0; i < count; ++i) {
        out[i] = values[i] * scale;
    }
    bb_index saturated = bb_format_round_f32(BB_FORMAT_E4M3, out, count, out);
    for (bb_index i = 0; i < count; ++i) {
        out[i] *= back;
    }
    return saturated;
}

bb_index bb_tile_convert(const bb_tile *tile, bb_operand operand, void *copy)
{
    bb_index items = tile->rows * tile->columns;
    float *narrow = copy;
    double *wide = copy;
    switch (operand) {
    case BB_FORMAT_FP64:
        for (bb_index i = 0; i < items; ++i) {
            wide[i] = tile->f64 != NULL ? tile->f64[i] : (double)tile->f32[i];
        }
        return 0;
    case BB_OPERAND_SPLIT:
        split(bb_tile_as_f32(tile, narrow), items, narrow, narrow + items);
        return 0;
    case BB_FORMAT_E4M3:
        return round_scaled(bb_tile_as_f32(tile, narrow), items, narrow);
    default:
        return bb_format_round_f32((bb_format)operand, bb_tile_as_f32(tile, narrow), items, narrow);
    }
}

void bb_tile_round_to_planes(bb_tile *tile)
{
    enum { RUN = 512 };
    float hi[RUN], lo[RUN];
    bb_index items = tile->rows * tile->columns;
    for (bb_index first = 0; first < items; first += RUN) {
        bb_index count = items - first < RUN ? items - first : RUN;
        float *values = tile->f32 + first;
        split(values, count, hi, lo);
        for (bb_index i = 0; i < count; ++i) {
            values[i] = hi[i] + 0x1p-11F * lo[i];
        }
    }
}
