// SPDX-License-Identifier: Apache-2.0
//
// LAPACK's test ratios for the factor and the solves of every variant (LIN/dchkpo, dpot01, dpot02,
// dget04), with the unit roundoff u of the variant's operands for eps and LAPACK's threshold of 30:
//     ||A - L L^T||_inf / (n ||A||_inf u),
//     ||B - X A||_1 / (||A||_1 ||X||_1 u)        for each right-hand side,
//     ||X - X*||_inf / (||X*||_inf cond u)       for each right-hand side.
// An empty matrix is refused with a message, because it has no tile.
#include "precision/scaling.h"
#include "solvers/factor/tiles/tile_cholesky.h"
#include "tests/solvers/spd_matrices.h"

#include <cblas.h>

enum { SIDES = 15 };

static const double threshold = 30.0;

typedef struct ratios {
    double factor, residual, solution;
} ratios;

// Problem in the scaled system: A (unit diagonal), B = X* A.
typedef struct problem {
    bb_index n;
    double condition;
    double *a, *truth, *b;
} problem;

static void scale_matrix(bb_index n, double *a)
{
    autofree double *diagonal = dense_new(n);
    autofree double *scale = dense_new(n);
    fill_array(diagonal, n, i, a[i * n + i]);
    check_ok(bb_scaling_unit_diagonal(diagonal, n, scale));
    for (bb_index i = 0; i < n * n; ++i) {
        a[i] *= scale[i / n] * scale[i % n];
    }
}

static void pose(problem *task, bb_index n, double condition, double *a)
{
    *task = (problem){n, condition, a, dense_new(SIDES * n), dense_new(SIDES * n)};
    dense_random(SIDES * n, 31, task->truth);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, SIDES, (int)n, (int)n, 1.0, task->truth,
                (int)n, a, (int)n, 0.0, task->b, (int)n);
}

static void release(problem *task)
{
    BB_RELEASE(&task->truth);
    BB_RELEASE(&task->b);
}

static double value_at(const bb_tile_matrix *matrix, bb_index i, bb_index j)
{
    bb_index size = matrix->tile_size;
    const bb_tile *tile = bb_tile_matrix_at(matrix, i / size, j / size);
    bb_index index = i % size * tile->columns + j % size;
    return tile->f64 != NULL ? tile->f64[index] : (double)tile->f32[index];
}

static double factor_ratio(const problem *task, const bb_tile_matrix *factor, double roundoff)
{
    bb_index n = task->n;
    autofree double *l = dense_new(n * n);
    autofree double *rest = dense_new(n * n);
    for (bb_index i = 0; i < n; ++i) {
        for (bb_index j = 0; j <= i; ++j) {
            l[i * n + j] = value_at(factor, i, j);
        }
    }
    memcpy(rest, task->a, (size_t)(n * n) * sizeof *rest);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)n, (int)n, (int)n, -1.0, l, (int)n, l,
                (int)n, 1.0, rest, (int)n);
    double ratio = spd_norm(n, n, rest) / ((double)n * spd_norm(n, n, task->a) * roundoff);
    return ratio;
}

// Norm from E v for a few random v: ||E v||_2 is about ||E||_F / sqrt(n) for v of norm 1, and
// ||E||_inf is at most sqrt(n) ||E||_F.
static double probed_factor_ratio(const problem *task, const bb_tile_matrix *factor,
                                  double roundoff)
{
    enum { PROBES = 3 };
    bb_index n = task->n;
    double worst = 0.0;
    autofree double *v = dense_new(n);
    autofree double *y = dense_new(n);
    autofree double *z = dense_new(n);
    for (uint64_t p = 0; p < PROBES; ++p) {
        dense_random(n, 77 + p, v);
        memset(y, 0, (size_t)n * sizeof *y);
        for (bb_index i = 0; i < n; ++i) {
            for (bb_index j = 0; j <= i; ++j) {
                y[j] += value_at(factor, i, j) * v[i];
            }
        }
        cblas_dgemv(CblasRowMajor, CblasNoTrans, (int)n, (int)n, 1.0, task->a, (int)n, v, 1, 0.0, z,
                    1);
        for (bb_index i = 0; i < n; ++i) {
            for (bb_index j = 0; j <= i; ++j) {
                z[i] -= value_at(factor, i, j) * y[j];
            }
        }
        worst = fmax(worst, dense_norm(n, z) / dense_norm(n, v) * (double)n);
    }
    return worst / ((double)n * spd_norm(n, n, task->a) * roundoff);
}

