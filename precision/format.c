// SPDX-License-Identifier: Apache-2.0
#include "precision/format.h"

#include "precision/format_core.h"

#include <math.h>

const char *const bb_format_names[] = {"fp64", "fp32", "tf32", "bf16",
                                       "fp16", "e4m3", "e5m2", NULL};
const char *const bb_working_format_names[] = {"fp64", "fp32", NULL};

static const bb_format_info table[BB_FORMAT_COUNT] = {
    [BB_FORMAT_FP64] = {"fp64", 8, 53, -1022, 0x1.fffffffffffffp1023, false},
    [BB_FORMAT_FP32] = {"fp32", 4, 24, -126, 0x1.fffffep127, false},
    [BB_FORMAT_TF32] = {"tf32", 4, 11, -126, 0x1.ffcp127, false},
    [BB_FORMAT_BF16] = {"bf16", 2, 8, -126, 0x1.fep127, false},
    [BB_FORMAT_FP16] = {"fp16", 2, 11, -14, 65504.0, false},
    [BB_FORMAT_E4M3] = {"e4m3", 1, 4, -6, 448.0, true},
    [BB_FORMAT_E5M2] = {"e5m2", 1, 3, -14, 57344.0, true},
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

bb_format_rule bb_format_rule_of(bb_format format)
{
    static const uint32_t nan_words[BB_FORMAT_COUNT] = {
        [BB_FORMAT_BF16] = 0x7fc0U,
        [BB_FORMAT_FP16] = 0x7e00U,
        [BB_FORMAT_E4M3] = 0x7fU,
        [BB_FORMAT_E5M2] = 0x7fU,
    };
    const bb_format_info *info = &table[format];
    int fraction_bits = info->significand - 1;
    int word_bias = 1 - info->minimum_exponent;
    uint32_t all_ones = (uint32_t)((1 << (8 * info->bytes - 1 - fraction_bits)) - 1);
    return (bb_format_rule){
        .dropped = 53 - info->significand,
        .normal = bb_format_smallest_normal(format),
        .magic = ldexp(bb_format_smallest_subnormal(format), 52),
        .largest = info->largest,
        .overflow = info->saturates ? info->largest : INFINITY,
        .per_subnormal = info->bytes > 2 ? 0.0 : 1.0 / bb_format_smallest_subnormal(format),
        .bias = (uint64_t)(1023 - word_bias) << fraction_bits,
        .infinite_word = info->bytes > 2 ? 0 : all_ones << fraction_bits,
        .nan_word = nan_words[format],
    };
}

static inline double round_magnitude(const bb_format_rule *rule, double magnitude, bb_index *over)
{
    bool too_large;
    double rounded = bb_format_rule_round(rule, magnitude, &too_large);
    *over += too_large;
    return rounded;
}

static inline double round_one(const bb_format_rule *error, double value, bb_index *over)
{
    double rounded = copysign(round_magnitude(error, fabs(value), over), value);
    return value == value ? rounded : value;
}

double bb_format_round(bb_format format, double value)
{
    if (format == BB_FORMAT_FP64) {
        return value;
    }
    bb_format_rule error = bb_format_rule_of(format);
    bb_index over = 0;
    return round_one(&error, value, &over);
}

// Same result as narrow_f64 for fp32, by the processor's conversion.
BB_CLONES static void cast_f64(const double *values, bb_index count, float *out)
{
    for (bb_index i = 0; i < count; ++i) {
        out[i] = (float)values[i];
    }
}

BB_CLONES static bb_index narrow_f64(const bb_format_rule *rule, const double *values,
                                     bb_index count, float *out)
{
    const bb_format_rule error = *rule; // a local copy: stores to `out` cannot alias it
    bb_index over = 0;
    for (bb_index i = 0; i < count; ++i) {
        out[i] = (float)round_one(&error, values[i], &over);
    }
    return over;
}

bb_index bb_format_narrow(bb_format format, const double *values, bb_index count, float *out)
{
    bb_format_rule error = bb_format_rule_of(format);
    bb_index over = narrow_f64(&error, values, count, out);
    return table[format].saturates ? over : 0;
}

// NaN, infinity and overflow are handled by selects, so that the loop vectorises.
BB_CLONES static bb_index round_f32(int dropped, float normal, float magic, float largest,
                                    float overflow, const float *values, bb_index count, float *out)
{
    bb_index over = 0;
    for (bb_index i = 0; i < count; ++i) {
        float value = values[i];
        float magnitude = fabsf(value);
        float rounded = bb_format_round_magnitude_f32(magnitude, dropped, normal, magic);
        int too_large = rounded > largest;
        over += too_large;
        rounded = too_large ? overflow : rounded;
        rounded = copysignf(rounded, value);
        out[i] = value == value ? rounded : value;
    }
    return over;
}

// Returns the probability that a normal number lies in [0, magnitude] or its mirror.
static double within(double magnitude, double deviation)
{
    return erf(magnitude / (deviation * sqrt(2.0)));
}

double bb_format_normal_error(bb_format format, double deviation)
{
    enum { BINADES = 6 }; // above the deviation's own; the last has negligible weight
    const bb_format_info *info = bb_format_describe(format);
    const double normal = bb_format_smallest_normal(format);
    const double square = deviation * deviation;
    if (deviation == 0.0) {
        return 0.0;
    }
    const double subnormal = bb_format_smallest_subnormal(format);
    double error = subnormal * subnormal / 12.0 * within(normal, deviation);
    const int top = ilogb(deviation) + BINADES;
    for (int e = info->minimum_exponent; e < top; ++e) {
        const double begin = ldexp(1.0, e);
        const double step = ldexp(begin, 1 - info->significand);
        error += step * step / 12.0 * (within(2.0 * begin, deviation) - within(begin, deviation));
    }
    return fmin(error, square);
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

// encode_16, encode_8: NaN has its own word.
#define ENCODE(bits)                                                                               \
    BB_CLONES static bb_index encode_##bits(const bb_format_rule *rule, const double *values,      \
                                            bb_index count, uint##bits##_t *out)                   \
    {                                                                                              \
        const bb_format_rule error = *rule; /* a local copy: stores to `out` cannot alias it */    \
        bb_index over = 0;                                                                         \
        for (bb_index i = 0; i < count; ++i) {                                                     \
            uint32_t sign =                                                                        \
                (uint32_t)(bb_format_bits_of_f64(values[i]) >> (64 - (bits))) & 1u << ((bits)-1);  \
            uint32_t word =                                                                        \
                bb_format_rule_word(&error, round_magnitude(&error, fabs(values[i]), &over));      \
            out[i] = (uint##bits##_t)(sign | (values[i] == values[i] ? word : error.nan_word));    \
        }                                                                                          \
        return over;                                                                               \
    }
ENCODE(16)
ENCODE(8)
#undef ENCODE

bb_index bb_format_encode(bb_format format, const double *values, bb_index count, void *out)
{
    bb_format_rule error = bb_format_rule_of(format);
    bb_index over = 0;
    switch (format) {
    case BB_FORMAT_FP64:
        memcpy(out, values, (size_t)count * sizeof *values);
        break;
    case BB_FORMAT_FP32:
        cast_f64(values, count, out);
        break;
    case BB_FORMAT_TF32:
        over = narrow_f64(&error, values, count, out);
        break;
    case BB_FORMAT_BF16:
    case BB_FORMAT_FP16:
        over = encode_16(&error, values, count, out);
        break;
    default:
        over = encode_8(&error, values, count, out);
    }
    return table[format].saturates ? over : 0;
}

bb_index bb_format_encode_f32(bb_format format, const float *values, bb_index count, double scale,
                              void *out)
{
    enum { CHUNK = 512 };
    const bb_index word = table[format].bytes;
    bb_index over = 0;
    for (bb_index first = 0; first < count; first += CHUNK) {
        double wide[CHUNK];
        const bb_index items = count - first < CHUNK ? count - first : CHUNK;
        for (bb_index i = 0; i < items; ++i) {
            wide[i] = (double)values[first + i] * scale;
        }
        over += bb_format_encode(format, wide, items, (char *)out + first * word);
    }
    return over;
}

#define DECODE(name, bits)                                                                         \
    BB_CLONES static void decode_##name(const uint##bits##_t *words, bb_index count, float *out)   \
    {                                                                                              \
        for (bb_index i = 0; i < count; ++i) {                                                     \
            out[i] = bb_format_decode_##name(words[i]);                                            \
        }                                                                                          \
    }
DECODE(fp16, 16)
DECODE(e4m3, 8)
DECODE(e5m2, 8)
#undef DECODE

void bb_format_decode_f32(bb_format format, const void *words, bb_index count, float *out)
{
    switch (format) {
    case BB_FORMAT_BF16:
        for (bb_index i = 0; i < count; ++i) {
            out[i] = bb_format_decode_bf16(((const uint16_t *)words)[i]);
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
        const char *source = (const char *)words + begin * table[format].bytes;
        bb_format_decode_f32(format, source, length, chunk);
        for (bb_index i = 0; i < length; ++i) {
            out[begin + i] = chunk[i];
        }
    }
}
