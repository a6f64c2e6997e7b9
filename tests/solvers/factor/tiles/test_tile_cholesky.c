// SPDX-License-Identifier: Apache-2.0
#include "solvers/factor/tiles/tile_cholesky.h"
#include "tests/solvers/spd_matrices.h"

#include <cblas.h>
#include <lapacke.h>

static bb_tile_plan plan_of(bb_variant arithmetic, bb_index tile)
{
    return (bb_tile_plan){.tile_size = tile,
                          .arithmetic = arithmetic,
                          .policy = {.kind = BB_POLICY_BAND, .width = 1, .inside = BB_VARIANT_SP}};
}

static bb_tile_matrix *load(double *a, bb_index n, const bb_tile_plan *plan)
{
    bb_view view = bb_view_matrix(a, n, n);
    bb_matrix_source source = bb_matrix_source_dense(&view, "A", "1");
    bb_tile_matrix *matrix = new_object(bb_tile_matrix, &source, NULL, plan);
    return matrix;
}

static double value_at(const bb_tile_matrix *matrix, bb_index i, bb_index j)
{
    bb_index size = matrix->tile_size;
    const bb_tile *tile = bb_tile_matrix_at(matrix, i / size, j / size);
    bb_index index = i % size * tile->columns + j % size;
    return tile->f64 != NULL ? tile->f64[index] : (double)tile->f32[index];
}

// ||A - L L^T||_F / ||A||_F.
static double backward_error(const bb_tile_matrix *factor, const double *a)
{
    bb_index n = factor->n;
    autofree double *l = dense_new(n * n);
    autofree double *residual = dense_new(n * n);
    for (bb_index i = 0; i < n; ++i) {
        for (bb_index j = 0; j <= i; ++j) {
            l[i * n + j] = value_at(factor, i, j);
        }
    }
    memcpy(residual, a, (size_t)(n * n) * sizeof *a);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)n, (int)n, (int)n, -1.0, l, (int)n, l,
                (int)n, 1.0, residual, (int)n);
    double error = dense_norm(n * n, residual) / dense_norm(n * n, a);
    return error;
}

// Every variant, with sizes that are and are not multiples of the tile. The factor's error has the
// order of the unit roundoff of what is rounded: operands, for hp2 and hp3 also the output of each
// of the tile_rows updates, and for hp3 each of the 32/4 partial sums.
TEST(factors_have_the_error_of_their_variant)
{
    const struct {
        bb_variant variant;
        double bound;
    } cases[] = {
        {BB_VARIANT_DP, 1e-15},  {BB_VARIANT_SP, 5e-7},  {BB_VARIANT_TF32, 1e-3},
        {BB_VARIANT_HP1, 1e-3},  {BB_VARIANT_HP2, 4e-3}, {BB_VARIANT_HP3, 8e-3},
        {BB_VARIANT_BF16, 8e-3}, {BB_VARIANT_X3, 1e-6},  {BB_VARIANT_FP8, 1e-1},
    };
    const bb_index sizes[] = {1, 2, 3, 5, 31, 32, 33, 200};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s) {
        bb_index n = sizes[s];
        autofree double *a = dense_new(n * n);
        dense_covariance(n, 20.0, 0.3, a); // fp8 needs this much noise
        for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
            bb_outcome outcome = {0};
            bb_tile_plan plan = plan_of(cases[c].variant, 32);
            if (cases[c].variant == BB_VARIANT_DP) {
                plan.policy.kind = BB_POLICY_UNIFORM;
            }
            autoptr(bb_tile_matrix) matrix = load(a, n, &plan);
            check_ok(bb_tile_cholesky_factor(matrix, 4, &outcome));
            assert_int_equal(outcome.kind, BB_OUTCOME_OK);
            check_close(backward_error(matrix, a), 0.0, cases[c].bound, 1.0);
        }
    }
}