static void side_ratios(const problem *task, const bb_tile_matrix *factor, double roundoff,
                        ratios *out)
{
    bb_index n = task->n;
    autofree double *x = dense_new(SIDES * n);
    autofree double *rest = dense_new(SIDES * n);
    double norm = spd_norm(n, n, task->a);
    memcpy(x, task->b, (size_t)(SIDES * n) * sizeof *x);
    memcpy(rest, task->b, (size_t)(SIDES * n) * sizeof *x);
    check_ok(bb_tile_cholesky_solve(factor, SIDES, x));
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, SIDES, (int)n, (int)n, -1.0, x, (int)n,
                task->a, (int)n, 1.0, rest, (int)n);
    for (bb_index s = 0; s < SIDES; ++s) {
        double size = cblas_dasum((int)n, x + s * n, 1);
        double residual = cblas_dasum((int)n, rest + s * n, 1) / (norm * size * roundoff);
        double error = 0.0;
        double largest = 0.0;
        for (bb_index j = 0; j < n; ++j) {
            error = fmax(error, fabs(x[s * n + j] - task->truth[s * n + j]));
            largest = fmax(largest, fabs(task->truth[s * n + j]));
        }
        out->residual = fmax(out->residual, residual);
        out->solution = fmax(out->solution, error / (largest * task->condition * roundoff));
    }
}

static bb_tile_matrix *factor(const problem *task, const bb_tile_plan *plan, bb_outcome *outcome)
{
    bb_view view = bb_view_matrix(task->a, task->n, task->n);
    bb_matrix_source source = bb_matrix_source_dense(&view, "A", "1");
    *outcome = (bb_outcome){0};
    bb_tile_matrix *matrix = new_object(bb_tile_matrix, &source, NULL, plan);
    check_ok(bb_tile_cholesky_factor(matrix, 4, outcome));
    return matrix;
}

static ratios measure(const problem *task, const bb_tile_plan *plan, const char *name)
{
    ratios out = {0.0, 0.0, 0.0};
    bb_outcome outcome;
    double roundoff = bb_variant_unit_roundoff(plan->arithmetic);
    autoptr(bb_tile_matrix) matrix = factor(task, plan, &outcome);
    if (outcome.kind != BB_OUTCOME_OK) {
        print_error("%s, %s, n = %td: %s\n", name, bb_variant_names[plan->arithmetic], task->n,
                    outcome.detail);
        fail();
    }
    out.factor = task->n > 2000 ? probed_factor_ratio(task, matrix, roundoff)
                                : factor_ratio(task, matrix, roundoff);
    side_ratios(task, matrix, roundoff, &out);
    bool holds = out.factor < threshold && out.residual < threshold && out.solution < threshold;
    if (!holds) {
        print_error("%s, %s, n = %td: factor %.1f, residual %.1f, solution %.1f\n", name,
                    bb_variant_names[plan->arithmetic], task->n, out.factor, out.residual,
                    out.solution);
        fail();
    }
    return out;
}

// Tile sizes that divide none of the larger sizes.
static bb_index tile_of(bb_index n)
{
    return n > 2000 ? 512 : n > 100 ? 96 : 16;
}

