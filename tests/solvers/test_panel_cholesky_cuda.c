// SPDX-License-Identifier: Apache-2.0
//
// The factorization by panels against fp64: residuals of the factor and of R in every arithmetic,
// sizes around a block, breakdowns by place, repetition bit for bit.
#include "core/device.h"
#include "solvers/panel_cholesky.h"
#include "tests/solvers/dense.h"

#include <cblas.h>
#include <lapacke.h>

static bb_device *gpu;
static bool few; // sizes, for tools that slow the kernels down a hundredfold

typedef struct problem {
    bb_index n, m;
    double *a, *b, *scale; // [n][n], [m][n], [n]
    double *lower, *r;     // [n][n], [m][n]
    bb_outcome outcome;
} problem;

static void start(problem *p, bb_index n, bb_index m)
{
    *p = (problem){.n = n, .m = m};
    p->a = dense_new(n * n);
    p->b = dense_new(m * n + 1);
    p->scale = dense_new(n);
    p->lower = dense_new(n * n);
    p->r = dense_new(m * n + 1);
    dense_covariance(n, 400.0, 0.05, p->a);
    dense_random(m * n, 7, p->b);
    for (bb_index i = 0; i < n; ++i) {
        p->scale[i] = 1.0 / sqrt(p->a[i * n + i]);
    }
}

static void finish(problem *p)
{
    BB_RELEASE(&p->a);
    BB_RELEASE(&p->b);
    BB_RELEASE(&p->scale);
    BB_RELEASE(&p->lower);
    BB_RELEASE(&p->r);
}

static void run(problem *p, bb_panel_plan plan)
{
    bb_view a = bb_view_matrix(p->a, p->n, p->n);
    bb_view b = bb_view_matrix(p->b, p->m, p->n);
    bb_matrix_source matrix = bb_matrix_source_dense(&a, "A", "1");
    bb_matrix_source side = bb_matrix_source_dense(&b, "B", "1");
    bb_device_source *on_gpu[2] = {NULL, NULL};
    bb_panel_cholesky *factor = NULL;
    bb_panel_times times;
    void *r = NULL;
    plan.n = p->n;
    p->outcome = (bb_outcome){0};
    plan.sides = p->m;
    check_ok(bb_device_source_create(&matrix, gpu, &on_gpu[0]));
    check_ok(bb_device_source_create(&side, gpu, &on_gpu[1]));
    const bb_device_source *sides[] = {on_gpu[1]};
    const bb_panel_sources sources = {on_gpu[0], p->m > 0 ? 1 : 0, sides};
    check_ok(bb_panel_cholesky_create(1, &gpu, &plan, &factor));
    check_ok(bb_panel_cholesky_factor(factor, &sources, p->scale, &p->outcome, &times));
    if (p->outcome.kind == BB_OUTCOME_OK) {
        check_ok(bb_panel_cholesky_lower(factor, p->lower));
        check_ok(bb_panel_cholesky_sweep(factor, &times));
        size_t bytes = (size_t)(p->m * p->n) * sizeof(double);
        check_ok(bb_device_allocate(gpu, bytes + 8, &r));
        check_ok(bb_panel_cholesky_result(factor, r));
        check_ok(bb_device_download(gpu, p->r, r, bytes));
    }
    bb_device_release(gpu, &r);
    bb_panel_cholesky_destroy(&factor);
    bb_device_source_destroy(&on_gpu[0]);
    bb_device_source_destroy(&on_gpu[1]);
}

// ||D A D - L L^T|| / ||D A D||, Frobenius.
static double factor_error(const problem *p)
{
    bb_index n = p->n;
    double *rest = dense_new(n * n);
    for (bb_index i = 0; i < n * n; ++i) {
        rest[i] = p->a[i] * p->scale[i / n] * p->scale[i % n];
    }
    double norm = dense_norm(n * n, rest);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)n, (int)n, (int)n, -1.0, p->lower,
                (int)n, p->lower, (int)n, 1.0, rest, (int)n);
    double error = dense_norm(n * n, rest) / norm;
    BB_RELEASE(&rest);
    return error;
}

// ||B - R A|| / (||R|| ||A||), Frobenius.
static double result_error(const problem *p)
{
    int n = (int)p->n;
    int m = (int)p->m;
    double *rest = dense_new(p->m * p->n + 1);
    memcpy(rest, p->b, (size_t)(m * n) * sizeof *rest);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, n, -1.0, p->r, n, p->a, n, 1.0,
                rest, n);
    double error = m == 0 ? 0.0
                          : dense_norm(p->m * n, rest) /
                                (dense_norm(p->m * n, p->r) * dense_norm(p->n * n, p->a));
    BB_RELEASE(&rest);
    return error;
}

