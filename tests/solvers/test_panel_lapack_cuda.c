// SPDX-License-Identifier: Apache-2.0
//
// The factorization by panels held to LAPACK's test ratios, with the matrices, the definitions and
// the threshold of test_lapack_residuals.c, u the unit roundoff of the arithmetic's operands:
//     ||A - L L^T||_inf / (n ||A||_inf u),
//     ||B - X A||_1 / (||A||_1 ||X||_1 u)        for each right-hand side,
//     ||X - X*||_inf / (||X*||_inf cond u)       for each right-hand side,
// and its backward errors to those of the tile Cholesky of the CPU, which emulates the arithmetic.
#include "core/device.h"
#include "precision/scaling.h"
#include "solvers/panel_cholesky.h"
#include "solvers/tile_cholesky.h"
#include "tests/solvers/spd_matrices.h"

#include <cblas.h>

enum { SIDES = 15, PROBED_FROM = 2000 };

static const double threshold = 30.0;
static bb_device *gpu;

// hp1 twice: with fp32 accuracy on the diagonal and in the backward sweep, and without.
static const bb_panel_plan arithmetics[] = {
    {.arithmetic = BB_VARIANT_DP  },
    {.arithmetic = BB_VARIANT_SP  },
    {.arithmetic = BB_VARIANT_TF32},
    {.arithmetic = BB_VARIANT_HP1 },
    {.arithmetic = BB_VARIANT_HP1,  .diagonal_follows = true, .sweeps_follow = true},
    {.arithmetic = BB_VARIANT_X3       },
};
enum { ARITHMETICS = sizeof arithmetics / sizeof *arithmetics };

typedef struct ratios {
    double factor, residual, solution;
} ratios;

// D A D X^T = B^T with D of ones where `scale` is NULL: ratios are of the scaled system.
typedef struct problem {
    bb_index n;
    double condition;
    double *a;           // [n][n], scaled already
    double *truth, *b;   // [SIDES][n]; NULL: a factor alone
    double *given;       // [n][n], or NULL: the unscaled matrix that the GPU gets
    const double *scale; // [n], or NULL
} problem;

typedef struct solved {
    bb_outcome outcome;
    double *lower; // [n][n]
    double *x;     // [SIDES][n]
} solved;

static const char *name_of(const bb_panel_plan *plan)
{
    return bb_variant_describe(plan->arithmetic)->name;
}

// Panels that divide none of the larger sizes.
static bb_index block_of(bb_index n)
{
    return n > PROBED_FROM ? 512 : n > 500 ? 256 : 128;
}

static void scale_matrix(bb_index n, double *a, double *scale)
{
    double *diagonal = dense_new(n);
    for (bb_index i = 0; i < n; ++i) {
        diagonal[i] = a[i * n + i];
    }
    check_ok(bb_scaling_unit_diagonal(diagonal, n, scale));
    for (bb_index i = 0; i < n * n; ++i) {
        a[i] *= scale[i / n] * scale[i % n];
    }
    BB_RELEASE(&diagonal);
}

static void pose(problem *of, bb_index n, double condition, double *a)
{
    *of = (problem){.n = n,
                    .condition = condition,
                    .a = a,
                    .truth = dense_new(SIDES * n),
                    .b = dense_new(SIDES * n)};
    dense_random(SIDES * n, 31, of->truth);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, SIDES, (int)n, (int)n, 1.0, of->truth,
                (int)n, a, (int)n, 0.0, of->b, (int)n);
}

static void release_problem(problem *of)
{
    BB_RELEASE(&of->truth);
    BB_RELEASE(&of->b);
}

static void release_solved(solved *found)
{
    BB_RELEASE(&found->lower);
    BB_RELEASE(&found->x);
}

static void read_result(const problem *of, bb_panel_cholesky *factor, solved *out)
{
    bb_panel_times times = {0};
    void *on_gpu = NULL;
    const size_t bytes = (size_t)(SIDES * of->n) * sizeof(double);
    out->x = dense_new(SIDES * of->n);
    check_ok(bb_panel_cholesky_sweep(factor, &times));
    check_ok(bb_device_allocate(gpu, bytes, &on_gpu));
    check_ok(bb_panel_cholesky_result(factor, on_gpu));
    check_ok(bb_device_download(gpu, out->x, on_gpu, bytes));
    bb_device_release(gpu, &on_gpu);
    for (bb_index i = 0; of->scale != NULL && i < SIDES * of->n; ++i) {
        out->x[i] /= of->scale[i % of->n]; // of the scaled system again
    }
}

