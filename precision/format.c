// SPDX-License-Identifier: Apache-2.0
#include "precision/format.h"

#include "precision/format_core.h"

#include <math.h>

const char *const bb_format_names[] = {"fp64", "fp32", "tf32", "bf16",
                                       "fp16", "e4m3", "e5m2", NULL};
const char *const bb_working_format_names[] = {"fp64", "fp32", NULL};

static const bb_format_info table[BB_FORMAT_COUNT] = {
    [BB_FORMAT_FP64] = {"fp64", 8, 53, -1022, 0x1.fffffffffffffp1023, false},
    [BB_FORMAT_FP32] = {"fp32", 4, 24, -126,  0x1.fffffep127,         false},
    [BB_FORMAT_TF32] = {"tf32", 4, 11, -126,  0x1.ffcp127,            false},
    [BB_FORMAT_BF16] = {"bf16", 2, 8,  -126,  0x1.fep127,             false},
    [BB_FORMAT_FP16] = {"fp16", 2, 11, -14,   65504.0,                false},
    [BB_FORMAT_E4M3] = {"e4m3", 1, 4,  -6,    448.0,                  true },
    [BB_FORMAT_E5M2] = {"e5m2", 1, 3,  -14,   57344.0,                true },
};

const bb_format_info *bb_format_describe(bb_format format)
{
    return &table[format];
}

double bb_format_unit_roundoff(bb_format format)
{
    return ldexp(1.0, -table[format].significand);
}

double bb_format_smallest_normal(bb_format format)
{
    return ldexp(1.0, table[format].minimum_exponent);
}

double bb_format_smallest_subnormal(bb_format format)
{
    return ldexp(1.0, table[format].minimum_exponent - table[format].significand + 1);
}

// The constants of the rounding of doubles to one format.
typedef struct rounding {
    int dropped;
    double normal, magic, largest;
    double overflow; // what replaces a magnitude over `largest`
} rounding;

static rounding rounding_to(bb_format format)
{
    return (rounding){
        .dropped = 53 - table[format].significand,
        .normal = bb_format_smallest_normal(format),
        .magic = ldexp(bb_format_smallest_subnormal(format), 52),
        .largest = table[format].largest,
        .overflow = table[format].saturates ? table[format].largest : INFINITY,
    };
}

static inline double round_one(const rounding *to, double value, bb_index *saturated)
{
    double magnitude = fabs(value);
    if (isnan(value)) {
        return value;
    }
    double rounded = isinf(value)
                         ? INFINITY
                         : bb_round_magnitude_f64(magnitude, to->dropped, to->normal, to->magic);
    if (rounded > to->largest) {
        rounded = to->overflow;
        *saturated += isfinite(to->overflow);
    }
    return copysign(rounded, value);
}

double bb_format_round(bb_format format, double value)
{
    if (format == BB_FORMAT_FP64) {
        return value;
    }
    rounding to = rounding_to(format);
    bb_index saturated = 0;
    return round_one(&to, value, &saturated);
}

// NaN, infinity and overflow are settled by selects, so that the loop vectorises.
BB_CLONES static bb_index round_f32(int dropped, float normal, float magic, float largest,
                                    float overflow, const float *values, bb_index count, float *out)
{
    bb_index over = 0;
    for (bb_index i = 0; i < count; ++i) {
        float value = values[i];
        float magnitude = fabsf(value);
        float rounded = bb_round_magnitude_f32(magnitude, dropped, normal, magic);
        int too_large = rounded > largest;
        over += too_large;
        rounded = too_large ? overflow : rounded;
        rounded = copysignf(rounded, value);
        out[i] = value == value ? rounded : value;
    }
    return over;
}

bb_index bb_format_round_f32(bb_format format, const float *values, bb_index count, float *out)
{
    const bb_format_info *info = &table[format];
    if (info->significand >= 24) {
        for (bb_index i = 0; i < count; ++i) {
            out[i] = values[i];
        }
        return 0;
    }
    // 2^23 spacings is a normal float for every narrow format, so adding it rounds subnormals.
    double spacing = bb_format_smallest_subnormal(format);
    bb_index over =
        round_f32(24 - info->significand, (float)bb_format_smallest_normal(format),
                  (float)ldexp(spacing, 23), (float)info->largest,
                  info->saturates ? (float)info->largest : INFINITY, values, count, out);
    return info->saturates ? over : 0;
}

