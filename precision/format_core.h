// SPDX-License-Identifier: Apache-2.0
//
// Scalar rounding and decoding in the common subset of C and CUDA, so that both give the same bits.
#ifndef BB_PRECISION_FORMAT_CORE_H
#define BB_PRECISION_FORMAT_CORE_H

#include "core/portable.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

BB_DEVICE_FUNCTION
uint32_t bb_format_bits_of_f32(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

BB_DEVICE_FUNCTION
float bb_format_f32_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

BB_DEVICE_FUNCTION
uint64_t bb_format_bits_of_f64(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

BB_DEVICE_FUNCTION
double bb_format_f64_of_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/// Rounds |value| to nearest even with `dropped` fewer fraction bits than fp64, or to multiples of
/// the subnormal spacing below `normal`. `magic` is 2^52 times that spacing: adding it discards
/// finer bits. The caller handles overflow.
BB_DEVICE_FUNCTION
double bb_format_round_magnitude_f64(double magnitude, int dropped, double normal, double magic)
{
    uint64_t bits = bb_format_bits_of_f64(magnitude);
    uint64_t half = ((uint64_t)1 << (dropped - 1)) - 1 + ((bits >> dropped) & 1);
    double rounded = bb_format_f64_of_bits((bits + half) & ~(((uint64_t)1 << dropped) - 1));
    double small = (magnitude + magic) - magic;
    return magnitude < normal ? small : rounded;
}

/// Rounds as above for fp32; `magic` is 2^23 times the subnormal spacing.
BB_DEVICE_FUNCTION
float bb_format_round_magnitude_f32(float magnitude, int dropped, float normal, float magic)
{
    uint32_t bits = bb_format_bits_of_f32(magnitude);
    uint32_t half = ((uint32_t)1 << (dropped - 1)) - 1 + ((bits >> dropped) & 1);
    float rounded = bb_format_f32_of_bits((bits + half) & ~(((uint32_t)1 << dropped) - 1));
    float small = (magnitude + magic) - magic;
    return magnitude < normal ? small : rounded;
}

/// Constants for rounding doubles to one format, and for its words (bb_format_rule_of).
typedef struct bb_format_rule {
    int dropped;
    double normal, magic, largest;
    double overflow;      ///< result for a magnitude over `largest`
    double per_subnormal; ///< words below `normal` count subnormal spacings
    uint64_t bias;        ///< difference of exponent biases, in the shifted bits of a double
    uint32_t infinite_word;
    uint32_t nan_word;
} bb_format_rule;

/// Rounds a magnitude other than NaN; infinity overflows like any large number.
BB_DEVICE_FUNCTION
double bb_format_rule_round(const bb_format_rule *rule, double magnitude, bool *too_large)
{
    double rounded =
        bb_format_round_magnitude_f64(magnitude, rule->dropped, rule->normal, rule->magic);
    *too_large = rounded > rule->largest;
    return *too_large ? rule->overflow : rounded;
}

/// Word of a rounded magnitude without its sign: the double's own bits, shifted and rebiased, or
/// the count of subnormal spacings.
BB_DEVICE_FUNCTION
uint32_t bb_format_rule_word(const bb_format_rule *rule, double rounded)
{
    uint32_t normal = (uint32_t)((bb_format_bits_of_f64(rounded) >> rule->dropped) - rule->bias);
    double small = rounded < rule->normal ? rounded : rule->normal;
    uint32_t subnormal = (uint32_t)(int32_t)(small * rule->per_subnormal);
    uint32_t word = rounded < rule->normal ? subnormal : normal;
    return rounded > rule->largest ? rule->infinite_word : word;
}

// Decoding shifts the word so that exponent and fraction are at fp32's positions and multiplies by
// the difference of the biases: exact, including subnormals.

BB_DEVICE_FUNCTION
float bb_format_decode_fp16(uint16_t word)
{
    uint32_t sign = (uint32_t)(word & 0x8000u) << 16;
    uint32_t magnitude = (uint32_t)(word & 0x7fffu) << 13;
    float value = bb_format_f32_of_bits(magnitude) * 0x1p112f;
    uint32_t bits = bb_format_bits_of_f32(value);
    uint32_t special = magnitude | 0x7f800000u;
    return bb_format_f32_of_bits(sign | (magnitude >= 0x0f800000u ? special : bits));
}

BB_DEVICE_FUNCTION
float bb_format_decode_bf16(uint16_t word)
{
    return bb_format_f32_of_bits((uint32_t)word << 16);
}

BB_DEVICE_FUNCTION
float bb_format_decode_e5m2(uint8_t word)
{
    return bb_format_decode_fp16((uint16_t)((uint16_t)word << 8));
}

BB_DEVICE_FUNCTION
float bb_format_decode_e4m3(uint8_t word)
{
    uint32_t sign = (uint32_t)(word & 0x80u) << 24;
    float value = bb_format_f32_of_bits((uint32_t)(word & 0x7fu) << 20) * 0x1p120f;
    uint32_t bits = bb_format_bits_of_f32(value);
    return bb_format_f32_of_bits(sign | ((word & 0x7fu) == 0x7fu ? 0x7fc00000u : bits));
}

#endif