static void run(const problem *of, const bb_panel_plan *arithmetic, solved *out)
{
    bb_panel_plan plan = *arithmetic;
    bb_panel_cholesky *factor = NULL;
    bb_panel_times times;
    bb_device_source *on_gpu[2] = {NULL, NULL};
    double *b = dense_new(SIDES * of->n);
    for (bb_index i = 0; of->b != NULL && i < SIDES * of->n; ++i) {
        b[i] = of->scale == NULL ? of->b[i] : of->b[i] / of->scale[i % of->n];
    }
    bb_view views[2] = {bb_view_matrix(of->given != NULL ? of->given : of->a, of->n, of->n),
                        bb_view_matrix(b, SIDES, of->n)};
    bb_matrix_source matrix = bb_matrix_source_dense(&views[0], "A", "1");
    bb_matrix_source side = bb_matrix_source_dense(&views[1], "B", "1");
    *out = (solved){0};
    plan.n = of->n;
    plan.block = plan.block == 0 ? block_of(of->n) : plan.block;
    plan.sides = of->b != NULL ? SIDES : 0;
    check_ok(bb_device_source_create(&matrix, gpu, &on_gpu[0]));
    check_ok(bb_device_source_create(&side, gpu, &on_gpu[1]));
    const bb_device_source *sides[] = {on_gpu[1]};
    const bb_panel_sources sources = {on_gpu[0], of->b != NULL ? 1 : 0, sides};
    check_ok(bb_panel_cholesky_create(1, &gpu, &plan, &factor));
    check_ok(bb_panel_cholesky_factor(factor, &sources, of->scale, &out->outcome, &times));
    if (out->outcome.kind == BB_OUTCOME_OK) {
        out->lower = dense_new(of->n * of->n);
        check_ok(bb_panel_cholesky_lower(factor, out->lower));
        if (of->b != NULL) {
            read_result(of, factor, out);
        }
    }
    bb_panel_cholesky_destroy(&factor);
    bb_device_source_destroy(&on_gpu[0]);
    bb_device_source_destroy(&on_gpu[1]);
    BB_RELEASE(&b);
}

// A - L L^T.
static double *remainder_of(bb_index n, const double *a, const double *lower)
{
    double *rest = dense_new(n * n);
    memcpy(rest, a, (size_t)(n * n) * sizeof *rest);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)n, (int)n, (int)n, -1.0, lower,
                (int)n, lower, (int)n, 1.0, rest, (int)n);
    return rest;
}

static double factor_ratio(const problem *of, const double *lower, double roundoff)
{
    double *rest = remainder_of(of->n, of->a, lower);
    double ratio =
        spd_norm(of->n, of->n, rest) / ((double)of->n * spd_norm(of->n, of->n, of->a) * roundoff);
    BB_RELEASE(&rest);
    return ratio;
}

// By E v for a few random v: ||E v||_2 is about ||E||_F / sqrt(n) of a v of norm 1, and ||E||_inf
// is at most sqrt(n) ||E||_F.
static double probed_factor_ratio(const problem *of, const double *lower, double roundoff)
{
    enum { PROBES = 3 };
    const int n = (int)of->n;
    double worst = 0.0;
    double *v = dense_new(n);
    double *y = dense_new(n);
    double *z = dense_new(n);
    for (uint64_t p = 0; p < PROBES; ++p) {
        dense_random(n, 77 + p, v);
        memcpy(y, v, (size_t)n * sizeof *y);
        cblas_dtrmv(CblasRowMajor, CblasLower, CblasTrans, CblasNonUnit, n, lower, n, y, 1);
        cblas_dtrmv(CblasRowMajor, CblasLower, CblasNoTrans, CblasNonUnit, n, lower, n, y, 1);
        cblas_dgemv(CblasRowMajor, CblasNoTrans, n, n, 1.0, of->a, n, v, 1, 0.0, z, 1);
        cblas_daxpy(n, -1.0, y, 1, z, 1);
        double found = dense_norm(n, z) / dense_norm(n, v) * (double)n;
        worst = isnan(found) ? NAN : fmax(worst, found);
    }
    BB_RELEASE(&v);
    BB_RELEASE(&y);
    BB_RELEASE(&z);
    return worst / ((double)n * spd_norm(n, n, of->a) * roundoff);
}

static double larger(double a, double b)
{
    return isnan(a) || isnan(b) ? NAN : fmax(a, b);
}

