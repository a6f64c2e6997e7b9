// SPDX-License-Identifier: Apache-2.0
//
// A-priori rounding bounds of products against products with the same stored values in extended
// precision: every arithmetic, runs, codecs that multiply in blocks, operands that underflow.
#include "core/random.h"
#include "solvers/operator/coded_operator.h"
#include "tests/first_device.h"
#include "tests/precision/codecs/low_rank_problem.h"
#include "tests/precision/coded.h"
#include "tests/solvers/operator/path_bound.h"

enum { ROWS = 8, COLUMNS = 5000, MOST_RUNS = 2 };

typedef struct fixture {
    double exact[ROWS * COLUMNS], stored[ROWS * COLUMNS], x[COLUMNS], y[ROWS];
    bb_row_certificate rows[ROWS];
} fixture;

static void certify(fixture *given, const bb_coded_matrix *matrix)
{
    for (bb_index i = 0; i < ROWS; ++i) {
        bb_error_norms norms = bb_error_norms_start();
        double *stored = given->stored + i * COLUMNS;
        double scale = bb_coded_matrix_row_scale(matrix, i);
        bb_coded_matrix_decode(matrix, i, 0, COLUMNS, stored);
        for (bb_index j = 0; j < COLUMNS; ++j) {
            stored[j] /= scale;
        }
        bb_error_norms_add(&norms, given->exact + i * COLUMNS, stored, COLUMNS);
        given->rows[i] = bb_row_certificate_start(scale);
        bb_row_certificate_add(&given->rows[i], &norms, given->exact + i * COLUMNS, stored,
                               COLUMNS);
    }
}

// Largest ratio of rounding error to bound over the rows.
static double worst_part(const fixture *given, const bb_sum_rounding *rounding)
{
    double worst = 0.0;
    const bb_vector_norms norms = bb_vector_norms_of(given->x, COLUMNS);
    for (bb_index i = 0; i < ROWS; ++i) {
        long double sum = 0.0L;
        for (bb_index j = 0; j < COLUMNS; ++j) {
            sum += (long double)given->stored[i * COLUMNS + j] * (long double)given->x[j];
        }
        double bound = bb_row_certificate_rounding(&given->rows[i], &norms, rounding);
        double error = fabs((double)((long double)given->y[i] - sum));
        if (!(error <= bound)) {
            print_error("row %td: rounding %g, bound %g\n", i, error, bound);
            fail();
        }
        worst = fmax(worst, isfinite(bound) && bound > 0.0 ? error / bound : 0.0);
    }
    return worst;
}

static void fill(fixture *given, double size, int kind)
{
    for (bb_index k = 0; k < ROWS * COLUMNS; ++k) {
        double noise = bb_random_normal(11, BB_STREAM_SELF_TEST, (uint64_t)k);
        given->exact[k] =
            size * (kind == 0 ? noise : 1.0 + 0.1 * fabs(noise)); // with or without cancellation
    }
    for (bb_index j = 0; j < COLUMNS; ++j) {
        double noise = bb_random_uniform(12, BB_STREAM_SELF_TEST, (uint64_t)j);
        given->x[j] = kind == 2 ? 0.1 : noise + (kind == 0 ? -0.5 : 0.0);
    }
}

