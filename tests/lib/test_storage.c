// SPDX-License-Identifier: Apache-2.0
//
// Codecs through the library, compared with precision/, and their declared bounds.
#include "core/outcome.h"
#include "lib/bitbudget.h"
#include "precision/coded_matrix.h"
#include "tests/check.h"

enum { ROWS = 48, COLUMNS = 96, VALUES = ROWS * COLUMNS };

// Smooth along a mesh of 12 x 8 columns and a grid of 8 x 6 rows, with row magnitudes of 2^-3 to
// 2^3.
static double *make_values(void)
{
    double *values = new_array(double, VALUES);
    fill_array(values, VALUES, i,
               exp2((double)(i / COLUMNS % 7) - 3.0) *
                   (i / COLUMNS == 3 ? 30.0 : 1.0) * // the largest values are in the first rows
                   (sin(0.31 * (double)(i % COLUMNS % 12)) + cos(0.17 * (double)(i / COLUMNS)) +
                    0.1 * (double)(i % 5)));
    return values;
}

// Decodes the values with the functions of precision/ alone; returns the stored bytes.
static double code_directly(const char *text, bb_row_scale scale, bb_index mesh, bb_index grid,
                            double *values)
{
    bb_codec_config config;
    assert_true(bb_codec_read(text, &config));
    double lowest = INFINITY, highest = -INFINITY;
    for (bb_index i = 0; i < VALUES; ++i) {
        lowest = fmin(lowest, values[i]);
        highest = fmax(highest, values[i]);
    }
    const bb_matrix_layout layout = {.rows = ROWS,
                                     .columns = COLUMNS,
                                     .mesh_columns = mesh,
                                     .row_columns = grid,
                                     .range = highest - lowest};
    autoptr(bb_coded_matrix) matrix = NULL;
    check_ok(bb_coded_matrix_create(&config, scale, &layout, &matrix));
    check_ok(bb_coded_matrix_encode(matrix, 0, bb_view_matrix(values, ROWS, COLUMNS)));
    for (bb_index i = 0; i < ROWS; ++i) {
        bb_coded_matrix_decode(matrix, i, 0, COLUMNS, values + i * COLUMNS);
        for (bb_index j = 0; j < COLUMNS; ++j) {
            values[i * COLUMNS + j] /= bb_coded_matrix_row_scale(matrix, i);
        }
    }
    return (double)bb_coded_matrix_bytes(matrix);
}

typedef struct storage_case {
    const char *text, *codec; // of the library; of bb_codec_read
    bb_row_scale scale;
    bb_index mesh, grid;
} storage_case;

static const storage_case cases[] = {
    {"fp64", "fp64", BB_ROW_SCALE_NONE, 0, 0},
    {"codec=fp32", "fp32", BB_ROW_SCALE_NONE, 0, 0},
    {"fp16 scale=row", "fp16", BB_ROW_SCALE_ROW, 0, 0},
    {"e4m3 rounding=diffused", "e4m3 rounding=diffused", BB_ROW_SCALE_NONE, 0, 0},
    {"bfp bits=6", "bfp bits=6", BB_ROW_SCALE_NONE, 0, 0},
    {"mx element=e2m1 block_scale=nvfp4", "mx element=e2m1 block_scale=nvfp4", BB_ROW_SCALE_NONE, 0,
     0},
    {"integer bits=5 clip=best", "integer bits=5 clip=best", BB_ROW_SCALE_NONE, 0, 0},
    {"float exponent=5 mantissa=4", "float exponent=5 mantissa=4", BB_ROW_SCALE_NONE, 0, 0},
    {"quantiser tolerance_of_range=1e-3", "quantiser tolerance_of_range=1e-3", BB_ROW_SCALE_NONE, 0,
     0},
    {"zfp mode=rate bits=6 mesh_columns=12", "zfp mode=rate bits=6", BB_ROW_SCALE_NONE, 12, 0},
    {"zfp mode=accuracy tolerance=1e-4 dimensions=4 mesh_columns=12 row_columns=8",
     "zfp mode=accuracy tolerance=1e-4 dimensions=4", BB_ROW_SCALE_NONE, 12, 8},
    {"low_rank tolerance=1e-2 mesh_columns=12 row_columns=8", "low_rank tolerance=1e-2",
     BB_ROW_SCALE_NONE, 12, 8},
    {"transform tolerance=1e-2 mesh_columns=12 row_columns=8", "transform tolerance=1e-2",
     BB_ROW_SCALE_NONE, 12, 8},
};

