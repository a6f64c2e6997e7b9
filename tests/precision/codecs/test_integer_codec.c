// SPDX-License-Identifier: Apache-2.0
//
// Words, steps and bytes of integer rows by hand.
#include "core/random.h"
#include "tests/precision/coded.h"

#include <float.h>

enum { MOST_COLUMNS = 1237 };

static bb_codec_config integer_of(int bits)
{
    bb_codec_config config = bb_codec_plain(BB_FORMAT_FP64);
    config.codec = bb_codec_find("integer");
    config.bits = bits;
    return config;
}

static bb_coded_matrix *encoded(int bits, bb_index rows, bb_index columns, double *values)
{
    const bb_codec_config config = integer_of(bits);
    const bb_matrix_layout layout = {.rows = rows, .columns = columns};
    return coded_matrix(&config, BB_ROW_SCALE_NONE, &layout, values);
}

// Encodes one row and decodes it in both widths, as a whole row and value by value.
static bb_coded_matrix *there_and_back(int bits, bb_index columns, double *values, double *got)
{
    float narrow[MOST_COLUMNS];
    bb_coded_matrix *matrix = encoded(bits, 1, columns, values);
    const bb_index piece = bb_coded_matrix_piece_columns(matrix);
    bb_coded_matrix_decode(matrix, 0, 0, columns, got);
    for (bb_index p = 0; p * piece < columns; ++p) {
        bb_coded_matrix_decode_f32(matrix, 0, p, narrow + p * piece);
    }
    for (bb_index j = 0; j < columns; ++j) {
        double single = 0.0;
        bb_coded_matrix_decode(matrix, 0, j, 1, &single);
        assert_memory_equal(&single, &got[j], sizeof single);
        const float expected = (float)got[j];
        assert_true(isnan(got[j]) ? isnan(narrow[j]) : narrow[j] == expected);
    }
    return matrix;
}

static void check_values(const double *got, const double *expected, bb_index count)
{
    for (bb_index j = 0; j < count; ++j) {
        if (!(got[j] == expected[j])) {
            print_error("value %td: %a, expected %a\n", j, got[j], expected[j]);
            fail();
        }
    }
}

// With a largest value of `top` the step is 1.
TEST(ties_go_to_the_even_word)
{
    static const struct {
        int bits;
        double values[8], expected[8];
    } cases[] = {
        {2, {1.0, 0.5, -0.5, 0.50001, -0.6, 0.49, -1.0, 0.0}, {1, 0, 0, 1, -1, 0, -1, 0}},
        {3, {-3.0, 0.5, 1.5, 2.5, -1.5, -2.5, 2.51, 1.49}, {-3, 0, 2, 2, -2, -2, 3, 1}},
        {8,
         {127.0, 126.5, 125.5, -126.5, -0.5, 63.5, 64.5, -1e-9},
         {127, 126, 126, -126, 0, 64, 64, 0}},
        {16,
         {32767.0, 32766.5, 0.5, 1.5, -32765.5, -32766.0, 2.4, 9.5},
         {32767, 32766, 0, 2, -32766, -32766, 2, 10}},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
        double values[8];
        double got[8];
        memcpy(values, cases[c].values, sizeof values);
        autoptr(bb_coded_matrix) matrix = there_and_back(cases[c].bits, 8, values, got);
        check_values(got, cases[c].expected, 8);
        assert_int_equal(bb_coded_matrix_saturated(matrix), 0);
        assert_int_equal(bb_coded_matrix_underflowed(matrix), 0);
    }
}

// The step is max / top rounded to fp32: 0.7 / 127 is not an fp32 number.
TEST(steps_are_rounded_to_fp32)
{
    double values[3] = {0.1, -0.7, 0.35};
    double got[3];
    const double step = (double)(float)(0.7 / 127.0);
    const double expected[3] = {18.0 * step, -127.0 * step, 64.0 * step}; // of 18.14 and 63.5000002
    assert_true(step < 0.7 / 127.0);
    autoptr(bb_coded_matrix) matrix = there_and_back(8, 3, values, got);
    check_values(got, expected, 3);
}

// 32 values of `bits` bits are 4 `bits` bytes, with the last block of a row padded; an fp32 step
// per row.
TEST(rows_have_the_documented_bytes)
{
    static double values[3 * MOST_COLUMNS];
    static const bb_index columns[] = {1, 31, 32, 33, 1237};
    for (int bits = 2; bits <= 16; ++bits) {
        const bb_codec_config config = integer_of(bits);
        assert_true(bb_codec_bits_per_value(&config) == (double)bits);
        for (size_t c = 0; c < sizeof columns / sizeof *columns; ++c) {
            const bb_index blocks = (columns[c] + 31) / 32;
            autoptr(bb_coded_matrix) matrix = encoded(bits, 3, columns[c], values);
            assert_int_equal(bb_coded_matrix_bytes(matrix), 3 * (4 * bits * blocks + 4));
        }
    }
}

