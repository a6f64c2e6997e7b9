// SPDX-License-Identifier: Apache-2.0
#include "solvers/operator/coded_operator.h"
#include "tests/precision/coded.h"
#include "tests/solvers/dense.h"

enum { ROWS = 37, COLUMNS = 10007 };

static double *c, *x;
static bb_device *device;

static int setup(void **state)
{
    (void)state;
    check_ok(bb_device_open(BB_DEVICE_CPU, 0, &device));
    c = dense_new((bb_index)ROWS * COLUMNS);
    x = dense_new(COLUMNS);
    dense_random((bb_index)ROWS * COLUMNS, 1, c);
    dense_random(COLUMNS, 2, x);
    for (bb_index i = 0; i < (bb_index)ROWS * COLUMNS; ++i) {
        c[i] *= 1e-10;
    }
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    bb_device_close(&device);
    BB_RELEASE(&c);
    BB_RELEASE(&x);
    return 0;
}

static void apply(const bb_coded_matrix *matrix, bb_gemv_arithmetic arithmetic, bb_index row,
                  bb_index rows, double *y)
{
    double seconds = 0.0;
    autoptr(bb_coded_operator) operation =
        new_object(bb_coded_operator, device, matrix, arithmetic);
    check_ok(bb_coded_operator_apply(operation, row, rows, x, y, &seconds));
    assert_true(seconds >= 0.0);
}

static bb_coded_matrix *encoded(bb_format format)
{
    bb_codec_config config = bb_codec_plain(format);
    bb_matrix_layout layout = {.rows = ROWS, .columns = COLUMNS};
    return coded_matrix(&config, BB_ROW_SCALE_ROW, &layout, c);
}

// Worst case of storage, product and sum: (u_s + 2 u_m) sum|c x| + additions in the accumulator.
TEST(errors_stay_within_the_worst_case, .setup_func = setup, .teardown_func = teardown)
{
    const bb_gemv_arithmetic kinds[] = {{BB_FORMAT_FP64, BB_FORMAT_FP64},
                                        {BB_FORMAT_FP32, BB_FORMAT_FP64},
                                        {BB_FORMAT_FP32, BB_FORMAT_FP32}};
    double y[ROWS];
    for (int f = 0; f < BB_FORMAT_COUNT; ++f) {
        autoptr(bb_coded_matrix) matrix = encoded((bb_format)f);
        for (int k = 0; k < 3; ++k) {
            double u = bb_format_unit_roundoff((bb_format)f) +
                       3.0 * bb_format_unit_roundoff(kinds[k].multiply) +
                       COLUMNS / 8.0 * bb_format_unit_roundoff(kinds[k].accumulate);
            apply(matrix, kinds[k], 5, ROWS - 5, y);
            for (bb_index i = 5; i < ROWS; ++i) {
                double exact = 0.0;
                double magnitude = 0.0;
                for (bb_index j = 0; j < COLUMNS; ++j) {
                    exact += c[i * COLUMNS + j] * x[j];
                    magnitude += fabs(c[i * COLUMNS + j] * x[j]);
                }
                // e4m3's subnormals add an absolute error below 2^-9 of the row's maximum.
                double floor = f >= BB_FORMAT_E4M3 ? 0.02 * magnitude : 0.0;
                check_close(y[i - 5], exact, 1.0, u * magnitude + floor);
            }
        }
    }
}

// The scheme of Bamakhrama et al.: fp64 sums are about a thousand times more accurate than fp32
// sums.
TEST(accumulating_in_fp64_pays, .setup_func = setup, .teardown_func = teardown)
{
    double exact[ROWS], mixed[ROWS], single[ROWS];
    double mixed_error = 0.0, single_error = 0.0;
    autoptr(bb_coded_matrix) wide = encoded(BB_FORMAT_FP64);
    autoptr(bb_coded_matrix) matrix = encoded(BB_FORMAT_FP32);
    fill_array(x, COLUMNS, j, fabs(x[j]));
    fill_array(c, (bb_index)ROWS * COLUMNS, i, (float)fabs(c[i]));
    bb_coded_matrix_destroy(&wide);
    bb_coded_matrix_destroy(&matrix);
    wide = encoded(BB_FORMAT_FP64);
    matrix = encoded(BB_FORMAT_FP32);
    apply(wide, (bb_gemv_arithmetic){BB_FORMAT_FP64, BB_FORMAT_FP64}, 0, ROWS, exact);
    apply(matrix, (bb_gemv_arithmetic){BB_FORMAT_FP32, BB_FORMAT_FP64}, 0, ROWS, mixed);
    apply(matrix, (bb_gemv_arithmetic){BB_FORMAT_FP32, BB_FORMAT_FP32}, 0, ROWS, single);
    for (bb_index i = 0; i < ROWS; ++i) {
        mixed_error += fabs(mixed[i] / exact[i] - 1.0);
        single_error += fabs(single[i] / exact[i] - 1.0);
    }
    assert_true(mixed_error < 0.05 * single_error);
}

