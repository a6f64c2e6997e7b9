// SPDX-License-Identifier: Apache-2.0
#include "tests/precision/coded.h"

static bb_coded_matrix *encoded(const char *text, bb_row_scale scale, bb_index rows,
                                bb_index columns, double *values)
{
    const bb_codec_config config = codec_of(text);
    const bb_matrix_layout layout = {.rows = rows, .columns = columns};
    return coded_matrix(&config, scale, &layout, values);
}

static void same(const char *what, double value, double got, double expected)
{
    bool alike =
        isnan(expected) ? isnan(got) : got == expected && signbit(got) == signbit(expected);
    if (!alike) {
        print_error("%s: %a became %a, expected %a\n", what, value, got, expected);
        fail();
    }
}

// Every word's value, the midpoint to the next and its neighbours, both signs; words of 32 bits in
// steps. Values and words correspond, and a word has the same number of bits in either.
TEST(formats_are_special_cases)
{
    static const struct {
        const char *text;
        bb_format format;
        uint32_t words; // of one sign, including those that are not numbers
        uint32_t shift; // of a word to fp32's, where it has 32 bits
        bool overflows; // as the format does
    } cases[] = {
        {"float exponent=5 mantissa=10", BB_FORMAT_FP16, 1 << 15, 0, true},
        {"float exponent=8 mantissa=7 specials=ieee", BB_FORMAT_BF16, 1 << 15, 0, true},
        {"float exponent=8 mantissa=10", BB_FORMAT_TF32, 1 << 18, 13, true},
        {"float exponent=8 mantissa=23", BB_FORMAT_FP32, 1 << 15, 16, true},
        {"float exponent=4 mantissa=3 specials=finite", BB_FORMAT_E4M3, 1 << 7, 0, true},
        {"float exponent=5 mantissa=2", BB_FORMAT_E5M2, 1 << 7, 0, false},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
        const bb_format_info *info = bb_format_describe(cases[c].format);
        const bb_index count = 8 * (bb_index)cases[c].words;
        autofree double *values = new_array(double, count);
        autofree double *got = new_array(double, count);
        for (uint32_t w = 0; w < cases[c].words; ++w) {
            double pair[2];
            for (uint32_t k = 0; k < 2; ++k) {
                uint32_t word = (w + k) << cases[c].shift;
                bb_format_decode(cases[c].format, &word, 1, &pair[k]);
            }
            const double middle = pair[0] + 0.5 * (pair[1] - pair[0]);
            const double four[] = {pair[0], middle, middle * (1.0 + 0x1p-40),
                                   middle * (1.0 - 0x1p-40)};
            for (int k = 0; k < 4; ++k) {
                values[8 * w + 2 * k] = four[k];
                values[8 * w + 2 * k + 1] = -four[k];
            }
        }
        autoptr(bb_coded_matrix) matrix =
            encoded(cases[c].text, BB_ROW_SCALE_NONE, 1, count, values);
        bb_coded_matrix_decode(matrix, 0, 0, count, got);
        for (bb_index i = 0; i < count; ++i) {
            if (cases[c].overflows || fabs(values[i]) <= info->largest) {
                same(cases[c].text, values[i], got[i], bb_format_round(cases[c].format, values[i]));
            }
        }
    }
}

TEST(words_by_hand)
{
    // Finite e2m1: 0 0.5 1 1.5 2 3 4, and NaN; ieee: 4 is infinity.
    static const struct {
        const char *text;
        double value, expected;
    } cases[] = {
        {"float exponent=2 mantissa=1 specials=finite", 0.25, 0.0},
        {"float exponent=2 mantissa=1 specials=finite", -0.26, -0.5},
        {"float exponent=2 mantissa=1 specials=finite", 2.5, 2.0},
        {"float exponent=2 mantissa=1 specials=finite", 1e9, 4.0},
        {"float exponent=2 mantissa=1 specials=finite", -INFINITY, -4.0},
        {"float exponent=2 mantissa=1", 3.4, 3.0},
        {"float exponent=2 mantissa=1", 3.5, INFINITY},
        {"float exponent=2 mantissa=1 rounding=toward_zero", 1e9, 3.0},
        {"float exponent=2 mantissa=1 rounding=toward_zero", INFINITY, INFINITY},
        {"float exponent=2 mantissa=1 rounding=toward_zero", -0.99, -0.5},
        {"float exponent=2 mantissa=1 rounding=toward_zero", 0.49, 0.0},
        {"float exponent=2 mantissa=1 rounding=toward_zero", 1.99, 1.5},
        {"float exponent=3 mantissa=0 specials=finite", 5.9, 4.0},
        {"float exponent=3 mantissa=0 specials=finite", 6.1, 8.0},
        {"float exponent=3 mantissa=0 specials=finite", 100.0, 8.0},
        {"float exponent=3 mantissa=0 specials=finite rounding=toward_zero", -7.9, -4.0},
        {"float exponent=8 mantissa=2 specials=finite", 1e39, 0x1.cp127},
        {"float exponent=3 mantissa=4", -0.0, -0.0},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
        double values[3] = {0.0, cases[c].value, NAN};
        double got[3];
        float narrow[3];
        autoptr(bb_coded_matrix) matrix = encoded(cases[c].text, BB_ROW_SCALE_NONE, 1, 3, values);
        bb_coded_matrix_decode(matrix, 0, 0, 3, got);
        bb_coded_matrix_decode_f32(matrix, 0, 0, narrow);
        same(cases[c].text, cases[c].value, got[1], cases[c].expected);
        assert_true(got[0] == 0.0 && isnan(got[2]));
        assert_true((double)narrow[1] == got[1]);
    }
}