// All words of a width, and columns that do not fill a block.
TEST(every_word_comes_back)
{
    static double values[MOST_COLUMNS], got[MOST_COLUMNS];
    for (int bits = 2; bits <= 16; ++bits) {
        const int top = (1 << (bits - 1)) - 1;
        for (int first = -top; first <= top; first += MOST_COLUMNS - 1) {
            fill_array(values, MOST_COLUMNS, j, first + j < top ? 0.25 * (first + j) : 0.25 * top);
            values[MOST_COLUMNS - 1] = 0.25 * top;
            autoptr(bb_coded_matrix) matrix = there_and_back(bits, MOST_COLUMNS, values, got);
            check_values(got, values, MOST_COLUMNS);
        }
    }
}

// fp32's smallest number is 2^-149. 127 steps of it and 0.4 more per step round to the same step,
// so that values beyond 127 of them are clipped; below half of 127 of them everything becomes zero.
TEST(rows_of_subnormals_clip_or_vanish)
{
    const double least = 0x1p-149;
    double values[4] = {127.0 * 1.4 * least, -130.0 * least, 100.4 * least, 0.0};
    const double clipped[4] = {127.0 * least, -127.0 * least, 100.0 * least, 0.0};
    const double nothing[4] = {0.0, 0.0, 0.0, 0.0};
    double got[4];
    autoptr(bb_coded_matrix) matrix = there_and_back(8, 4, values, got);
    check_values(got, clipped, 4);
    assert_int_equal(bb_coded_matrix_saturated(matrix), 2);
    assert_int_equal(bb_coded_matrix_underflowed(matrix), 0);
    const bb_codec_config *config = bb_coded_matrix_config(matrix);
    assert_true(fabs(values[0] - got[0]) <= bb_codec_bound(config, NAN, values[0], values[0]));
    bb_coded_matrix_destroy(&matrix);
    values[0] = 63.0 * least;
    values[1] = -0x1p-1074;
    values[2] = 0.0;
    matrix = there_and_back(8, 4, values, got);
    check_values(got, nothing, 4);
    assert_int_equal(bb_coded_matrix_underflowed(matrix), 2);
    assert_int_equal(bb_coded_matrix_saturated(matrix), 0);
}

// A NaN affects only its row; a row of zeros has step zero.
TEST(what_cannot_be_held_poisons_its_row)
{
    static const double plants[] = {NAN, INFINITY, -INFINITY, 0x1p128, -1e300};
    for (size_t p = 0; p < sizeof plants / sizeof *plants; ++p) {
        double values[3 * 40] = {0.0};
        double got[3 * 40];
        values[0] = 1.0;
        values[40] = 2.0;
        values[40 + 35] = plants[p];
        autoptr(bb_coded_matrix) matrix = encoded(8, 3, 40, values);
        assert_int_equal(bb_coded_matrix_non_finite(matrix), 1);
        for (bb_index row = 0; row < 3; ++row) {
            bb_coded_matrix_decode(matrix, row, 0, 40, got + row * 40);
        }
        assert_true(fabs(got[0] - 1.0) <= 0x1p-24);
        for (int j = 0; j < 40; ++j) {
            assert_true(isnan(got[40 + j]));
            assert_true(got[80 + j] == 0.0 && (j == 0 || got[j] == 0.0));
        }
        // A row that is encoded again is valid again.
        values[40 + 35] = -2.0;
        check_ok(bb_coded_matrix_encode(matrix, 1, bb_view_matrix(values + 40, 1, 40)));
        bb_coded_matrix_decode(matrix, 1, 35, 1, got);
        assert_true(fabs(got[0] + 2.0) <= 0x1p-23);
    }
}

// The largest numbers of fp32 are preserved: the step that would overflow is reduced by one.
TEST(the_largest_values_stay_finite)
{
    for (int bits = 2; bits <= 16; ++bits) {
        double values[2] = {(double)FLT_MAX, -(double)FLT_MAX};
        double got[2];
        autoptr(bb_coded_matrix) matrix = there_and_back(bits, 2, values, got);
        for (int i = 0; i < 2; ++i) {
            assert_true(isfinite((float)got[i]));
            check_relative(got[i], values[i], 0x1p-22);
        }
        assert_int_equal(bb_coded_matrix_non_finite(matrix), 0);
    }
}

