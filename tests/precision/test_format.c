// SPDX-License-Identifier: Apache-2.0
//
// All words of the 16- and 8-bit formats: every word round-trips, and at every gap between
// neighbours the midpoint goes to the even word and its two sides to the nearer one.
#include "core/random.h"
#include "precision/format.h"
#include "tests/check.h"

static const bb_format narrow[] = {BB_FORMAT_BF16, BB_FORMAT_FP16, BB_FORMAT_E4M3, BB_FORMAT_E5M2};
enum { NARROW = sizeof narrow / sizeof *narrow };

static double value_of(bb_format format, uint32_t word)
{
    double value = 0.0;
    uint8_t byte = (uint8_t)word;
    uint16_t half = (uint16_t)word;
    const void *source = bb_format_describe(format)->bytes == 1 ? (const void *)&byte : &half;
    bb_format_decode(format, source, 1, &value);
    return value;
}

static uint32_t word_for(bb_format format, double value)
{
    uint8_t word[8] = {0};
    (void)bb_format_encode(format, &value, 1, word);
    uint16_t half = 0;
    memcpy(&half, word, sizeof half);
    return bb_format_describe(format)->bytes == 1 ? word[0] : half;
}

// Word of the largest finite magnitude; words 0..last are the non-negative values in order.
static uint32_t last_word(bb_format format)
{
    return word_for(format, bb_format_describe(format)->largest);
}

TEST(words_round_trip)
{
    for (int f = 0; f < NARROW; ++f) {
        uint32_t sign = bb_format_describe(narrow[f])->bytes == 1 ? 0x80 : 0x8000;
        for (uint32_t word = 0; word <= last_word(narrow[f]); ++word) {
            assert_int_equal(word_for(narrow[f], value_of(narrow[f], word)), word);
            assert_int_equal(word_for(narrow[f], value_of(narrow[f], word | sign)), word | sign);
        }
    }
}

TEST(known_words)
{
    assert_int_equal(word_for(BB_FORMAT_FP16, 1.0), 0x3c00);
    assert_int_equal(word_for(BB_FORMAT_FP16, 65504.0), 0x7bff);
    assert_int_equal(word_for(BB_FORMAT_FP16, 0x1p-24), 0x0001);
    assert_int_equal(word_for(BB_FORMAT_FP16, -2.0), 0xc000);
    assert_int_equal(word_for(BB_FORMAT_BF16, 1.0), 0x3f80);
    assert_int_equal(word_for(BB_FORMAT_E4M3, 448.0), 0x7e);
    assert_int_equal(word_for(BB_FORMAT_E4M3, 0x1p-9), 0x01);
    assert_int_equal(word_for(BB_FORMAT_E4M3, 1.0), 0x38);
    assert_int_equal(word_for(BB_FORMAT_E5M2, 57344.0), 0x7b);
    assert_int_equal(word_for(BB_FORMAT_E5M2, 1.0), 0x3c);
    assert_int_equal(word_for(BB_FORMAT_FP16, -0.0), 0x8000);
}

TEST(gaps_round_to_nearest_even)
{
    for (int f = 0; f < NARROW; ++f) {
        for (uint32_t word = 0; word < last_word(narrow[f]); ++word) {
            double low = value_of(narrow[f], word);
            double high = value_of(narrow[f], word + 1);
            double middle = 0.5 * (low + high);
            double even = word % 2 == 0 ? low : high;
            assert_true(low < high);
            assert_true(bb_format_round(narrow[f], middle) == even);
            assert_true(bb_format_round(narrow[f], -middle) == -even);
            assert_true(bb_format_round(narrow[f], nextafter(middle, 0.0)) == low);
            assert_true(bb_format_round(narrow[f], nextafter(middle, INFINITY)) == high);
        }
    }
}

TEST(overflow_is_infinite_or_saturates)
{
    const double beyond[] = {1e300, INFINITY};
    for (int i = 0; i < 2; ++i) {
        assert_true(bb_format_round(BB_FORMAT_FP32, beyond[i]) == INFINITY);
        assert_true(bb_format_round(BB_FORMAT_FP16, -beyond[i]) == -INFINITY);
        assert_true(bb_format_round(BB_FORMAT_E4M3, beyond[i]) == 448.0);
        assert_true(bb_format_round(BB_FORMAT_E5M2, -beyond[i]) == -57344.0);
    }
    assert_true(bb_format_round(BB_FORMAT_FP16, 65519.0) == 65504.0);
    assert_true(bb_format_round(BB_FORMAT_FP16, 65520.0) == INFINITY);
    double values[4] = {448.0, 463.0, 465.0, -1e9};
    uint8_t words[4];
    assert_int_equal(bb_format_encode(BB_FORMAT_E4M3, values, 4, words), 2);
    assert_int_equal(words[3], 0xfe);
}

