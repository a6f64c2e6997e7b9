// SPDX-License-Identifier: Apache-2.0
//
// Products of matrices that are never decoded (low-rank tiles, transformed blocks) on a GPU against
// the CPU.
#ifndef BB_TESTS_SOLVERS_OPERATOR_FACTOR_PRODUCT_CUDA_H
#define BB_TESTS_SOLVERS_OPERATOR_FACTOR_PRODUCT_CUDA_H

#include "solvers/operator/coded_operator.h"
#include "tests/device_pair.h"
#include "tests/precision/codecs/low_rank_problem.h"
#include "tests/solvers/dense.h"
#include "tests/solvers/operator/path_bound.h"

typedef struct way {
    bb_gemv_arithmetic arithmetic;
    bb_index run;
} way;

enum { WAYS = 4 };
static const way ways[WAYS] = {
    {{BB_FORMAT_FP64, BB_FORMAT_FP64}, 1},
    {{BB_FORMAT_FP32, BB_FORMAT_FP64}, 1},
    {{BB_FORMAT_FP32, BB_FORMAT_FP64}, 32},
    {{BB_FORMAT_FP32, BB_FORMAT_FP32}, 1},
};

static inline void apply(bb_device *device, const bb_coded_matrix *matrix, const way *how,
                         bb_index row, bb_index rows, const double *x, double *y)
{
    double seconds = 0.0;
    autoptr(bb_coded_operator) operation =
        new_object(bb_coded_operator, device, matrix, how->arithmetic);
    check_ok(bb_coded_operator_sum_in_runs(operation, how->run));
    check_ok(bb_coded_operator_apply(operation, row, rows, x, y, &seconds));
}

// Rounding of products and sums on both sides. Factors and coefficients cancel less than values,
// covered by the factor 20; a GPU also rounds x before it is transformed.
static inline double bound(const way *how)
{
    return 40.0 * (12.0 * bb_format_unit_roundoff(how->arithmetic.multiply) +
                   90.0 * bb_format_unit_roundoff(how->arithmetic.accumulate));
}

// Bitwise repeatable, equal to the CPU up to rounding, and within the certificate.
static inline void compare(const response *answer, const bb_coded_matrix *matrix, const double *x,
                           const way *how, bb_index row, bb_index rows)
{
    autofree double *y = dense_new(rows);
    autofree double *again = dense_new(rows);
    autofree double *expected = dense_new(rows);
    apply(cpu, matrix, how, row, rows, x, expected);
    apply(gpu, matrix, how, row, rows, x, y);
    apply(gpu, matrix, how, row, rows, x, again);
    assert_memory_equal(y, again, (size_t)rows * sizeof *y);
    for (bb_index i = 0; i < rows; ++i) {
        double magnitude = 0.0;
        for (bb_index j = 0; j < answer->layout.columns; ++j) {
            magnitude += fabs(answer->values[(row + i) * answer->layout.columns + j] * x[j]);
        }
        if (isnan(expected[i])) {
            assert_true(isnan(y[i]));
        } else {
            check_close(y[i], expected[i], bound(how), magnitude + 1e-30);
        }
    }
    bb_index unbounded = 0;
    (void)path_bound_check(matrix, how->arithmetic, how->run, row, rows, x, y, &unbounded);
}

// Settings of a codec for a tolerance, in bands of this number of lines.
typedef bb_codec_config (*banded)(double tolerance, bb_index band);

// Meshes with all remainders, and an unknown mesh.
static inline void compare_meshes(banded config_of, bb_index most_band, bb_index band_step)
{
    static const bb_index meshes[][2] = {{128, 125}, {61, 47}, {33, 3}, {500, 1}};
    for (int m = few ? 1 : 0; m < (few ? 3 : 4); ++m) {
        autorelease(response) rows = response_make(7, 13, meshes[m][0], meshes[m][1], 1.0);
        autofree double *x = dense_new(rows.layout.columns);
        dense_random(rows.layout.columns, 5, x);
        rows.layout.mesh_columns = m == 3 ? 0 : rows.layout.mesh_columns;
        for (double tolerance = 1e-8; tolerance < 1e-1; tolerance *= few ? 1e6 : 1e3) {
            for (bb_index band = 1; band <= (few ? 1 + band_step : most_band); band += band_step) {
                const bb_codec_config config = config_of(tolerance, band);
                autoptr(bb_coded_matrix) matrix = low_rank_encode(&rows, &config);
                for (int how = 0; how < WAYS; ++how) {
                    compare(&rows, matrix, x, &ways[how], 0, 91);
                    compare(&rows, matrix, x, &ways[how], 13, 35);
                    compare(&rows, matrix, x, &ways[how], 90, 1);
                }
            }
        }
    }
}

