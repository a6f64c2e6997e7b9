// SPDX-License-Identifier: Apache-2.0
#include "precision/scaling.h"
#include "solvers/factor/reconstructor.h"
#include "solvers/factor/refinement.h"
#include "tests/solvers/spd_matrices.h"

#include <lapacke.h>

// A problem, its factor in one variant and its LAPACK solution.
typedef struct fixture {
    bb_index n, m;
    double *a, *b, *expected, *scale;
    bb_view view;
    bb_matrix_source source;
    bb_tile_matrix *factor;
} fixture;

static void setup(fixture *f, bb_index n, bb_index m, double condition)
{
    *f = (fixture){.n = n, .m = m};
    f->a = dense_new(n * n);
    f->b = dense_new(m * n);
    f->expected = dense_new(m * n);
    f->scale = dense_new(n);
    spd_spectrum(n, condition, 7, f->a);
    // Graded over six orders of magnitude, so that scaling matters.
    for (bb_index i = 0; i < n; ++i) {
        for (bb_index j = 0; j < n; ++j) {
            f->a[i * n + j] *= pow(10.0, -3.0 * (double)(i + j) / (double)n);
        }
    }
    autofree double *diagonal = dense_new(n);
    fill_array(diagonal, n, i, f->a[i * n + i]);
    check_ok(bb_scaling_unit_diagonal(diagonal, n, f->scale));
    dense_random(m * n, 11, f->b);
    memcpy(f->expected, f->b, (size_t)(m * n) * sizeof *f->b);
    autofree double *copy = dense_new(n * n);
    memcpy(copy, f->a, (size_t)(n * n) * sizeof *copy);
    assert_int_equal(
        LAPACKE_dposv(LAPACK_COL_MAJOR, 'L', (int)n, (int)m, copy, (int)n, f->expected, (int)n), 0);
    f->view = bb_view_matrix(f->a, n, n);
    f->source = bb_matrix_source_dense(&f->view, "A", "1");
}

static bb_outcome factor(fixture *f, bb_variant variant)
{
    bb_outcome outcome = {0};
    const bb_tile_plan plan = {.tile_size = 48, .arithmetic = variant};
    bb_tile_matrix_destroy(&f->factor);
    check_ok(bb_tile_matrix_create(&f->source, f->scale, &plan, &f->factor));
    check_ok(bb_tile_cholesky_factor(f->factor, 4, &outcome));
    return outcome;
}

static void teardown(fixture *f)
{
    bb_tile_matrix_destroy(&f->factor);
    BB_RELEASE(&f->a);
    BB_RELEASE(&f->b);
    BB_RELEASE(&f->expected);
    BB_RELEASE(&f->scale);
}

static bb_refinement refinement_of(const fixture *f, bb_refine_method method, double tolerance)
{
    return (bb_refinement){
        .matrix = &f->source,
        .scale = f->scale,
        .factor = f->factor,
        .config = {.method = (int)method, .tolerance = tolerance, .iterations = 100}};
}

// ||X D^-1 - X_ref D^-1|| / ||X_ref D^-1|| of the worst row, in the scaled system.
static double error_of(const fixture *f, const double *x)
{
    double worst = 0.0;
    for (bb_index i = 0; i < f->m; ++i) {
        double error = 0.0;
        double norm = 0.0;
        for (bb_index j = 0; j < f->n; ++j) {
            double expected = f->expected[i * f->n + j] / f->scale[j];
            double difference = x[i * f->n + j] / f->scale[j] - expected;
            error += difference * difference;
            norm += expected * expected;
        }
        worst = fmax(worst, sqrt(error / norm));
    }
    return worst;
}