// The word of a magnitude that the format holds exactly.
static uint32_t word_of(bb_format format, double magnitude)
{
    const bb_format_info *info = &table[format];
    int fraction_bits = info->significand - 1;
    int exponent = 0;
    if (magnitude < bb_format_smallest_normal(format)) {
        return (uint32_t)(magnitude / bb_format_smallest_subnormal(format));
    }
    double fraction = 2.0 * frexp(magnitude, &exponent) - 1.0; // in [0, 1)
    uint32_t biased = (uint32_t)(exponent - 1 - info->minimum_exponent + 1);
    return biased << fraction_bits | (uint32_t)ldexp(fraction, fraction_bits);
}

static uint16_t word_fp16(double value)
{
    uint16_t sign = signbit(value) ? 0x8000u : 0;
    if (isnan(value)) {
        return sign | 0x7e00u;
    }
    return sign | (isinf(value) ? 0x7c00u : (uint16_t)word_of(BB_FORMAT_FP16, fabs(value)));
}

static uint8_t word_fp8(bb_format format, double value)
{
    uint8_t sign = signbit(value) ? 0x80u : 0;
    if (isnan(value)) {
        return sign | 0x7fu;
    }
    return (uint8_t)(sign | word_of(format, fabs(value)));
}

static void store(bb_format format, double value, void *out, bb_index i)
{
    switch (format) {
    case BB_FORMAT_FP64:
        ((double *)out)[i] = value;
        break;
    case BB_FORMAT_FP32:
    case BB_FORMAT_TF32:
        ((float *)out)[i] = (float)value;
        break;
    case BB_FORMAT_BF16:
        ((uint16_t *)out)[i] = (uint16_t)(bb_bits_of_f32((float)value) >> 16);
        break;
    case BB_FORMAT_FP16:
        ((uint16_t *)out)[i] = word_fp16(value);
        break;
    default:
        ((uint8_t *)out)[i] = word_fp8(format, value);
    }
}

bb_index bb_format_encode(bb_format format, const double *values, bb_index count, void *out)
{
    bb_index saturated = 0;
    if (format == BB_FORMAT_FP64) {
        memcpy(out, values, (size_t)count * sizeof *values);
        return 0;
    }
    rounding to = rounding_to(format);
    for (bb_index i = 0; i < count; ++i) {
        store(format, round_one(&to, values[i], &saturated), out, i);
    }
    return saturated;
}

BB_CLONES static void decode_fp16(const uint16_t *words, bb_index count, float *out)
{
    for (bb_index i = 0; i < count; ++i) {
        out[i] = bb_decode_fp16(words[i]);
    }
}

BB_CLONES static void decode_e4m3(const uint8_t *words, bb_index count, float *out)
{
    for (bb_index i = 0; i < count; ++i) {
        out[i] = bb_decode_e4m3(words[i]);
    }
}

BB_CLONES static void decode_e5m2(const uint8_t *words, bb_index count, float *out)
{
    for (bb_index i = 0; i < count; ++i) {
        out[i] = bb_decode_e5m2(words[i]);
    }
}

void bb_format_decode_f32(bb_format format, const void *words, bb_index count, float *out)
{
    switch (format) {
    case BB_FORMAT_BF16:
        for (bb_index i = 0; i < count; ++i) {
            out[i] = bb_decode_bf16(((const uint16_t *)words)[i]);
        }
        break;
    case BB_FORMAT_FP16:
        decode_fp16(words, count, out);
        break;
    case BB_FORMAT_E4M3:
        decode_e4m3(words, count, out);
        break;
    case BB_FORMAT_E5M2:
        decode_e5m2(words, count, out);
        break;
    default: // fp32 and tf32 are floats already
        memcpy(out, words, (size_t)count * sizeof *out);
    }
}

void bb_format_decode(bb_format format, const void *words, bb_index count, double *out)
{
    enum { CHUNK = 256 };
    float chunk[CHUNK];
    if (format == BB_FORMAT_FP64) {
        memcpy(out, words, (size_t)count * sizeof *out);
        return;
    }
    for (bb_index begin = 0; begin < count; begin += CHUNK) {
        bb_index length = count - begin < CHUNK ? count - begin : CHUNK;
        const char *from = (const char *)words + begin * table[format].bytes;
        bb_format_decode_f32(format, from, length, chunk);
        for (bb_index i = 0; i < length; ++i) {
            out[begin + i] = chunk[i];
        }
    }
}