// A row of zeros, noise, more terms, and non-finite values.
static inline void compare_kinds(bb_codec_config config)
{
    autorelease(response) rows = response_make(5, 24, 61, 47, 0.0);
    autofree double *x = dense_new(rows.layout.columns);
    dense_random(rows.layout.columns, 5, x);
    for (int kind = 0; kind < 4; ++kind) {
        if (kind == 1) {
            dense_random(rows.layout.rows * rows.layout.columns, 6, rows.values);
        } else if (kind == 2) {
            config.tolerance = 1e-7;
        } else if (kind == 3) {
            rows.values[70 * rows.layout.columns + 999] = NAN;
        }
        autoptr(bb_coded_matrix) matrix = low_rank_encode(&rows, &config);
        for (int how = 0; how < WAYS; how += few ? 2 : 1) {
            compare(&rows, matrix, x, &ways[how], 3, 110);
        }
    }
}

#ifdef BB_HAVE_CUDA
// Two successive products in one graph, the second from the first's workspace; x changes between
// launches.
static inline void replay(const bb_codec_config *config)
{
    enum { ROWS = 91, COLUMNS = 128 * 125, HALF = 45 };
    autorelease(response) rows = response_make(7, 13, 128, 125, 1.0);
    autoptr(bb_coded_matrix) matrix = low_rank_encode(&rows, config);
    autofree double *host_x = dense_new(COLUMNS);
    double found[ROWS], expected[ROWS];
    double seconds = 0.0;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t plan;
    autoptr(bb_coded_operator) operation =
        new_object(bb_coded_operator, gpu, matrix, ways[2].arithmetic);
    check_ok(bb_coded_operator_sum_in_runs(operation, 32));
    autofree float *narrow = new_array(float, COLUMNS);
    void *x = allocate_on(gpu, COLUMNS * sizeof *narrow);
    void *y = allocate_on(gpu, ROWS * sizeof(double));
    double *halves[] = {y, (double *)y + HALF};
    cuda_ok(cudaStreamCreate(&stream));
    cuda_ok(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    check_ok(bb_coded_operator_queue(&operation, 1, &(bb_coded_window){0, HALF, NULL}, x,
                                     &halves[0], (bb_queue *)stream));
    check_ok(bb_coded_operator_queue(&operation, 1, &(bb_coded_window){HALF, ROWS - HALF, NULL}, x,
                                     &halves[1], (bb_queue *)stream));
    cuda_ok(cudaStreamEndCapture(stream, &graph));
    cuda_ok(cudaGraphInstantiate(&plan, graph, 0));
    for (int round = 0; round < (few ? 2 : 5); ++round) {
        dense_random(COLUMNS, 10 + (uint64_t)round, host_x);
        for (int j = 0; j < COLUMNS; ++j) {
            narrow[j] = (float)host_x[j];
        }
        check_ok(bb_device_upload(gpu, x, narrow, COLUMNS * sizeof *narrow));
        check_ok(bb_device_wait(gpu));
        cuda_ok(cudaGraphLaunch(plan, stream));
        cuda_ok(cudaStreamSynchronize(stream));
        check_ok(bb_device_download(gpu, found, y, sizeof found));
        check_ok(bb_coded_operator_apply(operation, 0, HALF, host_x, expected, &seconds));
        check_ok(bb_coded_operator_apply(operation, HALF, ROWS - HALF, host_x, expected + HALF,
                                         &seconds));
        assert_memory_equal(found, expected, sizeof found);
    }
    cuda_ok(cudaGraphExecDestroy(plan));
    cuda_ok(cudaGraphDestroy(graph));
    cuda_ok(cudaStreamDestroy(stream));
    bb_device_release(gpu, &x);
    bb_device_release(gpu, &y);
}
#endif

#endif