TEST(what_is_clipped_or_lost_is_counted)
{
    double values[] = {1e9, -1e9, INFINITY, 0.2, 0.0, 1.0};
    bb_coded_matrix *matrix =
        encoded("float exponent=2 mantissa=1 specials=finite", BB_ROW_SCALE_NONE, 1, 6, values);
    assert_int_equal(bb_coded_matrix_saturated(matrix), 3);
    assert_int_equal(bb_coded_matrix_underflowed(matrix), 1);
    bb_coded_matrix_destroy(&matrix);
    matrix = encoded("float exponent=2 mantissa=1", BB_ROW_SCALE_NONE, 1, 6, values);
    assert_int_equal(bb_coded_matrix_saturated(matrix), 0);
    bb_coded_matrix_destroy(&matrix);
    matrix = encoded("float exponent=2 mantissa=1 rounding=toward_zero", BB_ROW_SCALE_NONE, 1, 6,
                     values);
    assert_int_equal(bb_coded_matrix_saturated(matrix), 2);
    bb_coded_matrix_destroy(&matrix);
}

// The two neighbours, the upper one with the probability given by the distances: within five sigma.
TEST(stochastic_rounding_is_unbiased)
{
    enum { COUNT = 20001 };
    static double values[2 * COUNT], got[2 * COUNT], again[COUNT];
    static const struct {
        double value, below, above;
    } cases[] = {
        {1.0 + 0.3 * 0x1p-4, 1.0, 1.0 + 0x1p-4},
        {-(1.9375 + 0.75 * 0x1p-4), -1.9375, -2.0}, // into the next binade
        {0.1 * 0x1p-10, 0.0, 0x1p-10},              // of the subnormals
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
        int above = 0;
        int repeated = 0;
        fill_array(values, 2 * COUNT, i, i == 7 ? cases[c].above : cases[c].value);
        autoptr(bb_coded_matrix) matrix = encoded("float exponent=4 mantissa=4 rounding=stochastic",
                                                  BB_ROW_SCALE_NONE, 2, COUNT, values);
        bb_coded_matrix_decode(matrix, 0, 0, COUNT, got);
        bb_coded_matrix_decode(matrix, 1, 0, COUNT, got + COUNT);
        bb_coded_matrix_destroy(&matrix);
        assert_true(got[7] == cases[c].above);
        got[7] = cases[c].below;
        for (int i = 0; i < 2 * COUNT; ++i) {
            assert_true(got[i] == cases[c].below || got[i] == cases[c].above);
            above += got[i] == cases[c].above;
            repeated += i >= COUNT && got[i] == got[i - COUNT];
        }
        const double p = (cases[c].value - cases[c].below) / (cases[c].above - cases[c].below);
        const double n = 2.0 * COUNT - 1.0;
        assert_true(fabs(above - n * p) <= 5.0 * sqrt(n * p * (1.0 - p)));
        // Rows are independent.
        const double alike = p * p + (1.0 - p) * (1.0 - p);
        assert_true(fabs(repeated - COUNT * alike) <= 5.0 * sqrt(COUNT * alike));
        matrix = encoded("float exponent=4 mantissa=4 rounding=stochastic", BB_ROW_SCALE_NONE, 1,
                         COUNT, values);
        bb_coded_matrix_decode(matrix, 0, 0, COUNT, again);
        again[7] = cases[c].below;
        assert_memory_equal(again, got, sizeof again);
    }
}

TEST(bytes_are_the_bits_of_a_row)
{
    static double values[3 * 1237];
    for (bb_index exponent = 2; exponent <= 8; ++exponent) {
        for (bb_index mantissa = 0; mantissa <= 23; ++mantissa) {
            char text[80];
            const bb_index bits = 1 + exponent + mantissa;
            (void)snprintf(text, sizeof text, "float exponent=%td mantissa=%td specials=finite",
                           exponent, mantissa);
            const bb_codec_config config = codec_of(text);
            autoptr(bb_coded_matrix) matrix = encoded(text, BB_ROW_SCALE_NONE, 3, 1237, values);
            assert_int_equal(bb_coded_matrix_bytes(matrix), 3 * ((1237 * bits + 7) / 8));
            assert_true(bb_codec_bits_per_value(&config) == (double)bits);
            assert_true(bb_codec_draw_range(&config).most == 2.0);
        }
    }
}

