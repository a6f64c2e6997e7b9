// SPDX-License-Identifier: Apache-2.0
//
// float: a binary format of 2 to 8 exponent bits and 0 to 23 stored significand bits, packed in 1 +
// exponent + mantissa bits, so that a study can vary the number of bits.
//
// Bias 2^(exponent-1) - 1, subnormals, as in IEEE 754. specials ieee: the largest exponent is
// reserved for infinity and NaN, and values that round beyond the largest value become infinite.
// finite: it encodes numbers, except for the word of all ones, which is NaN (as in OCP's e4m3);
// larger values, infinities too, saturate and are counted. With 8 exponent bits it ends at fp32's
// largest binade. Every value is exact in fp32. 5 and 10, 8 and 7, 8 and 10, 8 and 23 are fp16,
// bf16, tf32 and fp32; 4 and 3, finite, e4m3; 5 and 2 are e5m2 up to its largest value, above which
// e5m2 saturates.
//
// nearest: ties to even. toward_zero: infinities stay, no value becomes one, clipped values are
// counted. stochastic: rounds up with the probability of the truncated fraction, which makes sums
// unbiased (Croci et al. 2022); the 64 random bits of value (row, column) come from Philox at its
// position, the same for any number of threads, in every run, and for two matrices of one shape.
//
// Bound: half a spacing of |v|, one spacing for the other two roundings; none beyond the largest
// value.
//
// A row is a bit stream of words from the lowest bit up, padded to a byte.
#include "core/portable.h"
#include "core/random.h"
#include "precision/codec_row.h"
#include "precision/format_core.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PIECE = 1024, MOST_BITS = 32 };

static const char *const rounding_words[] = {"nearest", "toward_zero", "stochastic", "sweep", NULL};
static const char *const special_words[] = {"ieee", "finite", NULL};
enum { EXPONENT, MANTISSA, SPECIALS, ROUNDING };
typedef enum direction { NEAREST, TOWARD_ZERO, STOCHASTIC, SWEEP } direction;
enum { IEEE, FINITE };

// clang-format off
static const bb_key keys[] = {
    [EXPONENT] = {.name = "exponent", .kind = BB_KEY_INTEGER, .unit = "1",
     .offset = BB_CODEC_SLOT(EXPONENT), .minimum = 2.0, .maximum = 8.0, .optional = true,
     .meaning = "float: exponent bits."},
    [MANTISSA] = {.name = "mantissa", .kind = BB_KEY_INTEGER, .unit = "1",
     .offset = BB_CODEC_SLOT(MANTISSA), .minimum = 0.0, .maximum = 23.0, .optional = true,
     .meaning = "float: stored significand bits, without the hidden one."},
    [SPECIALS] = {.name = "specials", .kind = BB_KEY_CHOICE, .offset = BB_CODEC_SLOT(SPECIALS),
     .choices = special_words, .optional = true,
     .meaning = "float: ieee (default): infinities and NaN; finite: saturates, one NaN."},
    [ROUNDING] = {.name = "rounding", .kind = BB_KEY_CHOICE,
     .offset = offsetof(bb_codec_config, rounding), .choices = rounding_words, .optional = true,
     .meaning = "float: also toward_zero and stochastic."},
};
// clang-format on

/// Constants for encoding and decoding words.
typedef struct layout {
    int bits, mantissa;
    direction way;
    bool finite;
    double least;      // spacing of the subnormals
    double normal;     // smallest normal
    double largest;    // largest finite value
    uint64_t bias;     // difference of exponent biases, in the shifted bits of a double
    uint32_t infinity; // first word that is not a number; finite: the only one
    uint32_t not_a_number;
    uint32_t exponent_bits; // fp32 bias minus the format's, at the word's exponent position
    float spacing;          // of the subnormals; decoding them as fp32 subnormals would be slow
} layout;

static layout layout_of(const bb_codec_config *config)
{
    const bb_codec_slot *slot = bb_codec_own(config);
    const int exponent = (int)slot[EXPONENT].integer;
    const int mantissa = (int)slot[MANTISSA].integer;
    const int bias = (1 << (exponent - 1)) - 1;
    const int way = bb_codec_own_word(&keys[ROUNDING], config->rounding);
    const uint32_t ones = (uint32_t)((1ULL << (exponent + mantissa)) - 1);
    const bool finite = slot[SPECIALS].choice == FINITE;
    layout out = {.bits = 1 + exponent + mantissa,
                  .mantissa = mantissa,
                  .way = way < 0 || way == SWEEP ? NEAREST : (direction)way,
                  .finite = finite,
                  .least = ldexp(1.0, 1 - bias - mantissa),
                  .normal = ldexp(1.0, 1 - bias),
                  .bias = (uint64_t)(1023 - bias) << mantissa,
                  .infinity = finite ? ones : ones >> mantissa << mantissa,
                  .exponent_bits = (uint32_t)(127 - bias) << 23,
                  .spacing = ldexpf(1.0F, 1 - bias - mantissa)};
    out.largest = ldexp(2.0 - ldexp(1.0, -mantissa), bias);
    if (finite && exponent < 8) {
        // Largest value: the word below NaN; without fraction bits, the binade below it.
        out.largest =
            mantissa > 0 ? ldexp(2.0 - ldexp(2.0, -mantissa), bias + 1) : ldexp(1.0, bias);
    }
    out.not_a_number = finite ? ones : out.infinity | 1U << (mantissa > 0 ? mantissa - 1 : 0);
    return out;
}