// Conditions 1e2 to 1e7 with the coarsest factor that converges, against LAPACK's fp64 solution:
// the error is at most twice the tolerance times the condition. Residuals below 1e-16 ||S|| ||y|| /
// ||b||, up to 1e-16 times the condition, cannot be reached.
TEST(conditions_are_solved_to_fp64)
{
    const char *const names[] = {"none", "ir", "cg", "gmres"};
    const struct {
        double condition;
        bb_variant variant;
        double tolerance;
        double iterations[4]; // of the slowest row, by method
    } cases[] = {
        {1e2, BB_VARIANT_FP8, 1e-12, {0, 12, 10, 14}}, {1e2, BB_VARIANT_HP1, 1e-12, {0, 5, 5, 6}},
        {1e3, BB_VARIANT_HP1, 1e-12, {0, 7, 6, 8}},    {1e4, BB_VARIANT_X3, 1e-12, {0, 3, 3, 5}},
        {1e5, BB_VARIANT_X3, 1e-12, {0, 5, 5, 6}},     {1e6, BB_VARIANT_X3, 1e-10, {0, 6, 6, 10}},
        {1e7, BB_VARIANT_SP, 1e-9, {0, 60, 20, 40}},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
        autocall(teardown) fixture f;
        setup(&f, 200, 9, cases[c].condition);
        assert_int_equal(factor(&f, cases[c].variant).kind, BB_OUTCOME_OK);
        for (int method = BB_REFINE_IR; method <= BB_REFINE_GMRES; ++method) {
            bb_outcome outcome = {0};
            autofree double *x = dense_new(f.m * f.n);
            bb_refinement refinement =
                refinement_of(&f, (bb_refine_method)method, cases[c].tolerance);
            memcpy(x, f.b, (size_t)(f.m * f.n) * sizeof *x);
            check_ok(bb_refinement_solve(&refinement, f.m, x, &outcome));
            double error = error_of(&f, x);
            print_message("condition %.0e, %s, %s: %td iterations at most, error %.1e %s\n",
                          cases[c].condition, bb_variant_names[cases[c].variant], names[method],
                          refinement.report.slowest, error, outcome.detail);
            assert_int_equal(outcome.kind, BB_OUTCOME_OK);
            assert_true((double)refinement.report.slowest <= cases[c].iterations[method]);
            assert_true(refinement.report.worst <= cases[c].tolerance);
            check_close(error, 0.0, 2.0 * cases[c].tolerance * cases[c].condition, 1.0);
            assert_int_equal(refinement.report.rows, f.m);
        }
    }
}

// Rows stop one by one: a row of zeros at once, the others when they converge.
TEST(rows_stop_by_themselves)
{
    autocall(teardown) fixture f;
    setup(&f, 150, 6, 1e3);
    assert_int_equal(factor(&f, BB_VARIANT_HP1).kind, BB_OUTCOME_OK);
    for (int method = BB_REFINE_IR; method <= BB_REFINE_GMRES; ++method) {
        bb_outcome outcome = {0};
        autofree double *x = dense_new(f.m * f.n);
        memcpy(x + f.n, f.b + f.n, (size_t)((f.m - 1) * f.n) * sizeof *x);
        bb_refinement refinement = refinement_of(&f, (bb_refine_method)method, 1e-10);
        check_ok(bb_refinement_solve(&refinement, f.m, x, &outcome));
        assert_int_equal(outcome.kind, BB_OUTCOME_OK);
        assert_true(refinement.report.iterations < refinement.report.slowest * f.m);
        assert_true(dense_norm(f.n, x) == 0.0);
    }
}

TEST(limits_and_stagnation_are_outcomes)
{
    autocall(teardown) fixture f;
    setup(&f, 150, 4, 1e3);
    autofree double *x = dense_new(f.m * f.n);
    assert_int_equal(factor(&f, BB_VARIANT_HP1).kind, BB_OUTCOME_OK);
    for (int method = BB_REFINE_IR; method <= BB_REFINE_GMRES; ++method) {
        bb_outcome outcome = {0};
        bb_refinement refinement = refinement_of(&f, (bb_refine_method)method, 1e-12);
        refinement.config.iterations = 2;
        memcpy(x, f.b, (size_t)(f.m * f.n) * sizeof *x);
        check_ok(bb_refinement_solve(&refinement, f.m, x, &outcome));
        assert_int_equal(outcome.kind, BB_OUTCOME_NOT_CONVERGED);
        assert_non_null(strstr(outcome.detail, "of 4 right-hand sides 4 reached the limit of 2"));
        assert_int_equal(refinement.report.failed, 4);
        // No method converges below the fp64 rounding error.
        outcome = (bb_outcome){0};
        refinement = refinement_of(&f, (bb_refine_method)method, 1e-18);
        memcpy(x, f.b, (size_t)(f.m * f.n) * sizeof *x);
        check_ok(bb_refinement_solve(&refinement, f.m, x, &outcome));
        assert_int_equal(outcome.kind, BB_OUTCOME_NOT_CONVERGED);
        assert_non_null(strstr(outcome.detail, "4 stagnated"));
        assert_true(refinement.report.worst < 1e-13);
        // A NaN is found in its row and does not spread.
        outcome = (bb_outcome){0};
        refinement = refinement_of(&f, (bb_refine_method)method, 1e-8);
        memcpy(x, f.b, (size_t)(f.m * f.n) * sizeof *x);
        x[f.n + 3] = NAN;
        check_ok(bb_refinement_solve(&refinement, f.m, x, &outcome));
        assert_int_equal(outcome.kind, BB_OUTCOME_NON_FINITE);
        assert_non_null(strstr(outcome.detail, "1 of 4"));
        assert_true(isfinite(dense_norm(f.n, x)) && isfinite(dense_norm(f.n, x + 2 * f.n)));
    }
}