TEST(every_codec_gives_the_values_of_precision)
{
    for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
        autofree double *values = make_values();
        autofree double *expected = make_values();
        autofree double *got = new_array(double, VALUES);
        bb_storage_report report;
        const double bytes =
            code_directly(cases[c].codec, cases[c].scale, cases[c].mesh, cases[c].grid, expected);
        check_ok(bb_storage_quantise(cases[c].text, ROWS, COLUMNS, values, got, &report));
        assert_memory_equal(got, expected, VALUES * sizeof *got);
        assert_true(report.bytes == bytes);
        assert_true(report.bits_per_value == 8.0 * bytes / VALUES);
        double largest = 0.0, squares = 0.0, sum = 0.0;
        for (bb_index i = 0; i < VALUES; ++i) {
            largest = fmax(largest, fabs(got[i] - values[i]));
            squares += (got[i] - values[i]) * (got[i] - values[i]);
            sum += got[i] - values[i];
        }
        assert_true(report.max_error == largest);
        check_relative(report.rms_error, sqrt(squares / VALUES), 1e-12);
        check_close(report.mean_error, sum / VALUES, 1e-12, largest);
    }
}

TEST(quantising_in_place_and_rows_alone_give_the_same)
{
    autofree double *values = make_values();
    autofree double *whole = new_array(double, VALUES);
    autofree double *rows = new_array(double, 3 * COLUMNS);
    autoptr(bb_storage) storage = NULL;
    static const char text[] = "fp16 scale=row";
    check_ok(bb_storage_encode(text, ROWS, COLUMNS, values, &storage));
    check_ok(bb_storage_decode(storage, 0, ROWS, whole));
    check_ok(bb_storage_decode(storage, 5, 3, rows));
    assert_memory_equal(rows, whole + 5 * COLUMNS, 3 * COLUMNS * sizeof *rows);
    check_ok(bb_storage_quantise(text, ROWS, COLUMNS, values, values, NULL));
    assert_memory_equal(values, whole, VALUES * sizeof *whole);
    check_fails(bb_storage_decode(storage, ROWS - 2, 3, rows), BB_INVALID,
                "3 rows from row 46: expected rows of a matrix with 48");
}

TEST(threads_change_no_bits)
{
    autofree double *values = make_values();
    autofree double *one = new_array(double, VALUES);
    autofree double *four = new_array(double, VALUES);
    static const char text[] = "transform tolerance=1e-2 mesh_columns=12 row_columns=8";
    check_ok(bb_set_threads(1));
    check_ok(bb_storage_quantise(text, ROWS, COLUMNS, values, one, NULL));
    check_ok(bb_set_threads(4));
    assert_int_equal(bb_get_threads(), 4);
    check_ok(bb_storage_quantise(text, ROWS, COLUMNS, values, four, NULL));
    assert_memory_equal(one, four, VALUES * sizeof *one);
    check_ok(bb_set_threads(0));
    check_fails(bb_set_threads(-1), BB_INVALID, "threads: -1");
}

TEST(values_that_do_not_fit_are_counted)
{
    const double values[2][32] = {{1e6, -1e6, 1e-9, 0.0, 1.0}, {NAN, INFINITY, 2.0}};
    double out[2][32];
    bb_storage_report report;
    check_ok(bb_storage_quantise("e4m3", 2, 32, values[0], out[0], &report));
    assert_int_equal(report.saturated, 3); // infinity saturates, too
    assert_int_equal(report.underflowed, 1);
    assert_true(out[0][0] == 448.0 && out[0][1] == -448.0 && out[0][2] == 0.0);
    assert_true(isnan(out[1][0]));
    check_ok(bb_storage_quantise("bfp bits=8", 2, 32, values[0], out[0], &report));
    assert_int_equal(report.non_finite, 2);
    check_all_nan(out[1], 32);
    assert_true(isnan(report.max_error));
}

