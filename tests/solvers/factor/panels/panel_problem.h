// SPDX-License-Identifier: Apache-2.0
//
// A dense problem solved by the factorization by panels, for its tests on a GPU.
#ifndef BB_TESTS_SOLVERS_FACTOR_PANELS_PANEL_PROBLEM_H
#define BB_TESTS_SOLVERS_FACTOR_PANELS_PANEL_PROBLEM_H

#include "core/device/device.h"
#include "precision/scaling.h"
#include "solvers/factor/panels/panel_cholesky.h"
#include "tests/solvers/spd_matrices.h"

#include <cblas.h>

enum { SIDES = 15 };

static bb_device *gpu;

// D A D X^T = B^T with D of ones where `scale` is NULL: ratios are of the scaled system.
typedef struct problem {
    bb_index n;
    double condition;
    double *a;           // [n][n], scaled already
    bb_index sides;      // rows of B; 0: a factor alone
    double *truth, *b;   // [sides][n]
    double *given;       // [n][n], or NULL: the unscaled matrix that the GPU gets
    const double *scale; // [n], or NULL
} problem;

typedef struct solved {
    bb_outcome outcome;
    double *lower; // [n][n]
    double *x;     // [sides][n]
} solved;

static inline void scale_matrix(bb_index n, double *a, double *scale)
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

static inline void pose(problem *of, bb_index n, double condition, double *a)
{
    *of = (problem){.n = n,
                    .condition = condition,
                    .a = a,
                    .sides = SIDES,
                    .truth = dense_new(SIDES * n),
                    .b = dense_new(SIDES * n)};
    dense_random(SIDES * n, 31, of->truth);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, SIDES, (int)n, (int)n, 1.0, of->truth,
                (int)n, a, (int)n, 0.0, of->b, (int)n);
}

static inline void release_problem(problem *of)
{
    BB_RELEASE(&of->truth);
    BB_RELEASE(&of->b);
}

static inline void release_solved(solved *found)
{
    BB_RELEASE(&found->lower);
    BB_RELEASE(&found->x);
}

static inline void read_result(const problem *of, bb_panel_cholesky *factor, solved *out)
{
    bb_panel_times times = {0};
    void *on_gpu = NULL;
    const size_t bytes = (size_t)(of->sides * of->n) * sizeof(double);
    out->x = dense_new(of->sides * of->n);
    check_ok(bb_panel_cholesky_sweep(factor, &times));
    check_ok(bb_device_allocate(gpu, bytes, &on_gpu));
    check_ok(bb_panel_cholesky_result(factor, on_gpu));
    check_ok(bb_device_download(gpu, out->x, on_gpu, bytes));
    bb_device_release(gpu, &on_gpu);
    for (bb_index i = 0; of->scale != NULL && i < of->sides * of->n; ++i) {
        out->x[i] /= of->scale[i % of->n]; // of the scaled system again
    }
}

// What one GPU is given of a problem.
typedef struct given {
    bb_device_source *matrix, *side;
} given;

/// On `gpus` devices; `arithmetic` says all but the sizes of the problem.
static inline void run_on(const problem *of, const bb_panel_plan *arithmetic, bb_index gpus,
                          bb_device *const *devices, solved *out)
{
    bb_panel_plan plan = *arithmetic;
    bb_panel_cholesky *factor = NULL;
    bb_panel_times times;
    given on[BB_PANEL_GPUS] = {{NULL, NULL}};
    bb_panel_sources sources[BB_PANEL_GPUS];
    double *b = dense_new(of->sides * of->n + 1);
    for (bb_index i = 0; i < of->sides * of->n; ++i) {
        b[i] = of->scale == NULL ? of->b[i] : of->b[i] / of->scale[i % of->n];
    }
    bb_view views[2] = {bb_view_matrix(of->given != NULL ? of->given : of->a, of->n, of->n),
                        bb_view_matrix(b, of->sides, of->n)};
    bb_matrix_source matrix = bb_matrix_source_dense(&views[0], "A", "1");
    bb_matrix_source side = bb_matrix_source_dense(&views[1], "B", "1");
    *out = (solved){0};
    plan.n = of->n;
    plan.sides = of->sides;
    for (bb_index g = 0; g < gpus; ++g) {
        check_ok(bb_device_source_create(&matrix, devices[g], &on[g].matrix));
        check_ok(bb_device_source_create(&side, devices[g], &on[g].side));
        sources[g] = (bb_panel_sources){on[g].matrix, of->sides > 0 ? 1 : 0,
                                        (const bb_device_source *const *)&on[g].side};
    }
    check_ok(bb_panel_cholesky_create(gpus, devices, &plan, &factor));
    check_ok(bb_panel_cholesky_factor(factor, sources, of->scale, &out->outcome, &times));
    if (out->outcome.kind == BB_OUTCOME_OK) {
        out->lower = dense_new(of->n * of->n);
        check_ok(bb_panel_cholesky_lower(factor, out->lower));
        if (of->sides > 0) {
            read_result(of, factor, out);
        }
    }
    bb_panel_cholesky_destroy(&factor);
    for (bb_index g = 0; g < gpus; ++g) {
        bb_device_source_destroy(&on[g].matrix);
        bb_device_source_destroy(&on[g].side);
    }
    BB_RELEASE(&b);
}

static inline void run(const problem *of, const bb_panel_plan *arithmetic, solved *out)
{
    run_on(of, arithmetic, 1, &gpu, out);
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
