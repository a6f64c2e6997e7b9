// SPDX-License-Identifier: Apache-2.0
#include "core/random.h"
#include "tests/precision/coded.h"

static bb_coded_matrix *encoded(double tolerance, double *values, bb_index rows, bb_index columns)
{
    bb_codec_config config = bb_codec_plain(BB_FORMAT_FP64);
    bb_matrix_layout layout = {.rows = rows, .columns = columns};
    config.codec = bb_codec_find("quantiser");
    config.tolerance = tolerance;
    return coded_matrix(&config, BB_ROW_SCALE_NONE, &layout, values);
}

// Every width from 0 to 32, in both directions: integer multiples of the step are exact.
TEST(every_width_round_trips)
{
    enum { WIDTHS = 33 };
    static double values[WIDTHS * 32], back[WIDTHS * 32];
    size_t words = 0;
    for (int width = 0; width < WIDTHS; ++width) {
        double top = width == 0 ? 0.0 : ldexp(1.0, width - 1) - 1.0;
        for (int i = 0; i < 32; ++i) {
            double u = bb_random_uniform(1, BB_STREAM_SELF_TEST, (uint64_t)(32 * width + i));
            values[32 * width + i] = width == 0 ? 0.0 : rint((2.0 * u - 1.0) * top);
        }
        values[32 * width + 7] = width <= 1 ? -(double)width : -top;
        values[32 * width + 21] = top;
        words += (size_t)width;
    }
    autoptr(bb_coded_matrix) matrix = encoded(0.5, values, 1, WIDTHS * 32);
    bb_coded_matrix_decode(matrix, 0, 0, WIDTHS * 32, back);
    check_all_close(back, values, WIDTHS * 32, 0.0, 1.0);
    // Words, a byte per block, two runs in the index, the row's offset.
    assert_int_equal(bb_coded_matrix_bytes(matrix), 4 * words + WIDTHS + 2 * 4 + 8);
}

TEST(zero_blocks_cost_a_byte)
{
    static double values[256000];
    autoptr(bb_coded_matrix) matrix = NULL;
    fill_array(values, 256000, i, 0.99e-12 * (i % 2 == 0 ? 1.0 : -1.0));
    matrix = encoded(1e-12, values, 1, 256000);
    assert_int_equal(bb_coded_matrix_bytes(matrix), 8000 + 250 * 4 + 8);
}

TEST(what_does_not_fit_is_raw_or_poisoned)
{
    double values[96] = {0.0};
    double back[96];
    values[0] = 1e7; // 5e9 steps
    values[1] = 0.1;
    values[40] = NAN;
    values[41] = 1.0;
    values[64] = 1.0;
    values[65] = 1e39; // beyond fp32
    values[66] = -INFINITY;
    autoptr(bb_coded_matrix) matrix = encoded(1e-3, values, 1, 96);
    bb_coded_matrix_decode(matrix, 0, 0, 96, back);
    assert_true(back[0] == 1e7 && back[1] == (double)0.1F && back[2] == 0.0);
    for (int i = 32; i < 96; ++i) {
        assert_true(isnan(back[i]));
    }
    assert_int_equal(bb_coded_matrix_non_finite(matrix), 3);
    assert_int_equal(bb_coded_matrix_bytes(matrix), 32 * 4 + 3 + 4 + 8);
}

TEST(tolerance_of_range_is_made_absolute)
{
    bb_codec_config config = bb_codec_plain(BB_FORMAT_FP64);
    bb_matrix_layout layout = {.rows = 1, .columns = 64, .range = 2e-8};
    config.codec = bb_codec_find("quantiser");
    config.tolerance_of_range = 1e-4;
    bb_coded_matrix *matrix = new_object(bb_coded_matrix, &config, BB_ROW_SCALE_NONE, &layout);
    char sentence[128];
    const bb_codec_config *resolved = bb_coded_matrix_config(matrix);
    check_relative(resolved->tolerance, 2e-12, 1e-15);
    assert_true(resolved->block == 32 && isnan(resolved->tolerance_of_range));
    assert_true(bb_codec_check(resolved, BB_ROW_SCALE_NONE, sentence, sizeof sentence));
    bb_coded_matrix_destroy(&matrix);
    layout.range = 0.0;
    check_fails(
        bb_coded_matrix_create(&config, BB_ROW_SCALE_NONE, &layout, &matrix), BB_INVALID,
        "tolerance_of_range 0.0001 of a matrix of range 0 is a tolerance of 0: quantiser supports");
}
