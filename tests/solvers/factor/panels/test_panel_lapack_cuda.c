// SPDX-License-Identifier: Apache-2.0
//
// LAPACK's test ratios of the factorization by panels, with the matrices, definitions and threshold
// of test_lapack_residuals.c, u the unit roundoff of the arithmetic's operands:
//     ||A - L L^T||_inf / (n ||A||_inf u),
//     ||B - X A||_1 / (||A||_1 ||X||_1 u)        for each right-hand side,
//     ||X - X*||_inf / (||X*||_inf cond u)       for each right-hand side.
#include "tests/solvers/factor/panels/panel_problem.h"

enum { PROBED_FROM = 2000 };

static const double threshold = 30.0;

// hp1, hp2 and hp3 twice: with and without fp32 accuracy on the diagonal and in the sweeps.
// clang-format off
static const bb_panel_plan arithmetics[] = {
    {.arithmetic = BB_VARIANT_DP},
    {.arithmetic = BB_VARIANT_SP},
    {.arithmetic = BB_VARIANT_TF32},
    {.arithmetic = BB_VARIANT_BF16},
    {.arithmetic = BB_VARIANT_HP1},
    {.arithmetic = BB_VARIANT_HP1, .diagonal_follows = true, .sweeps = BB_POLICY_SWEEPS_FOLLOW},
    {.arithmetic = BB_VARIANT_HP2},
    {.arithmetic = BB_VARIANT_HP2, .diagonal_follows = true, .sweeps = BB_POLICY_SWEEPS_FOLLOW},
    {.arithmetic = BB_VARIANT_HP3},
    {.arithmetic = BB_VARIANT_HP3, .diagonal_follows = true, .sweeps = BB_POLICY_SWEEPS_FOLLOW},
    {.arithmetic = BB_VARIANT_X3},
    {.arithmetic = BB_VARIANT_FP8},
};
// clang-format on
enum { ARITHMETICS = sizeof arithmetics / sizeof *arithmetics };

typedef struct ratios {
    double factor, residual, solution;
} ratios;

static const char *name_of(const bb_panel_plan *plan)
{
    return bb_variant_describe(plan->arithmetic)->name;
}

// Panel widths that divide none of the larger sizes.
static bb_index block_of(bb_index n)
{
    return n > PROBED_FROM ? 512 : n > 500 ? 256 : 128;
}

static double factor_ratio(const problem *task, const double *lower, double roundoff)
{
    autofree double *rest = remainder_of(task->n, task->a, lower);
    double ratio = spd_norm(task->n, task->n, rest) /
                   ((double)task->n * spd_norm(task->n, task->n, task->a) * roundoff);
    return ratio;
}

// Norm from E v for a few random v: ||E v||_2 is about ||E||_F / sqrt(n) for v of norm 1, and
// ||E||_inf is at most sqrt(n) ||E||_F.
static double probed_factor_ratio(const problem *task, const double *lower, double roundoff)
{
    enum { PROBES = 3 };
    const int n = (int)task->n;
    double worst = 0.0;
    autofree double *v = dense_new(n);
    autofree double *y = dense_new(n);
    autofree double *z = dense_new(n);
    for (uint64_t p = 0; p < PROBES; ++p) {
        dense_random(n, 77 + p, v);
        memcpy(y, v, (size_t)n * sizeof *y);
        cblas_dtrmv(CblasRowMajor, CblasLower, CblasTrans, CblasNonUnit, n, lower, n, y, 1);
        cblas_dtrmv(CblasRowMajor, CblasLower, CblasNoTrans, CblasNonUnit, n, lower, n, y, 1);
        cblas_dgemv(CblasRowMajor, CblasNoTrans, n, n, 1.0, task->a, n, v, 1, 0.0, z, 1);
        cblas_daxpy(n, -1.0, y, 1, z, 1);
        double found = dense_norm(n, z) / dense_norm(n, v) * (double)n;
        worst = isnan(found) ? NAN : fmax(worst, found);
    }
    return worst / ((double)n * spd_norm(n, n, task->a) * roundoff);
}

static double larger(double a, double b)
{
    return isnan(a) || isnan(b) ? NAN : fmax(a, b);
}

