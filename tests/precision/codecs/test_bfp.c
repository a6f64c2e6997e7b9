// SPDX-License-Identifier: Apache-2.0
#include "core/random.h"
#include "precision/codecs/bfp_core.h"
#include "tests/precision/coded.h"

enum { COLUMNS = 1237 };

static double values[COLUMNS], back[COLUMNS];

static bb_coded_matrix *encoded(int bits, bb_row_scale scale, double *source, bb_index columns)
{
    bb_codec_config config = bb_codec_plain(BB_FORMAT_FP64);
    bb_matrix_layout layout = {.rows = 1, .columns = columns};
    config.codec = bb_codec_find("bfp");
    config.bits = bits;
    return coded_matrix(&config, scale, &layout, source);
}

// The shared scalar functions decode the codec's words; the rule for the exponent is checked
// against its definition.
TEST(rows_have_the_documented_layout)
{
    for (int bits = BB_BFP_LEAST_BITS; bits <= BB_BFP_MOST_BITS; ++bits) {
        for (bb_index j = 0; j < COLUMNS; ++j) {
            double u = bb_random_normal(2, BB_STREAM_SELF_TEST, (uint64_t)j);
            values[j] = u * ldexp(1.0, (int)(j / 32 % 40) * 5 - 100);
        }
        autoptr(bb_coded_matrix) matrix = encoded(bits, BB_ROW_SCALE_NONE, values, COLUMNS);
        bb_bfp_layout layout = bb_bfp_layout_of(bits, COLUMNS);
        const unsigned char *row = bb_coded_matrix_bfp_row(matrix, 0);
        assert_int_equal((uintptr_t)row % 64, 0);
        assert_int_equal(layout.bytes, bb_coded_matrix_bytes(matrix));
        bb_coded_matrix_decode(matrix, 0, 0, COLUMNS, back);
        for (bb_index j = 0; j < COLUMNS; ++j) {
            double unit = (double)bb_bfp_unit(&layout, row, j / 32);
            int32_t mantissa = bb_bfp_mantissa(&layout, row, j / 32, (int)(j % 32));
            assert_true(back[j] == mantissa * unit);
            assert_int_equal(mantissa, (int)rint(values[j] / unit)); // ties to even
        }
        for (bb_index b = 0; b < layout.blocks; ++b) {
            double maximum = 0.0;
            double unit = (double)bb_bfp_unit(&layout, row, b);
            for (bb_index j = 32 * b; j < 32 * b + 32 && j < COLUMNS; ++j) {
                maximum = fmax(maximum, fabs(values[j]));
            }
            double limit = ldexp(1.0, bits - 1) - 1.0;
            assert_true(rint(maximum / unit) <= limit && rint(2.0 * maximum / unit) > limit);
        }
    }
}

TEST(planes_stand_where_the_header_says)
{
    // 13 bits = 8 + 4 + 1; values 0..31 times 2^7 + 1, so all fields differ.
    fill_array(values, 32, i, i * 130 + 1);
    autoptr(bb_coded_matrix) matrix = encoded(13, BB_ROW_SCALE_NONE, values, 32);
    const unsigned char *row = bb_coded_matrix_bfp_row(matrix, 0);
    assert_int_equal((signed char)row[192], 0); // exponents after planes of 32, 16 and 4 bytes
    for (int i = 0; i < 32; ++i) {
        int m = i * 130 + 1;
        assert_int_equal(row[i], m >> 5);
        assert_int_equal(row[64 + i % 16] >> (4 * (i / 16)) & 15, m >> 1 & 15);
        assert_int_equal(row[128 + i % 4] >> (i / 4) & 1, m & 1);
    }
}

TEST(bits_per_value_are_known)
{
    bb_codec_config config = bb_codec_plain(BB_FORMAT_FP64);
    bb_matrix_layout layout = {.rows = 3, .columns = 256000};
    bb_coded_matrix *matrix = NULL;
    config.codec = bb_codec_find("bfp");
    for (int bits = BB_BFP_LEAST_BITS; bits <= BB_BFP_MOST_BITS; ++bits) {
        config.bits = bits;
        assert_true(bb_codec_bits_per_value(&config) == bits + 0.25);
        check_ok(bb_coded_matrix_create(&config, BB_ROW_SCALE_NONE, &layout, &matrix));
        assert_true(8.0 * (double)bb_coded_matrix_bytes(matrix) == 768000.0 * (bits + 0.25));
        bb_coded_matrix_destroy(&matrix);
    }
}