static void side_ratios(const problem *of, const double *x, double roundoff, ratios *out)
{
    const bb_index n = of->n;
    const double norm = spd_norm(n, n, of->a);
    double *rest = dense_new(SIDES * n);
    memcpy(rest, of->b, (size_t)(SIDES * n) * sizeof *rest);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, SIDES, (int)n, (int)n, -1.0, x, (int)n,
                of->a, (int)n, 1.0, rest, (int)n);
    for (bb_index s = 0; s < SIDES; ++s) {
        double size = cblas_dasum((int)n, x + s * n, 1);
        double error = 0.0;
        double largest = 0.0;
        for (bb_index j = 0; j < n; ++j) {
            error = larger(error, fabs(x[s * n + j] - of->truth[s * n + j]));
            largest = fmax(largest, fabs(of->truth[s * n + j]));
        }
        out->residual =
            larger(out->residual, cblas_dasum((int)n, rest + s * n, 1) / (norm * size * roundoff));
        out->solution = larger(out->solution, error / (largest * of->condition * roundoff));
    }
    BB_RELEASE(&rest);
}

static void fail_unless(bool holds, const problem *of, const bb_panel_plan *arithmetic,
                        const char *name, const ratios *found, const char *detail)
{
    if (!holds) {
        print_error("%s, %s, n = %td: factor %.1f, residual %.1f, solution %.1f %s\n", name,
                    name_of(arithmetic), of->n, found->factor, found->residual, found->solution,
                    detail);
        fail();
    }
}

static ratios measure(const problem *of, const bb_panel_plan *arithmetic, const char *name)
{
    const double roundoff = bb_variant_unit_roundoff(arithmetic->arithmetic);
    ratios out = {0.0, 0.0, 0.0};
    solved found;
    run(of, arithmetic, &found);
    fail_unless(found.outcome.kind == BB_OUTCOME_OK, of, arithmetic, name, &out,
                found.outcome.detail);
    out.factor = of->n > PROBED_FROM ? probed_factor_ratio(of, found.lower, roundoff)
                                     : factor_ratio(of, found.lower, roundoff);
    side_ratios(of, found.x, roundoff, &out);
    fail_unless(out.factor < threshold && out.residual < threshold && out.solution < threshold, of,
                arithmetic, name, &out, "");
    release_solved(&found);
    return out;
}

static void check_indefinite(const spd_matrix *matrix, const bb_panel_plan *arithmetic)
{
    char row[32];
    solved found;
    const problem of = {.n = matrix->n, .a = matrix->a};
    run(&of, arithmetic, &found);
    (void)snprintf(row, sizeof row, "row %td:", matrix->zero_row);
    if (found.outcome.kind != BB_OUTCOME_NOT_SPD || strstr(found.outcome.detail, row) == NULL) {
        print_error("type %d, %s, n = %td: '%s', expected %s\n", matrix->type, name_of(arithmetic),
                    matrix->n, found.outcome.detail, row);
        fail();
    }
    release_solved(&found);
}

// Types 8 and 9 leave the range of fp32, so scaling comes first, as on the CPU.
static void check_type(int type, bb_index n, const bb_panel_plan *arithmetic, ratios *worst)
{
    char name[32];
    spd_matrix matrix;
    problem of;
    spd_create(type, n, bb_variant_unit_roundoff(arithmetic->arithmetic), &matrix);
    if (matrix.zero_row >= 0) {
        check_indefinite(&matrix, arithmetic);
        BB_RELEASE(&matrix.a);
        return;
    }
    double *scale = dense_new(n);
    scale_matrix(n, matrix.a, scale);
    pose(&of, n, matrix.condition, matrix.a);
    (void)snprintf(name, sizeof name, "type %d", type);
    const ratios found = measure(&of, arithmetic, name);
    worst->factor = fmax(worst->factor, found.factor);
    worst->residual = fmax(worst->residual, found.residual);
    worst->solution = fmax(worst->solution, found.solution);
    release_problem(&of);
    BB_RELEASE(&scale);
    BB_RELEASE(&matrix.a);
}

static void check_sizes(const bb_index *sizes, size_t count)
{
    for (int v = 0; v < ARITHMETICS; ++v) {
        ratios worst = {0.0, 0.0, 0.0};
        for (size_t s = 0; s < count; ++s) {
            for (int type = 1; type <= SPD_TYPES; ++type) {
                check_type(type, sizes[s], &arithmetics[v], &worst);
            }
        }
        print_message("%s%s, n to %td: factor %.2f, residual %.2f, solution %.2f\n",
                      name_of(&arithmetics[v]),
                      arithmetics[v].diagonal_follows ? " throughout" : "", sizes[count - 1],
                      worst.factor, worst.residual, worst.solution);
    }
}