// Coarser arithmetic gives larger errors: a variant that silently ran in fp32 would pass the
// bounds.
TEST(variants_differ_in_the_expected_order)
{
    enum { N = 200 };
    const bb_variant order[] = {BB_VARIANT_DP, BB_VARIANT_SP, BB_VARIANT_HP1, BB_VARIANT_HP2,
                                BB_VARIANT_HP3};
    autofree double *a = dense_new(N * N);
    double previous = 0.0;
    dense_covariance(N, 20.0, 0.05, a);
    for (int v = 0; v < 5; ++v) {
        bb_outcome outcome = {0};
        bb_tile_plan plan = plan_of(order[v], 32);
        if (v == 0) {
            plan.policy.kind = BB_POLICY_UNIFORM;
        }
        autoptr(bb_tile_matrix) matrix = load(a, N, &plan);
        check_ok(bb_tile_cholesky_factor(matrix, 4, &outcome));
        double error = backward_error(matrix, a);
        assert_true(error > previous);
        previous = error;
    }
}

TEST(dp_agrees_with_lapack)
{
    enum { N = 150, M = 37 };
    autofree double *a = dense_new(N * N);
    autofree double *x = dense_new(M * N);
    autofree double *expected = dense_new(M * N);
    bb_outcome outcome = {0};
    dense_covariance(N, 30.0, 0.01, a);
    dense_random(M * N, 4, x);
    memcpy(expected, x, (size_t)(M * N) * sizeof *x);
    bb_tile_plan plan = plan_of(BB_VARIANT_DP, 40);
    plan.policy.kind = BB_POLICY_UNIFORM;
    autoptr(bb_tile_matrix) matrix = load(a, N, &plan);
    check_ok(bb_tile_cholesky_factor(matrix, 4, &outcome));
    check_ok(bb_tile_cholesky_solve(matrix, M, x));
    assert_int_equal(LAPACKE_dposv(LAPACK_COL_MAJOR, 'L', N, M, a, N, expected, N), 0);
    for (bb_index i = 0; i < M * N; ++i) {
        check_close(x[i], expected[i], 1e-10, 1.0 + fabs(expected[i]));
    }
}

// Errors of a factor and a solve with a plan, relative to fp64.
static void errors_of(const bb_tile_plan *plan, double *factor_error, double *solve_error)
{
    enum { N = 200, M = 140 };
    autofree double *a = dense_new(N * N);
    autofree double *x = dense_new(M * N);
    autofree double *expected = dense_new(M * N);
    bb_outcome outcome = {0};
    dense_covariance(N, 20.0, 0.3, a);
    dense_random(M * N, 4, x);
    for (bb_index i = 0; i < M * N; ++i) {
        x[i] *= 1e-7; // below the range of fp16
        expected[i] = x[i];
    }
    autoptr(bb_tile_matrix) matrix = load(a, N, plan);
    check_ok(bb_tile_cholesky_factor(matrix, 4, &outcome));
    assert_int_equal(outcome.kind, BB_OUTCOME_OK);
    *factor_error = backward_error(matrix, a);
    check_ok(bb_tile_cholesky_solve(matrix, M, x));
    assert_int_equal(LAPACKE_dposv(LAPACK_COL_MAJOR, 'L', N, M, a, N, expected, N), 0);
    double norm = dense_norm(M * N, expected);
    for (bb_index i = 0; i < M * N; ++i) {
        x[i] -= expected[i];
    }
    *solve_error = dense_norm(M * N, x) / norm;
}

