// SPDX-License-Identifier: Apache-2.0
#include "core/random.h"
#include "tests/precision/codecs/low_rank_problem.h"
#include "tests/precision/coded.h"
#include "tests/precision/failed_allocations.h"

enum { TILES = 1024 };

// Squared errors of every tile of every band, from whole rows; returns the largest relative to its
// limit.
static double worst_tile(const response *rows, const bb_coded_matrix *matrix, double tolerance)
{
    const bb_low_rank_mesh *mesh = bb_coded_matrix_low_rank_mesh(matrix);
    double worst = 0.0;
    autofree double *row = new_array(double, rows->layout.columns);
    for (bb_index b = 0; b < bb_coded_matrix_low_rank_bands(matrix); ++b) {
        const bb_low_rank_band *band = bb_coded_matrix_low_rank_band(matrix, b);
        double squares[TILES] = {0.0};
        for (bb_index i = 0; i < band->rows; ++i) {
            const double *exact = rows->values + (band->row + i) * rows->layout.columns;
            bb_coded_matrix_decode(matrix, band->row + i, 0, rows->layout.columns, row);
            for (bb_index j = 0; j < rows->layout.columns; ++j) {
                bb_index tile = j / mesh->columns / mesh->tile_lines * mesh->across +
                                j % mesh->columns / mesh->tile_columns;
                squares[tile] += (row[j] - exact[j]) * (row[j] - exact[j]);
            }
        }
        for (bb_index t = 0; t < mesh->across * mesh->down; ++t) {
            const bb_low_rank_place place = bb_low_rank_place_of(mesh, t);
            double values = (double)(band->rows * place.columns * place.lines);
            worst = fmax(worst, sqrt(squares[t] / values) / tolerance);
            check_close(sqrt(squares[t]), band->tiles[t].error, 1e-6, tolerance * sqrt(values));
        }
    }
    return worst;
}

// Whole and ragged tiles, ragged last bands, a mesh of odd width.
TEST(every_tile_keeps_its_tolerance)
{
    static const struct {
        bb_index row_columns, row_lines, mesh_columns, mesh_lines, band, columns, rows;
    } shapes[] = {
        {11, 9, 128, 125, BB_INTEGER_UNSET, BB_INTEGER_UNSET, BB_INTEGER_UNSET},
        {7, 11, 61, 47, 3, 16, 8},
        {1, 5, 33, 3, 2, 9, 2},
        {4, 3, 8, 4, 16, 64, 16},
    };
    static const double tolerances[] = {1e-6, 1e-5, 1e-4, 1e-2};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; ++s) {
        autorelease(response) answer =
            response_make(shapes[s].row_columns, shapes[s].row_lines, shapes[s].mesh_columns,
                          shapes[s].mesh_lines, 1.0);
        for (size_t k = 0; k < sizeof tolerances / sizeof *tolerances; ++k) {
            bb_codec_config config = low_rank(tolerances[k]);
            config.band_lines = shapes[s].band;
            config.tile_columns = shapes[s].columns;
            config.tile_rows = shapes[s].rows;
            autoptr(bb_coded_matrix) matrix = low_rank_encode(&answer, &config);
            double worst = worst_tile(&answer, matrix, tolerances[k]);
            assert_true(worst <= 1.0);
        }
    }
}

// The same codes at any power of two: fp16 neither overflows nor loses low bits.
TEST(size_does_not_matter)
{
    static const double exponents[] = {-60.0, -30.0, 30.0, 60.0};
    autorelease(response) rows = response_make(7, 6, 64, 40, 1.0);
    bb_codec_config config = low_rank(0x1p-14);
    bb_coded_matrix *matrix = low_rank_encode(&rows, &config);
    size_t bytes = bb_coded_matrix_bytes(matrix);
    double first[2560], other[2560];
    bb_coded_matrix_decode(matrix, 17, 0, 2560, first);
    bb_coded_matrix_destroy(&matrix);
    for (int e = 0; e < 4; ++e) {
        double size = exp2(exponents[e]);
        response scaled = response_make(7, 6, 64, 40, size);
        config.tolerance = 0x1p-14 * size;
        matrix = low_rank_encode(&scaled, &config);
        assert_int_equal(bb_coded_matrix_bytes(matrix), bytes);
        bb_coded_matrix_decode(matrix, 17, 0, 2560, other);
        for (int j = 0; j < 2560; ++j) {
            assert_true(other[j] == first[j] * size);
        }
        bb_coded_matrix_destroy(&matrix);
        BB_RELEASE(&scaled.values);
    }
}

