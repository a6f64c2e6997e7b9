// SPDX-License-Identifier: Apache-2.0
//
// Products of matrices that are not decoded (low-rank tiles, transformed blocks) on a GPU against
// the cpu's.
#ifndef BB_TESTS_SOLVERS_FACTOR_PRODUCT_CUDA_H
#define BB_TESTS_SOLVERS_FACTOR_PRODUCT_CUDA_H

#include "solvers/coded_operator.h"
#include "tests/precision/low_rank_problem.h"
#include "tests/solvers/dense.h"
#include "tests/solvers/path_bound.h"

static bb_device *cpu, *gpu;

typedef struct way {
    bb_gemv_arithmetic arithmetic;
    bb_index run;
} way;

enum { WAYS = 4 };
static const way ways[WAYS] = {
    {{BB_FORMAT_FP64, BB_FORMAT_FP64}, 1 },
    {{BB_FORMAT_FP32, BB_FORMAT_FP64}, 1 },
    {{BB_FORMAT_FP32, BB_FORMAT_FP64}, 32},
    {{BB_FORMAT_FP32, BB_FORMAT_FP32}, 1 },
};

static inline void apply(bb_device *device, const bb_coded_matrix *matrix, const way *how,
                         bb_index row, bb_index rows, const double *x, double *y)
{
    bb_coded_operator *operation = NULL;
    double seconds = 0.0;
    check_ok(bb_coded_operator_create(device, matrix, how->arithmetic, &operation));
    check_ok(bb_coded_operator_sum_in_runs(operation, how->run));
    check_ok(bb_coded_operator_apply(operation, row, rows, x, y, &seconds));
    bb_coded_operator_destroy(&operation);
}

// Products and sums of both sides; factors and coefficients cancel less than values, which 20
// covers, and a GPU rounds x before it is transformed, too.
static inline double bound(const way *how)
{
    return 40.0 * (12.0 * bb_format_unit_roundoff(how->arithmetic.multiply) +
                   90.0 * bb_format_unit_roundoff(how->arithmetic.accumulate));
}

// Twice the same bits, the cpu's to rounding, and within the certificate.
static inline void compare(const response *of, const bb_coded_matrix *matrix, const double *x,
                           const way *how, bb_index row, bb_index rows)
{
    double *y = dense_new(rows);
    double *again = dense_new(rows);
    double *expected = dense_new(rows);
    apply(cpu, matrix, how, row, rows, x, expected);
    apply(gpu, matrix, how, row, rows, x, y);
    apply(gpu, matrix, how, row, rows, x, again);
    assert_memory_equal(y, again, (size_t)rows * sizeof *y);
    for (bb_index i = 0; i < rows; ++i) {
        double magnitude = 0.0;
        for (bb_index j = 0; j < of->layout.columns; ++j) {
            magnitude += fabs(of->values[(row + i) * of->layout.columns + j] * x[j]);
        }
        if (isnan(expected[i])) {
            assert_true(isnan(y[i]));
        } else {
            check_close(y[i], expected[i], bound(how), magnitude + 1e-30);
        }
    }
    bb_index unbounded = 0;
    (void)path_bound_check(matrix, how->arithmetic, how->run, row, rows, x, y, &unbounded);
    BB_RELEASE(&y);
    BB_RELEASE(&again);
    BB_RELEASE(&expected);
}

#endif
