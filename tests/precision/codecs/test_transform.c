// SPDX-License-Identifier: Apache-2.0
#include "core/random.h"
#include "precision/codecs/transform.h"
#include "tests/precision/codecs/low_rank_problem.h"
#include "tests/precision/coded.h"
#include "tests/precision/failed_allocations.h"

// RMS error of every block over the tolerance, and error of every value over its bound; returns the
// larger of the two maxima.
static double worst_block(const response *rows, const bb_coded_matrix *matrix, double tolerance)
{
    const bb_transform_plan *plan = bb_coded_matrix_transform_plan(matrix);
    bb_index columns = rows->layout.columns;
    double worst = 0.0;
    autofree double *decoded = new_array(double, rows->layout.rows *columns);
    for (bb_index i = 0; i < rows->layout.rows; ++i) {
        bb_coded_matrix_decode(matrix, i, 0, columns, decoded + i * columns);
    }
    for (bb_index b = 0; b < plan->count[0] * plan->count[1]; ++b) {
        for (bb_index m = 0; m < plan->count[2] * plan->count[3]; ++m) {
            const bb_transform_block block =
                bb_transform_block_of(plan, b / plan->count[1], b % plan->count[1], m);
            double squares = 0.0;
            for (bb_index k = 0; k < block.rows * block.cells; ++k) {
                bb_index i = k / block.cells;
                bb_index j = k % block.cells;
                bb_index row = (block.first[0] + i / block.size[1]) * plan->extent[1] +
                               block.first[1] + i % block.size[1];
                bb_index column = (block.first[2] + j / block.size[3]) * plan->extent[3] +
                                  block.first[3] + j % block.size[3];
                double exact = rows->values[row * columns + column];
                double error = decoded[row * columns + column] - exact;
                squares += error * error;
                worst = fmax(worst, fabs(error) / bb_codec_bound(bb_coded_matrix_config(matrix),
                                                                 tolerance, fabs(exact), 2.0));
            }
            double values = (double)(block.rows * block.cells);
            worst = fmax(worst, sqrt(squares / values) / (tolerance * (1.0 + 1e-9)));
        }
    }
    return worst;
}

// Whole and ragged blocks along every axis, rows without a grid, columns without a mesh.
TEST(every_block_keeps_its_tolerance)
{
    static const struct {
        bb_index row_columns, row_lines, mesh_columns, mesh_lines, lines, across, columns, rows;
    } shapes[] = {
        {7, 9, 64, 40, BB_INTEGER_UNSET, BB_INTEGER_UNSET, BB_INTEGER_UNSET, BB_INTEGER_UNSET},
        {11, 13, 61, 47, BB_INTEGER_UNSET, BB_INTEGER_UNSET, BB_INTEGER_UNSET, BB_INTEGER_UNSET},
        {1, 5, 33, 3, 2, 4, 16, 8},
        {5, 4, 9, 11, 3, 2, 1, 3},
        {4, 3, 500, 1, 16, 1, 32, 2},
    };
    static const double tolerances[] = {1e-9, 1e-6, 1e-4, 1e-2};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; ++s) {
        autorelease(response) answer =
            response_make(shapes[s].row_columns, shapes[s].row_lines, shapes[s].mesh_columns,
                          shapes[s].mesh_lines, 1.0);
        answer.layout.mesh_columns = shapes[s].mesh_lines == 1 ? 0 : answer.layout.mesh_columns;
        answer.layout.row_columns = shapes[s].row_columns == 1 ? 0 : answer.layout.row_columns;
        for (size_t k = 0; k < sizeof tolerances / sizeof *tolerances; ++k) {
            bb_codec_config config = response_transform(tolerances[k]);
            config.band_lines = shapes[s].lines;
            config.band_columns = shapes[s].across;
            config.tile_columns = shapes[s].columns;
            config.tile_rows = shapes[s].rows;
            autoptr(bb_coded_matrix) matrix = low_rank_encode(&answer, &config);
            assert_true(worst_block(&answer, matrix, tolerances[k]) <= 1.0);
            assert_int_equal(bb_coded_matrix_non_finite(matrix), 0);
        }
    }
}