static bool check(const bb_codec_config *config, char *sentence, size_t bytes)
{
    const bb_codec_slot *slot = bb_codec_own(config);
    for (int k = EXPONENT; k <= MANTISSA; ++k) {
        const bb_index value = slot[k].integer;
        if (value == BB_INTEGER_UNSET) {
            (void)snprintf(sentence, bytes, "%s: not given, float needs it", keys[k].name);
            return false;
        }
        if ((double)value < keys[k].minimum || (double)value > keys[k].maximum) {
            (void)snprintf(sentence, bytes, "%s: %td, expected %g to %g", keys[k].name, value,
                           keys[k].minimum, keys[k].maximum);
            return false;
        }
    }
    if (slot[MANTISSA].integer == 0 && slot[SPECIALS].choice != FINITE) {
        (void)snprintf(sentence, bytes,
                       "mantissa: 0, specials ieee needs a bit to distinguish NaN from infinity, "
                       "expected 1 to 23 or specials: finite");
        return false;
    }
    return true;
}

static void describe(const bb_codec_config *config, char *out, size_t bytes)
{
    static const char *const ways[] = {"", ", toward zero", ", stochastic"};
    const bb_codec_slot *slot = bb_codec_own(config);
    const layout words = layout_of(config);
    (void)snprintf(out, bytes, " e%tdm%td%s%s", slot[EXPONENT].integer, slot[MANTISSA].integer,
                   words.finite ? " finite" : "", ways[words.way]);
}

static const char *rounding(const bb_codec_config *config)
{
    static const char *const names[] = {"nearest even", "toward zero", "stochastic"};
    return names[layout_of(config).way];
}

static double bound(const bb_codec_config *config, double tolerance, double magnitude,
                    double block_magnitude)
{
    const layout words = layout_of(config);
    (void)tolerance;
    (void)block_magnitude;
    const double spacing = ldexp(words.largest, -words.mantissa);
    const bool nearest = words.way == NEAREST;
    if (magnitude >= words.largest + (nearest ? 0.25 * spacing : 0.0)) {
        return magnitude == words.largest ? 0.0 : INFINITY;
    }
    return (nearest ? 0.5 : 1.0) * fmax(ldexp(magnitude, -words.mantissa), words.least);
}

static double bits_per_value(const bb_codec_config *config)
{
    return layout_of(config).bits;
}

// Rows are scaled to the upper half of the format's numbers, or of those up to 2^16.
static double largest(const bb_codec_config *config)
{
    return layout_of(config).largest;
}

static bb_status create(bb_coded_matrix *matrix)
{
    layout *words = matrix->store;
    *words = layout_of(&matrix->config);
    matrix->row_bytes = ((size_t)matrix->layout.columns * (size_t)words->bits + 7) / 8;
    return BB_OK;
}

// Rounds a finite magnitude to a multiple of its spacing; `random` is 64 bits.
static inline double round_magnitude(const layout *target, double magnitude, uint64_t random)
{
    const int dropped = 52 - target->mantissa;
    const uint64_t cut = ((uint64_t)1 << dropped) - 1;
    if (target->way == NEAREST) {
        return bb_format_round_magnitude_f64(magnitude, dropped, target->normal,
                                             target->least * 0x1p52);
    }
    const bool up = target->way == STOCHASTIC;
    if (magnitude < target->normal) {
        const double part = up ? (double)(random >> 12) * 0x1p-52 : 0.0;
        return floor(magnitude / target->least + part) * target->least;
    }
    return bb_format_f64_of_bits((bb_format_bits_of_f64(magnitude) + (up ? random & cut : 0)) &
                                 ~cut);
}

static inline uint32_t word_of(const layout *target, double value, uint64_t random,
                               bb_codec_counts *counts)
{
    const uint32_t sign = signbit(value) ? 1U << (target->bits - 1) : 0U;
    const double magnitude = fabs(value);
    if (isnan(value)) {
        return sign | target->not_a_number;
    }
    double rounded = isinf(value) ? magnitude : round_magnitude(target, magnitude, random);
    if (rounded > target->largest) {
        const bool clipped = target->finite || (target->way == TOWARD_ZERO && isfinite(value));
        counts->saturated += clipped;
        if (!clipped) {
            return sign | target->infinity;
        }
        rounded = target->largest;
    }
    counts->underflowed += rounded == 0.0 && magnitude > 0.0;
    if (rounded < target->normal) {
        return sign | (uint32_t)(rounded / target->least);
    }
    return sign |
           (uint32_t)((bb_format_bits_of_f64(rounded) >> (52 - target->mantissa)) - target->bias);
}

