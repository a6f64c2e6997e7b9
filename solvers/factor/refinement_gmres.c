// SPDX-License-Identifier: Apache-2.0
//
// GMRES for a block (Saad, Iterative Methods for Sparse Linear Systems, algorithm 9.5), restarted;
// each row has its own basis, and rows that have completed a cycle wait for the others.
#include "core/memory.h"
#include "solvers/factor/refinement_block.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

enum { RESTART = 20 };

// State of one row's cycle.
typedef struct cycle {
    int size;                       // number of columns of h
    double h[RESTART + 1][RESTART]; // upper triangular after the rotations
    double cosine[RESTART], sine[RESTART];
    double rest[RESTART + 1]; // right-hand side of the least-squares problem
} cycle;

typedef struct krylov {
    bb_refine_block *block;
    double *basis; // [rows][RESTART + 1][n]
    cycle *cycles; // [rows] states
} krylov;

static double *basis_of(const krylov *work, bb_index row, int column)
{
    return work->basis + (row * (RESTART + 1) + column) * work->block->n;
}

static void begin(krylov *work)
{
    bb_refine_block *block = work->block;
    for (bb_index i = 0; i < block->active_count; ++i) {
        bb_index index = block->active[i];
        cycle *period = &work->cycles[index];
        double *first = basis_of(work, index, 0);
        const double *r = bb_refine_row_of(block, block->r, index);
        memset(period, 0, sizeof *period);
        period->rest[0] = block->state[index].norm;
        for (bb_index j = 0; j < block->n; ++j) {
            first[j] = r[j] / period->rest[0];
        }
    }
}

// Applies the rotations to column k of h and to the right-hand side of the least-squares problem.
static void rotate(cycle *period, int k)
{
    for (int i = 0; i < k; ++i) {
        double upper = period->h[i][k];
        double lower = period->h[i + 1][k];
        period->h[i][k] = period->cosine[i] * upper + period->sine[i] * lower;
        period->h[i + 1][k] = period->cosine[i] * lower - period->sine[i] * upper;
    }
    double length = hypot(period->h[k][k], period->h[k + 1][k]);
    period->cosine[k] = length == 0.0 ? 1.0 : period->h[k][k] / length;
    period->sine[k] = length == 0.0 ? 0.0 : period->h[k + 1][k] / length;
    period->h[k][k] = length;
    period->h[k + 1][k] = 0.0;
    period->rest[k + 1] = -period->sine[k] * period->rest[k];
    period->rest[k] *= period->cosine[k];
}

// Orthogonalises packed row i of the result against its row's basis and appends it.
static void append(krylov *work, bb_index i)
{
    bb_refine_block *block = work->block;
    bb_index index = block->active[i];
    bb_refine_row *row = &block->state[index];
    cycle *period = &work->cycles[index];
    int n = (int)block->n;
    int k = period->size;
    double *w = block->result + i * block->n;
    for (int j = 0; j <= k; ++j) {
        period->h[j][k] = bb_refinement_block_dot(n, basis_of(work, index, j), w);
        cblas_daxpy(n, -period->h[j][k], basis_of(work, index, j), 1, w, 1);
    }
    double length = cblas_dnrm2(n, w, 1);
    period->h[k + 1][k] = length;
    ++row->iterations;
    if (!isfinite(length)) {
        row->state = BB_REFINE_NON_FINITE;
        return;
    }
    double *next = basis_of(work, index, k + 1);
    for (bb_index j = 0; j < block->n; ++j) {
        next[j] = length == 0.0 ? 0.0 : w[j] / length;
    }
    rotate(period, k);
    period->size = k + 1;
    bool reached = fabs(period->rest[k + 1]) <= 0.9 * row->target;
    bool over = row->iterations >= block->refinement->config.iterations;
    if (reached || over || length == 0.0 || period->size == RESTART) {
        row->state = BB_REFINE_PAUSED;
    }
}

// Computes the solution of each row's cycle as a combination of its basis, packed.
static void combine(const krylov *work, bb_index i)
{
    bb_refine_block *block = work->block;
    const cycle *period = &work->cycles[block->active[i]];
    double *out = block->gathered + i * block->n;
    double weights[RESTART];
    memset(out, 0, (size_t)block->n * sizeof *out);
    for (int k = period->size - 1; k >= 0; --k) {
        weights[k] = period->rest[k];
        for (int j = k + 1; j < period->size; ++j) {
            weights[k] -= period->h[k][j] * weights[j];
        }
        weights[k] /= period->h[k][k];
        cblas_daxpy((int)block->n, weights[k], basis_of(work, block->active[i], k), 1, out, 1);
    }
}

// Runs one cycle of the active rows and computes their true residuals.
static bb_status run_cycle(krylov *work)
{
    bb_status status = BB_OK;
    bb_refine_block *block = work->block;
    bb_index n = block->n;
    begin(work);
    do {
        for (bb_index i = 0; i < block->active_count; ++i) {
            bb_index index = block->active[i];
            memcpy(block->gathered + i * n, basis_of(work, index, work->cycles[index].size),
                   (size_t)n * sizeof(double));
        }
        BB_TRY(bb_refinement_block_precondition(block));
        BB_TRY(bb_refinement_block_multiply(block));
        for (bb_index i = 0; i < block->active_count; ++i) {
            append(work, i);
        }
    } while (bb_refinement_block_collect(block, BB_REFINE_ACTIVE) > 0);
    if (bb_refinement_block_collect(block, BB_REFINE_PAUSED) > 0) {
        for (bb_index i = 0; i < block->active_count; ++i) {
            combine(work, i);
        }
        BB_TRY(bb_refinement_block_precondition(block));
        for (bb_index i = 0; i < block->active_count; ++i) {
            cblas_daxpy((int)n, 1.0, block->gathered + i * n, 1,
                        bb_refine_row_of(block, block->y, block->active[i]), 1);
        }
        BB_TRY(bb_refinement_block_inspect(block));
    }
done:
    return status;
}

bb_need bb_refinement_block_gmres_need(bb_index n, bb_index rows)
{
    return (bb_need){.host_bytes = (double)rows *
                                   ((RESTART + 1.0) * (double)n * sizeof(double) + sizeof(cycle))};
}

bb_status bb_refinement_block_gmres(bb_refine_block *block)
{
    bb_status status = BB_OK;
    krylov work = {.block = block};
    BB_TRY(BB_ALLOCATE(block->rows * (RESTART + 1) * block->n, &work.basis));
    BB_TRY(BB_ALLOCATE(block->rows, &work.cycles));
    while (bb_refinement_block_collect(block, BB_REFINE_ACTIVE) > 0) {
        BB_TRY(run_cycle(&work));
    }
done:
    BB_RELEASE(&work.basis);
    BB_RELEASE(&work.cycles);
    return status;
}