static void small_sizes_hold_every_type(void **state)
{
    (void)state;
    const bb_index sizes[] = {1, 2, 3, 5, 10, 50};
    check_sizes(sizes, sizeof sizes / sizeof *sizes);
}

static void a_thousand_rows_hold_every_type(void **state)
{
    (void)state;
    const bb_index sizes[] = {1000};
    check_sizes(sizes, 1);
}

// Eight panels and one row.
static void four_thousand_rows_hold_every_type(void **state)
{
    (void)state;
    const bb_index sizes[] = {4097};
    check_sizes(sizes, 1);
}

// Diagonals from 1e-30 to 1e30: the unit diagonal, taken on the device, undoes the grading.
static void graded_diagonals_cost_nothing(void **state)
{
    (void)state;
    enum { N = 300 };
    for (int v = 0; v < ARITHMETICS; ++v) {
        spd_matrix matrix;
        problem of;
        double *graded = dense_new((bb_index)N * N);
        double *scale = dense_new(N);
        spd_create(2, N, bb_variant_unit_roundoff(arithmetics[v].arithmetic), &matrix);
        for (bb_index i = 0; i < (bb_index)N * N; ++i) {
            double exponent = (double)(i / N + i % N) / (N - 1); // 0 to 2
            matrix.a[i] *= pow(10.0, 30.0 * (exponent - 1.0));
            graded[i] = matrix.a[i];
        }
        assert_true(graded[0] < 1e-29 && graded[N * N - 1] > 1e29);
        scale_matrix(N, matrix.a, scale);
        pose(&of, N, 4.0, matrix.a);
        of.given = graded;
        of.scale = scale;
        (void)measure(&of, &arithmetics[v], "graded");
        release_problem(&of);
        BB_RELEASE(&graded);
        BB_RELEASE(&scale);
        BB_RELEASE(&matrix.a);
    }
}

// The order of the sensors: rows and columns permuted together are as accurate.
static void permuted_rows_are_as_accurate(void **state)
{
    (void)state;
    enum { N = 600, STRIDE = 97 }; // coprime
    for (int v = 0; v < ARITHMETICS; ++v) {
        double condition = 0.1 / bb_variant_unit_roundoff(arithmetics[v].arithmetic);
        double *a = dense_new((bb_index)N * N);
        double *permuted = dense_new((bb_index)N * N);
        double *scale = dense_new(N);
        problem straight, other;
        // A covariance: neighbours correlate, so that the order decides which blocks are small.
        dense_covariance(N, 5.0, fmin(15.0 / condition, 8.0), a);
        scale_matrix(N, a, scale);
        for (bb_index i = 0; i < (bb_index)N * N; ++i) {
            permuted[i] = a[i / N * STRIDE % N * N + i % N * STRIDE % N];
        }
        pose(&straight, N, fmax(condition, 2.0), a);
        pose(&other, N, fmax(condition, 2.0), permuted);
        const ratios first = measure(&straight, &arithmetics[v], "straight");
        const ratios second = measure(&other, &arithmetics[v], "permuted");
        assert_true(second.residual < fmax(10.0 * first.residual, 1.0));
        release_problem(&straight);
        release_problem(&other);
        BB_RELEASE(&a);
        BB_RELEASE(&permuted);
        BB_RELEASE(&scale);
    }
}

// In the first, a middle and the last block, on the diagonal and below it.
static void nan_is_found_in_every_block(void **state)
{
    (void)state;
    enum { N = 600 };
    const bb_index places[][2] = {
        {0,   0  },
        {20,  3  },
        {300, 5  },
        {300, 300},
        {599, 0  },
        {599, 590},
        {599, 599}
    };
    spd_matrix matrix;
    spd_create(2, N, 0x1p-11, &matrix);
    for (int v = 0; v < ARITHMETICS; ++v) {
        for (size_t p = 0; p < sizeof places / sizeof *places; ++p) {
            const bb_index at = places[p][0] * N + places[p][1];
            const bb_index mirrored = places[p][1] * N + places[p][0];
            const double kept = matrix.a[at];
            const problem of = {.n = N, .a = matrix.a};
            solved found;
            matrix.a[at] = matrix.a[mirrored] = NAN;
            run(&of, &arithmetics[v], &found);
            if (found.outcome.kind != BB_OUTCOME_NON_FINITE) {
                print_error("%s, NaN at (%td, %td): %s '%s'\n", name_of(&arithmetics[v]),
                            places[p][0], places[p][1], bb_outcome_name(found.outcome.kind),
                            found.outcome.detail);
                fail();
            }
            matrix.a[at] = matrix.a[mirrored] = kept;
            release_solved(&found);
        }
    }
    BB_RELEASE(&matrix.a);
}