TEST(bits_do_not_depend_on_threads, .setup_func = setup, .teardown_func = teardown)
{
    double one[ROWS], four[ROWS];
    bb_gemv_arithmetic seed = {BB_FORMAT_FP32, BB_FORMAT_FP64};
    autoptr(bb_coded_matrix) matrix = encoded(BB_FORMAT_FP16);
    check_ok(bb_threads_set(1));
    apply(matrix, seed, 0, ROWS, one);
    check_ok(bb_threads_set(4));
    apply(matrix, seed, 0, ROWS, four);
    assert_memory_equal(one, four, sizeof one);
    bb_threads_stop();
}

TEST(sums_narrower_than_products_are_refused, .setup_func = setup, .teardown_func = teardown)
{
    double y[ROWS];
    double seconds = 0.0;
    autoptr(bb_coded_operator) operation = NULL;
    autoptr(bb_coded_matrix) matrix = encoded(BB_FORMAT_FP32);
    bb_gemv_arithmetic narrow = {BB_FORMAT_FP64, BB_FORMAT_FP32};
    bb_gemv_arithmetic fair = {BB_FORMAT_FP32, BB_FORMAT_FP32};
    check_fails(bb_coded_operator_create(device, matrix, narrow, &operation), BB_UNSUPPORTED,
                "multiply fp64 with accumulate fp32");
    check_ok(bb_coded_operator_create(device, matrix, fair, &operation));
    check_fails(bb_coded_operator_apply(operation, 30, 8, x, y, &seconds), BB_INVALID,
                "rows 30 to 38 are outside the coded matrix of 37 rows");
}

// Storage as words, blocks, whole steps, quotients, streams and tiles, scaled by row if possible.
TEST(some_rows_are_an_operator, .setup_func = setup, .teardown_func = teardown)
{
    static const char *const texts[] = {
        "fp16",
        "bfp bits=8",
        "bfp bits=6",
        "integer bits=5",
        "quantiser tolerance=1e-13",
        "zfp mode=rate bits=8 dimensions=1",
        "low_rank tolerance=1e-12 tile_columns=40 tile_rows=1 band_lines=8"};
    enum { FIRST = 9, SOME = 20, ROW = 3, WINDOW = 16 };
    const bb_gemv_arithmetic seed = {BB_FORMAT_FP32, BB_FORMAT_FP64};
    const bb_matrix_layout layout = {.rows = ROWS, .columns = COLUMNS};
    double y[WINDOW], expected[WINDOW];
    for (bb_index i = 0; i < (bb_index)ROWS * COLUMNS; ++i) {
        c[i] = ldexp(c[i], (int)(i / COLUMNS % 5)); // scales differ from row to row
    }
    for (size_t k = 0; k < sizeof texts / sizeof *texts; ++k) {
        bb_coded_operator *part = NULL;
        double seconds = 0.0;
        print_message("%s\n", texts[k]);
        bb_codec_config config = codec_of(texts[k]);
        const bool scaled = bb_codec_allows_row_scale(&config);
        bb_coded_matrix *matrix =
            coded_matrix(&config, scaled ? BB_ROW_SCALE_ROW : BB_ROW_SCALE_NONE, &layout, c);
        check_ok(bb_coded_operator_create_rows(device, matrix, FIRST, SOME, seed, &part));
        assert_int_equal(bb_coded_operator_rows(part), SOME);
        check_close((double)bb_coded_operator_bytes(part),
                    (double)SOME / ROWS * (double)bb_coded_matrix_bytes(matrix), 1.0, 1.0);
        check_ok(bb_coded_operator_apply(part, ROW, WINDOW, x, y, &seconds));
        apply(matrix, seed, FIRST + ROW, WINDOW, expected);
        assert_memory_equal(y, expected, sizeof y);
        check_fails(bb_coded_operator_apply(part, ROW, SOME, x, y, &seconds), BB_INVALID,
                    "rows 3 to 23 are outside the coded matrix of 20 rows");
        bb_coded_operator_destroy(&part);
        check_fails(bb_coded_operator_create_rows(device, matrix, 30, 8, seed, &part), BB_INVALID,
                    "rows 30 to 38 are outside the coded matrix of 37 rows");
        bb_coded_matrix_destroy(&matrix);
    }
}