TEST(the_bound_is_half_a_step)
{
    for (int bits = 2; bits <= 16; ++bits) {
        const bb_codec_config config = integer_of(bits);
        const double top = ldexp(1.0, bits - 1) - 1.0;
        double values[2] = {top, 0.5}; // between two words
        double got[2];
        autoptr(bb_coded_matrix) matrix = there_and_back(bits, 2, values, got);
        assert_true(fabs(got[1] - values[1]) == 0.5);
        const double bound = bb_codec_bound(&config, NAN, 0.5, top);
        assert_true(bound >= 0.5 && bound <= 0.5 * (1.0 + 0x1p-20));
        assert_true(isinf(bb_codec_bound(&config, NAN, 0.5, 0x1p128)));
    }
}

static const double ladder[] = {1.0,  0.98, 0.95, 0.92, 0.88, 0.83,
                                0.77, 0.70, 0.62, 0.53, 0.43, 0.32};
enum { CLIPS = sizeof ladder / sizeof *ladder, CLIPPED_ROWS = 24 };

// A word is value / step to the nearest, at most `top`; sum of the squared errors of a row.
static double left_of(const double *values, bb_index columns, double step, double top)
{
    double sum = 0.0;
    for (bb_index j = 0; j < columns; ++j) {
        const double word = fmax(-top, fmin(top, rint(values[j] / step)));
        sum += (word * step - values[j]) * (word * step - values[j]);
    }
    return sum;
}

// Rows with tails from none to long, so that every clip but the smallest is some row's best.
static void make_tails(double *values)
{
    for (int i = 0; i < CLIPPED_ROWS; ++i) {
        for (int j = 0; j < MOST_COLUMNS; ++j) {
            const uint64_t place = (uint64_t)(i * MOST_COLUMNS + j);
            const double value = bb_random_normal(8, BB_STREAM_SELF_TEST, place);
            values[place] = copysign(pow(fabs(value), 0.1 + 0.12 * i), value);
        }
    }
}

static double step_of_clip(const double *row, int clip, double top)
{
    double largest = 0.0;
    for (int j = 0; j < MOST_COLUMNS; ++j) {
        largest = fmax(largest, fabs(row[j]));
    }
    return (double)(float)(ladder[clip] * largest / top);
}

static int best_clip(const double *row, double top)
{
    double least = INFINITY;
    int best = 0;
    for (int clip = 0; clip < CLIPS; ++clip) {
        const double squares = left_of(row, MOST_COLUMNS, step_of_clip(row, clip, top), top);
        best = squares < least ? clip : best;
        least = fmin(least, squares);
    }
    return best;
}

// Compares one row's step with its best clip, fixed and encoded; returns the number of values it
// clips.
static bb_index check_row(bb_coded_matrix *matrix, bb_index row, double *values, int best,
                          double top)
{
    const double step = step_of_clip(values, best, top);
    bb_index beyond = 0;
    for (int clip = 0; clip < CLIPS; ++clip) {
        check_ok(bb_coded_matrix_clip_row(matrix, row, clip, values));
        assert_true(bb_coded_matrix_round(matrix, row, 0, DBL_MAX) ==
                    top * step_of_clip(values, clip, top));
    }
    check_ok(bb_coded_matrix_fix_row(matrix, row, values));
    assert_true((double)bb_coded_matrix_row_step(matrix, row) == step);
    check_ok(bb_coded_matrix_clip_row(matrix, row, 0, values));
    check_ok(bb_coded_matrix_encode(matrix, row, bb_view_matrix(values, 1, MOST_COLUMNS)));
    assert_true((double)bb_coded_matrix_row_step(matrix, row) == step);
    for (int j = 0; j < MOST_COLUMNS; ++j) {
        beyond += rint(fabs(values[j]) / step) > top;
    }
    return beyond;
}