static const struct {
    bb_panel_plan plan;
    double factor, result; // largest errors
} cases[] = {
    {{.arithmetic = BB_VARIANT_DP, .block = 128},                                     2e-15, 2e-15},
    {{.arithmetic = BB_VARIANT_SP, .block = 256},                                     1e-6,  1e-6 },
    {{.arithmetic = BB_VARIANT_X3, .block = 128},                                     2e-6,  2e-6 },
    {{.arithmetic = BB_VARIANT_X3, .block = 256},                                     2e-6,  2e-6 },
    {{.arithmetic = BB_VARIANT_HP1, .block = 256},                                    5e-4,  5e-4 },
    {{.arithmetic = BB_VARIANT_HP1, .block = 384, .diagonal_follows = true},          5e-4,  5e-4 },
    {{.arithmetic = BB_VARIANT_HP1, .block = 256, .sweeps = BB_POLICY_SWEEPS_FOLLOW}, 5e-4,  1e-3 },
    {{.arithmetic = BB_VARIANT_TF32, .block = 256},                                   1e-3,  1e-3 },
};
enum { CASES = sizeof cases / sizeof *cases };

static void every_arithmetic_factors_and_solves(void **state)
{
    (void)state;
    static const bb_index sizes[] = {1, 2, 127, 128, 129, 500, 1000, 1153, 2100};
    for (size_t s = few ? 4 : 0; s < (few ? 6 : sizeof sizes / sizeof *sizes); ++s) {
        for (int c = 0; c < CASES; ++c) {
            problem p;
            start(&p, sizes[s], sizes[s] % 3 == 0 ? 0 : 1 + sizes[s] / 4);
            run(&p, cases[c].plan);
            assert_int_equal(p.outcome.kind, BB_OUTCOME_OK);
            double factor = factor_error(&p);
            double result = result_error(&p);
            print_message("n %td, %s, block %td: factor %.1e, result %.1e\n", p.n,
                          bb_variant_describe(cases[c].plan.arithmetic)->name, cases[c].plan.block,
                          factor, result);
            check_close(factor, 0.0, cases[c].factor, 1.0);
            check_close(result, 0.0, cases[c].result, 1.0);
            finish(&p);
        }
    }
}

static void results_repeat_bit_for_bit(void **state)
{
    (void)state;
    const bb_index n = few ? 400 : 1500;
    for (int c = few ? CASES - 4 : 0; c < (few ? CASES - 3 : CASES); ++c) {
        problem p, again;
        start(&p, n, 200);
        start(&again, n, 200);
        run(&p, cases[c].plan);
        run(&again, cases[c].plan);
        assert_memory_equal(p.lower, again.lower, (size_t)(n * n) * sizeof(double));
        assert_memory_equal(p.r, again.r, (size_t)(200 * n) * sizeof(double));
        finish(&p);
        finish(&again);
    }
}

static void a_map_chooses_the_products_of_every_block(void **state)
{
    (void)state;
    if (few) {
        skip();
    }
    static unsigned char narrow[36];
    for (int i = 0; i < 6; ++i) {
        for (int j = 0; j < 6; ++j) {
            narrow[i * 6 + j] = i - j > 1;
        }
    }
    problem p;
    start(&p, 1500, 64);
    run(&p, (bb_panel_plan){.arithmetic = BB_VARIANT_HP1, .block = 256, .narrow = narrow});
    double mixed = factor_error(&p);
    run(&p, (bb_panel_plan){.arithmetic = BB_VARIANT_HP1, .block = 256});
    double uniform = factor_error(&p);
    run(&p, (bb_panel_plan){.arithmetic = BB_VARIANT_X3, .block = 256});
    double wide = factor_error(&p);
    assert_true(wide < 0.1 * mixed && mixed < uniform);
    finish(&p);
}

static void a_breakdown_names_its_row(void **state)
{
    (void)state;
    static const bb_index rows[] = {0, 700, 1499};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        for (int c = few ? CASES - 4 : 0; c < (few ? CASES - 3 : CASES); ++c) {
            char row[32];
            problem p;
            start(&p, 1500, 10);
            p.a[rows[i] * 1500 + rows[i]] = -1.0;
            p.scale[rows[i]] = 1.0;
            run(&p, cases[c].plan);
            assert_int_equal(p.outcome.kind, BB_OUTCOME_NOT_SPD);
            snprintf(row, sizeof row, "row %td:", rows[i]);
            assert_non_null(strstr(p.outcome.detail, row));
            p.a[rows[i] * 1500 + rows[i]] = NAN;
            run(&p, cases[c].plan);
            assert_int_equal(p.outcome.kind, BB_OUTCOME_NON_FINITE);
            assert_non_null(strstr(p.outcome.detail, row));
            finish(&p);
        }
    }
}

