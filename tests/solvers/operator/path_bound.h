// SPDX-License-Identifier: Apache-2.0
//
// Error bound of products of rows that are never decoded, against decoded rows times x in extended
// precision.
#ifndef BB_TESTS_SOLVERS_OPERATOR_PATH_BOUND_H
#define BB_TESTS_SOLVERS_OPERATOR_PATH_BOUND_H

#include "solvers/operator/coded_operator.h"
#include "tests/check.h"

/// Fails if a row of y (rows from `row` on) exceeds its bound. Returns the largest ratio of error
/// to bound, and counts rows without a bound.
static inline double path_bound_check(const bb_coded_matrix *matrix, bb_gemv_arithmetic arithmetic,
                                      bb_index run, bb_index row, bb_index rows, const double *x,
                                      const double *y, bb_index *unbounded)
{
    bb_index columns = bb_coded_matrix_columns(matrix);
    bb_index step = bb_coded_matrix_band(matrix);
    const bb_sum_rounding rounding =
        bb_coded_operator_rounding(bb_coded_matrix_config(matrix), arithmetic, run, columns);
    const bb_vector_norms norms = bb_vector_norms_of(x, columns);
    double worst = 0.0;
    autofree bb_row_rounding *paths = new_array(bb_row_rounding, step);
    autofree double *values = new_array(double, columns);
    for (bb_index i = row; i < row + rows; ++i) {
        bb_row_certificate certificate = bb_row_certificate_start(1.0);
        long double sum = 0.0L;
        if (i == row || i % step == 0) {
            check_ok(bb_row_roundings_of(matrix, i / step, paths));
        }
        certificate.path = paths[i % step];
        bb_coded_matrix_decode(matrix, i, 0, columns, values);
        for (bb_index j = 0; j < columns; ++j) {
            sum += (long double)values[j] * (long double)x[j];
        }
        double bound = bb_row_certificate_rounding(&certificate, &norms, &rounding);
        double error = fabs((double)((long double)y[i - row] - sum));
        *unbounded += !isfinite(bound);
        if (isfinite(bound) && !(error <= bound)) {
            print_error("row %td: rounding %g, bound %g\n", i, error, bound);
            fail();
        }
        worst = fmax(worst, isfinite(bound) && bound > 0.0 ? error / bound : 0.0);
    }
    return worst;
}

#endif