// The row's step is the fraction of its largest magnitude with the smallest error; clipped values
// are counted.
TEST(a_row_takes_its_best_clip)
{
    static double values[CLIPPED_ROWS * MOST_COLUMNS];
    const bb_matrix_layout layout = {.rows = CLIPPED_ROWS, .columns = MOST_COLUMNS};
    int taken[CLIPS] = {0};
    make_tails(values);
    for (int bits = 2; bits <= 8; ++bits) {
        const double top = ldexp(1.0, bits - 1) - 1.0;
        bb_index beyond = 0;
        bb_codec_config config = codec_of("integer clip=best");
        config.bits = bits;
        assert_int_equal(bb_codec_clip_count(&config), CLIPS);
        autoptr(bb_coded_matrix) matrix =
            new_object(bb_coded_matrix, &config, BB_ROW_SCALE_NONE, &layout);
        for (bb_index i = 0; i < CLIPPED_ROWS; ++i) {
            const int best = best_clip(values + i * MOST_COLUMNS, top);
            beyond += check_row(matrix, i, values + i * MOST_COLUMNS, best, top);
            ++taken[best];
        }
        assert_int_equal(bb_coded_matrix_saturated(matrix), beyond);
    }
    for (int clip = 0; clip < CLIPS; ++clip) {
        print_message("clip %.2f: the best of %d rows\n", ladder[clip], taken[clip]);
        assert_true(taken[clip] > 0);
    }
}

TEST(clips_are_asked_for_and_bounded)
{
    char text[200];
    double values[40] = {8.0};
    const bb_matrix_layout layout = {.rows = 1, .columns = 40};
    bb_codec_config config = codec_of("integer bits=4 clip=best");
    assert_true(bb_codec_check(&config, BB_ROW_SCALE_NONE, text, sizeof text));
    bb_codec_describe(&config, text, sizeof text);
    assert_string_equal(text, "integer 4, best clip");
    config.rounding = (int)BB_ROUNDING_SWEEP;
    bb_codec_describe(&config, text, sizeof text);
    assert_string_equal(text, "integer 4, best clip in the sweep");
    // The largest value may be clipped to a third of it.
    const double bound = bb_codec_bound(&config, NAN, 1.0, 8.0);
    check_relative(bound, 8.0 * (1.0 - 0.32), 1e-6);
    autoptr(bb_coded_matrix) matrix =
        new_object(bb_coded_matrix, &config, BB_ROW_SCALE_NONE, &layout);
    check_ok(bb_coded_matrix_clip_row(matrix, 0, CLIPS - 1, values));
    assert_true(8.0 - bb_coded_matrix_round(matrix, 0, 0, 8.0) <= bound);
    check_fails(bb_coded_matrix_clip_row(matrix, 0, CLIPS, values), BB_INVALID,
                "clip 12 of a row, expected 0 to 11");
    check_fails(bb_coded_matrix_clip_row(matrix, 1, 0, values), BB_INVALID, "row 1, expected 0");
    values[3] = NAN;
    check_fails(bb_coded_matrix_clip_row(matrix, 0, 0, values), BB_INVALID,
                "row 0, column 3 is nan");
    config = codec_of("integer bits=4 clip=none");
    assert_int_equal(bb_codec_clip_count(&config), 1);
    bb_codec_describe(&config, text, sizeof text);
    assert_string_equal(text, "integer 4");
    assert_true(bb_codec_bound(&config, NAN, 1.0, 8.0) < 8.0 / 14.0 * 1.001);
    config = codec_of("bfp bits=4 clip=best");
    assert_int_equal(bb_codec_clip_count(&config), 1);
    assert_false(bb_codec_check(&config, BB_ROW_SCALE_NONE, text, sizeof text));
    assert_string_equal(text, "clip: not a parameter of codec bfp");
    assert_false(bb_codec_read("integer bits=4 clip=most", &config));
}

TEST(keys_are_checked)
{
    char text[200];
    bb_codec_config config = integer_of(8);
    assert_true(bb_codec_check(&config, BB_ROW_SCALE_NONE, text, sizeof text));
    bb_codec_describe(&config, text, sizeof text);
    assert_string_equal(text, "integer 8");
    assert_string_equal(bb_codec_rounding(&config), "nearest even");
    assert_false(bb_codec_check(&config, BB_ROW_SCALE_ROW, text, sizeof text));
    assert_non_null(strstr(text, "integer with scale: row"));
    assert_null(bb_codec_absent(&config, BB_DEVICE_CPU));
    assert_null(bb_codec_absent(&config, BB_DEVICE_CUDA));
    assert_non_null(bb_codec_absent(&config, BB_DEVICE_OPENCL));
    config.bits = NAN;
    assert_false(bb_codec_check(&config, BB_ROW_SCALE_NONE, text, sizeof text));
    assert_string_equal(text, "bits: not given, integer needs it");
    const double others[] = {1.0, 17.0, 7.5};
    for (int i = 0; i < 3; ++i) {
        config.bits = others[i];
        assert_false(bb_codec_check(&config, BB_ROW_SCALE_NONE, text, sizeof text));
        assert_non_null(strstr(text, "integer accepts whole numbers from 2 to 16"));
    }
}
