// SPDX-License-Identifier: Apache-2.0
#include "tests/precision/codecs/mx_tables.h"
#include "tests/precision/coded.h"

enum { COLUMNS = 32 };

static bb_coded_matrix *encoded(const char *text, bb_index rows, bb_index columns,
                                const double *values)
{
    const bb_codec_config config = codec_of(text);
    const bb_matrix_layout layout = {.rows = rows, .columns = columns};
    return coded_matrix(&config, BB_ROW_SCALE_NONE, &layout, values);
}

// Also compares the signs of zeros.
static void check_same(const char *what, const double *got, const double *expected, int count)
{
    for (int i = 0; i < count; ++i) {
        if (got[i] != expected[i] || signbit(got[i]) != signbit(expected[i])) {
            print_error("%s, value %d: %a, expected %a\n", what, i, got[i], expected[i]);
            fail();
        }
    }
}

enum { NVFP4_COLUMNS = 16 };

static const struct {
    const char *text;
    int block_columns, sign_bit; // no sign bit: int8
    const mx_block *blocks;
    int mantissa_bits, bias;
    int count; // of codes without the sign
} formats[] = {
    {"mx element=e4m3", COLUMNS, 0x80, mx_blocks_e4m3, 3, 7, 127},
    {"mx element=e5m2", COLUMNS, 0x80, mx_blocks_e5m2, 2, 15, 124},
    {"mx element=e3m2", COLUMNS, 0x20, mx_blocks_e3m2, 2, 3, 32},
    {"mx element=e2m3 block_scale=e8m0", COLUMNS, 0x20, mx_blocks_e2m3, 3, 1, 32},
    {"mx element=e2m1", COLUMNS, 0x08, mx_blocks_e2m1, 1, 1, 8},
    {"mx element=e2m1 block_scale=nvfp4", NVFP4_COLUMNS, 0x08, mx_blocks_nvfp4, 1, 1, 8},
    {"mx element=int8", COLUMNS, 0, mx_blocks_int8, 0, 0, 0},
};
enum { FORMATS = sizeof formats / sizeof *formats, INT8 = FORMATS - 1 };

// Value of a code without the sign; exponent 0 has subnormals (OCP MX specification 5.3).
static double value_of(int f, int code)
{
    const int bits = formats[f].mantissa_bits;
    const int exponent = code >> bits;
    const int mantissa = code % (1 << bits) + (exponent > 0 ? 1 << bits : 0);
    return ldexp(mantissa, (exponent > 0 ? exponent : 1) - formats[f].bias - bits);
}

// Value of an element in the reference's row of blocks.
static double reference(int f, bb_index row, int column)
{
    unsigned code;
    const int index = (int)row * COLUMNS + column;
    const mx_block *block = &formats[f].blocks[index / formats[f].block_columns];
    assert_int_equal(sscanf(block->codes + 2 * (index % formats[f].block_columns), "%2x", &code),
                     1);
    if (f == INT8) {
        return (int8_t)code * block->scale;
    }
    const unsigned sign = code & (unsigned)formats[f].sign_bit;
    assert_in_range(code - sign, 0, formats[f].count - 1);
    const double value = value_of(f, (int)(code - sign)) * block->scale;
    return (float)(sign != 0 ? -value : value); // nvfp4 rounds to fp32, others are exact
}

TEST(blocks_are_those_of_ml_dtypes)
{
    for (int f = 0; f < FORMATS; ++f) {
        autoptr(bb_coded_matrix) matrix = encoded(formats[f].text, MX_BLOCKS, COLUMNS, mx_inputs);
        for (bb_index row = 0; row < MX_BLOCKS; ++row) {
            double got[COLUMNS];
            double expected[COLUMNS];
            bb_coded_matrix_decode(matrix, row, 0, COLUMNS, got);
            fill_array(expected, COLUMNS, i, reference(f, row, i));
            check_same(formats[f].text, got, expected, COLUMNS);
        }
    }
}

