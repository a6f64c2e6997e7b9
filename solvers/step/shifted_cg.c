// SPDX-License-Identifier: Apache-2.0
#include "solvers/step/shifted_cg.h"

#include "core/memory.h"
#include "core/thread.h"

#include <math.h>

enum { GRAIN = 4096, MOST_ITERATIONS = 10000 };

struct bb_shifted_cg {
    const bb_csr *matrix;
    double scale;
    double *matrix_diagonal; // [n] of S
    double *inverse;         // [n] preconditioner
    double *r, *p, *q;       // [n]
    double *parts;           // [ranges] sums
    const double *diagonal;  // D of the running solve
    double *x;               // solution of the running solve
    double alpha, beta;
    bb_index iterations;
};

bb_status bb_shifted_cg_create(const bb_csr *matrix, double scale, bb_shifted_cg **out)
{
    bb_status status = BB_OK;
    bb_shifted_cg *solver = NULL;
    const bb_index n = matrix->rows;
    *out = NULL;
    BB_REQUIRE(n == matrix->columns, BB_INVALID, "matrix of a system %td x %td, expected square", n,
               matrix->columns);
    BB_TRY(BB_ZEROED(1, &solver));
    solver->matrix = matrix;
    solver->scale = scale;
    BB_TRY(BB_ZEROED(n, &solver->matrix_diagonal));
    BB_TRY(BB_ALLOCATE(n, &solver->inverse));
    BB_TRY(BB_ALLOCATE(n, &solver->r));
    BB_TRY(BB_ALLOCATE(n, &solver->p));
    BB_TRY(BB_ALLOCATE(n, &solver->q));
    BB_TRY(BB_ALLOCATE((n + GRAIN - 1) / GRAIN, &solver->parts));
    for (bb_index row = 0; row < n; ++row) {
        for (bb_index i = matrix->row_start[row]; i < matrix->row_start[row + 1]; ++i) {
            if (matrix->column[i] == row) {
                solver->matrix_diagonal[row] = matrix->value[i];
            }
        }
    }
    *out = solver;
    solver = NULL;
done:
    bb_shifted_cg_destroy(&solver);
    return status;
}

bb_need bb_shifted_cg_need(double unknowns)
{
    return (bb_need){.host_bytes = sizeof(bb_shifted_cg) +
                                   (5.0 * unknowns + ceil(unknowns / GRAIN)) * sizeof(double)};
}

void bb_shifted_cg_destroy(bb_shifted_cg **solver)
{
    if (*solver != NULL) {
        BB_RELEASE(&(*solver)->matrix_diagonal);
        BB_RELEASE(&(*solver)->inverse);
        BB_RELEASE(&(*solver)->r);
        BB_RELEASE(&(*solver)->p);
        BB_RELEASE(&(*solver)->q);
        BB_RELEASE(&(*solver)->parts);
        BB_RELEASE(solver);
    }
}

// p <- M^-1 r + beta p.
static bb_status turn(void *context, bb_index begin, bb_index end)
{
    bb_shifted_cg *s = context;
    for (bb_index i = begin; i < end; ++i) {
        s->p[i] = s->inverse[i] * s->r[i] + s->beta * s->p[i];
    }
    return BB_OK;
}

// q <- D p + s q, where q = S p stands, and p q by ranges.
static bb_status shift(void *context, bb_index begin, bb_index end)
{
    bb_shifted_cg *s = context;
    double sum = 0.0;
    for (bb_index i = begin; i < end; ++i) {
        s->q[i] = s->diagonal[i] * s->p[i] + s->scale * s->q[i];
        sum += s->p[i] * s->q[i];
    }
    s->parts[begin / GRAIN] = sum;
    return BB_OK;
}

// x <- x + alpha p, r <- r - alpha q, and r M^-1 r by ranges.
static bb_status move(void *context, bb_index begin, bb_index end)
{
    bb_shifted_cg *s = context;
    double sum = 0.0;
    for (bb_index i = begin; i < end; ++i) {
        s->x[i] += s->alpha * s->p[i];
        s->r[i] -= s->alpha * s->q[i];
        sum += s->r[i] * s->inverse[i] * s->r[i];
    }
    s->parts[begin / GRAIN] = sum;
    return BB_OK;
}

static double sum_parts(const bb_shifted_cg *solver)
{
    double sum = 0.0;
    for (bb_index i = 0; i < (solver->matrix->rows + GRAIN - 1) / GRAIN; ++i) {
        sum += solver->parts[i];
    }
    return sum;
}

static void start(bb_shifted_cg *solver, const double *diagonal, const double *b, double *x)
{
    solver->diagonal = diagonal;
    solver->x = x;
    solver->alpha = 0.0;
    solver->beta = 0.0;
    for (bb_index i = 0; i < solver->matrix->rows; ++i) {
        solver->inverse[i] = 1.0 / (diagonal[i] + solver->scale * solver->matrix_diagonal[i]);
        solver->r[i] = b[i];
        solver->p[i] = solver->q[i] = x[i] = 0.0;
    }
}

bb_status bb_shifted_cg_solve(bb_shifted_cg *solver, const double *diagonal, const double *b,
                              double tolerance, double *x)
{
    bb_status status = BB_OK;
    const bb_index n = solver->matrix->rows;
    start(solver, diagonal, b, x);
    BB_TRY(bb_thread_ranges(n, GRAIN, move, solver));
    double rho = sum_parts(solver);
    const double target = tolerance * tolerance * rho;
    for (int count = 0; !(rho >= 0.0 && rho <= target); ++count) {
        BB_REQUIRE(isfinite(rho), BB_INVALID, "the implicit step met a value that is not finite");
        BB_REQUIRE(count < MOST_ITERATIONS, BB_INVALID,
                   "the implicit step did not converge in %d iterations: residual %.1e of %.1e",
                   count, sqrt(rho), sqrt(target));
        BB_TRY(bb_thread_ranges(n, GRAIN, turn, solver));
        BB_TRY(bb_csr_multiply(solver->matrix, solver->p, solver->q));
        BB_TRY(bb_thread_ranges(n, GRAIN, shift, solver));
        double curvature = sum_parts(solver);
        BB_REQUIRE(curvature > 0.0 && rho > 0.0, BB_INVALID,
                   "the system of the implicit step is not positive definite: %g, %g", curvature,
                   rho);
        solver->alpha = rho / curvature;
        BB_TRY(bb_thread_ranges(n, GRAIN, move, solver));
        double before = rho;
        rho = sum_parts(solver);
        solver->beta = rho / before;
        ++solver->iterations;
    }
done:
    return status;
}

bb_index bb_shifted_cg_iterations(const bb_shifted_cg *solver)
{
    return solver->iterations;
}