TEST(largest_magnitudes_never_saturate)
{
    // 1.9999 rounds up past 127 units of 2^-6 in 8 bits: the unit doubles.
    double block[2][32] = {{1.9999, -1.0}, {127.0 / 64.0, -1.0}};
    const double units[2] = {0x1p-5, 0x1p-6};
    for (int k = 0; k < 2; ++k) {
        autoptr(bb_coded_matrix) matrix = encoded(8, BB_ROW_SCALE_NONE, block[k], 32);
        bb_bfp_layout layout = bb_bfp_layout_of(8, 32);
        assert_true(bb_bfp_unit(&layout, bb_coded_matrix_bfp_row(matrix, 0), 0) == (float)units[k]);
        assert_true(bb_codec_bound(bb_coded_matrix_config(matrix), NAN, 1.0, block[k][0]) ==
                    0.5 * units[k]);
    }
}

// If the largest magnitude just doubles the unit, half of the unit is 2^(1-bits) M / (1 - 2^-bits),
// the full error of a value between two multiples: more than 2^(1-bits) M.
TEST(the_bound_of_a_block_is_reached)
{
    for (int bits = BB_BFP_LEAST_BITS; bits <= BB_BFP_MOST_BITS; ++bits) {
        const double maximum = 2.0 * (1.0 - ldexp(1.0, -bits));
        double block[32] = {maximum, ldexp(1.0, 2 - bits)};
        double decoded[32];
        autoptr(bb_coded_matrix) matrix = encoded(bits, BB_ROW_SCALE_NONE, block, 32);
        bb_coded_matrix_decode(matrix, 0, 0, 32, decoded);
        double error = 0.0;
        for (int i = 0; i < 32; ++i) {
            error = fmax(error, fabs(decoded[i] - block[i]));
        }
        const double bound = ldexp(maximum, 1 - bits) / (1.0 - ldexp(1.0, -bits));
        assert_true(error > ldexp(maximum, 1 - bits) && error <= bound && error == bound);
        assert_true(bb_codec_bound(bb_coded_matrix_config(matrix), NAN, block[1], maximum) ==
                    bound);
    }
}

TEST(what_cannot_be_held_is_counted)
{
    double block[96] = {0.0};
    block[3] = NAN;
    block[4] = -INFINITY;
    block[5] = 1.0;
    block[32] = 0x1p128;
    block[33] = 1e300;
    block[34] = 1.0;
    block[64] = 0x1p-122; // its unit would be 2^-128: 2^-126
    block[65] = 0x1p-128;
    block[66] = -0x1p-127; // half a unit: to even, zero
    autoptr(bb_coded_matrix) matrix = encoded(8, BB_ROW_SCALE_NONE, block, 96);
    assert_int_equal(bb_coded_matrix_non_finite(matrix), 4);
    assert_int_equal(bb_coded_matrix_underflowed(matrix), 2);
    assert_int_equal(bb_coded_matrix_saturated(matrix), 0);
    bb_coded_matrix_decode(matrix, 0, 0, 96, back);
    check_all_nan(back, 64);
    assert_true(back[64] == 0x1p-122 && back[65] == 0.0 && back[66] == 0.0);
}

TEST(row_scales_reach_the_exponents)
{
    double block[32] = {3e-200, -1e-201};
    autoptr(bb_coded_matrix) matrix = encoded(8, BB_ROW_SCALE_ROW, block, 32);
    double scale = bb_coded_matrix_row_scale(matrix, 0);
    bb_coded_matrix_decode(matrix, 0, 0, 32, back);
    assert_int_equal(bb_coded_matrix_underflowed(matrix), 0);
    check_relative(back[0] / scale, 3e-200, 0x1p-7);
    assert_int_equal(bb_coded_matrix_bytes(matrix), 64 + 64 + 8);
}