// With the largest one in their block the scale is 1, and every value of an element is exact.
TEST(every_value_of_an_element_is_held)
{
    for (int f = 0; f < FORMATS; ++f) {
        const int count = formats[f].block_columns == COLUMNS ? formats[f].count : 0;
        for (int begin = 0; begin < 2 * count; begin += COLUMNS - 1) {
            double values[COLUMNS] = {value_of(f, count - 1)};
            double got[COLUMNS];
            for (int i = 1; i < COLUMNS && begin + i - 1 < 2 * count; ++i) {
                const int k = begin + i - 1;
                values[i] = k < count ? value_of(f, k) : -value_of(f, k - count);
            }
            autoptr(bb_coded_matrix) matrix = encoded(formats[f].text, 1, COLUMNS, values);
            bb_coded_matrix_decode(matrix, 0, 0, COLUMNS, got);
            check_same(formats[f].text, got, values, COLUMNS);
            assert_int_equal(bb_coded_matrix_saturated(matrix), 0);
        }
    }
}

TEST(blocks_by_hand)
{
    static const struct {
        const char *text;
        double block_largest, value, expected;
    } cases[] = {
        {"mx element=e4m3", 1.0, 0.3, 0.3125},                        // 2^-8: 76.8 is 80
        {"mx element=e4m3", 1.9, 1.9, 1.75},                          // 486 saturates
        {"mx element=e5m2", 1.0, 0.3, 0.3125},                        // 2^-15: 9830 is 10240
        {"mx element=e3m2", 1.0, 0.3, 0.3125},                        // 2^-4: 4.8 is 5
        {"mx element=e2m3", 1.0, 0.3, 0.3125},                        // 2^-2: 1.2 is 1.25
        {"mx element=e2m1", 1.0, 0.3, 0.25},                          // 2^-2: 1.2 is 1
        {"mx element=e2m1", 1.0, 0.0625, 0.0},                        // 0.25 ties to 0
        {"mx element=int8", 1.0, 0.3, 19.0 / 64.0},                   // 19.2
        {"mx element=int8", -1.999, -1.999, -127.0 / 64.0},           // -127.9 saturates
        {"mx element=e2m1 block_scale=nvfp4", 2688.0, 5.0, 0.0},      // below 0.25 x 448
        {"mx element=e2m1 block_scale=nvfp4", 2688.0, 1000.0, 896.0}, // 2.23 is 2
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
        double values[COLUMNS] = {cases[c].block_largest, cases[c].value};
        double got[2];
        float narrow[COLUMNS];
        autoptr(bb_coded_matrix) matrix = encoded(cases[c].text, 1, COLUMNS, values);
        bb_coded_matrix_decode(matrix, 0, 0, 2, got);
        bb_coded_matrix_decode_f32(matrix, 0, 0, narrow);
        check_close(got[1], cases[c].expected, 0.0, 1.0);
        assert_true((double)narrow[1] == got[1]);
    }
}

// Another block of the row has its own scale: r = 1, b = 2, 5 / 2 ties to 2.
TEST(nvfp4_scales_blocks_of_16)
{
    double values[COLUMNS] = {2688.0};
    double got[COLUMNS];
    values[16] = 12.0;
    values[17] = 5.0;
    values[18] = -7.1;
    autoptr(bb_coded_matrix) matrix =
        encoded("mx element=e2m1 block_scale=nvfp4", 1, COLUMNS, values);
    bb_coded_matrix_decode(matrix, 0, 0, COLUMNS, got);
    values[17] = 4.0;
    values[18] = -8.0;
    check_same("nvfp4", got, values, COLUMNS);
}

TEST(bytes_are_elements_and_scales)
{
    static const struct {
        const char *text;
        bb_index row_bytes;
        double bits;
    } cases[] = {
        {"mx element=e4m3", 2 * 32 + 2, 8.25},
        {"mx element=int8", 2 * 32 + 2, 8.25},
        {"mx element=e3m2", 2 * 24 + 2, 6.25},
        {"mx element=e2m1", 2 * 16 + 2, 4.25},
        {"mx element=e2m1 block_scale=nvfp4", 2 * 16 + 4 + 4, 4.5},
    };
    static const double values[3 * 40];
    for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
        const bb_codec_config config = codec_of(cases[c].text);
        autoptr(bb_coded_matrix) matrix = encoded(cases[c].text, 3, 40, values);
        assert_int_equal(bb_coded_matrix_bytes(matrix), 3 * cases[c].row_bytes);
        assert_true(bb_codec_bits_per_value(&config) == cases[c].bits);
        const bool follows =
            strstr(cases[c].text, "nvfp4") != NULL; // per row, so that none differs
        assert_true(bb_codec_draw_range(&config).most == (follows ? 1.0 : 2.0));
    }
}

