// SPDX-License-Identifier: Apache-2.0
//
// Rounding column by column: every codec that supports it, with every number of bits, on rows of
// widely different magnitudes, of zeros and of subnormals.
#include "core/random.h"
#include "tests/precision/adversarial.h"
#include "tests/precision/codec_rows.h"
#include "tests/precision/coded.h"

enum { MIXED = 4, ROWS = ADVERSARIAL_FINITE + MIXED, COLUMNS = 133, COUNT = ROWS * COLUMNS };
enum { BLOCK = 32 };

static codec_rows rows_of_all;
static double values[COUNT];

static int prepare(void)
{
    codec_rows_list(&rows_of_all);
    adversarial_fill(values, ROWS, COLUMNS, ADVERSARIAL_FINITE);
    for (int kind = 0; kind < ADVERSARIAL_FINITE; ++kind) { // a row of each kind
        for (int j = 0; j < COLUMNS; ++j) {
            values[(MIXED + kind) * COLUMNS + j] = adversarial_of_kind(kind, (uint64_t)j);
        }
    }
    return 0;
}

static bb_coded_matrix *created(const bb_codec_config *config, bb_row_scale scale)
{
    const bb_matrix_layout layout = {.rows = ROWS, .columns = COLUMNS};
    bb_coded_matrix *matrix = new_object(bb_coded_matrix, config, scale, &layout);
    return matrix;
}

// With the scales undone.
static void decode_all(const bb_coded_matrix *matrix, double *out)
{
    for (bb_index row = 0; row < ROWS; ++row) {
        bb_coded_matrix_decode(matrix, row, 0, COLUMNS, out + row * COLUMNS);
        for (bb_index j = 0; j < COLUMNS; ++j) {
            out[row * COLUMNS + j] /= bb_coded_matrix_row_scale(matrix, row);
        }
    }
}

static void fix_all(bb_coded_matrix *matrix)
{
    for (bb_index row = 0; row < ROWS; ++row) {
        check_ok(bb_coded_matrix_fix_row(matrix, row, values + row * COLUMNS));
    }
}

static double rounded(const bb_coded_matrix *matrix, int i, double value)
{
    return bb_coded_matrix_round(matrix, i / COLUMNS, i % COLUMNS, value);
}

static void check_same(const bb_coded_matrix *matrix, const char *what, int i, double got,
                       double expected)
{
    if (!(got == expected) || signbit(got) != signbit(expected)) {
        char name[80];
        bb_codec_describe(bb_coded_matrix_config(matrix), name, sizeof name);
        print_error("%s, scale %g, %s, value (%d, %d) = %a: %a, expected %a\n", name,
                    bb_coded_matrix_row_scale(matrix, i / COLUMNS), what, i / COLUMNS, i % COLUMNS,
                    values[i], got, expected);
        fail();
    }
}

// Whether encoding does not round to the nearest representable value: to infinity, or as fp32 if
// the quotients of a quantiser block are too large.
static bool leaves_range(const bb_coded_matrix *matrix, int i, double encoded)
{
    const int first = i % COLUMNS / BLOCK * BLOCK + i / COLUMNS * COLUMNS;
    const int end = i / COLUMNS * COLUMNS + COLUMNS;
    bool beyond = isinf(encoded);
    for (int k = first; k < first + BLOCK && k < end; ++k) {
        beyond |= bb_codec_form_of(bb_coded_matrix_config(matrix)).kind == BB_FORM_QUOTIENTS &&
                  fabs(values[k]) > rounded(matrix, k, DBL_MAX);
    }
    return beyond;
}