// Preconditioned by the factor of A for a system with -A, which has negative curvature.
TEST(negative_curvature_breaks_cg_down)
{
    autocall(teardown) fixture f;
    setup(&f, 100, 3, 1e2);
    assert_int_equal(factor(&f, BB_VARIANT_SP).kind, BB_OUTCOME_OK);
    fill_array(f.a, f.n * f.n, i, -f.a[i]);
    bb_outcome outcome = {0};
    bb_refinement refinement = refinement_of(&f, BB_REFINE_CG, 1e-10);
    check_ok(bb_refinement_solve(&refinement, f.m, f.b, &outcome));
    assert_int_equal(outcome.kind, BB_OUTCOME_NOT_CONVERGED);
    assert_non_null(strstr(outcome.detail, "3 broke down"));
}

// R = B (A0 + U C U^T)^-1, also with an infinite variance, from a refined hp1 factor against
// LAPACK.
TEST(low_rank_parts_are_refined_too)
{
    enum { N = 160, M = 5, RANK = 2 };
    autocall(teardown) fixture f;
    setup(&f, N, M, 1e3);
    assert_int_equal(factor(&f, BB_VARIANT_HP1).kind, BB_OUTCOME_OK);
    autofree double *u = dense_new((bb_index)N * RANK);
    autofree double *full = dense_new((bb_index)N * N);
    const double variances[RANK] = {0.5, 1e4};
    for (bb_index i = 0; i < N; ++i) {
        u[i * RANK] = 0.1 / f.scale[i];
        u[i * RANK + 1] = (i % 3 == 0 ? 0.1 : 0.0) / f.scale[i];
    }
    memcpy(full, f.a, (size_t)N * N * sizeof *full);
    for (bb_index i = 0; i < (bb_index)N * N; ++i) {
        for (int k = 0; k < RANK; ++k) {
            full[i] += variances[k] * u[i / N * RANK + k] * u[i % N * RANK + k];
        }
    }
    memcpy(f.expected, f.b, (size_t)M * N * sizeof *f.b);
    assert_int_equal(LAPACKE_dposv(LAPACK_COL_MAJOR, 'L', N, M, full, N, f.expected, N), 0);
    const bb_low_rank part = {RANK, u, variances};
    bb_refinement refinement = refinement_of(&f, BB_REFINE_CG, 1e-13);
    const bb_inverse inverse = bb_inverse_of_refinement(&refinement);
    autoptr(bb_low_rank_update) update = NULL;
    bb_outcome outcome = {0};
    check_ok(bb_low_rank_update_make(&inverse, &part, &outcome, &update));
    check_ok(bb_reconstructor_make(&inverse, update, M, f.b, &outcome));
    assert_int_equal(outcome.kind, BB_OUTCOME_OK);
    assert_int_equal(refinement.report.rows, M + RANK);
    double error = error_of(&f, f.b);
    print_message("with two tilts: error %.1e\n", error);
    check_close(error, 0.0, 1e-7, 1.0);
}

// More rows than a block of gmres, panels and products of several parts.
TEST(bits_do_not_depend_on_threads)
{
    autocall(teardown) fixture f;
    setup(&f, 300, 70, 1e3);
    assert_int_equal(factor(&f, BB_VARIANT_HP1).kind, BB_OUTCOME_OK);
    autofree double *first = dense_new(f.m * f.n);
    autofree double *x = dense_new(f.m * f.n);
    for (int method = BB_REFINE_IR; method <= BB_REFINE_GMRES; ++method) {
        for (bb_index threads = 1; threads <= 4; threads *= 2) {
            bb_outcome outcome = {0};
            bb_refinement refinement = refinement_of(&f, (bb_refine_method)method, 1e-12);
            check_ok(bb_threads_set(threads));
            memcpy(x, f.b, (size_t)(f.m * f.n) * sizeof *x);
            check_ok(bb_refinement_solve(&refinement, f.m, x, &outcome));
            assert_int_equal(outcome.kind, BB_OUTCOME_OK);
            if (threads == 1) {
                memcpy(first, x, (size_t)(f.m * f.n) * sizeof *x);
            }
            assert_memory_equal(first, x, (size_t)(f.m * f.n) * sizeof *x);
        }
    }
}

TEST(wrong_use_is_refused)
{
    autocall(teardown) fixture f;
    bb_outcome outcome = {0};
    setup(&f, 20, 1, 1e1);
    assert_int_equal(factor(&f, BB_VARIANT_SP).kind, BB_OUTCOME_OK);
    bb_refinement refinement = refinement_of(&f, BB_REFINE_NONE, 1e-10);
    check_fails(bb_refinement_solve(&refinement, 1, f.b, &outcome), BB_INVALID,
                "refinement by none");
    check_relative(bb_refinement_break_even(100000, 1000), 100.0 / 12.0, 1e-14);
}