TEST(nan_stays_nan)
{
    for (int f = 0; f < BB_FORMAT_COUNT; ++f) {
        double value = NAN;
        double back = 0.0;
        unsigned char word[8];
        assert_true(isnan(bb_format_round((bb_format)f, NAN)));
        (void)bb_format_encode((bb_format)f, &value, 1, word);
        bb_format_decode((bb_format)f, word, 1, &back);
        assert_true(isnan(back));
    }
}

// The declared bound, on random magnitudes over the whole normal range; fp32 against the compiler.
TEST(errors_stay_within_the_declared_bound)
{
    for (int f = 0; f < BB_FORMAT_COUNT; ++f) {
        bb_format format = (bb_format)f;
        double low = log(bb_format_smallest_subnormal(format));
        double high = log(0.99 * bb_format_describe(format)->largest);
        for (uint64_t i = 0; i < 20000; ++i) {
            double x = exp(low + (high - low) * bb_random_uniform(1, BB_STREAM_SELF_TEST, i));
            double error = fabs(bb_format_round(format, x) - x);
            double bound = x >= bb_format_smallest_normal(format)
                               ? bb_format_unit_roundoff(format) * x
                               : 0.5 * bb_format_smallest_subnormal(format);
            assert_true(error <= bound);
            if (format == BB_FORMAT_FP32) {
                assert_true(bb_format_round(format, x) == (double)(float)x);
            }
        }
    }
}

// Rounding floats in bulk, and decoding in bulk, give the bits of the scalar path.
TEST(bulk_paths_agree_with_the_scalar_one)
{
    enum { N = 4099 };
    float values[N], rounded[N], decoded[N];
    double wide[N];
    uint32_t words[N];
    for (int i = 0; i < N; ++i) {
        float power = ldexpf(1.0F, i % 290 - 150);
        values[i] = (float)bb_random_normal(3, BB_STREAM_SELF_TEST, (uint64_t)i) * power;
        wide[i] = values[i];
    }
    values[5] = -0.0F;
    wide[5] = -0.0;
    for (int f = BB_FORMAT_FP32; f < BB_FORMAT_COUNT; ++f) {
        bb_format format = (bb_format)f;
        bb_index over = bb_format_round_f32(format, values, N, rounded);
        assert_int_equal(bb_format_encode(format, wide, N, words), over);
        assert_int_equal(bb_format_narrow(format, wide, N, decoded), over);
        assert_memory_equal(rounded, decoded, sizeof rounded);
        bb_format_decode_f32(format, words, N, decoded);
        assert_memory_equal(rounded, decoded, sizeof rounded);
        for (int i = 0; i < N; ++i) {
            double expected = bb_format_round(format, wide[i]);
            assert_true((double)rounded[i] == expected);
            assert_int_equal(!!signbit(rounded[i]), !!signbit(expected));
        }
    }
}

// Against random samples: normal numbers well in range, among the subnormals and below all of them.
TEST(normal_errors_are_those_of_draws)
{
    enum { N = 200000 };
    static const struct {
        bb_format format;
        double deviation;
    } cases[] = {{BB_FORMAT_FP32, 3.0},  {BB_FORMAT_FP16, 1.0}, {BB_FORMAT_FP16, 1e-5},
                 {BB_FORMAT_BF16, 0.4},  {BB_FORMAT_E4M3, 1.3}, {BB_FORMAT_E4M3, 0.01},
                 {BB_FORMAT_E4M3, 1e-5}, {BB_FORMAT_E5M2, 70.0}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
        double square = 0.0;
        for (int i = 0; i < N; ++i) {
            const double value =
                cases[c].deviation * bb_random_normal(5, BB_STREAM_SELF_TEST, (uint64_t)i);
            const double error = bb_format_round(cases[c].format, value) - value;
            square += error * error / N;
        }
        check_relative(bb_format_normal_error(cases[c].format, cases[c].deviation), square, 0.03);
    }
    assert_true(bb_format_normal_error(BB_FORMAT_FP16, 0.0) == 0.0);
}

// Floats in runs longer than one pass, each scaled first, are the words of scaled doubles.
TEST(floats_encode_as_doubles_do)
{
    enum { COUNT = 1030 };
    static float values[COUNT];
    static double scaled[COUNT];
    static unsigned char found[COUNT * 4];
    static unsigned char expected[COUNT * 4];
    const bb_format formats[] = {BB_FORMAT_FP32, BB_FORMAT_BF16, BB_FORMAT_FP16, BB_FORMAT_E4M3};
    for (int i = 0; i < COUNT; ++i) {
        values[i] = (float)(i - 300) * 3.7F;
        scaled[i] = (double)values[i] * 0.5;
    }
    for (size_t f = 0; f < sizeof formats / sizeof *formats; ++f) {
        const bb_index over = bb_format_encode(formats[f], scaled, COUNT, expected);
        assert_int_equal(bb_format_encode_f32(formats[f], values, COUNT, 0.5, found), over);
        assert_memory_equal(found, expected,
                            (size_t)(COUNT * bb_format_describe(formats[f])->bytes));
    }
    assert_true(bb_format_encode_f32(BB_FORMAT_E4M3, values, COUNT, 0.5, found) > 0);
}