static void unrounded_values_become_what_encoding_makes(const bb_codec_config *config,
                                                        bb_row_scale scale)
{
    static double expected[COUNT], chosen[COUNT], got[COUNT];
    bb_codec_config nearest = *config;
    nearest.rounding = -1;
    autoptr(bb_coded_matrix) plain = created(&nearest, scale);
    autoptr(bb_coded_matrix) matrix = created(config, scale);
    check_ok(bb_coded_matrix_encode(plain, 0, bb_view_matrix(values, ROWS, COLUMNS)));
    decode_all(plain, expected);
    fix_all(matrix);
    for (int i = 0; i < COUNT; ++i) {
        chosen[i] = rounded(matrix, i, values[i]);
        if (!leaves_range(matrix, i, expected[i])) {
            check_same(matrix, "rounded", i, chosen[i], expected[i]);
        }
        check_same(matrix, "rounded again", i, rounded(matrix, i, chosen[i]), chosen[i]);
    }
    check_ok(bb_coded_matrix_encode_fixed(matrix, 0, bb_view_matrix(chosen, ROWS, COLUMNS)));
    decode_all(matrix, got);
    for (int i = 0; i < COUNT; ++i) {
        check_same(matrix, "decoded", i, got[i], chosen[i]);
    }
}

// Up to three steps off, like errors passed on by earlier columns.
static void perturbed_values_come_back(const bb_codec_config *config, bb_row_scale scale)
{
    static double chosen[COUNT], got[COUNT];
    autoptr(bb_coded_matrix) matrix = created(config, scale);
    fix_all(matrix);
    for (int i = 0; i < COUNT; ++i) {
        const double factor = bb_coded_matrix_row_scale(matrix, i / COLUMNS);
        const double tolerance = bb_coded_matrix_config(matrix)->tolerance;
        double largest = 0.0;
        for (int j = 0; j < COLUMNS; ++j) {
            largest = fmax(largest, fabs(factor * values[i / COLUMNS * COLUMNS + j]));
        }
        double step =
            2.0 / factor * bb_codec_bound(config, tolerance, fabs(factor * values[i]), largest);
        step = isfinite(step) ? step : fabs(values[i]);
        const double steps = 6.0 * bb_random_uniform(3, BB_STREAM_SELF_TEST, (uint64_t)i) - 3.0;
        chosen[i] = rounded(matrix, i, values[i] + steps * step);
        check_same(matrix, "rounded again", i, rounded(matrix, i, chosen[i]), chosen[i]);
    }
    check_ok(bb_coded_matrix_encode_fixed(matrix, 0, bb_view_matrix(chosen, ROWS, COLUMNS)));
    decode_all(matrix, got);
    for (int i = 0; i < COUNT; ++i) {
        check_same(matrix, "decoded", i, got[i], chosen[i]);
    }
    assert_int_equal(bb_coded_matrix_non_finite(matrix), 0);
    // Scaled rows of fp64's subnormals have words between its numbers.
    assert_true(scale == BB_ROW_SCALE_ROW || bb_coded_matrix_saturated(matrix) == 0);
}

// Encoding does not change the fixed data.
static void zeros_leave_the_row_as_it_was(const bb_codec_config *config, bb_row_scale scale)
{
    static double chosen[COUNT], zeros[COUNT], got[COUNT];
    autoptr(bb_coded_matrix) matrix = created(config, scale);
    fix_all(matrix);
    fill_array(chosen, COUNT, i, rounded(matrix, i, values[i]));
    check_ok(bb_coded_matrix_encode_fixed(matrix, 0, bb_view_matrix(zeros, ROWS, COLUMNS)));
    decode_all(matrix, got);
    for (int i = 0; i < COUNT; ++i) {
        check_same(matrix, "decoded", i, got[i], 0.0);
        check_same(matrix, "rounded later", i, rounded(matrix, i, values[i]), chosen[i]);
    }
}

static void values_beyond_the_range_clip(const bb_codec_config *config, bb_row_scale scale)
{
    autoptr(bb_coded_matrix) matrix = created(config, scale);
    fix_all(matrix);
    for (int i = 0; i < COUNT; ++i) {
        const double held = rounded(matrix, i, DBL_MAX);
        assert_true(isfinite(held) && held >= fabs(rounded(matrix, i, values[i])));
        check_same(matrix, "most", i, rounded(matrix, i, held), held);
        if (held < DBL_MAX && held > 0.0) {
            check_same(matrix, "more", i, rounded(matrix, i, nextafter(held, INFINITY)), held);
            check_same(matrix, "twice", i, rounded(matrix, i, fmin(2.0 * held, DBL_MAX)), held);
        }
        check_same(matrix, "least", i, rounded(matrix, i, -DBL_MAX), held == 0.0 ? 0.0 : -held);
        assert_true(isnan(rounded(matrix, i, NAN)) && isinf(rounded(matrix, i, INFINITY)));
    }
}