// A scaled row fills the format's range without exceeding it, with fp16's and e4m3's own scale and
// words where the formats coincide: one more bit is never worse.
TEST(scaled_rows_are_those_of_the_formats)
{
    static const struct {
        const char *text;
        bb_format format;
    } cases[] = {{"float exponent=5 mantissa=10 specials=ieee", BB_FORMAT_FP16},
                 {"float exponent=4 mantissa=3 specials=finite", BB_FORMAT_E4M3},
                 {"float exponent=8 mantissa=7 specials=ieee", BB_FORMAT_BF16}};
    double values[64];
    fill_array(values, 64, i, 3e-12 / (1.0 + i * i));
    const bb_matrix_layout layout = {.rows = 1, .columns = 64};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
        const bb_codec_config plain = bb_codec_plain(cases[c].format);
        double got[64];
        double known[64];
        autoptr(bb_coded_matrix) matrix = encoded(cases[c].text, BB_ROW_SCALE_ROW, 1, 64, values);
        autoptr(bb_coded_matrix) expected = coded_matrix(&plain, BB_ROW_SCALE_ROW, &layout, values);
        assert_true(bb_coded_matrix_row_scale(matrix, 0) == bb_coded_matrix_row_scale(expected, 0));
        bb_coded_matrix_decode(matrix, 0, 0, 64, got);
        bb_coded_matrix_decode(expected, 0, 0, 64, known);
        assert_memory_equal(got, known, sizeof got);
    }
}

TEST(more_bits_are_never_worse)
{
    double values[64];
    double last = INFINITY;
    fill_array(values, 64, i, 3e-12 / (1.0 + i * i));
    for (int mantissa = 6; mantissa <= 20; ++mantissa) {
        char text[64];
        double got[64];
        double worst = 0.0;
        (void)snprintf(text, sizeof text, "float exponent=3 mantissa=%d", mantissa);
        autoptr(bb_coded_matrix) matrix = encoded(text, BB_ROW_SCALE_ROW, 1, 64, values);
        bb_coded_matrix_decode(matrix, 0, 0, 64, got);
        for (int i = 0; i < 64; ++i) {
            worst = fmax(worst, fabs(got[i] / bb_coded_matrix_row_scale(matrix, 0) - values[i]));
        }
        assert_true(worst <= last);
        last = worst;
    }
}

TEST(scaled_rows_keep_their_bits)
{
    static const char *const texts[] = {"float exponent=3 mantissa=4",
                                        "float exponent=5 mantissa=10",
                                        "float exponent=8 mantissa=12"};
    for (int c = 0; c < 3; ++c) {
        double values[64];
        double got[64];
        fill_array(values, 64, i, 1e-12 * (1.0 + 0.01 * i));
        const bb_codec_config config = codec_of(texts[c]);
        autoptr(bb_coded_matrix) matrix = encoded(texts[c], BB_ROW_SCALE_ROW, 1, 64, values);
        const double scale = bb_coded_matrix_row_scale(matrix, 0);
        bb_coded_matrix_decode(matrix, 0, 0, 64, got);
        for (int i = 0; i < 64; ++i) {
            const double scaled = scale * values[i];
            assert_true(fabs(got[i] - scaled) <= bb_codec_bound(&config, NAN, scaled, scaled));
            assert_true(fabs(got[i] / scale - values[i]) <= 0x1p-5 * values[i]);
        }
    }
}

TEST(keys_are_checked)
{
    char text[200];
    static const struct {
        const char *config, *sentence;
    } cases[] = {
        {"float mantissa=3", "exponent: not given, float needs it"},
        {"float exponent=4", "mantissa: not given, float needs it"},
        {"float exponent=9 mantissa=3", "exponent: 9, expected 2 to 8"},
        {"float exponent=4 mantissa=0", "mantissa: 0, specials ieee needs"},
        {"float exponent=4 mantissa=3 rounding=diffused",
         "rounding: diffused, codec float accepts nearest, toward_zero, stochastic, sweep"},
        {"fp16 rounding=stochastic",
         "rounding: stochastic, codec fp16 accepts nearest, diffused, sweep"},
        {"fp16 exponent=5", "exponent: not a parameter of codec fp16"},
        {"float exponent=4 mantissa=3 bits=8", "bits: not a parameter of codec float"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
        const bb_codec_config config = codec_of(cases[c].config);
        assert_false(bb_codec_check(&config, BB_ROW_SCALE_NONE, text, sizeof text));
        if (strstr(text, cases[c].sentence) == NULL) {
            print_error("%s: '%s'\n", cases[c].config, text);
            fail();
        }
    }
    const bb_codec_config config = codec_of("float exponent=4 mantissa=3 specials=finite "
                                            "rounding=stochastic");
    assert_true(bb_codec_check(&config, BB_ROW_SCALE_ROW, text, sizeof text));
    bb_codec_describe(&config, text, sizeof text);
    assert_string_equal(text, "float e4m3 finite, stochastic");
    assert_string_equal(bb_codec_rounding(&config), "stochastic");
}
