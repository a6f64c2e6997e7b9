// SPDX-License-Identifier: Apache-2.0
#include "core/random.h"
#include "precision/codec_row.h"
#include "tests/precision/coded.h"

#include <zfp.h>

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
    bb_codec_config config = bb_codec_plain((bb_format)codec);
    bb_matrix_layout layout = {.rows = ROWS, .columns = COLUMNS};
    bb_coded_matrix *matrix = new_object(bb_coded_matrix, &config, scale, &layout);
    check_ok(bb_coded_matrix_encode(matrix, 0, bb_view_matrix(values, 1, COLUMNS)));
    check_ok(bb_coded_matrix_encode(matrix, 1, bb_view_matrix(values + COLUMNS, 2, COLUMNS)));
    return matrix;
}

TEST(scaled_rows_keep_the_declared_bound)
{
    static double values[ROWS * COLUMNS], back[COLUMNS];
    fill(values);
    for (int codec = 0; codec < (int)BB_FORMAT_COUNT; ++codec) {
        bb_coded_matrix *matrix = encoded(codec, BB_ROW_SCALE_ROW, values);
        bb_format format = bb_coded_matrix_format(matrix);
        assert_string_equal(bb_codec_name(codec), bb_format_describe(format)->name);
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

TEST(unscaled_fp16_underflows_entirely)
{
    static double values[ROWS * COLUMNS];
    double back = 1.0;
    fill(values);
    autoptr(bb_coded_matrix) matrix = encoded(BB_FORMAT_FP16, BB_ROW_SCALE_NONE, values);
    bb_coded_matrix_decode(matrix, 2, 7, 1, &back);
    assert_true(back == 0.0);
    assert_int_equal(bb_coded_matrix_underflowed(matrix), ROWS * COLUMNS - 1); // one is zero
}

TEST(bytes_count_words_and_scales)
{
    bb_codec_config config = bb_codec_plain(BB_FORMAT_E4M3);
    bb_matrix_layout layout = {.rows = 10, .columns = 100};
    autoptr(bb_coded_matrix) matrix =
        new_object(bb_coded_matrix, &config, BB_ROW_SCALE_ROW, &layout);
    assert_int_equal(bb_coded_matrix_bytes(matrix), 10 * 100 + 10 * 8);
    bb_coded_matrix_destroy(&matrix);
    check_ok(bb_coded_matrix_create(&config, BB_ROW_SCALE_NONE, &layout, &matrix));
    assert_int_equal(bb_coded_matrix_bytes(matrix), 1000);
}

TEST(panels_that_do_not_fit_are_refused)
{
    double values[8] = {0};
    autoptr(bb_coded_matrix) matrix = NULL;
    bb_codec_config config = bb_codec_plain(BB_FORMAT_FP32);
    bb_matrix_layout none = {.rows = 0, .columns = 4};
    bb_matrix_layout layout = {.rows = 2, .columns = 4};
    check_fails(bb_coded_matrix_create(&config, BB_ROW_SCALE_NONE, &none, &matrix), BB_INVALID,
                "coded matrix of 0 x 4");
    check_ok(bb_coded_matrix_create(&config, BB_ROW_SCALE_NONE, &layout, &matrix));
    check_fails(bb_coded_matrix_encode(matrix, 1, bb_view_matrix(values, 2, 4)), BB_INVALID,
                "panel 2 x 4 at row 1 does not fit");
}

static bb_codec_config zfp_with(bb_zfp_mode mode, double bits, double tolerance,
                                bb_index dimensions)
{
    bb_codec_config config = bb_codec_plain(BB_FORMAT_FP64);
    config.codec = bb_codec_find("zfp");
    config.mode = (int)mode;
    config.bits = bits;
    config.tolerance = tolerance;
    config.dimensions = dimensions;
    return config;
}

TEST(descriptions_name_codec_and_parameters)
{
    char text[64];
    bb_codec_config config = zfp_with(BB_ZFP_ACCURACY, NAN, 1e-12, BB_INTEGER_UNSET);
    bb_codec_describe(&config, text, sizeof text);
    assert_string_equal(text, "zfp accuracy 1e-12, 2-D");
    config.tolerance = NAN;
    config.tolerance_of_range = 6.7e-5;
    config.dimensions = 4;
    bb_codec_describe(&config, text, sizeof text);
    assert_string_equal(text, "zfp accuracy 6.7e-05 of range, 4-D");
    config = zfp_with(BB_ZFP_RATE, 8.0, NAN, 1);
    bb_codec_describe(&config, text, sizeof text);
    assert_string_equal(text, "zfp rate 8, 1-D");
    config = zfp_with(BB_ZFP_REVERSIBLE, NAN, NAN, 2);
    bb_codec_describe(&config, text, sizeof text);
    assert_string_equal(text, "zfp reversible, 2-D");
    config = bb_codec_plain(BB_FORMAT_E4M3);
    bb_codec_describe(&config, text, sizeof text);
    assert_string_equal(text, "e4m3");
    assert_true(bb_codec_bits_per_value(&config) == 8.0);
    assert_string_equal(bb_codec_rounding(&config), "nearest even");
}

// Whole blocks: the rate, rounded up to whole words of libzfp's bit stream (Debian's has 8 bits).
TEST(fixed_rate_takes_the_bits_it_says)
{
    const double word = (double)stream_word_bits;
    const double rates[] = {2.25, 8.0, 12.5, 32.0};
    bb_matrix_layout layout = {.rows = 16, .columns = 64, .mesh_columns = 8, .row_columns = 4};
    static double values[16 * 64];
    fill_array(values, 16 * 64, i, sin(0.1 * i));
    for (bb_index dimensions = 1; dimensions <= 4; ++dimensions) {
        for (int i = 0; i < 4; ++i) {
            bb_codec_config config = zfp_with(BB_ZFP_RATE, rates[i], NAN, dimensions);
            autoptr(bb_coded_matrix) matrix =
                coded_matrix(&config, BB_ROW_SCALE_NONE, &layout, values);
            double stream = dimensions <= 2 ? 64.0 : dimensions == 3 ? 256.0 : 1024.0;
            double expected = word * ceil(stream * rates[i] / word) / stream;
            check_close(8.0 * (double)bb_coded_matrix_bytes(matrix) / 1024.0, expected, 0.0, 1.0);
            assert_true(bb_codec_bits_per_value(&config) == rates[i]);
        }
    }
}

TEST(bands_groups_and_pieces_follow_the_dimensions)
{
    bb_matrix_layout layout = {.rows = 42, .columns = 30, .mesh_columns = 6, .row_columns = 21};
    static double values[42 * 30];
    const bb_index bands[] = {1, 1, 21, 84};
    const bb_index groups[] = {42, 42, 12, 6};
    const bb_index pieces[] = {2048, 24, 24, 24};
    for (bb_index d = 1; d <= 4; ++d) {
        bb_index rows[BB_GROUP_ROWS];
        bb_codec_config config = zfp_with(BB_ZFP_PRECISION, 12.0, NAN, d);
        autoptr(bb_coded_matrix) matrix =
            new_object(bb_coded_matrix, &config, BB_ROW_SCALE_NONE, &layout);
        assert_int_equal(bb_coded_matrix_band(matrix), bands[d - 1]);
        assert_int_equal(bb_coded_matrix_group_count(matrix), groups[d - 1]);
        assert_int_equal(bb_coded_matrix_piece_columns(matrix), pieces[d - 1]);
        if (d == 4) {
            const bb_index expected[] = {4, 5, 6, 7, 25, 26, 27, 28};
            assert_int_equal(bb_coded_matrix_group_rows(matrix, 1, rows), 8);
            assert_memory_equal(rows, expected, sizeof expected);
            assert_int_equal(bb_coded_matrix_group_rows(matrix, 5, rows), 2);
        }
        if (d == 3) {
            check_fails(bb_coded_matrix_encode(matrix, 0, bb_view_matrix(values, 20, 30)),
                        BB_INVALID, "expected whole bands of 21 rows");
        }
    }
}

TEST(layouts_that_a_codec_cannot_use_are_refused)
{
    bb_coded_matrix *matrix = NULL;
    bb_codec_config config = zfp_with(BB_ZFP_REVERSIBLE, NAN, NAN, 3);
    bb_matrix_layout layout = {.rows = 6, .columns = 30};
    check_fails(bb_coded_matrix_create(&config, BB_ROW_SCALE_NONE, &layout, &matrix), BB_INVALID,
                "zfp in 3 dimensions needs columns on a mesh");
    layout.mesh_columns = 7;
    check_fails(bb_coded_matrix_create(&config, BB_ROW_SCALE_NONE, &layout, &matrix), BB_INVALID,
                "a mesh of 7 across does not divide 30 columns");
    layout.mesh_columns = 6;
    check_fails(bb_coded_matrix_create(&config, BB_ROW_SCALE_NONE, &layout, &matrix), BB_INVALID,
                "zfp in 3 dimensions needs rows on a grid");
    layout.row_columns = 4;
    check_fails(bb_coded_matrix_create(&config, BB_ROW_SCALE_NONE, &layout, &matrix), BB_INVALID,
                "a grid of 4 across does not divide 6 rows");
    config.mode = -1;
    check_fails(bb_coded_matrix_create(&config, BB_ROW_SCALE_NONE, &layout, &matrix), BB_INVALID,
                "storage.mode: not given");
}

static const bb_key *schema_key(const char *name)
{
    for (bb_index k = 0; k < bb_codec_schema.key_count; ++k) {
        if (strcmp(bb_codec_schema.keys[k].name, name) == 0) {
            return &bb_codec_schema.keys[k];
        }
    }
    fail_msg("the schema has no key %s", name);
    return NULL;
}

// The schema has all keys, words and meanings of a row, and no two keys share an offset.
TEST(the_schema_has_every_key_of_a_row)
{
    const bb_key *keys = bb_codec_schema.keys;
    for (int codec = 0; codec < bb_codec_count(); ++codec) {
        const bb_codec_config config = {.codec = codec};
        const bb_codec_row *row = bb_codec_row_of(&config);
        assert_int_equal(bb_codec_find(row->name), codec);
        assert_string_equal(keys[0].choices[codec], row->name);
        for (int t = 0; row->shared_keys != NULL && row->shared_keys[t] != NULL; ++t) {
            assert_string_equal(schema_key(row->shared_keys[t])->name, row->shared_keys[t]);
        }
        for (bb_index k = 0; k < row->key_count; ++k) {
            const bb_key *found = schema_key(row->keys[k].name);
            assert_non_null(strstr(found->meaning, row->keys[k].meaning));
            if (row->keys[k].offset < BB_CODEC_SLOT(0)) {
                assert_int_equal(found->offset, row->keys[k].offset);
            } else { // where the codec reads it
                assert_ptr_equal((const char *)&config + found->offset,
                                 (const char *)bb_codec_own(&config) + row->keys[k].offset -
                                     BB_CODEC_SLOT(0));
            }
            for (int w = 0; row->keys[k].choices != NULL && row->keys[k].choices[w] != NULL; ++w) {
                int place = 0;
                while (strcmp(found->choices[place], row->keys[k].choices[w]) != 0) {
                    assert_non_null(found->choices[++place]);
                }
                assert_int_equal(bb_codec_own_word(&row->keys[k], place), w);
            }
        }
    }
    for (bb_index k = 0; k < bb_codec_schema.key_count; ++k) {
        assert_true(keys[k].offset + sizeof(int) <= sizeof(bb_codec_config));
        for (bb_index other = 0; other < k; ++other) {
            assert_true(keys[k].offset != keys[other].offset);
        }
    }
}