typedef void check_of(const bb_codec_config *config, bb_row_scale scale);

static void walk(check_of *check)
{
    for (int c = 0; c < rows_of_all.count; ++c) {
        const bb_codec_config *config = &rows_of_all.configs[c];
        if (!bb_codec_rounds_columns(config) || bb_codec_has_key(config, "block")) {
            continue;
        }
        check(config, BB_ROW_SCALE_NONE);
        if (bb_codec_allows_row_scale(config)) {
            check(config, BB_ROW_SCALE_ROW);
        }
    }
}

TEST(rounding_and_encoding_agree)
{
    walk(unrounded_values_become_what_encoding_makes);
}

TEST(perturbations_are_kept)
{
    walk(perturbed_values_come_back);
}

TEST(fixed_rows_stay)
{
    walk(zeros_leave_the_row_as_it_was);
}

TEST(what_is_not_held_clips)
{
    walk(values_beyond_the_range_clip);
}

// A row whose first block has values up to 7 and whose second has values up to 0.5.
TEST(ranges_by_hand)
{
    static const struct {
        const char *text;
        int column;
        double value, expected;
    } cases[] = {
        {"bfp bits=4", 0, 7.4, 7.0},
        {"bfp bits=4", 0, 7.6, 7.0},
        {"bfp bits=4", 3, 2.5, 2.0},
        {"bfp bits=4", 3, -3.5, -4.0},
        {"bfp bits=4", 32, 0.43, 0.375},  // 0.5 is four units of 1/8
        {"bfp bits=4", 32, 1.5, 0.875},   // an error passed on to a block of small values clips
        {"integer bits=4", 32, 1.5, 2.0}, // and is represented if the row has one step
        {"integer bits=4", 32, -2.5, -2.0},
        {"integer bits=4", 0, 7.6, 7.0},
        {"integer bits=4", 0, -1e9, -7.0},
        {"mx element=e2m1", 0, 100.0, 6.0}, // s = 2 - 2
        {"mx element=e2m1", 0, -2.6, -3.0},
        {"mx element=e2m1", 32, 0.7, 0.75}, // s = -1 - 2: up to 6 / 8
        {"mx element=e2m1", 32, 9.0, 0.75},
        {"mx element=int8", 0, 8.0, 127.0 / 16.0}, // s = 2
        {"quantiser tolerance=0.5", 9, 2.5, 2.0},
        {"quantiser tolerance=0.5", 9, -1e300, -2147483647.0},
        {"fp16", 5, -1e6, -65504.0},
        {"e4m3", 5, 500.0, 448.0},
        {"bf16", 5, 1e300, 0x1.fep127},
        {"fp64", 5, 0.1, 0.1},
        {"float exponent=2 mantissa=1", 5, 100.0, 3.0},
        {"float exponent=2 mantissa=1 specials=finite", 5, -100.0, -4.0},
    };
    double row[64] = {7.0, -3.0};
    row[32] = 0.5;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
        const bb_codec_config config = codec_of(cases[c].text);
        const bb_matrix_layout layout = {.rows = 1, .columns = 64};
        autoptr(bb_coded_matrix) matrix =
            new_object(bb_coded_matrix, &config, BB_ROW_SCALE_NONE, &layout);
        check_ok(bb_coded_matrix_fix_row(matrix, 0, row));
        const double got = bb_coded_matrix_round(matrix, 0, cases[c].column, cases[c].value);
        if (got != cases[c].expected) {
            print_error("%s: %g became %g, expected %g\n", cases[c].text, cases[c].value, got,
                        cases[c].expected);
            fail();
        }
    }
}

