// SPDX-License-Identifier: Apache-2.0
#include "core/random.h"
#include "precision/codec.h"
#include "tests/check.h"

enum { ROWS = 3, COLUMNS = 1237 };

// Rows in m/K-like units, far below fp16's range: only scaling makes them representable.
static void fill(double *values)
{
    for (bb_index i = 0; i < (bb_index)ROWS * COLUMNS; ++i) {
        values[i] = 1e-10 * bb_random_normal(5, BB_STREAM_SELF_TEST, (uint64_t)i);
    }
    values[COLUMNS + 4] = 0.0;
}

static bb_coded_matrix *encoded(int codec, bb_row_scale scale, double *values)
{
    bb_coded_matrix *matrix = NULL;
    bb_codec_config config = bb_codec_plain((bb_format)codec);
    bb_matrix_layout layout = {.rows = ROWS, .columns = COLUMNS};
    check_ok(bb_coded_matrix_create(&config, scale, &layout, &matrix));
    check_ok(bb_coded_matrix_encode(matrix, 0, bb_view_matrix(values, 1, COLUMNS)));
    check_ok(bb_coded_matrix_encode(matrix, 1, bb_view_matrix(values + COLUMNS, 2, COLUMNS)));
    return matrix;
}

static void scaled_rows_keep_the_declared_bound(void **state)
{
    (void)state;
    static double values[ROWS * COLUMNS], back[COLUMNS];
    fill(values);
    for (int codec = 0; codec < (int)BB_FORMAT_COUNT; ++codec) {
        bb_coded_matrix *matrix = encoded(codec, BB_ROW_SCALE_ROW, values);
        bb_format format = bb_coded_matrix_format(matrix);
        assert_string_equal(bb_codec_names[codec], bb_format_describe(format)->name);
        assert_int_equal(bb_coded_matrix_saturated(matrix), 0);
        for (bb_index row = 0; row < ROWS; ++row) {
            double scale = bb_coded_matrix_row_scale(matrix, row);
            bb_coded_matrix_decode(matrix, row, 0, COLUMNS, back);
            for (bb_index j = 0; j < COLUMNS; ++j) {
                double x = values[row * COLUMNS + j];
                double bound = fmax(bb_format_unit_roundoff(format) * fabs(x),
                                    0.5 * bb_format_smallest_subnormal(format) / scale);
                assert_true(fabs(back[j] / scale - x) <= bound);
            }
        }
        bb_coded_matrix_destroy(&matrix);
        assert_null(matrix);
    }
}

static void unscaled_fp16_underflows_entirely(void **state)
{
    (void)state;
    static double values[ROWS * COLUMNS];
    double back = 1.0;
    fill(values);
    bb_coded_matrix *matrix = encoded(BB_FORMAT_FP16, BB_ROW_SCALE_NONE, values);
    bb_coded_matrix_decode(matrix, 2, 7, 1, &back);
    assert_true(back == 0.0);
    assert_int_equal(bb_coded_matrix_underflowed(matrix), ROWS * COLUMNS - 1); // one is zero
    bb_coded_matrix_destroy(&matrix);
}

static void bytes_count_words_and_scales(void **state)
{
    (void)state;
    bb_coded_matrix *matrix = NULL;
    bb_codec_config config = bb_codec_plain(BB_FORMAT_E4M3);
    bb_matrix_layout layout = {.rows = 10, .columns = 100};
    check_ok(bb_coded_matrix_create(&config, BB_ROW_SCALE_ROW, &layout, &matrix));
    assert_int_equal(bb_coded_matrix_bytes(matrix), 10 * 100 + 10 * 8);
    bb_coded_matrix_destroy(&matrix);
    check_ok(bb_coded_matrix_create(&config, BB_ROW_SCALE_NONE, &layout, &matrix));
    assert_int_equal(bb_coded_matrix_bytes(matrix), 1000);
    bb_coded_matrix_destroy(&matrix);
}

static void panels_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    double values[8] = {0};
    bb_coded_matrix *matrix = NULL;
    bb_codec_config config = bb_codec_plain(BB_FORMAT_FP32);
    bb_matrix_layout none = {.rows = 0, .columns = 4};
    bb_matrix_layout layout = {.rows = 2, .columns = 4};
    check_fails(bb_coded_matrix_create(&config, BB_ROW_SCALE_NONE, &none, &matrix), BB_INVALID,
                "coded matrix of 0 x 4");
    check_ok(bb_coded_matrix_create(&config, BB_ROW_SCALE_NONE, &layout, &matrix));
    check_fails(bb_coded_matrix_encode(matrix, 1, bb_view_matrix(values, 2, 4)), BB_INVALID,
                "panel 2 x 4 at row 1 does not fit");
    bb_coded_matrix_destroy(&matrix);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scaled_rows_keep_the_declared_bound),
        cmocka_unit_test(unscaled_fp16_underflows_entirely),
        cmocka_unit_test(bytes_count_words_and_scales),
        cmocka_unit_test(panels_that_do_not_fit_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