// An unrepresentable value only poisons its own block: 32 columns, 16 for nvfp4.
TEST(a_block_that_is_not_held_is_nan)
{
    static const char *const texts[] = {"mx element=e5m2", "mx element=int8",
                                        "mx element=e2m1 block_scale=nvfp4"};
    const double plants[] = {NAN, INFINITY, -0x1p128};
    for (int c = 0; c < 9; ++c) {
        const bool nv = c % 3 == 2;
        double values[2 * COLUMNS];
        double got[2 * COLUMNS];
        fill_array(values, 2 * COLUMNS, i, 1.0 + i % 2);
        values[COLUMNS + 20] = plants[c / 3];
        autoptr(bb_coded_matrix) matrix = encoded(texts[c % 3], 1, 2 * COLUMNS, values);
        bb_coded_matrix_decode(matrix, 0, 0, 2 * COLUMNS, got);
        for (int i = 0; i < 2 * COLUMNS; ++i) {
            assert_true(isnan(got[i]) == (i >= COLUMNS + (nv ? 16 : 0)));
        }
        assert_int_equal(bb_coded_matrix_non_finite(matrix), 1);
    }
}

TEST(what_is_lost_is_counted)
{
    double values[COLUMNS] = {1.9, 1.9, -1.9, 1e-9, 0.0, -0.0};
    autoptr(bb_coded_matrix) matrix = encoded("mx element=e4m3", 1, COLUMNS, values);
    assert_int_equal(bb_coded_matrix_saturated(matrix), 3);
    assert_int_equal(bb_coded_matrix_underflowed(matrix), 1);
}

// The smallest scale is 2^-127, below fp32's normal numbers: still exact.
TEST(the_smallest_scale_is_held)
{
    double values[COLUMNS] = {0x1.8p-126, -0x1p-128, 0x1p-130};
    double got[COLUMNS];
    autoptr(bb_coded_matrix) matrix = encoded("mx element=e2m1", 1, COLUMNS, values);
    bb_coded_matrix_decode(matrix, 0, 0, COLUMNS, got);
    values[2] = 0.0; // 2^-3 of the scale ties to 0
    check_same("e2m1", got, values, COLUMNS);
}

TEST(keys_are_checked)
{
    char text[200];
    static const struct {
        const char *config, *sentence;
    } cases[] = {
        {"mx", "element: not given, mx needs"},
        {"mx element=e4m3 block_scale=nvfp4", "element: e4m3, block_scale nvfp4 needs e2m1"},
        {"mx element=e4m3 bits=8", "bits: not a parameter of codec mx"},
        {"bfp bits=8 element=e4m3", "element: not a parameter of codec bfp"},
        {"fp16 block_scale=e8m0", "block_scale: not a parameter of codec fp16"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
        const bb_codec_config config = codec_of(cases[c].config);
        assert_false(bb_codec_check(&config, BB_ROW_SCALE_NONE, text, sizeof text));
        assert_non_null(strstr(text, cases[c].sentence));
    }
    const bb_codec_config nv = codec_of("mx element=e2m1 block_scale=nvfp4");
    assert_true(bb_codec_check(&nv, BB_ROW_SCALE_ROW, text, sizeof text));
    bb_codec_describe(&nv, text, sizeof text);
    assert_string_equal(text, "nvfp4");
    const bb_codec_config e3m2 = codec_of("mx element=e3m2");
    bb_codec_describe(&e3m2, text, sizeof text);
    assert_string_equal(text, "mx e3m2");
}