static void check_definite(const spd_matrix *matrix, bb_variant variant, ratios *worst)
{
    char name[32];
    autocall(release) problem task;
    pose(&task, matrix->n, matrix->condition, matrix->a);
    (void)snprintf(name, sizeof name, "type %d", matrix->type);
    for (int follow = 0; follow <= 1; ++follow) {
        const bb_tile_plan plan = {.tile_size = tile_of(matrix->n),
                                   .arithmetic = variant,
                                   .policy = {.diagonal = follow},
                                   .sweeps =
                                       follow == 1 ? BB_POLICY_SWEEPS_FOLLOW : BB_POLICY_SWEEPS_SP};
        const ratios found = measure(&task, &plan, name);
        worst->factor = fmax(worst->factor, found.factor);
        worst->residual = fmax(worst->residual, found.residual);
        worst->solution = fmax(worst->solution, found.solution);
    }
}

static void check_indefinite(const spd_matrix *matrix, bb_variant variant)
{
    char row[32];
    bb_outcome outcome;
    const problem task = {.n = matrix->n, .a = matrix->a};
    const bb_tile_plan plan = {.tile_size = tile_of(matrix->n), .arithmetic = variant};
    autoptr(bb_tile_matrix) broken = factor(&task, &plan, &outcome);
    assert_int_equal(outcome.kind, BB_OUTCOME_NOT_SPD);
    (void)snprintf(row, sizeof row, "row %td:", matrix->zero_row);
    if (strstr(outcome.detail, row) == NULL) {
        print_error("type %d, %s, n = %td: '%s', expected %s\n", matrix->type,
                    bb_variant_names[variant], matrix->n, outcome.detail, row);
        fail();
    }
}

static void check_sizes(const bb_index *sizes, size_t count)
{
    for (int v = 0; v < BB_VARIANT_COUNT; ++v) {
        ratios worst = {0.0, 0.0, 0.0};
        for (size_t s = 0; s < count; ++s) {
            for (int type = 1; type <= SPD_TYPES; ++type) {
                spd_matrix matrix;
                spd_create(type, sizes[s], bb_variant_unit_roundoff((bb_variant)v), &matrix);
                if (matrix.zero_row >= 0) {
                    check_indefinite(&matrix, (bb_variant)v);
                } else {
                    scale_matrix(matrix.n, matrix.a);
                    check_definite(&matrix, (bb_variant)v, &worst);
                }
                BB_RELEASE(&matrix.a);
            }
        }
        print_message("%s: factor %.2f, residual %.2f, solution %.2f\n", bb_variant_names[v],
                      worst.factor, worst.residual, worst.solution);
    }
}

TEST(small_sizes_hold_every_type)
{
    const bb_index sizes[] = {1, 2, 3, 5, 10, 50};
    check_sizes(sizes, sizeof sizes / sizeof *sizes);
}

TEST_FULL(a_thousand_rows_hold_every_type)
{
    const bb_index sizes[] = {1000};
    check_ok(bb_threads_set(2));
    check_sizes(sizes, 1);
}

TEST(no_rows_are_refused)
{
    double nothing = 0.0;
    bb_tile_matrix *matrix = NULL;
    bb_view view = bb_view_matrix(&nothing, 0, 0);
    bb_matrix_source source = bb_matrix_source_dense(&view, "A", "1");
    const bb_tile_plan plan = {.tile_size = 16, .arithmetic = BB_VARIANT_SP};
    check_fails(bb_tile_matrix_create(&source, NULL, &plan, &matrix), BB_INVALID,
                "matrix A is 0 x 0; it must be square and not empty");
}

// 8 tiles and one row.
TEST_FULL(four_thousand_rows_hold_where_it_matters)
{
    const bb_variant variants[] = {BB_VARIANT_HP1, BB_VARIANT_X3};
    check_ok(bb_threads_set(2));
    for (size_t v = 0; v < 2; ++v) {
        autocall(release) problem task;
        spd_matrix matrix;
        spd_create(6, 4097, bb_variant_unit_roundoff(variants[v]), &matrix);
        scale_matrix(matrix.n, matrix.a);
        pose(&task, matrix.n, matrix.condition, matrix.a);
        const bb_tile_plan plan = {.tile_size = tile_of(matrix.n),
                                   .arithmetic = variants[v],
                                   .sweeps = BB_POLICY_SWEEPS_FOLLOW};
        const ratios found = measure(&task, &plan, "type 6");
        print_message("%s, n = 4097: factor %.2f, residual %.2f, solution %.2f\n",
                      bb_variant_names[variants[v]], found.factor, found.residual, found.solution);
        BB_RELEASE(&matrix.a);
    }
}