// Integer coefficients of a block by hand: T' T = 1 and ties to even. A block of 2 x 2 cells of 1,
// 2, 3, 4 has the coefficients 5, -1, -2, 0 with step 1.
TEST(a_block_by_hand)
{
    double values[] = {1.0, 2.0, 3.0, 4.0};
    double out[4];
    const bb_matrix_layout layout = {.rows = 1, .columns = 4, .mesh_columns = 2};
    bb_codec_config config = response_transform(0.5);
    config.tile_columns = 2;
    config.tile_rows = 2;
    autoptr(bb_coded_matrix) matrix = coded_matrix(&config, BB_ROW_SCALE_NONE, &layout, values);
    const bb_transform_plan *plan = bb_coded_matrix_transform_plan(matrix);
    const bb_transform_band *band = bb_coded_matrix_transform_band(matrix, 0);
    const bb_transform_block block = bb_transform_block_of(plan, 0, 0, 0);
    bb_transform_reader reader = bb_transform_read(plan, band, &block, 0);
    static const int expected[] = {5, -1, -2, 0}; // by cell: lines, then columns
    assert_true(bb_transform_next(&reader));
    assert_int_equal(reader.count, 4);
    for (int i = 0; i < 4; ++i) {
        assert_int_equal(reader.quotient[i], expected[reader.order[i].cell]);
    }
    assert_false(bb_transform_next(&reader));
    // A word of the map, one of widths, four coefficients of 4 bits in 4 words, and the index.
    assert_int_equal(bb_coded_matrix_bytes(matrix), 4 * (1 + 1 + 4 + 2));
    bb_coded_matrix_decode(matrix, 0, 0, 4, out);
    check_all_close(out, values, 4, 1e-14, 1.0);
}

// The extremes of every width, at every lane.
TEST(widths_hold_their_extremes)
{
    for (int length = 1; length <= 32; ++length) {
        int width = bb_transform_width(bb_transform_code(length));
        assert_true(width >= length && (length > 13 || width == length));
        uint32_t words[32] = {0};
        int32_t high = (int32_t)((1U << (length - 1)) - 1U);
        for (int i = 0; i < 32; ++i) {
            uint64_t value = (uint32_t)(i % 2 == 0 ? high : -high - 1);
            value &= width == 32 ? UINT32_MAX : (1U << width) - 1U;
            for (int b = 0; b < width; ++b) {
                int bit = i * width + b;
                words[bit / 32] |= (uint32_t)(value >> b & 1U) << (bit % 32);
            }
        }
        for (int i = 0; i < 32; ++i) {
            assert_int_equal(bb_transform_quotient(words, width, i), i % 2 == 0 ? high : -high - 1);
        }
    }
    assert_int_equal(bb_transform_ones(0xffffffffU), 32);
    assert_int_equal(bb_transform_ones(0x80000101U), 3);
}

TEST(zeros_and_constants_are_cheap)
{
    autorelease(response) rows = response_make(7, 9, 64, 40, 0.0);
    bb_codec_config config = response_transform(1e-4);
    autoptr(bb_coded_matrix) matrix = low_rank_encode(&rows, &config);
    double row[2560];
    assert_int_equal(bb_coded_matrix_bytes(matrix), 4 * (32 + 1)); // the index
    bb_coded_matrix_decode(matrix, 17, 0, 2560, row);
    for (int j = 0; j < 2560; ++j) {
        assert_true(row[j] == 0.0);
    }
    bb_coded_matrix_destroy(&matrix);
    fill_array(rows.values, rows.layout.rows * rows.layout.columns, i, 0.25);
    matrix = low_rank_encode(&rows, &config);
    // 0.25 sqrt(5040) / 2e-4 = 88741: 18 bits, of 20; 5 words of map, 1 of widths.
    assert_int_equal(bb_coded_matrix_bytes(matrix), 4 * (33 + 32 * (5 + 1 + 20)));
    assert_true(worst_block(&rows, matrix, config.tolerance) <= 1.0);
}

// Values below half a step whose sum a plain quantiser would lose.
TEST(far_fields_do_not_vanish)
{
    const bb_codec_config config = response_transform(1e-3);
    // A step of 2e-3 on a coefficient of 7.1e-3.
    response_keeps_far_fields(&config, 7, 9, 0.15);
}

TEST(what_cannot_be_held_poisons_its_block)
{
    static const double specials[] = {NAN, INFINITY, -INFINITY, 1e300, 1e10};
    double row[2560];
    for (int s = 0; s < 5; ++s) {
        autorelease(response) rows = response_make(7, 18, 64, 40, 1.0);
        bb_codec_config config = response_transform(1e-4); // 1e10: beyond 2^31 steps
        rows.values[(10 * 7 + 3) * 2560 + 25 * 64 + 40] = specials[s];
        autoptr(bb_coded_matrix) matrix = low_rank_encode(&rows, &config);
        assert_true(bb_coded_matrix_non_finite(matrix) >= 1);
        assert_true(s > 2 || bb_coded_matrix_non_finite(matrix) == 1);
        for (bb_index i = 0; i < rows.layout.rows; i += 5) {
            bb_coded_matrix_decode(matrix, i, 0, 2560, row);
            for (int j = 0; j < 2560; ++j) {
                bool inside = i >= 63 && j % 64 / 8 == 5 && j / 64 / 10 == 2;
                assert_true(!!isnan(row[j]) == inside);
            }
        }
    }
}