// Diagonal updates and sweeps in the arithmetic of the variant: as accurate as fp32 in x3,
// otherwise of the variant's roundoff, and with other bits than in fp32. 48 does not divide 200.
TEST(diagonal_and_sweeps_follow_the_variant)
{
    const struct {
        bb_variant variant;
        double factor, solve;
    } cases[] = {
        {BB_VARIANT_X3, 1e-6, 1e-5},  {BB_VARIANT_TF32, 1e-3, 5e-3}, {BB_VARIANT_HP1, 1e-3, 5e-3},
        {BB_VARIANT_HP2, 4e-3, 3e-2}, {BB_VARIANT_HP3, 8e-3, 5e-2},  {BB_VARIANT_BF16, 8e-3, 4e-2},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
        double factor[3], solve[3];
        bb_tile_plan plan = {.tile_size = 48, .arithmetic = cases[c].variant};
        errors_of(&plan, &factor[0], &solve[0]);
        plan.sweeps = BB_POLICY_SWEEPS_FOLLOW;
        errors_of(&plan, &factor[1], &solve[1]);
        plan.policy.diagonal = BB_POLICY_FOLLOW;
        errors_of(&plan, &factor[2], &solve[2]);
        assert_true(factor[0] == factor[1]);
        assert_true(solve[0] != solve[1]);
        assert_true(factor[2] != factor[1]);
        check_close(factor[2], 0.0, cases[c].factor, 1.0);
        check_close(solve[2], 0.0, cases[c].solve, 1.0);
        print_message("%s: factor %.1e %.1e, solve %.1e %.1e %.1e\n",
                      bb_variant_describe(cases[c].variant)->name, factor[0], factor[2], solve[0],
                      solve[1], solve[2]);
    }
    // With sp or dp the settings change nothing.
    double once[2], again[2];
    bb_tile_plan plan = {.tile_size = 48, .arithmetic = BB_VARIANT_DP};
    errors_of(&plan, &once[0], &once[1]);
    plan.sweeps = BB_POLICY_SWEEPS_FOLLOW;
    plan.policy.diagonal = BB_POLICY_FOLLOW;
    errors_of(&plan, &again[0], &again[1]);
    assert_memory_equal(once, again, sizeof once);
}

// With all tiles light, sweeps are those of `follow`; with none light, those of fp32. The error
// grows with the number of light tiles.
TEST(sweeps_take_light_tiles_narrow)
{
    double errors[4];
    double factor, follow;
    const double energies[4] = {0.0, 1e-3, 0.1, 1.0};
    bb_tile_plan plan = {
        .tile_size = 16, .arithmetic = BB_VARIANT_HP1, .sweeps = BB_POLICY_SWEEPS_FOLLOW};
    errors_of(&plan, &factor, &follow);
    plan.sweeps = BB_POLICY_SWEEPS_LIGHT;
    for (int e = 0; e < 4; ++e) {
        plan.sweep_energy = energies[e];
        errors_of(&plan, &factor, &errors[e]);
    }
    print_message("light %.1e %.1e %.1e %.1e, follow %.1e\n", errors[0], errors[1], errors[2],
                  errors[3], follow);
    assert_true(errors[3] == follow);
    assert_true(errors[0] <= errors[1] && errors[1] < errors[2] && errors[2] < errors[3]);
}

// The certificate bounds the error of the products; the rest of the backward error is fp32
// rounding. The bound is not far off: it is 18 to 27 times the error, because it adds 300 roundings
// that mostly cancel. For x3, whose error is mostly fp32's, it is 2 times. For roundings of one
// sign it is 1 to 4 times: tests/solvers/factor/tiles/test_tile_updates.c.
TEST(certificates_bound_the_error)
{
    enum { N = 300 };
    const bb_variant variants[] = {BB_VARIANT_DP,  BB_VARIANT_SP, BB_VARIANT_TF32, BB_VARIANT_BF16,
                                   BB_VARIANT_HP1, BB_VARIANT_X3, BB_VARIANT_FP8};
    autofree double *a = dense_new(N * N);
    dense_covariance(N, 20.0, 0.4, a);
    for (size_t v = 0; v < sizeof variants / sizeof *variants; ++v) {
        bb_outcome outcome = {0};
        bb_tile_plan plan = {
            .tile_size = 48, .arithmetic = variants[v], .policy = {.diagonal = BB_POLICY_FOLLOW}};
        autoptr(bb_tile_matrix) matrix = load(a, N, &plan);
        check_relative(matrix->norm, dense_norm(N * N, a), 1e-12);
        check_ok(bb_tile_cholesky_factor(matrix, 4, &outcome));
        assert_int_equal(outcome.kind, BB_OUTCOME_OK);
        double error = backward_error(matrix, a);
        double certificate = matrix->work.certificate;
        print_message("%s: error %.1e, certificate %.1e\n", bb_variant_describe(variants[v])->name,
                      error, certificate);
        assert_true(error <= certificate + 5e-7);
        assert_true(variants[v] <= BB_VARIANT_SP ? certificate == 0.0 : certificate < 32.0 * error);
    }
    bb_tile_plan rounded = {.tile_size = 48, .arithmetic = BB_VARIANT_HP2};
    bb_outcome outcome = {0};
    autoptr(bb_tile_matrix) matrix = load(a, N, &rounded);
    check_ok(bb_tile_cholesky_factor(matrix, 4, &outcome));
    assert_true(isnan(matrix->work.certificate));
}

