// SPDX-License-Identifier: Apache-2.0
#include "precision/scaling.h"
#include "solvers/factor/reconstructor.h"
#include "tests/solvers/dense.h"

#include <cblas.h>
#include <lapacke.h>

enum { N = 120, M = 17, RANK = 3 };

static double *a, *b, *u, *expected;
static const double variances[RANK] = {0.7, 50.0, 3.0};

// A0 is graded, so that scaling to a unit diagonal matters; columns of U overlap.
static int setup(void **state)
{
    (void)state;
    a = dense_new(N * N);
    b = dense_new(M * N);
    u = dense_new(RANK * N);
    expected = dense_new(M * N);
    dense_covariance(N, 10.0, 0.1, a);
    for (bb_index i = 0; i < N; ++i) {
        for (bb_index j = 0; j < N; ++j) {
            a[i * N + j] *= pow(10.0, -3.0 * (double)(i + j) / N);
        }
        u[i * RANK + 0] = i < 40;
        u[i * RANK + 1] = i >= 30 && i < 90;
        u[i * RANK + 2] = 0.5;
    }
    // B = W A0 keeps X = B A0^-1 of order one; with a B unrelated to A0 the update would cancel.
    autofree double *w = dense_new(M * N);
    dense_random(M * N, 2, w);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, M, N, N, 1.0, w, N, a, N, 0.0, b, N);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    BB_RELEASE(&a);
    BB_RELEASE(&b);
    BB_RELEASE(&u);
    BB_RELEASE(&expected);
    return 0;
}

// B (A0 + sum v u u^T)^-1 by LAPACK.
static void solve_directly(double factor_of_variance)
{
    autofree double *full = dense_new(N * N);
    memcpy(full, a, (size_t)N * N * sizeof *a);
    memcpy(expected, b, (size_t)M * N * sizeof *b);
    for (int k = 0; k < RANK; ++k) {
        for (bb_index i = 0; i < N; ++i) {
            for (bb_index j = 0; j < N; ++j) {
                full[i * N + j] +=
                    factor_of_variance * variances[k] * u[i * RANK + k] * u[j * RANK + k];
            }
        }
    }
    assert_int_equal(LAPACKE_dposv(LAPACK_COL_MAJOR, 'L', N, M, full, N, expected, N), 0);
}

static void reconstruct(const double *with_variances, bb_variant variant, double *r)
{
    double diagonal[N], scale[N];
    bb_outcome outcome = {0};
    bb_low_rank part = {RANK, u, with_variances};
    bb_tile_plan plan = {.tile_size = 32, .arithmetic = variant};
    bb_view a_view = bb_view_matrix(a, N, N);
    bb_matrix_source a_source = bb_matrix_source_dense(&a_view, "A", "1");
    fill_array(diagonal, N, i, a[i * N + i]);
    check_ok(bb_scaling_unit_diagonal(diagonal, N, scale));
    autoptr(bb_tile_matrix) factor = new_object(bb_tile_matrix, &a_source, scale, &plan);
    check_ok(bb_tile_cholesky_factor(factor, 4, &outcome));
    autoptr(bb_low_rank_update) update =
        new_object(bb_low_rank_update, factor, scale, &part, &outcome);
    memcpy(r, b, (size_t)M * N * sizeof *r);
    check_ok(bb_reconstructor_solve(factor, scale, update, M, r, &outcome));
    assert_int_equal(outcome.kind, BB_OUTCOME_OK);
}

TEST(update_equals_the_direct_solve, .setup_func = setup, .teardown_func = teardown)
{
    autofree double *r = dense_new(M * N);
    solve_directly(1.0);
    reconstruct(variances, BB_VARIANT_DP, r);
    double norm = dense_norm(M * N, expected);
    for (bb_index i = 0; i < M * N; ++i) {
        r[i] -= expected[i];
    }
    // The direct solve itself has 7 digits only, because its matrix mixes 1e-6 with 50.
    check_close(dense_norm(M * N, r), 0.0, 1e-7, norm);
    reconstruct(variances, BB_VARIANT_SP, r);
    for (bb_index i = 0; i < M * N; ++i) {
        r[i] -= expected[i];
    }
    check_close(dense_norm(M * N, r), 0.0, 1e-3, norm);
}

// An infinite variance is the limit in which R u = 0 for all columns u of U.
TEST(infinite_variance_projects, .setup_func = setup, .teardown_func = teardown)
{
    const double infinite[RANK] = {INFINITY, INFINITY, INFINITY};
    autofree double *r = dense_new(M * N);
    solve_directly(1e3);
    reconstruct(infinite, BB_VARIANT_DP, r);
    double norm = dense_norm(M * N, r);
    for (int k = 0; k < RANK; ++k) {
        for (bb_index i = 0; i < M; ++i) {
            double sum = 0.0;
            for (bb_index j = 0; j < N; ++j) {
                sum += r[i * N + j] * u[j * RANK + k];
            }
            check_close(sum, 0.0, 1e-10, norm);
        }
    }
    for (bb_index i = 0; i < M * N; ++i) {
        r[i] -= expected[i];
    }
    check_close(dense_norm(M * N, r), 0.0, 1e-4, norm);
}
