// SPDX-License-Identifier: Apache-2.0
//
// Draws of a coded matrix: independent rounding with the analytic spread, undone exactly, and
// codecs that exploit smoothness keep their rate.
#include "core/random.h"
#include "sim/pipelines/product_coding.h"
#include "tests/sim/driver.h"

enum { ROWS = 12, COLUMNS = 64 * 48, ACROSS = 64, DRAWS = 200 };

static double values[ROWS * COLUMNS];
static double x[COLUMNS];
static bb_view view;
static bb_matrix_source source;

// Smooth over the mesh, from row to row too.
static void prepare(void)
{
    for (int i = 0; i < ROWS; ++i) {
        for (int j = 0; j < COLUMNS; ++j) {
            double u = (double)(j % ACROSS) / ACROSS - 0.4 - 0.01 * i;
            const int line = j / ACROSS;
            const int lines = COLUMNS / ACROSS;
            double v = (double)line / lines - 0.55;
            values[i * COLUMNS + j] = exp(-6.0 * (u * u + v * v)) * (1.0 + 0.3 * u);
        }
    }
    fill_array(x, COLUMNS, j, bb_random_normal(3, BB_STREAM_INPUT, (uint64_t)j));
    view = bb_view_matrix(values, ROWS, COLUMNS);
    source = bb_matrix_source_dense(&view, "C", "1");
}

// y of one draw in fp64, and the codec's bits per value.
static void multiply(const bb_codec_config *storage, bb_index number, double y[ROWS], double *bits)
{
    const bb_product_pipeline pipeline = {.name = "test", .storage = *storage};
    const bb_exact_rows rows = {&source, 1, NULL};
    const bb_matrix_layout layout = {
        .rows = ROWS, .columns = COLUMNS, .mesh_columns = ACROSS, .row_columns = 4, .range = 1.0};
    const bb_coding_draw draw = {.seed = 5, .number = number};
    autorelease(bb_coding_factors) factors = {0};
    bb_coding_report report;
    autoptr(bb_coded_matrix) coded = NULL;
    static double row[COLUMNS];
    check_ok(
        bb_product_coding_encode_draw(&pipeline, &rows, &layout, &draw, &factors, &report, &coded));
    assert_int_equal(factors.rows != NULL, number > 0);
    for (int i = 0; i < ROWS; ++i) {
        bb_coded_matrix_decode(coded, i, 0, COLUMNS, row);
        y[i] = 0.0;
        for (int j = 0; j < COLUMNS; ++j) {
            y[i] += row[j] * x[j];
        }
    }
    bb_coding_factors_undo(&factors, 0, ROWS, y);
    *bits = 8.0 * report.bytes / report.values;
    // The matrix itself is compared, not its multiple.
    check_close(report.norms.max_error, 0.0, 0.02, 1.0);
}

TEST(exact_formats_draw_the_same_answer)
{
    const bb_codec_config fp64 = bb_codec_plain(BB_FORMAT_FP64);
    double plain[ROWS];
    double drawn[ROWS];
    double bits = 0.0;
    multiply(&fp64, 0, plain, &bits);
    for (bb_index d = 1; d < 4; ++d) {
        multiply(&fp64, d, drawn, &bits);
        check_all_relative(drawn, plain, ROWS, 1e-12);
    }
}

