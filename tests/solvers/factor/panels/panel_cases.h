// SPDX-License-Identifier: Apache-2.0
//
// All arithmetics of the factorization by panels, and matrices for them.
#ifndef BB_TESTS_SOLVERS_FACTOR_PANELS_PANEL_CASES_H
#define BB_TESTS_SOLVERS_FACTOR_PANELS_PANEL_CASES_H

#include "tests/solvers/factor/panels/panel_problem.h"

// Bounds of bf16, hp2, hp3 and fp8 are three times the largest error of the tile Cholesky on the
// CPU, which emulates the arithmetic, on these matrices. The noise is what keeps the matrix
// definite in that arithmetic.
static const struct {
    bb_panel_plan plan;
    double noise;          // on the diagonal of the covariance
    double factor, result; // largest errors
} cases[] = {
    {{.arithmetic = BB_VARIANT_DP, .block = 128}, 0.05, 2e-15, 2e-15},
    {{.arithmetic = BB_VARIANT_SP, .block = 256}, 0.05, 1e-6, 1e-6},
    {{.arithmetic = BB_VARIANT_SP, .block = 640}, 0.05, 1e-6, 1e-6},
    {{.arithmetic = BB_VARIANT_HP1, .block = 1024}, 0.05, 5e-4, 5e-4},
    {{.arithmetic = BB_VARIANT_X3, .block = 128}, 0.05, 2e-6, 2e-6},
    {{.arithmetic = BB_VARIANT_X3, .block = 256}, 0.05, 2e-6, 2e-6},
    {{.arithmetic = BB_VARIANT_HP1, .block = 256}, 0.05, 5e-4, 5e-4},
    {{.arithmetic = BB_VARIANT_HP1, .block = 384, .diagonal_follows = true}, 0.05, 5e-4, 5e-4},
    {{.arithmetic = BB_VARIANT_HP1, .block = 256, .sweeps = BB_POLICY_SWEEPS_FOLLOW},
     0.05,
     5e-4,
     1e-3},
    {{.arithmetic = BB_VARIANT_HP1,
      .block = 128,
      .sweeps = BB_POLICY_SWEEPS_LIGHT,
      .sweep_energy = 0.02},
     0.05,
     5e-4,
     1e-3},
    {{.arithmetic = BB_VARIANT_TF32, .block = 256}, 0.05, 1e-3, 1e-3},
    {{.arithmetic = BB_VARIANT_HP2, .block = 128}, 0.5, 1.3e-3, 3e-5},
    {{.arithmetic = BB_VARIANT_HP2,
      .block = 256,
      .diagonal_follows = true,
      .sweeps = BB_POLICY_SWEEPS_FOLLOW},
     0.5,
     1.3e-3,
     5e-5},
    {{.arithmetic = BB_VARIANT_HP3, .block = 128}, 0.5, 2e-3, 6e-5},
    {{.arithmetic = BB_VARIANT_HP3,
      .block = 256,
      .diagonal_follows = true,
      .sweeps = BB_POLICY_SWEEPS_FOLLOW},
     0.5,
     2e-3,
     1e-4},
    {{.arithmetic = BB_VARIANT_BF16, .block = 128}, 0.5, 1.5e-3, 6e-5},
    {{.arithmetic = BB_VARIANT_FP8, .block = 128}, 4.0, 1.2e-2, 4e-4},
    {{.arithmetic = BB_VARIANT_TF32, .block = 128, .unit_diagonal = true}, 0.05, 1e-3, 1e-3},
    {{.arithmetic = BB_VARIANT_TF32, .block = 256, .unit_diagonal = true}, 0.05, 1e-3, 1e-3},
    {{.arithmetic = BB_VARIANT_BF16, .block = 128, .unit_diagonal = true}, 0.5, 1.5e-3, 6e-5},
    {{.arithmetic = BB_VARIANT_FP8, .block = 128, .unit_diagonal = true}, 4.0, 1.2e-2, 4e-4},
};
enum { CASES = sizeof cases / sizeof *cases };

// A covariance with D A D of unit diagonal, and `sides` random rows of B D.
typedef struct posed {
    problem matrix_problem;
    double *scale, *given;
    solved found;
} posed;

static inline void start(posed *p, bb_index n, bb_index sides, double noise)
{
    *p = (posed){.matrix_problem = {.n = n, .sides = sides}};
    p->matrix_problem.a = dense_new(n * n);
    p->matrix_problem.b = dense_new(sides * n + 1);
    p->given = dense_new(n * n);
    p->scale = dense_new(n);
    dense_covariance(n, 400.0, noise, p->matrix_problem.a);
    memcpy(p->given, p->matrix_problem.a, (size_t)(n * n) * sizeof *p->given);
    scale_matrix(n, p->matrix_problem.a, p->scale);
    dense_random(sides * n, 7, p->matrix_problem.b);
    p->matrix_problem.given = p->given;
    p->matrix_problem.scale = p->scale;
}

static inline void finish(posed *p)
{
    release_solved(&p->found);
    BB_RELEASE(&p->matrix_problem.a);
    BB_RELEASE(&p->matrix_problem.b);
    BB_RELEASE(&p->given);
    BB_RELEASE(&p->scale);
}

static inline void solve(posed *p, const bb_panel_plan *plan)
{
    release_solved(&p->found);
    run(&p->matrix_problem, plan, &p->found);
}

/// GPU memory of a factorization in `parts` parts equals the plan.
static inline void check_panel_memory(int parts, bb_device **devices, const bb_panel_plan *plan)
{
    bb_device_report before, after;
    check_ok(bb_device_describe(gpu, &before));
    bb_panel_cholesky *factor = new_object(bb_panel_cholesky, parts, devices, plan);
    check_ok(bb_device_describe(gpu, &after));
    bb_panel_cholesky_destroy(&factor);
    const double taken = (double)before.free_memory_bytes - (double)after.free_memory_bytes;
    check_relative(taken, parts * bb_panel_plan_need(plan, parts).device_bytes, 0.05);
}

#endif
