// SPDX-License-Identifier: Apache-2.0
//
// Common parts of the tests of products without decoding: low-rank tiles and transformed blocks.
#ifndef BB_TESTS_SOLVERS_OPERATOR_RESPONSE_PRODUCT_H
#define BB_TESTS_SOLVERS_OPERATOR_RESPONSE_PRODUCT_H

#include "solvers/operator/coded_operator.h"
#include "tests/precision/codecs/low_rank_problem.h"
#include "tests/solvers/dense.h"

static const bb_gemv_arithmetic response_kinds[] = {{BB_FORMAT_FP64, BB_FORMAT_FP64},
                                                    {BB_FORMAT_FP32, BB_FORMAT_FP64},
                                                    {BB_FORMAT_FP32, BB_FORMAT_FP32}};

static inline void response_apply(bb_device *device, const bb_coded_matrix *matrix,
                                  bb_gemv_arithmetic arithmetic, bb_index row, bb_index rows,
                                  const double *x, double *y)
{
    double seconds = 0.0;
    autoptr(bb_coded_operator) operation =
        new_object(bb_coded_operator, device, matrix, arithmetic);
    check_ok(bb_coded_operator_apply(operation, row, rows, x, y, &seconds));
}

/// Windows against decoded rows times x in fp64. Factors and coefficients cancel less than values:
/// sums of |U| |V| |x| are larger by up to sqrt(terms), sums of |q| |x^| by up to sqrt(values),
/// covered by the factor 20.
static inline void response_windows_are_decoded_rows(bb_device *device, bb_codec_config config)
{
    static const bb_index meshes[][2] = {{64, 40}, {61, 47}, {33, 3}, {500, 1}};
    for (int m = 0; m < 4; ++m) {
        autorelease(response) answer = response_make(7, 11, meshes[m][0], meshes[m][1], 1.0);
        answer.layout.mesh_columns = m == 3 ? 0 : answer.layout.mesh_columns;
        config.tolerance = m == 2 ? 1e-7 : 1e-5;
        config.band_lines = 4;
        autoptr(bb_coded_matrix) matrix = low_rank_encode(&answer, &config);
        autofree double *x = dense_new(answer.layout.columns);
        autofree double *row = dense_new(answer.layout.columns);
        dense_random(answer.layout.columns, 3, x);
        for (int k = 0; k < 3; ++k) {
            double y[77];
            double u = 20.0 * (3.0 * bb_format_unit_roundoff(response_kinds[k].multiply) +
                               90.0 * bb_format_unit_roundoff(response_kinds[k].accumulate));
            for (bb_index first = 0; first < 77; first += 19) {
                bb_index rows = 77 - first < 40 ? 77 - first : 40;
                response_apply(device, matrix, response_kinds[k], first, rows, x, y);
                for (bb_index i = 0; i < rows; ++i) {
                    double exact = 0.0;
                    double magnitude = 0.0;
                    bb_coded_matrix_decode(matrix, first + i, 0, answer.layout.columns, row);
                    for (bb_index j = 0; j < answer.layout.columns; ++j) {
                        exact += row[j] * x[j];
                        magnitude += fabs(row[j] * x[j]);
                    }
                    check_close(y[i], exact, u, magnitude);
                }
            }
        }
    }
}

/// A heated slit: positive x whose dose follows the source. Checks the QoI against the exact
/// matrix, and that operations are below `part` of a dense product's.
static inline void
response_keeps_displacement(bb_device *device, const bb_codec_config *config, double part,
                            double (*flops)(const bb_coded_matrix *, bb_index, bb_index))
{
    autorelease(response) rows = response_make(11, 18, 128, 125, 1.0);
    autoptr(bb_coded_matrix) matrix = low_rank_encode(&rows, config);
    autofree double *x = dense_new(rows.layout.columns);
    double y[198];
    double error = 0.0;
    double norm = 0.0;
    for (bb_index j = 0; j < rows.layout.columns; ++j) {
        double dx = (double)(j % 128) - 60.0;
        double dy = (double)(j / 128) - 50.0;
        x[j] = 0.1 + exp(-(dx * dx + dy * dy) / 400.0);
    }
    response_apply(device, matrix, response_kinds[1], 0, 198, x, y);
    for (bb_index i = 0; i < 198; ++i) {
        double exact = 0.0;
        for (bb_index j = 0; j < rows.layout.columns; ++j) {
            exact += rows.values[i * rows.layout.columns + j] * x[j];
        }
        error += (y[i] - exact) * (y[i] - exact);
        norm += exact * exact;
    }
    assert_true(sqrt(error / norm) < 1e-4);
    assert_true(flops(matrix, 0, 198) < part * bb_coded_operator_flops(198, rows.layout.columns));
}

/// Bands of two lines: a NaN affects the rows of its own band.
static inline void response_poisons_two_lines(bb_device *device, bb_codec_config config)
{
    autorelease(response) rows = response_make(3, 8, 64, 40, 1.0);
    double x[2560] = {0.0};
    double y[24];
    config.band_lines = 2;
    rows.values[10 * 2560 + 25 * 64 + 40] = NAN;
    autoptr(bb_coded_matrix) matrix = low_rank_encode(&rows, &config);
    response_apply(device, matrix, response_kinds[1], 0, 24, x, y);
    for (int i = 0; i < 24; ++i) {
        assert_true(!!isnan(y[i]) == (i / 6 == 1));
    }
}

/// The same bits with one thread and with four.
static inline void response_products_repeat(bb_device *device, const bb_codec_config *config)
{
    autorelease(response) rows = response_make(7, 11, 61, 47, 1.0);
    double x[61 * 47];
    double one[77], four[77];
    dense_random(61 * 47, 4, x);
    autoptr(bb_coded_matrix) matrix = low_rank_encode(&rows, config);
    check_ok(bb_threads_set(1));
    response_apply(device, matrix, response_kinds[1], 0, 77, x, one);
    check_ok(bb_threads_set(4));
    response_apply(device, matrix, response_kinds[1], 0, 77, x, four);
    bb_threads_stop();
    assert_memory_equal(one, four, sizeof one);
}

#endif