// Factors are uniform in the logarithm over an octave, so a value v is rounded to fp16 with an
// error of variance v^2 2^-20 / 12 E[m^-2], m its mantissa: E[m^-2] = (1 - 1/4) / (2 ln 2). A step
// q of the quantiser, taken of f v, gives q^2 / 12 E[f^-2].
TEST(the_spread_is_the_analytic_one)
{
    bb_codec_config quantiser = bb_codec_plain(BB_FORMAT_FP64);
    quantiser.codec = bb_codec_find("quantiser");
    quantiser.tolerance = 2e-3; // a step of 4e-3
    const bb_codec_config fp16 = bb_codec_plain(BB_FORMAT_FP16);
    const bb_codec_config *const storage[] = {&fp16, &quantiser};
    double bits = 0.0;
    double y[ROWS];
    for (int c = 0; c < 2; ++c) {
        double squares = 0.0;
        double expected = 0.0;
        double exact[ROWS] = {0.0};
        for (int i = 0; i < ROWS; ++i) {
            for (int j = 0; j < COLUMNS; ++j) {
                double v = values[i * COLUMNS + j];
                double relative = v * v * 0x1p-20 * 0.375 / log(2.0);
                double absolute = 16e-6 * 0.970;
                exact[i] += v * x[j];
                expected += (c == 0 ? relative : absolute) / 12.0 * x[j] * x[j];
            }
        }
        for (bb_index d = 1; d <= DRAWS; ++d) {
            multiply(storage[c], d, y, &bits);
            for (int i = 0; i < ROWS; ++i) {
                squares += (y[i] - exact[i]) * (y[i] - exact[i]) / DRAWS;
            }
        }
        print_message("codec %d: spread %.3f of the analytic one\n", c, sqrt(squares / expected));
        // Variance of 2400 samples; rounding errors of neighbours are slightly correlated.
        check_relative(sqrt(squares), sqrt(expected), 0.1);
    }
}

// A factor per column, or per row where rows are coded together, would cost bits.
TEST(smooth_codecs_keep_their_rate)
{
    double y[ROWS];
    double plain = 0.0;
    double drawn = 0.0;
    for (bb_index dimensions = 1; dimensions <= 4; ++dimensions) {
        for (int mode = (int)BB_ZFP_PRECISION; mode <= (int)BB_ZFP_ACCURACY; ++mode) {
            bb_codec_config zfp = bb_codec_plain(BB_FORMAT_FP64);
            zfp.codec = bb_codec_find("zfp");
            zfp.mode = mode;
            zfp.dimensions = dimensions;
            zfp.bits = mode == (int)BB_ZFP_PRECISION ? 14.0 : NAN;
            zfp.tolerance = mode == (int)BB_ZFP_ACCURACY ? 1e-4 : NAN;
            multiply(&zfp, 0, y, &plain);
            multiply(&zfp, 1, y, &drawn);
            print_message("zfp %d in %td: %.3f bits, drawn %.3f\n", mode, dimensions, plain, drawn);
            check_relative(drawn, plain, 0.02);
        }
    }
}

// Experiments: `draws` in, statistics out, draw 0 unchanged.
TEST_FULL(the_wafer_has_draws)
{
    static const char *const same[] = {"overlay_error_x_nm", "overlay_error_y_nm",
                                       "qoi_relative_error", "operator_bytes"};
    const driver_case thrice = {CONFIG_WAFER_SMALL,
                                {"pipelines.0.draws=3", "pipelines.4.draws=3", NULL}};
    autoptr(bb_results) plain = driver_results(CASE(CONFIG_WAFER_SMALL, {NULL}));
    autoptr(bb_results) drawn = driver_results(&thrice);
    const bb_dataset *names = driver_dataset(plain, "pipeline");
    for (size_t i = 0; i < sizeof same / sizeof *same; ++i) {
        const bb_dataset *expected = driver_dataset(plain, same[i]);
        const bb_dataset *got = driver_dataset(drawn, same[i]);
        assert_memory_equal(got->numbers, expected->numbers, (size_t)got->count * sizeof(double));
    }
    for (bb_index p = 0; p < names->count; ++p) {
        const char *name = names->texts[p];
        double loss = fmax(driver_number(plain, "overlay_error_x_nm", name),
                           driver_number(plain, "overlay_error_y_nm", name));
        assert_true(driver_number(plain, "loss_worst", name) == loss);
        assert_true(driver_number(drawn, "loss_worst", name) >= loss);
        assert_true(driver_number(drawn, "draws", name) == (p == 0 || p == 4 ? 3.0 : 1.0));
    }
    // The reference's draws differ from it by fp64 rounding.
    assert_true(driver_number(drawn, "loss_worst", names->texts[0]) < 1e-10);
    assert_true(driver_number(drawn, "loss_std", "fp16") > 0.0);
    driver_check_threads(&thrice);
}

static int begin(void)
{
    prepare();
    return 0;
}

TEST_GROUP(.begin = begin);