// A block that is fixed again can represent its new values, here 16 times the old ones, and the
// previous block is unchanged.
static void blocks_can_be_fixed_again(const bb_codec_config *config, bb_row_scale scale)
{
    const bb_index width = bb_codec_rounding_block(config);
    int more_held = 0;
    autoptr(bb_coded_matrix) matrix = created(config, scale);
    fix_all(matrix);
    for (bb_index row = 0; row < ROWS; ++row) {
        const bb_index column = 2 * BLOCK;
        const double *line = values + row * COLUMNS;
        double more[BLOCK];
        double largest = 0.0;
        const double before = bb_coded_matrix_round(matrix, row, column - 1, line[column - 1]);
        for (int i = 0; i < BLOCK; ++i) {
            more[i] = 16.0 * line[column + i];
            largest = fmax(largest, fabs(line[column + i]));
        }
        const double held = bb_coded_matrix_round(matrix, row, column, DBL_MAX);
        bb_coded_matrix_fix_block(matrix, row, column, BLOCK, more);
        const double holds = bb_coded_matrix_round(matrix, row, column, DBL_MAX);
        assert_true(bb_coded_matrix_round(matrix, row, column - 1, line[column - 1]) == before);
        if (width == 0) {
            assert_true(holds == held);
        } else if (largest > 1e-30 && largest < 1e30) {
            assert_true(holds >= held && holds <= 32.0 * held);
            more_held += holds >= 8.0 * held; // not for nvfp4 if the block is the row's largest
        }
        bb_coded_matrix_fix_block(matrix, row, column, BLOCK, line + column);
        assert_true(bb_coded_matrix_round(matrix, row, column, DBL_MAX) == held);
    }
    assert_true(width == 0 || more_held > 0);
}

TEST(what_blocks_share_follows_what_they_want)
{
    walk(blocks_can_be_fixed_again);
}

// Unrepresentable rows are fixed at the codec's largest value, and a fixed row can be encoded.
TEST(rows_beyond_the_range_are_held_at_its_end)
{
    static const char *const texts[] = {
        "bfp bits=8",      "integer bits=8", "mx element=int8",
        "mx element=e4m3", "fp32",           "float exponent=8 mantissa=7"};
    for (size_t c = 0; c < sizeof texts / sizeof *texts; ++c) {
        const bb_codec_config config = codec_of(texts[c]);
        const bb_matrix_layout layout = {.rows = 1, .columns = 3};
        double row[3] = {1e300, -1e200, 1.0};
        double chosen[3];
        double got[3];
        autoptr(bb_coded_matrix) matrix =
            new_object(bb_coded_matrix, &config, BB_ROW_SCALE_NONE, &layout);
        check_ok(bb_coded_matrix_fix_row(matrix, 0, row));
        fill_array(chosen, 3, j, bb_coded_matrix_round(matrix, 0, j, row[j]));
        assert_true(chosen[0] > 0x1p126 && chosen[0] <= (double)FLT_MAX && chosen[1] == -chosen[0]);
        check_ok(bb_coded_matrix_encode_fixed(matrix, 0, bb_view_matrix(chosen, 1, 3)));
        bb_coded_matrix_decode(matrix, 0, 0, 3, got);
        assert_memory_equal(got, chosen, sizeof got);
        assert_int_equal(bb_coded_matrix_non_finite(matrix), 0);
    }
}

TEST(codecs_say_whether_they_do)
{
    static const char *const able[] = {"fp64",
                                       "fp32",
                                       "tf32",
                                       "bf16",
                                       "fp16",
                                       "e4m3",
                                       "e5m2",
                                       "bfp bits=4",
                                       "integer bits=2",
                                       "quantiser tolerance=1",
                                       "mx element=e2m1 block_scale=nvfp4",
                                       "float exponent=4 mantissa=3"};
    static const char *const unable[] = {"zfp mode=rate bits=8", "low_rank tolerance=1",
                                         "transform tolerance=1", "fp16 rounding=diffused",
                                         "float exponent=4 mantissa=3 rounding=stochastic"};
    char text[200];
    for (size_t c = 0; c < sizeof able / sizeof *able; ++c) {
        bb_codec_config config = codec_of(able[c]);
        assert_true(bb_codec_rounds_columns(&config));
        config.rounding = (int)BB_ROUNDING_SWEEP;
        assert_true(bb_codec_rounds_columns(&config) && bb_codec_sweeps(&config));
        assert_true(bb_codec_check(&config, BB_ROW_SCALE_NONE, text, sizeof text));
        assert_string_equal(bb_codec_rounding(&config), "nearest even, in the sweep");
        bb_codec_describe(&config, text, sizeof text);
        assert_string_equal(text + strlen(text) - 13, " in the sweep");
    }
    for (size_t c = 0; c < sizeof unable / sizeof *unable; ++c) {
        const bb_codec_config config = codec_of(unable[c]);
        assert_false(bb_codec_rounds_columns(&config));
        assert_true(bb_codec_check(&config, BB_ROW_SCALE_NONE, text, sizeof text));
    }
    bb_codec_config config = codec_of("zfp mode=rate bits=8 rounding=sweep");
    assert_false(bb_codec_check(&config, BB_ROW_SCALE_NONE, text, sizeof text));
    assert_string_equal(
        text, "rounding: not a parameter of codec zfp, as it cannot round columns one by one");
    config = codec_of("integer bits=8 rounding=diffused");
    assert_false(bb_codec_check(&config, BB_ROW_SCALE_NONE, text, sizeof text));
    assert_string_equal(text, "rounding: diffused, codec integer accepts nearest, sweep");
}