// Right-hand sides that excite the smallest eigenvalues have solutions 1e6 times as large, beyond
// fp16's range without rescaling between the sweeps.
TEST(sweeps_stay_in_range)
{
    enum { N = 150, M = 3 };
    autofree double *a = dense_new(N * N);
    autofree double *x = dense_new(M * N);
    autofree double *expected = dense_new(M * N);
    bb_outcome outcome = {0};
    spd_spectrum(N, 1e6, 5, a);
    dense_random(M * N, 4, x);
    memcpy(expected, x, (size_t)(M * N) * sizeof *x);
    const bb_tile_plan plan = {
        .tile_size = 48, .arithmetic = BB_VARIANT_X3, .sweeps = BB_POLICY_SWEEPS_FOLLOW};
    autoptr(bb_tile_matrix) matrix = load(a, N, &plan);
    check_ok(bb_tile_cholesky_factor(matrix, 4, &outcome));
    assert_int_equal(outcome.kind, BB_OUTCOME_OK);
    check_ok(bb_tile_cholesky_solve(matrix, M, x));
    assert_int_equal(LAPACKE_dposv(LAPACK_COL_MAJOR, 'L', N, M, a, N, expected, N), 0);
    double norm = dense_norm(M * N, expected);
    assert_true(norm > 65504.0 * 10.0);
    for (bb_index i = 0; i < M * N; ++i) {
        x[i] -= expected[i];
    }
    check_close(dense_norm(M * N, x), 0.0, 1e6 * 0x1p-22, norm);
}

static void breakdown(bb_index row, double value, bb_outcome_kind kind, const char *detail)
{
    enum { N = 100 };
    autofree double *a = dense_new(N * N);
    bb_outcome outcome = {0};
    dense_covariance(N, 3.0, 0.1, a);
    a[row * N + row] = value;
    bb_tile_plan plan = plan_of(BB_VARIANT_HP1, 32);
    autoptr(bb_tile_matrix) matrix = load(a, N, &plan);
    check_ok(bb_tile_cholesky_factor(matrix, 4, &outcome));
    assert_int_equal(outcome.kind, kind);
    if (strstr(outcome.detail, detail) == NULL) {
        print_error("'%s' lacks '%s'\n", outcome.detail, detail);
        fail();
    }
}

TEST(breakdowns_name_tile_and_row)
{
    breakdown(0, -1.0, BB_OUTCOME_NOT_SPD, "tile (0, 0), row 0");
    breakdown(50, 0.0, BB_OUTCOME_NOT_SPD, "tile (1, 1), row 50");
    breakdown(99, -3.0, BB_OUTCOME_NOT_SPD, "tile (3, 3), row 99");
    breakdown(40, NAN, BB_OUTCOME_NON_FINITE, "tile (1, 1), row 40");
    breakdown(70, INFINITY, BB_OUTCOME_NON_FINITE, "tile (2, 2), row 70");
}

TEST(bits_do_not_depend_on_threads)
{
    enum { N = 300, M = 70 };
    autofree double *a = dense_new(N * N);
    autofree double *right = dense_new(M * N);
    autofree double *first = dense_new(M * N);
    autofree double *x = dense_new(M * N);
    dense_covariance(N, 40.0, 0.02, a);
    dense_random(M * N, 9, right);
    for (bb_index threads = 1; threads <= 4; threads *= 2) {
        bb_outcome outcome = {0};
        bb_tile_plan plan = plan_of(BB_VARIANT_HP1, 48);
        check_ok(bb_threads_set(threads));
        autoptr(bb_tile_matrix) matrix = load(a, N, &plan);
        memcpy(x, right, (size_t)(M * N) * sizeof *x);
        check_ok(bb_tile_cholesky_factor(matrix, 4, &outcome));
        check_ok(bb_tile_cholesky_solve(matrix, M, x));
        if (threads == 1) {
            memcpy(first, x, (size_t)(M * N) * sizeof *x);
        }
        assert_memory_equal(first, x, (size_t)(M * N) * sizeof *x);
    }
}