// ||A - L L^T||_F / ||A||_F.
static double backward_error(bb_index n, const double *a, const double *lower)
{
    double *rest = remainder_of(n, a, lower);
    double error = dense_norm(n * n, rest) / dense_norm(n * n, a);
    BB_RELEASE(&rest);
    return error;
}

static double emulated_error(bb_index n, bb_index tile, bb_variant variant, double *a)
{
    bb_tile_matrix *matrix = NULL;
    bb_outcome outcome = {0};
    bb_view view = bb_view_matrix(a, n, n);
    bb_matrix_source source = bb_matrix_source_dense(&view, "A", "1");
    const bb_tile_plan plan = {.tile_size = tile, .arithmetic = variant};
    double *lower = dense_new(n * n);
    check_ok(bb_tile_matrix_create(&source, NULL, &plan, &matrix));
    check_ok(bb_tile_cholesky_factor(matrix, 4, &outcome));
    assert_int_equal(outcome.kind, BB_OUTCOME_OK);
    for (bb_index i = 0; i < n; ++i) {
        for (bb_index j = 0; j <= i; ++j) {
            const bb_tile *t = bb_tile_matrix_at(matrix, i / tile, j / tile);
            const bb_index at = i % tile * t->columns + j % tile;
            lower[i * n + j] = t->f64 != NULL ? t->f64[at] : (double)t->f32[at];
        }
    }
    double error = backward_error(n, a, lower);
    bb_tile_matrix_destroy(&matrix);
    BB_RELEASE(&lower);
    return error;
}

static void the_cpu_emulates_the_errors(void **state)
{
    (void)state;
    enum { N = 1000, BLOCK = 128 };
    const bb_variant variants[] = {BB_VARIANT_SP, BB_VARIANT_HP1, BB_VARIANT_X3};
    for (size_t v = 0; v < sizeof variants / sizeof *variants; ++v) {
        for (int which = 0; which < 2; ++which) {
            const bb_panel_plan arithmetic = {.arithmetic = variants[v], .block = BLOCK};
            spd_matrix matrix;
            solved found;
            double *scale = dense_new(N);
            spd_create(6, N, bb_variant_unit_roundoff(variants[v]), &matrix);
            if (which == 1) {
                dense_covariance(N, 20.0, 0.3, matrix.a);
            }
            scale_matrix(N, matrix.a, scale);
            const problem of = {.n = N, .a = matrix.a};
            run(&of, &arithmetic, &found);
            assert_int_equal(found.outcome.kind, BB_OUTCOME_OK);
            const double error = backward_error(N, matrix.a, found.lower);
            const double emulated = emulated_error(N, BLOCK, variants[v], matrix.a);
            print_message("%s, %s: %.2e on the GPU, %.2e emulated\n", name_of(&arithmetic),
                          which == 1 ? "covariance" : "type 6", error, emulated);
            assert_true(error < 3.0 * emulated && emulated < 3.0 * error);
            release_solved(&found);
            BB_RELEASE(&scale);
            BB_RELEASE(&matrix.a);
        }
    }
}

int main(void)
{
    char reason[256] = "";
    if (bb_device_count(BB_DEVICE_CUDA, reason, sizeof reason) == 0) {
        print_message("skipped: %s\n", reason);
        return 77;
    }
    check_ok(bb_threads_set(4));
    check_ok(bb_device_open(BB_DEVICE_CUDA, 0, &gpu));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_sizes_hold_every_type),
        cmocka_unit_test(a_thousand_rows_hold_every_type),
        cmocka_unit_test(four_thousand_rows_hold_every_type),
        cmocka_unit_test(graded_diagonals_cost_nothing),
        cmocka_unit_test(permuted_rows_are_as_accurate),
        cmocka_unit_test(nan_is_found_in_every_block),
        cmocka_unit_test(the_cpu_emulates_the_errors),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    bb_device_close(&gpu);
    bb_threads_stop();
    return failed;
}