// Diagonals from 1e-30 to 1e30: scaling to a unit diagonal removes the grading without loss.
TEST(graded_diagonals_cost_nothing)
{
    enum { N = 100 };
    for (int v = 0; v < BB_VARIANT_COUNT; ++v) {
        spd_matrix matrix;
        autocall(release) problem task;
        spd_create(2, N, bb_variant_unit_roundoff((bb_variant)v), &matrix);
        for (bb_index i = 0; i < (bb_index)N * N; ++i) {
            double exponent = (double)(i / N + i % N) / (N - 1); // 0 to 2
            matrix.a[i] *= pow(10.0, 30.0 * (exponent - 1.0));
        }
        assert_true(matrix.a[0] < 1e-29 && matrix.a[N * N - 1] > 1e29);
        scale_matrix(N, matrix.a);
        pose(&task, N, 4.0, matrix.a);
        const bb_tile_plan plan = {.tile_size = 16, .arithmetic = (bb_variant)v};
        (void)measure(&task, &plan, "graded");
        BB_RELEASE(&matrix.a);
    }
}

// Order of the sensors: a symmetric permutation of rows and columns keeps the accuracy.
TEST(permuted_rows_are_as_accurate)
{
    enum { N = 210, STRIDE = 97 }; // coprime
    for (int v = 0; v < BB_VARIANT_COUNT; ++v) {
        double condition = 0.1 / bb_variant_unit_roundoff((bb_variant)v);
        autofree double *a = dense_new((bb_index)N * N);
        autofree double *permuted = dense_new((bb_index)N * N);
        autocall(release) problem straight, other;
        // A covariance: neighbours correlate, so the order determines which tiles are small.
        dense_covariance(N, 5.0, fmin(15.0 / condition, 8.0), a);
        scale_matrix(N, a);
        fill_array(permuted, (bb_index)N * N, i, a[i / N * STRIDE % N * N + i % N * STRIDE % N]);
        pose(&straight, N, fmax(condition, 2.0), a);
        pose(&other, N, fmax(condition, 2.0), permuted);
        const bb_tile_plan plan = {.tile_size = 32, .arithmetic = (bb_variant)v};
        const ratios first = measure(&straight, &plan, "straight");
        const ratios second = measure(&other, &plan, "permuted");
        assert_true(second.residual < fmax(10.0 * first.residual, 1.0));
    }
}

TEST(nan_is_found_in_every_tile)
{
    enum { N = 50 };
    const bb_index places[][2] = {{0, 0}, {20, 3}, {25, 25}, {49, 0}, {49, 49}};
    for (int v = 0; v < BB_VARIANT_COUNT; ++v) {
        for (size_t p = 0; p < sizeof places / sizeof *places; ++p) {
            spd_matrix matrix;
            bb_outcome outcome;
            spd_create(2, N, 0x1p-11, &matrix);
            matrix.a[places[p][0] * N + places[p][1]] = NAN;
            matrix.a[places[p][1] * N + places[p][0]] = NAN;
            const problem task = {.n = N, .a = matrix.a};
            const bb_tile_plan plan = {.tile_size = 16,
                                       .arithmetic = (bb_variant)v,
                                       .policy = {.diagonal = BB_POLICY_FOLLOW}};
            autoptr(bb_tile_matrix) broken = factor(&task, &plan, &outcome);
            assert_int_equal(outcome.kind, BB_OUTCOME_NON_FINITE);
            BB_RELEASE(&matrix.a);
        }
    }
}