static void side_ratios(const problem *task, const double *x, double roundoff, ratios *out)
{
    const bb_index n = task->n;
    const double norm = spd_norm(n, n, task->a);
    autofree double *rest = dense_new(SIDES * n);
    memcpy(rest, task->b, (size_t)(SIDES * n) * sizeof *rest);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, SIDES, (int)n, (int)n, -1.0, x, (int)n,
                task->a, (int)n, 1.0, rest, (int)n);
    for (bb_index s = 0; s < SIDES; ++s) {
        double size = cblas_dasum((int)n, x + s * n, 1);
        double error = 0.0;
        double largest = 0.0;
        for (bb_index j = 0; j < n; ++j) {
            error = larger(error, fabs(x[s * n + j] - task->truth[s * n + j]));
            largest = fmax(largest, fabs(task->truth[s * n + j]));
        }
        out->residual =
            larger(out->residual, cblas_dasum((int)n, rest + s * n, 1) / (norm * size * roundoff));
        out->solution = larger(out->solution, error / (largest * task->condition * roundoff));
    }
}

// Failures are counted, so that one run reports all of them.
static int failures;

static void expect(bool holds, const problem *task, const bb_panel_plan *arithmetic,
                   const char *name, const ratios *found, const char *detail)
{
    if (!holds) {
        print_error("%s, %s, n = %td: factor %.1f, residual %.1f, solution %.1f %s\n", name,
                    name_of(arithmetic), task->n, found->factor, found->residual, found->solution,
                    detail);
        ++failures;
    }
}

static void expect_none(void)
{
    const int found = failures;
    failures = 0;
    assert_int_equal(found, 0);
}

static ratios measure(const problem *task, const bb_panel_plan *arithmetic, const char *name)
{
    const double roundoff = bb_variant_unit_roundoff(arithmetic->arithmetic);
    ratios out = {0.0, 0.0, 0.0};
    autocall(release_solved) solved found;
    bb_panel_plan plan = *arithmetic;
    plan.block = block_of(task->n);
    run(task, &plan, &found);
    expect(found.outcome.kind == BB_OUTCOME_OK, task, arithmetic, name, &out, found.outcome.detail);
    if (found.outcome.kind == BB_OUTCOME_OK) {
        out.factor = task->n > PROBED_FROM ? probed_factor_ratio(task, found.lower, roundoff)
                                           : factor_ratio(task, found.lower, roundoff);
        side_ratios(task, found.x, roundoff, &out);
        expect(out.factor < threshold && out.residual < threshold && out.solution < threshold, task,
               arithmetic, name, &out, "");
    }
    return out;
}

static void check_indefinite(const spd_matrix *matrix, const bb_panel_plan *arithmetic)
{
    char row[32];
    autocall(release_solved) solved found;
    const problem task = {.n = matrix->n, .a = matrix->a};
    bb_panel_plan plan = *arithmetic;
    plan.block = block_of(task.n);
    run(&task, &plan, &found);
    (void)snprintf(row, sizeof row, "row %td:", matrix->zero_row);
    if (found.outcome.kind != BB_OUTCOME_NOT_SPD || strstr(found.outcome.detail, row) == NULL) {
        print_error("type %d, %s, n = %td: '%s', expected %s\n", matrix->type, name_of(arithmetic),
                    matrix->n, found.outcome.detail, row);
        ++failures;
    }
}

// A scaled matrix of one type and its problem. Types 8 and 9 leave the range of fp32, so scaling
// precedes the copy to the GPU, as on the CPU.
typedef struct posed {
    spd_matrix matrix;
    problem matrix_problem;
    double roundoff;
} posed;

static void drop(posed *p)
{
    release_problem(&p->matrix_problem);
    BB_RELEASE(&p->matrix.a);
}

// Only types 6 and 7 depend on the arithmetic; the other problems are reused.
static void renew(posed *p, int type, bb_index n, double roundoff)
{
    bool depends = type == 6 || type == 7;
    if (p->matrix.a != NULL && (!depends || roundoff == p->roundoff)) {
        return;
    }
    drop(p);
    p->roundoff = roundoff;
    spd_create(type, n, roundoff, &p->matrix);
    if (p->matrix.zero_row < 0) {
        autofree double *scale = dense_new(n);
        scale_matrix(n, p->matrix.a, scale);
        pose(&p->matrix_problem, n, p->matrix.condition, p->matrix.a);
    }
}

static void check_type(int type, bb_index n, ratios *worst)
{
    char name[32];
    autocall(drop) posed p = {.roundoff = 0.0};
    (void)snprintf(name, sizeof name, "type %d", type);
    for (int v = 0; v < ARITHMETICS; ++v) {
        renew(&p, type, n, bb_variant_unit_roundoff(arithmetics[v].arithmetic));
        if (p.matrix.zero_row >= 0) {
            check_indefinite(&p.matrix, &arithmetics[v]);
            continue;
        }
        const ratios found = measure(&p.matrix_problem, &arithmetics[v], name);
        worst[v].factor = fmax(worst[v].factor, found.factor);
        worst[v].residual = fmax(worst[v].residual, found.residual);
        worst[v].solution = fmax(worst[v].solution, found.solution);
    }
}