TEST(rounding_is_within_its_bound)
{
    static const bb_gemv_arithmetic arithmetics[] = {{BB_FORMAT_FP64, BB_FORMAT_FP64},
                                                     {BB_FORMAT_FP32, BB_FORMAT_FP64},
                                                     {BB_FORMAT_FP32, BB_FORMAT_FP32}};
    const int codecs[] = {BB_FORMAT_FP64, BB_FORMAT_FP32,       BB_FORMAT_FP16,
                          BB_FORMAT_E4M3, bb_codec_find("bfp"), bb_codec_find("quantiser")};
    static const double sizes[] = {1e-9, 1.0, 1e-38};
    double worst[3] = {0.0};
    autofree fixture *given = new_zeros(fixture, 1);
    autoclose(bb_device) device = open_device(BB_DEVICE_CPU);
    for (size_t trial = 0; trial < 3 * 3 * (sizeof codecs / sizeof *codecs); ++trial) {
        const double size = sizes[trial % 3];
        bb_codec_config config = bb_codec_plain(BB_FORMAT_FP64);
        config.codec = codecs[trial / 9];
        config.bits = config.codec == bb_codec_find("bfp") ? 8.0 : NAN;
        config.tolerance =
            config.codec == bb_codec_find("quantiser") ? fmax(1e-3 * size, 0x1p-126) : NAN;
        const bb_matrix_layout layout = {.rows = ROWS, .columns = COLUMNS};
        fill(given, size, (int)(trial / 3 % 3));
        bb_coded_matrix *matrix =
            coded_matrix(&config,
                         config.codec >= (int)BB_FORMAT_FP16 && config.codec < (int)BB_FORMAT_COUNT
                             ? BB_ROW_SCALE_ROW
                             : BB_ROW_SCALE_NONE,
                         &layout, given->exact);
        certify(given, matrix);
        for (int a = 0; a < 3; ++a) {
            for (int runs = 0; runs < (a == 1 ? MOST_RUNS : 1); ++runs) {
                double seconds = 0.0;
                bb_index run = runs == 0 ? 1 : 128;
                bb_coded_operator *operation =
                    new_object(bb_coded_operator, device, matrix, arithmetics[a]);
                check_ok(bb_coded_operator_sum_in_runs(operation, run));
                check_ok(bb_coded_operator_apply(operation, 0, ROWS, given->x, given->y, &seconds));
                bb_coded_operator_destroy(&operation);
                const bb_sum_rounding rounding =
                    bb_coded_operator_rounding(&config, arithmetics[a], run, COLUMNS);
                worst[a] = fmax(worst[a], worst_part(given, &rounding));
            }
        }
        bb_coded_matrix_destroy(&matrix);
    }
    print_message("largest part of the bound: fp64 %.3f, fp32-acc64 %.3f, fp32 %.3f\n", worst[0],
                  worst[1], worst[2]);
    assert_true(worst[1] > 1e-3); // a bound that is not loose
}

static const bb_gemv_arithmetic in_formats[] = {{BB_FORMAT_FP64, BB_FORMAT_FP64},
                                                {BB_FORMAT_FP32, BB_FORMAT_FP64},
                                                {BB_FORMAT_FP32, BB_FORMAT_FP32}};

// Low-rank tiles and transformed blocks of a response of some size, and x by kind (noise, positive,
// a spike) times `size`. Largest ratio of error to bound, by arithmetic.
static void multiply_factors(bb_device *device, const response *answer,
                             const bb_codec_config *config, double size, double worst[3],
                             bb_index *unbounded)
{
    bb_index rows = answer->layout.rows;
    bb_index columns = answer->layout.columns;
    autoptr(bb_coded_matrix) matrix = low_rank_encode(answer, config);
    autofree double *x = new_array(double, columns);
    autofree double *y = new_array(double, rows);
    for (int kind = 0; kind < 3; ++kind) {
        for (bb_index j = 0; j < columns; ++j) {
            double noise = bb_random_normal(13, BB_STREAM_SELF_TEST, (uint64_t)j);
            x[j] = kind == 0 ? noise : kind == 1 ? 0.1 + fabs(noise) : j % 777 == 5 ? 1.0 : 1e-9;
            x[j] *= size;
        }
        for (int a = 0; a < 3; ++a) {
            double seconds = 0.0;
            bb_coded_operator *operation =
                new_object(bb_coded_operator, device, matrix, in_formats[a]);
            check_ok(bb_coded_operator_apply(operation, 0, rows, x, y, &seconds));
            bb_coded_operator_destroy(&operation);
            worst[a] = fmax(worst[a],
                            path_bound_check(matrix, in_formats[a], 1, 0, rows, x, y, unbounded));
        }
    }
}

