// SPDX-License-Identifier: Apache-2.0
//
// Dense problem solved by the factorization by panels on a GPU, for tests.
#ifndef BB_TESTS_SOLVERS_FACTOR_PANELS_PANEL_PROBLEM_H
#define BB_TESTS_SOLVERS_FACTOR_PANELS_PANEL_PROBLEM_H

#include "precision/scaling.h"
#include "solvers/factor/panels/panel_cholesky.h"
#include "tests/device_pair.h"
#include "tests/solvers/spd_matrices.h"

#include <cblas.h>

enum { SIDES = 15 };

// D A D X^T = B^T, with D of ones if `scale` is NULL; ratios refer to the scaled system.
typedef struct problem {
    bb_index n;
    double condition;
    double *a;           // [n][n], scaled
    bb_index sides;      // rows of B; 0: factor only
    double *truth, *b;   // [sides][n]
    double *given;       // [n][n], or NULL: unscaled matrix for the GPU
    const double *scale; // [n], or NULL
} problem;

typedef struct solved {
    bb_outcome outcome;
    double *lower; // [n][n]
    double *x;     // [sides][n]
} solved;

static inline void scale_matrix(bb_index n, double *a, double *scale)
{
    autofree double *diagonal = dense_new(n);
    fill_array(diagonal, n, i, a[i * n + i]);
    check_ok(bb_scaling_unit_diagonal(diagonal, n, scale));
    for (bb_index i = 0; i < n * n; ++i) {
        a[i] *= scale[i / n] * scale[i % n];
    }
}

static inline void pose(problem *posed, bb_index n, double condition, double *a)
{
    *posed = (problem){.n = n,
                       .condition = condition,
                       .a = a,
                       .sides = SIDES,
                       .truth = dense_new(SIDES * n),
                       .b = dense_new(SIDES * n)};
    dense_random(SIDES * n, 31, posed->truth);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, SIDES, (int)n, (int)n, 1.0, posed->truth,
                (int)n, a, (int)n, 0.0, posed->b, (int)n);
}

static inline void release_problem(problem *posed)
{
    BB_RELEASE(&posed->truth);
    BB_RELEASE(&posed->b);
}

static inline void release_solved(solved *found)
{
    BB_RELEASE(&found->lower);
    BB_RELEASE(&found->x);
}

static inline void read_result(const problem *posed, bb_panel_cholesky *factor, solved *out)
{
    bb_panel_times times = {0};
    const size_t bytes = (size_t)(posed->sides * posed->n) * sizeof(double);
    out->x = dense_new(posed->sides * posed->n);
    check_ok(bb_panel_cholesky_sweep(factor, &times));
    void *on_gpu = allocate_on(gpu, bytes);
    check_ok(bb_panel_cholesky_result(factor, on_gpu));
    check_ok(bb_device_download(gpu, out->x, on_gpu, bytes));
    bb_device_release(gpu, &on_gpu);
    for (bb_index i = 0; posed->scale != NULL && i < posed->sides * posed->n; ++i) {
        out->x[i] /= posed->scale[i % posed->n]; // of the scaled system again
    }
}

// Input of one GPU.
typedef struct given {
    bb_device_source *matrix, *side;
} given;

/// On `gpus` devices; `arithmetic` has all plan members but the sizes.
static inline void run_on(const problem *posed, const bb_panel_plan *arithmetic, bb_index gpus,
                          bb_device *const *devices, solved *out)
{
    bb_panel_plan plan = *arithmetic;
    bb_panel_times times;
    given on[BB_PANEL_GPUS] = {{NULL, NULL}};
    bb_panel_sources sources[BB_PANEL_GPUS];
    autofree double *b = dense_new(posed->sides * posed->n + 1);
    for (bb_index i = 0; i < posed->sides * posed->n; ++i) {
        b[i] = posed->scale == NULL ? posed->b[i] : posed->b[i] / posed->scale[i % posed->n];
    }
    bb_view views[2] = {
        bb_view_matrix(posed->given != NULL ? posed->given : posed->a, posed->n, posed->n),
        bb_view_matrix(b, posed->sides, posed->n)};
    bb_matrix_source matrix = bb_matrix_source_dense(&views[0], "A", "1");
    bb_matrix_source side = bb_matrix_source_dense(&views[1], "B", "1");
    *out = (solved){0};
    plan.n = posed->n;
    plan.sides = posed->sides;
    for (bb_index g = 0; g < gpus; ++g) {
        check_ok(bb_device_source_create(&matrix, devices[g], &on[g].matrix));
        check_ok(bb_device_source_create(&side, devices[g], &on[g].side));
        sources[g] = (bb_panel_sources){on[g].matrix, posed->sides > 0 ? 1 : 0,
                                        (const bb_device_source *const *)&on[g].side};
    }
    bb_panel_cholesky *factor = new_object(bb_panel_cholesky, gpus, devices, &plan);
    check_ok(bb_panel_cholesky_factor(factor, sources, posed->scale, &out->outcome, &times));
    if (out->outcome.kind == BB_OUTCOME_OK) {
        out->lower = dense_new(posed->n * posed->n);
        check_ok(bb_panel_cholesky_lower(factor, out->lower));
        if (posed->sides > 0) {
            read_result(posed, factor, out);
        }
    }
    bb_panel_cholesky_destroy(&factor);
    for (bb_index g = 0; g < gpus; ++g) {
        bb_device_source_destroy(&on[g].matrix);
        bb_device_source_destroy(&on[g].side);
    }
}

static inline void run(const problem *posed, const bb_panel_plan *arithmetic, solved *out)
{
    run_on(posed, arithmetic, 1, &gpu, out);
}

// A - L L^T.
static inline double *remainder_of(bb_index n, const double *a, const double *lower)
{
    double *rest = dense_new(n * n);
    memcpy(rest, a, (size_t)(n * n) * sizeof *rest);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)n, (int)n, (int)n, -1.0, lower,
                (int)n, lower, (int)n, 1.0, rest, (int)n);
    return rest;
}

#endif