static void check_sizes(const bb_index *sizes, size_t count)
{
    ratios worst[ARITHMETICS] = {{0.0, 0.0, 0.0}};
    for (size_t s = 0; s < count; ++s) {
        for (int type = 1; type <= SPD_TYPES; ++type) {
            check_type(type, sizes[s], worst);
        }
    }
    for (int v = 0; v < ARITHMETICS; ++v) {
        print_message("%s%s, n to %td: factor %.2f, residual %.2f, solution %.2f\n",
                      name_of(&arithmetics[v]),
                      arithmetics[v].diagonal_follows ? " throughout" : "", sizes[count - 1],
                      worst[v].factor, worst[v].residual, worst[v].solution);
    }
}

TEST(small_sizes_hold_every_type)
{
    const bb_index sizes[] = {1, 2, 3, 5, 10, 50};
    check_sizes(sizes, sizeof sizes / sizeof *sizes);
    expect_none();
}

TEST(a_thousand_rows_hold_every_type)
{
    const bb_index sizes[] = {1000};
    check_sizes(sizes, 1);
    expect_none();
}

// Eight panels and one row.
TEST(four_thousand_rows_hold_every_type)
{
    const bb_index sizes[] = {4097};
    check_sizes(sizes, 1);
    expect_none();
}

// Diagonals from 1e-30 to 1e30: scaling to a unit diagonal on the device removes the grading.
TEST(graded_diagonals_cost_nothing)
{
    enum { N = 300 };
    for (int v = 0; v < ARITHMETICS; ++v) {
        spd_matrix matrix;
        autocall(release_problem) problem task;
        autofree double *graded = dense_new((bb_index)N * N);
        autofree double *scale = dense_new(N);
        spd_create(2, N, bb_variant_unit_roundoff(arithmetics[v].arithmetic), &matrix);
        for (bb_index i = 0; i < (bb_index)N * N; ++i) {
            double exponent = (double)(i / N + i % N) / (N - 1); // 0 to 2
            matrix.a[i] *= pow(10.0, 30.0 * (exponent - 1.0));
            graded[i] = matrix.a[i];
        }
        assert_true(graded[0] < 1e-29 && graded[N * N - 1] > 1e29);
        scale_matrix(N, matrix.a, scale);
        pose(&task, N, 4.0, matrix.a);
        task.given = graded;
        task.scale = scale;
        (void)measure(&task, &arithmetics[v], "graded");
        BB_RELEASE(&matrix.a);
    }
    expect_none();
}

// Order of the sensors: a symmetric permutation of rows and columns keeps the accuracy.
TEST(permuted_rows_are_as_accurate)
{
    enum { N = 600, STRIDE = 97 }; // coprime
    for (int v = 0; v < ARITHMETICS; ++v) {
        double condition = 0.1 / bb_variant_unit_roundoff(arithmetics[v].arithmetic);
        autofree double *a = dense_new((bb_index)N * N);
        autofree double *permuted = dense_new((bb_index)N * N);
        autofree double *scale = dense_new(N);
        problem straight, other;
        // A covariance: neighbours correlate, so the order determines which blocks are small.
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
    }
    expect_none();
}

// In the first, a middle and the last block, on the diagonal and below it.
TEST(nan_is_found_in_every_block)
{
    enum { N = 600 };
    const bb_index places[][2] = {{0, 0},   {20, 3},    {300, 5},  {300, 300},
                                  {599, 0}, {599, 590}, {599, 599}};
    spd_matrix matrix;
    spd_create(2, N, 0x1p-11, &matrix);
    for (int v = 0; v < ARITHMETICS; ++v) {
        bb_panel_plan plan = arithmetics[v];
        plan.block = block_of(N);
        for (size_t p = 0; p < sizeof places / sizeof *places; ++p) {
            const bb_index index = places[p][0] * N + places[p][1];
            const bb_index mirrored = places[p][1] * N + places[p][0];
            const double kept = matrix.a[index];
            const problem task = {.n = N, .a = matrix.a};
            autocall(release_solved) solved found;
            matrix.a[index] = matrix.a[mirrored] = NAN;
            run(&task, &plan, &found);
            if (found.outcome.kind != BB_OUTCOME_NON_FINITE) {
                print_error("%s, NaN at (%td, %td): %s '%s'\n", name_of(&arithmetics[v]),
                            places[p][0], places[p][1], bb_outcome_name(found.outcome.kind),
                            found.outcome.detail);
                ++failures;
            }
            matrix.a[index] = matrix.a[mirrored] = kept;
        }
    }
    BB_RELEASE(&matrix.a);
    expect_none();
}

TEST_GROUP(.begin = open_devices, .end = close_devices, .threads = 4);