// Encoding rounds to nearest.
TEST(the_sweep_is_the_callers)
{
    static const char *const texts[] = {"e4m3",
                                        "bfp bits=6",
                                        "integer bits=5",
                                        "quantiser tolerance=1e-3",
                                        "mx element=e2m3",
                                        "float exponent=4 mantissa=3"};
    static double got[2][COUNT];
    for (size_t c = 0; c < sizeof texts / sizeof *texts; ++c) {
        for (int sweep = 0; sweep < 2; ++sweep) {
            bb_codec_config config = codec_of(texts[c]);
            config.rounding = sweep != 0 ? (int)BB_ROUNDING_SWEEP : -1;
            autoptr(bb_coded_matrix) matrix = created(&config, BB_ROW_SCALE_NONE);
            check_ok(bb_coded_matrix_encode(matrix, 0, bb_view_matrix(values, ROWS, COLUMNS)));
            decode_all(matrix, got[sweep]);
        }
        assert_memory_equal(got[0], got[1], sizeof got[0]);
    }
}

TEST(what_cannot_be_is_refused)
{
    static double copy[COUNT], got[COUNT];
    bb_codec_config config = codec_of("bfp bits=8");
    autoptr(bb_coded_matrix) matrix = created(&config, BB_ROW_SCALE_NONE);
    memcpy(copy, values, sizeof copy);
    copy[2 * COLUMNS + 7] = -INFINITY;
    check_fails(bb_coded_matrix_fix_row(matrix, 2, copy + 2 * COLUMNS), BB_INVALID,
                "row 2, column 7 is -inf, expected finite values to determine the row's scale");
    check_fails(bb_coded_matrix_fix_row(matrix, ROWS, copy), BB_INVALID,
                "row 15, expected 0 to 14");
    check_fails(bb_coded_matrix_encode_fixed(matrix, 1, bb_view_matrix(copy, ROWS, COLUMNS)),
                BB_INVALID, "does not fit a coded matrix");
    // Final non-finite values are counted and poison their block, the other rows are unaffected.
    fix_all(matrix);
    fill_array(copy, COUNT, i, rounded(matrix, i, copy[i]));
    check_ok(bb_coded_matrix_encode_fixed(matrix, 0, bb_view_matrix(copy, ROWS, COLUMNS)));
    assert_int_equal(bb_coded_matrix_non_finite(matrix), 1);
    decode_all(matrix, got);
    for (int i = 0; i < COUNT; ++i) {
        const bool lost = i / COLUMNS == 2 && i % COLUMNS < BLOCK;
        assert_true(lost ? isnan(got[i]) : got[i] == copy[i]);
    }
    bb_coded_matrix_destroy(&matrix);
    config = codec_of("fp16 rounding=diffused");
    matrix = created(&config, BB_ROW_SCALE_NONE);
    check_fails(
        bb_coded_matrix_fix_row(matrix, 0, values), BB_INVALID,
        "codec fp16, nearest even, errors diffused over the row's mesh: cannot round columns");
    check_fails(bb_coded_matrix_encode_fixed(matrix, 0, bb_view_matrix(copy, ROWS, COLUMNS)),
                BB_INVALID, "cannot round columns one by one");
}

TEST_GROUP(.begin = prepare);