TEST(noise_is_dense_and_zeros_are_free)
{
    autorelease(response) rows = response_make(3, 8, 64, 40, 0.0);
    bb_codec_config config = low_rank(1e-3);
    autoptr(bb_coded_matrix) matrix = low_rank_encode(&rows, &config);
    assert_int_equal(bb_coded_matrix_bytes(matrix), 0);
    bb_coded_matrix_destroy(&matrix);
    fill_array(rows.values, rows.layout.rows * rows.layout.columns, i,
               bb_random_normal(1, BB_STREAM_SELF_TEST, (uint64_t)i));
    matrix = low_rank_encode(&rows, &config);
    assert_int_equal(bb_coded_matrix_low_rank_band(matrix, 0)->dense_tiles, 4);
    assert_true(worst_tile(&rows, matrix, config.tolerance) <= 1.0);
    assert_true(response_bits(&rows, matrix) < 17.0);
    bb_coded_matrix_destroy(&matrix);
    config.tolerance = 1e-6; // beyond fp16
    matrix = low_rank_encode(&rows, &config);
    assert_true(worst_tile(&rows, matrix, config.tolerance) <= 1.0);
    assert_true(response_bits(&rows, matrix) > 32.0 && response_bits(&rows, matrix) < 33.0);
}

enum { WIDTH = 40, ROWS = 24, COLUMNS = 3 * WIDTH + 13, BLOCKS = 4 };

// A norm that weights the first columns of each block a million times as much as the last, and a
// block more than the previous one.
static void make_norms(double *out)
{
    for (int i = 0; i < BLOCKS * WIDTH * WIDTH; ++i) {
        const int row = i / WIDTH % WIDTH;
        const int column = i % WIDTH;
        const int block = i / WIDTH / WIDTH;
        const double size = (1.0 + 0.2 * block) * pow(10.0, -6.0 * row / WIDTH);
        out[i] = column > row ? 0.0 : size * exp((column - row) / 8.0);
    }
}

// For every tile of 16 rows: the largest ||E L|| relative to its limit, compared with the tile's
// own value; `total` receives the sum of the squares.
static double worst_in_norm(const response *rows, const double *norms, double tolerance,
                            const bb_coded_matrix *matrix, bool told, double *total)
{
    double worst = 0.0;
    *total = 0.0;
    for (bb_index b = 0; b < bb_coded_matrix_low_rank_bands(matrix); ++b) {
        const bb_low_rank_band *band = bb_coded_matrix_low_rank_band(matrix, b);
        double squares[BLOCKS] = {0.0};
        for (bb_index i = band->row; i < band->row + band->rows; ++i) {
            double row[COLUMNS];
            bb_coded_matrix_decode(matrix, i, 0, COLUMNS, row);
            for (int j = 0; j < COLUMNS; ++j) {
                double sum = 0.0;
                for (int k = j; k < COLUMNS && k / WIDTH == j / WIDTH; ++k) {
                    sum += (row[k] - rows->values[i * COLUMNS + k]) *
                           norms[(j / WIDTH * WIDTH + k % WIDTH) * WIDTH + j % WIDTH];
                }
                squares[j / WIDTH] += sum * sum;
            }
        }
        for (int t = 0; t < BLOCKS; ++t) {
            const double values = (double)band->rows * (t < BLOCKS - 1 ? WIDTH : COLUMNS % WIDTH);
            worst = fmax(worst, sqrt(squares[t] / values) / tolerance);
            *total += squares[t];
            if (told) {
                check_close(band->tiles[t].error, sqrt(squares[t]), 1e-6, sqrt(squares[t]));
            }
        }
    }
    return worst;
}

// With a norm of the columns the tolerance applies to E L, and this takes fewer bytes than
// unweighted values with the same error in that norm.
TEST(errors_are_counted_in_the_norm_of_columns)
{
    static double norms[BLOCKS * WIDTH * WIDTH];
    autorelease(response) rows = response_make(1, ROWS, COLUMNS, 1, 1.0);
    double wanted;
    double price;
    size_t bytes;
    bb_codec_config config = low_rank(1e-3);
    bb_codec_config plain = low_rank(1e-2);
    make_norms(norms);
    for (bb_index i = 0; i < (bb_index)ROWS * COLUMNS; ++i) {
        rows.values[i] = bb_random_normal(2, BB_STREAM_SELF_TEST, (uint64_t)i);
    }
    config = codec_of("low_rank norm=covariance tolerance=3e-2 tile_columns=40 tile_rows=1 "
                      "band_lines=16");
    assert_int_equal(bb_codec_norm_width(&config), WIDTH);
    rows.layout.mesh_columns = 0;
    rows.layout.column_norms = norms;
    bb_coded_matrix *matrix = low_rank_encode(&rows, &config);
    assert_true(worst_in_norm(&rows, norms, 3e-2, matrix, true, &wanted) <= 1.0);
    bytes = bb_coded_matrix_bytes(matrix);
    bb_coded_matrix_destroy(&matrix);
    assert_true(
        bb_codec_read("low_rank tolerance=1e-1 tile_columns=40 tile_rows=1 band_lines=16", &plain));
    assert_int_equal(bb_codec_norm_width(&plain), 0);
    do {
        matrix = low_rank_encode(&rows, &plain);
        (void)worst_in_norm(&rows, norms, 3e-2, matrix, false, &price);
        print_message("values to %.2g: %zu bytes leave %.3g; in the norm %zu leave %.3g\n",
                      plain.tolerance, bb_coded_matrix_bytes(matrix), price, bytes, wanted);
        assert_true(price <= wanted || plain.tolerance > 1e-6);
        if (price <= wanted) {
            assert_true((double)bytes < 0.8 * (double)bb_coded_matrix_bytes(matrix));
        }
        plain.tolerance *= 0.8;
        bb_coded_matrix_destroy(&matrix);
    } while (price > wanted);
}