TEST(all_ways_of_decoding_agree)
{
    autorelease(response) rows = response_make(5, 7, 61, 47, 1.0);
    bb_codec_config config = response_transform(1e-4);
    config.band_lines = 4;
    config.band_columns = 3;
    autoptr(bb_coded_matrix) matrix = low_rank_encode(&rows, &config);
    response_decodes_one_way(&rows, matrix, 10);
}

TEST(bits_do_not_depend_on_threads)
{
    autorelease(response) rows = response_make(7, 10, 64, 40, 1.0);
    bb_codec_config config = response_transform(1e-5);
    config.band_lines = 3;
    autoptr(bb_coded_matrix) one = low_rank_encode(&rows, &config);
    autoptr(bb_coded_matrix) four = response_encode_by_four(&rows, &config);
    assert_int_equal(bb_coded_matrix_transform_bands(one), 4);
    for (bb_index b = 0; b < 4; ++b) {
        const bb_transform_band *a = bb_coded_matrix_transform_band(one, b);
        const bb_transform_band *c = bb_coded_matrix_transform_band(four, b);
        assert_memory_equal(a->first, c->first, 33 * sizeof *a->first);
        assert_memory_equal(a->words, c->words, a->first[32] * sizeof *a->words);
    }
}

// The codec exploits smoothness along rows and columns; noise costs little more than with a
// quantiser.
TEST_FULL(bits_follow_smoothness)
{
    autorelease(response) rows = response_make(14, 18, 128, 125, 1.0);
    bb_codec_config config = response_transform(1e-4);
    autoptr(bb_coded_matrix) matrix = low_rank_encode(&rows, &config);
    config.codec = bb_codec_find("quantiser");
    autoptr(bb_coded_matrix) quotients = low_rank_encode(&rows, &config);
    assert_true(response_bits(&rows, matrix) < 0.35 * response_bits(&rows, quotients));
    bb_coded_matrix_destroy(&matrix);
    for (bb_index i = 0; i < rows.layout.rows * rows.layout.columns; ++i) {
        rows.values[i] = bb_random_normal(1, BB_STREAM_SELF_TEST, (uint64_t)i);
    }
    config = response_transform(0.01);
    matrix = low_rank_encode(&rows, &config);
    assert_true(worst_block(&rows, matrix, config.tolerance) <= 1.0);
    assert_true(response_bits(&rows, matrix) <
                9.5); // 3 sigma of 50 steps: 9 bits, 0.16 of widths and map
}

TEST(no_memory_is_an_error)
{
    autorelease(response) rows = response_make(3, 8, 64, 40, 1.0);
    const bb_codec_config config = response_transform(1e-4);
    survive_failed_allocations(&config, &rows.layout, rows.values);
}

TEST(keys_are_checked)
{
    char sentence[256];
    bb_codec_config config = response_transform(1e-3);
    assert_true(bb_codec_check(&config, BB_ROW_SCALE_NONE, sentence, sizeof sentence));
    check_relative(bb_codec_bound(&config, 1e-3, 0.0, 0.0), 1e-3 * sqrt(5040.0), 1e-5);
    assert_false(bb_codec_check(&config, BB_ROW_SCALE_ROW, sentence, sizeof sentence));
    config.tile_columns = 14;
    assert_false(bb_codec_check(&config, BB_ROW_SCALE_NONE, sentence, sizeof sentence));
    assert_string_equal(sentence, "tile_columns: a block of 7 x 9 rows and 14 x 10 cells, expected "
                                  "at most 8192 values");
    config.tile_columns = 1024;
    assert_false(bb_codec_check(&config, BB_ROW_SCALE_NONE, sentence, sizeof sentence));
    assert_non_null(strstr(sentence, "at most 1024"));
    config.tile_columns = BB_INTEGER_UNSET;
    config.bits = 8.0;
    assert_false(bb_codec_check(&config, BB_ROW_SCALE_NONE, sentence, sizeof sentence));
    config.bits = NAN;
    config.tolerance = NAN;
    assert_false(bb_codec_check(&config, BB_ROW_SCALE_NONE, sentence, sizeof sentence));
    config.tolerance = 1e-3;
    bb_codec_describe(&config, sentence, sizeof sentence);
    assert_string_equal(sentence, "transform 0.001, 8 x 10 x 7 x 9");
}