// The unit roundoff of e4m3 is 2^-4.
TEST(bounds_are_those_of_the_codecs)
{
    double bound = 0.0;
    check_ok(bb_storage_bound("e4m3", NAN, 1.5, 1.5, &bound));
    assert_true(bound == 1.5 * 0.0625);
    check_ok(bb_storage_bound("quantiser tolerance_of_range=0.25", 8.0, 1.0, 3.0, &bound));
    check_relative(bound, 2.0, 1e-5); // and the fp32 rounding of quotients
    check_ok(bb_storage_bound("zfp mode=rate bits=8", NAN, 1.0, 1.0, &bound));
    assert_true(isinf(bound));
    check_fails(bb_storage_bound("quantiser tolerance_of_range=0.25", NAN, 1.0, 3.0, &bound),
                BB_INVALID, "range = nan");
    check_fails(bb_storage_bound("fp16", NAN, 2.0, 1.0, &bound), BB_INVALID, "magnitude 2");
}

TEST(names_and_keys_are_listed)
{
    const char *name, *meaning;
    char words[200], text[80], description[96];
    double bits = 0.0;
    assert_string_equal(bb_storage_name(0), "fp64");
    assert_null(bb_storage_name(-1));
    assert_null(bb_storage_name(bb_storage_count()));
    bool found = false;
    for (bb_index k = 0; k < bb_storage_key_count(); ++k) {
        check_ok(bb_storage_key(k, &name, &meaning, words, sizeof words));
        assert_true(strlen(meaning) > 10);
        if (strcmp(name, "element") == 0) {
            assert_string_equal(words, "e4m3 e5m2 e3m2 e2m3 e2m1 int8");
            found = true;
        }
    }
    assert_true(found);
    assert_string_equal(name, "row_columns");
    check_fails(bb_storage_key(0, &name, &meaning, NULL, 0), BB_INVALID, "words is NULL");
    check_fails(bb_storage_key(-1, &name, &meaning, words, 9), BB_INVALID, "key -1");
    for (bb_index i = 0; i < 5; ++i) { // plain formats need no keys
        (void)snprintf(text, sizeof text, "%s", bb_storage_name(i));
        check_ok(bb_storage_check(text, description, sizeof description, &bits));
        assert_string_equal(description, text);
    }
    check_ok(bb_storage_check("mx element=e4m3", description, sizeof description, &bits));
    assert_true(bits == 8.25);
    check_ok(bb_storage_check("quantiser tolerance=1", NULL, 0, &bits));
    assert_true(isnan(bits));
}

TEST(bad_texts_name_the_key)
{
    static const struct {
        const char *text, *message;
    } bad[] = {
        {NULL, "codec is missing"},
        {"fp17", "did you mean fp16?"},
        {"mx elemnt=e4m3", "unknown key 'elemnt' (did you mean element?)"},
        {"mx element=e4m4", "expected one of e4m3, e5m2"},
        {"bfp bits=8 bits=8", "bits is given twice"},
        {"bfp bits=8.5", "bfp accepts whole numbers from 4 to 16"},
        {"bfp bits=8x", "bits = '8x': expected a number"},
        {"fp16 bits", "'bits' is no option; write key=value"},
        {"fp16 mesh_columns=2.5", "mesh_columns = '2.5': expected a whole number"},
        {"zfp mode=accuracy", "tolerance"},
        {"quantiser tolerance=1 scale=row", "scale"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        check_fails(bb_storage_check(bad[i].text, NULL, 0, NULL), BB_INVALID, bad[i].message);
    }
    const double values[4] = {0};
    bb_storage *storage = NULL;
    check_fails(bb_storage_encode("zfp mode=rate bits=4 mesh_columns=3", 1, 4, values, &storage),
                BB_INVALID, "mesh");
    assert_null(storage);
    check_fails(bb_storage_encode("fp16", 0, 4, values, &storage), BB_INVALID, "matrix of 0 x 4");
    check_fails(bb_storage_encode("fp16", 1, 4, NULL, &storage), BB_INVALID, "values is NULL");
    check_fails(bb_storage_encode("fp16", 1, 4, values, NULL), BB_INVALID, "out is NULL");
    bb_storage_destroy(&storage);
    bb_storage_destroy(NULL);
}