// Returns the random bits of a place; one call of the generator serves two columns.
static inline uint64_t random_at(uint64_t place, uint32_t words[4])
{
    if (place % 2 == 0) {
        bb_random_words(0, BB_STREAM_ROUNDING, place / 2, words);
        return (uint64_t)words[1] << 32 | words[0];
    }
    return (uint64_t)words[3] << 32 | words[2];
}

static double round_one(const bb_coded_matrix *matrix, bb_index row, bb_index column, double scaled)
{
    const layout *words = matrix->store;
    const double magnitude = fmin(fabs(scaled), words->largest);
    (void)row;
    (void)column;
    return copysign(round_magnitude(words, magnitude, 0), scaled);
}

static void encode_row(const bb_coded_matrix *matrix, bb_index row, const double *values,
                       double scale, bb_codec_counts *counts)
{
    const layout words = *(const layout *)matrix->store;
    const uint64_t first = (uint64_t)row * (uint64_t)((matrix->layout.columns + 1) / 2 * 2);
    unsigned char *out = bb_coded_matrix_row(matrix, row);
    uint32_t drawn[4] = {0};
    uint64_t pending = 0;
    int filled = 0;
    for (bb_index j = 0; j < matrix->layout.columns; ++j) {
        const uint64_t random = words.way == STOCHASTIC ? random_at(first + (uint64_t)j, drawn) : 0;
        pending |= (uint64_t)word_of(&words, scale * values[j], random, counts) << filled;
        filled += words.bits;
        for (; filled >= 8; filled -= 8, pending >>= 8) {
            *out++ = (unsigned char)pending;
        }
    }
    if (filled > 0) {
        *out = (unsigned char)pending;
    }
}

// Decodes words of a row from column `skip` of `bytes` on; 8 more bytes must be readable.
BB_CLONES static void decode_words(const layout *rule, const unsigned char *bytes, bb_index skip,
                                   bb_index count, float *out)
{
    const layout format = *rule; // a local copy: stores to `out` cannot alias it
    const uint32_t magnitude_mask = (uint32_t)((1ULL << (format.bits - 1)) - 1);
    for (bb_index i = 0; i < count; ++i) {
        const uint64_t place = (uint64_t)(skip + i) * (uint64_t)format.bits;
        uint64_t window;
        memcpy(&window, bytes + place / 8, sizeof window);
        const uint32_t word = (uint32_t)(window >> place % 8);
        const uint32_t magnitude = word & magnitude_mask;
        const uint32_t sign = (word >> (format.bits - 1) & 1U) << 31;
        const float normal =
            bb_format_f32_of_bits((magnitude << (23 - format.mantissa)) + format.exponent_bits);
        const float small = (float)(int32_t)magnitude * format.spacing;
        float value = magnitude >> format.mantissa == 0 ? small : normal;
        if (magnitude >= format.infinity) {
            value = magnitude > format.infinity || format.finite ? NAN : INFINITY;
        }
        out[i] = bb_format_f32_of_bits(bb_format_bits_of_f32(value) | sign);
    }
}

// Decodes at most a piece of columns. The row is copied, because another thread may be writing the
// next row, which starts where this one ends.
static void decode_f32(const bb_coded_matrix *matrix, bb_index row, bb_index column, bb_index count,
                       float *out)
{
    const layout *words = matrix->store;
    const int bits = words->bits;
    unsigned char bytes[PIECE * MOST_BITS / 8 + 2 * sizeof(uint64_t)];
    const size_t begin = (size_t)column / 8 * (size_t)bits; // eight words are whole bytes
    const bb_index skip = column % 8;
    const size_t length = ((size_t)(skip + count) * (size_t)bits + 7) / 8;
    memcpy(bytes, bb_coded_matrix_row(matrix, row) + begin, length);
    memset(bytes + length, 0, sizeof(uint64_t));
    decode_words(words, bytes, skip, count, out);
}

static const bb_codec_ops operations = {
    .check = check,
    .describe = describe,
    .rounding = rounding,
    .bound = bound,
    .bits_per_value = bits_per_value,
    .largest = largest,
    .create = create,
    .encode_row = encode_row,
    .decode_f32 = decode_f32,
    .round = round_one,
};

const bb_codec_row bb_float_row = {
    .name = "float",
    .keys = keys,
    .key_count = sizeof keys / sizeof keys[0],
    .form = BB_FORM_PIECES,
    .cpu_only = "codec float has no products on a GPU, use device cpu",
    .store_bytes = sizeof(layout),
    .takes_row_scale = true,
    .sums_in_runs = true,
    .seconds = 2e-8,
    .ladders = {{"mantissa", "exponent=8", 1, 23, false}},
    .ops = &operations,
};
