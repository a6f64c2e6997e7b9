// SPDX-License-Identifier: Apache-2.0
#include "solvers/factor/spectrum.h"

#include "core/log.h"
#include "core/memory.h"
#include "core/outcome.h"

#include <lapacke.h>
#include <math.h>
#include <stdbool.h>

static void unset(bb_index count, double *out)
{
    for (bb_index i = 0; i < count; ++i) {
        out[i] = NAN;
    }
}

// Scales a block whose first entry is (row, column). Returns true if every value is finite before
// and after, as LAPACK requires; otherwise warns and sets the result to NaN.
static bool apply_scale(const bb_matrix_source *source, const double *scale, bb_index row,
                        bb_index column, bb_view block, bb_index count, double *out)
{
    double *values = block.data;
    const bb_index columns = block.shape[1];
    bb_index bad = bb_outcome_first_non_finite(values, block.shape[0] * columns);
    const char *scaled = bad < 0 ? "scaled, " : "";
    for (bb_index i = 0; scale != NULL && bad < 0 && i < block.shape[0] * columns; ++i) {
        // Two multiplications, because the product of two scales of subnormal rows overflows.
        values[i] = values[i] * scale[row + i / columns] * scale[column + i % columns];
    }
    bad = bb_outcome_first_non_finite(values, block.shape[0] * columns);
    if (bad >= 0) {
        bb_log_warning("spectrum of %s skipped: %srow %td, column %td is %g", source->name, scaled,
                       row + bad / columns, column + bad % columns, values[bad]);
        unset(count, out);
    }
    return bad < 0;
}

// Failed convergence is no error, so that the rest of a study continues.
static bb_status check_convergence(const char *routine, const bb_matrix_source *source,
                                   lapack_int info, bb_index count, double *out)
{
    bb_status status = BB_OK;
    BB_REQUIRE(info != LAPACK_WORK_MEMORY_ERROR && info != LAPACK_TRANSPOSE_MEMORY_ERROR, BB_MEMORY,
               "host memory exhausted in LAPACK %s for %s", routine, source->name);
    BB_REQUIRE(info >= 0, BB_INTERNAL, "LAPACK %s for %s failed with code %d", routine,
               source->name, (int)info);
    if (info > 0) {
        bb_log_warning("spectrum of %s skipped: LAPACK %s did not converge", source->name, routine);
        unset(count, out);
    }
done:
    return status;
}

bb_status bb_spectrum_eigenvalues(const bb_matrix_source *source, const double *scale, double *out)
{
    bb_status status = BB_OK;
    double *a = NULL;
    bb_index n = source->rows;
    lapack_int info = 0;
    BB_REQUIRE(source->columns == n, BB_INVALID, "matrix %s is %td x %td; it must be square",
               source->name, n, source->columns);
    BB_TRY(BB_ALLOCATE(n * n, &a));
    BB_TRY(bb_matrix_source_load(source, a));
    if (!apply_scale(source, scale, 0, 0, bb_view_matrix(a, n, n), n, out)) {
        goto done;
    }
    // Two-stage reduction: most of the work to tridiagonal form is matrix products.
    info = LAPACKE_dsyevd_2stage(LAPACK_COL_MAJOR, 'N', 'U', (lapack_int)n, a, (lapack_int)n, out);
    BB_TRY(check_convergence("dsyevd_2stage", source, info, n, out));
    for (bb_index i = 0; i < n / 2; ++i) {
        double minimum = out[i];
        out[i] = out[n - 1 - i];
        out[n - 1 - i] = minimum;
    }
done:
    BB_RELEASE(&a);
    return status;
}

bb_need bb_spectrum_need(bb_index n)
{
    // Operations per second of the reduction to tridiagonal form.
    static const double reduction_rate = 1.5e10;
    const double rows = (double)n;
    return (bb_need){.host_bytes = sizeof(double) * rows * rows,
                     .seconds = 4.0 / 3.0 * rows * rows * rows / reduction_rate};
}

bb_status bb_spectrum_singular_values(const bb_matrix_source *source, const double *scale,
                                      bb_index row, bb_index rows, bb_index column,
                                      bb_index columns, double *out)
{
    bb_status status = BB_OK;
    double *a = NULL;
    double unused = 0.0;
    lapack_int info = 0;
    BB_TRY(BB_ALLOCATE(rows * columns, &a));
    bb_view block = bb_view_matrix(a, rows, columns);
    BB_TRY(bb_matrix_source_fill(source, row, column, block));
    const bb_index count = rows < columns ? rows : columns;
    if (!apply_scale(source, scale, row, column, block, count, out)) {
        goto done;
    }
    // Row-major rows x columns is the transpose in column-major order, with the same singular
    // values.
    info = LAPACKE_dgesdd(LAPACK_COL_MAJOR, 'N', (lapack_int)columns, (lapack_int)rows, a,
                          (lapack_int)columns, out, &unused, 1, &unused, 1);
    BB_TRY(check_convergence("dgesdd", source, info, count, out));
done:
    BB_RELEASE(&a);
    return status;
}