TEST_FULL(factors_round_within_their_bound)
{
    static const double sizes[] = {1e-9, 1.0, 1e-17};
    autoclose(bb_device) device = open_device(BB_DEVICE_CPU);
    for (int which = 0; which < 2; ++which) {
        double worst[3] = {0.0};
        bb_index unbounded = 0;
        for (int trial = 0; trial < 9; ++trial) {
            autorelease(response) rows = response_make(7, 11, 61, 47, sizes[trial % 3]);
            bb_codec_config config = low_rank(sizes[trial % 3] * 1e-6);
            config.codec = which == 0 ? bb_codec_find("low_rank") : bb_codec_find("transform");
            if (trial / 3 == 1) { // noise: dense tiles, all coefficients
                for (bb_index k = 0; k < rows.layout.rows * rows.layout.columns; ++k) {
                    rows.values[k] =
                        sizes[trial % 3] * bb_random_normal(14, BB_STREAM_SELF_TEST, (uint64_t)k);
                }
            } else if (trial / 3 == 2) { // a coarse tolerance, short bands
                config.tolerance = sizes[trial % 3] * 1e-3;
                config.band_lines = 2;
            }
            // In the last, products are below the normal numbers of fp32.
            multiply_factors(device, &rows, &config, trial % 3 == 2 ? 1e-24 : 1.0, worst,
                             &unbounded);
        }
        print_message("%s: largest part of the bound: fp64 %.4f, fp32-acc64 %.4f, fp32 %.4f\n",
                      which == 0 ? "low rank" : "transform", worst[0], worst[1], worst[2]);
        assert_int_equal(unbounded, 0);
        assert_true(worst[1] > 1e-3); // a bound that is not loose
    }
}

TEST(factors_that_overflow_or_are_bad_are_not_bounded)
{
    enum { COUNT = 61 * 47 };
    double x[COUNT], y[77];
    autoclose(bb_device) device = open_device(BB_DEVICE_CPU);
    for (int trial = 0; trial < 4; ++trial) {
        autorelease(response) rows = response_make(7, 11, 61, 47, 1.0);
        bb_codec_config config = low_rank(1e-4);
        bb_index unbounded = 0;
        double seconds = 0.0;
        config.codec = trial % 2 == 0 ? bb_codec_find("low_rank") : bb_codec_find("transform");
        for (int j = 0; j < COUNT; ++j) {
            x[j] = trial < 2 ? 1e37 : 1.0; // finite in fp32, but its sums are not
        }
        for (int row = 0; trial >= 2 && row < 77; ++row) {
            rows.values[row * COUNT + 30 * 61 + 40] = NAN;
        }
        autoptr(bb_coded_matrix) matrix = low_rank_encode(&rows, &config);
        autoptr(bb_coded_operator) operation =
            new_object(bb_coded_operator, device, matrix, in_formats[1]);
        check_ok(bb_coded_operator_apply(operation, 0, 77, x, y, &seconds));
        (void)path_bound_check(matrix, in_formats[1], 1, 0, 77, x, y, &unbounded);
        assert_int_equal(unbounded, 77);
    }
}

TEST(formats_decide_its_size)
{
    const bb_gemv_arithmetic wide = {BB_FORMAT_FP64, BB_FORMAT_FP64};
    const bb_gemv_arithmetic seed = {BB_FORMAT_FP32, BB_FORMAT_FP64};
    const bb_gemv_arithmetic narrow = {BB_FORMAT_FP32, BB_FORMAT_FP32};
    const bb_codec_config plain = bb_codec_plain(BB_FORMAT_FP16);
    const bb_codec_config e4m3 = bb_codec_plain(BB_FORMAT_E4M3);
    const bb_index n = 256000;
    check_relative(bb_coded_operator_rounding(&plain, wide, 1, n).relative, (4 + 16128) * 0x1p-53,
                   1e-6);
    check_relative(bb_coded_operator_rounding(&plain, seed, 1, n).relative,
                   4 * 0x1p-24 + 16128 * 0x1p-53, 1e-6);
    check_relative(bb_coded_operator_rounding(&plain, seed, 32, n).relative,
                   36 * 0x1p-24 + 16128 * 0x1p-53, 1e-5);
    // Eight steps of a tensor core, and the remainder of x after its limbs.
    check_relative(bb_coded_operator_rounding(&e4m3, seed, 32, n).relative,
                   148 * 0x1p-24 + 16128 * 0x1p-53, 1e-4);
    assert_true(bb_coded_operator_rounding(&e4m3, seed, 32, n).of_largest == 0x1p-30);
    assert_true(bb_coded_operator_rounding(&e4m3, seed, 1, n).of_largest == 0.0);
    check_relative(bb_coded_operator_rounding(&plain, narrow, 1, n).relative, (4 + 16128) * 0x1p-24,
                   1e-3);
}