TEST(far_fields_do_not_vanish)
{
    const bb_codec_config config = low_rank(1e-3);
    response_keeps_far_fields(&config, 3, 8, 1e-3);
}

TEST(what_cannot_be_held_poisons_its_tile)
{
    static const double specials[] = {NAN, INFINITY, 0x1p100};
    double row[2560];
    for (int s = 0; s < 3; ++s) {
        autorelease(response) rows = response_make(3, 8, 64, 40, 1.0);
        rows.values[10 * 2560 + 25 * 64 + 40] = specials[s];
        bb_codec_config config = low_rank(1e-4);
        autoptr(bb_coded_matrix) matrix = low_rank_encode(&rows, &config);
        assert_int_equal(bb_coded_matrix_non_finite(matrix), 1);
        for (bb_index i = 0; i < 24; i += 7) {
            bb_coded_matrix_decode(matrix, i, 0, 2560, row);
            for (int j = 0; j < 2560; ++j) {
                assert_true(!!isnan(row[j]) == (j % 64 >= 32 && j / 64 >= 20));
            }
        }
    }
}

TEST(all_ways_of_decoding_agree)
{
    autorelease(response) rows = response_make(5, 7, 61, 47, 1.0);
    bb_codec_config config = low_rank(1e-4);
    config.band_lines = 4;
    autoptr(bb_coded_matrix) matrix = low_rank_encode(&rows, &config);
    response_decodes_one_way(&rows, matrix, 20);
}

TEST(bits_do_not_depend_on_threads)
{
    autorelease(response) rows = response_make(7, 10, 64, 40, 1.0);
    bb_codec_config config = low_rank(1e-5);
    config.band_lines = 3;
    check_ok(bb_threads_set(1));
    autoptr(bb_coded_matrix) one = low_rank_encode(&rows, &config);
    autoptr(bb_coded_matrix) four = response_encode_by_four(&rows, &config);
    for (bb_index b = 0; b < bb_coded_matrix_low_rank_bands(one); ++b) {
        const bb_low_rank_band *a = bb_coded_matrix_low_rank_band(one, b);
        const bb_low_rank_band *c = bb_coded_matrix_low_rank_band(four, b);
        assert_int_equal(a->v_bytes, c->v_bytes);
        assert_int_equal(a->terms, c->terms);
        assert_memory_equal(a->v, c->v, a->v_bytes);
        assert_memory_equal(a->scale, c->scale, (size_t)a->terms * sizeof *a->scale);
        assert_memory_equal(a->u_narrow, c->u_narrow, (size_t)(a->rows * a->narrow) * 2);
        assert_memory_equal(a->u_wide, c->u_wide, (size_t)(a->rows * a->wide) * 4);
    }
}

TEST(wide_factors_cost_twice)
{
    autorelease(response) rows = response_make(7, 12, 64, 40, 1.0);
    bb_codec_config config = low_rank(1e-3);
    autoptr(bb_coded_matrix) narrow = low_rank_encode(&rows, &config);
    config.bits = 32.0;
    autoptr(bb_coded_matrix) wide = low_rank_encode(&rows, &config);
    assert_true(worst_tile(&rows, wide, config.tolerance) <= 1.0);
    assert_int_equal(bb_coded_matrix_low_rank_band(wide, 0)->narrow, 0);
    assert_true(response_bits(&rows, wide) > 1.3 * response_bits(&rows, narrow));
}

TEST(no_memory_is_an_error)
{
    autorelease(response) rows = response_make(3, 8, 64, 40, 1.0);
    const bb_codec_config config = low_rank(1e-4);
    rows.values[10 * 2560 + 25 * 64 + 40] = NAN;
    survive_failed_allocations(&config, &rows.layout, rows.values);
}

TEST(keys_are_checked)
{
    char sentence[256];
    bb_codec_config config = low_rank(1e-3);
    assert_true(bb_codec_check(&config, BB_ROW_SCALE_NONE, sentence, sizeof sentence));
    assert_false(bb_codec_check(&config, BB_ROW_SCALE_ROW, sentence, sizeof sentence));
    config.bits = 8.0;
    assert_false(bb_codec_check(&config, BB_ROW_SCALE_NONE, sentence, sizeof sentence));
    assert_string_equal(sentence, "bits: 8, low_rank accepts 16 or 32");
    config.bits = 16.0;
    config.tile_columns = 57;
    assert_false(bb_codec_check(&config, BB_ROW_SCALE_NONE, sentence, sizeof sentence));
    assert_non_null(strstr(sentence, "1280 cells"));
    config.tile_columns = BB_INTEGER_UNSET;
    config.tolerance = NAN;
    assert_false(bb_codec_check(&config, BB_ROW_SCALE_NONE, sentence, sizeof sentence));
    bb_codec_describe(&config, sentence, sizeof sentence);
    assert_non_null(strstr(sentence, "low rank"));
}