// Two GPUs against one: the same sums in other parts.
static void gpus_share_a_factorization(void **state)
{
    (void)state;
    bb_device *devices[2] = {gpu, NULL};
    bb_panel_cholesky *factor = NULL;
    bb_panel_times times;
    problem p;
    if (few || bb_device_count(BB_DEVICE_CUDA, NULL, 0) < 2) {
        print_message("skipped: one GPU\n");
        skip();
    }
    start(&p, 3000, 300);
    check_ok(bb_device_open(BB_DEVICE_CUDA, 1, &devices[1]));
    for (int c = 0; c < CASES; ++c) {
        bb_view a = bb_view_matrix(p.a, p.n, p.n);
        bb_view b = bb_view_matrix(p.b, p.m, p.n);
        bb_matrix_source matrix = bb_matrix_source_dense(&a, "A", "1");
        bb_matrix_source side = bb_matrix_source_dense(&b, "B", "1");
        bb_device_source *on[2][2] = {{NULL}};
        bb_panel_sources sources[2];
        bb_panel_plan plan = cases[c].plan;
        void *r = NULL;
        plan.n = p.n;
        plan.sides = p.m;
        for (int g = 0; g < 2; ++g) {
            check_ok(bb_device_source_create(&matrix, devices[g], &on[g][0]));
            check_ok(bb_device_source_create(&side, devices[g], &on[g][1]));
            sources[g] =
                (bb_panel_sources){on[g][0], 1, (const bb_device_source *const *)&on[g][1]};
        }
        check_ok(bb_panel_cholesky_create(2, devices, &plan, &factor));
        check_ok(bb_panel_cholesky_factor(factor, sources, p.scale, &p.outcome, &times));
        assert_int_equal(p.outcome.kind, BB_OUTCOME_OK);
        check_ok(bb_panel_cholesky_lower(factor, p.lower));
        check_ok(bb_panel_cholesky_sweep(factor, &times));
        check_ok(bb_device_allocate(gpu, (size_t)(p.m * p.n) * sizeof(double), &r));
        check_ok(bb_panel_cholesky_result(factor, r));
        check_ok(bb_device_download(gpu, p.r, r, (size_t)(p.m * p.n) * sizeof(double)));
        check_close(factor_error(&p), 0.0, cases[c].factor, 1.0);
        check_close(result_error(&p), 0.0, cases[c].result, 1.0);
        bb_device_release(gpu, &r);
        bb_panel_cholesky_destroy(&factor);
        for (int g = 0; g < 2; ++g) {
            bb_device_source_destroy(&on[g][0]);
            bb_device_source_destroy(&on[g][1]);
        }
    }
    bb_device_close(&devices[1]);
    finish(&p);
}

static void impossible_plans_are_refused(void **state)
{
    (void)state;
    bb_panel_cholesky *factor = NULL;
    bb_panel_plan plan = {.n = 1000, .block = 100, .arithmetic = BB_VARIANT_SP};
    check_fails(bb_panel_cholesky_create(1, &gpu, &plan, &factor), BB_INVALID, "multiple of 128");
    plan = (bb_panel_plan){.n = 1000, .block = 128, .arithmetic = BB_VARIANT_HP3};
    check_fails(bb_panel_cholesky_create(1, &gpu, &plan, &factor), BB_UNSUPPORTED, "hp3");
    plan = (bb_panel_plan){.n = 1000000, .block = 1024, .arithmetic = BB_VARIANT_X3};
    check_fails(bb_panel_cholesky_create(1, &gpu, &plan, &factor), BB_MEMORY, "free");
    assert_true(bb_panel_plan_bytes(&plan, 1) > 2e12);
}

int main(int count, char **arguments)
{
    few = count > 1 && strcmp(arguments[1], "few") == 0;
    char reason[256] = "";
    if (bb_device_count(BB_DEVICE_CUDA, reason, sizeof reason) == 0) {
        print_message("skipped: %s\n", reason);
        return 77;
    }
    check_ok(bb_device_open(BB_DEVICE_CUDA, 0, &gpu));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_arithmetic_factors_and_solves),
        cmocka_unit_test(results_repeat_bit_for_bit),
        cmocka_unit_test(a_map_chooses_the_products_of_every_block),
        cmocka_unit_test(a_breakdown_names_its_row),
        cmocka_unit_test(gpus_share_a_factorization),
        cmocka_unit_test(impossible_plans_are_refused),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    bb_device_close(&gpu);
    return failed;
}
