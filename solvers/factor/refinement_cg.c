// SPDX-License-Identifier: Apache-2.0
//
// Preconditioned conjugate gradients for a block. The recursive residual of a row triggers the
// computation of the true one; a row whose true residual is too large restarts from there.
#include "core/memory.h"
#include "solvers/factor/refinement_block.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

typedef struct gradients {
    bb_refine_block *block;
    double *p;   // [rows][n] directions
    double *rho; // [rows] r M^-1 r, 0: no direction yet
} gradients;

// p <- M^-1 r + beta p of the active rows.
static bb_status turn(gradients *work)
{
    bb_status status = BB_OK;
    bb_refine_block *block = work->block;
    bb_index n = block->n;
    for (bb_index i = 0; i < block->active_count; ++i) {
        memcpy(block->gathered + i * n, bb_refine_row_of(block, block->r, block->active[i]),
               (size_t)n * sizeof(double));
    }
    BB_TRY(bb_refinement_block_precondition(block));
    for (bb_index i = 0; i < block->active_count; ++i) {
        bb_index index = block->active[i];
        double *p = bb_refine_row_of(block, work->p, index);
        const double *z = block->gathered + i * n;
        double rho = bb_refinement_block_dot(n, bb_refine_row_of(block, block->r, index), z);
        double beta = work->rho[index] == 0.0 ? 0.0 : rho / work->rho[index];
        for (bb_index j = 0; j < n; ++j) {
            p[j] = beta == 0.0 ? z[j] : z[j] + beta * p[j];
        }
        work->rho[index] = rho;
        memcpy(block->gathered + i * n, p, (size_t)n * sizeof(double));
    }
done:
    return status;
}

// y <- y + alpha p, r <- r - alpha p S.
static void step(gradients *work, bb_index i)
{
    bb_refine_block *block = work->block;
    bb_index index = block->active[i];
    bb_refine_row *row = &block->state[index];
    int n = (int)block->n;
    double *r = bb_refine_row_of(block, block->r, index);
    const double *p = bb_refine_row_of(block, work->p, index);
    const double *q = block->result + i * block->n;
    double curvature = bb_refinement_block_dot(n, p, q);
    ++row->iterations;
    if (!isfinite(curvature) || !isfinite(work->rho[index])) {
        row->state = BB_REFINE_NON_FINITE;
        return;
    }
    if (curvature <= 0.0 || work->rho[index] <= 0.0) {
        row->state = BB_REFINE_BROKEN;
        return;
    }
    double alpha = work->rho[index] / curvature;
    cblas_daxpy(n, alpha, p, 1, bb_refine_row_of(block, block->y, index), 1);
    cblas_daxpy(n, -alpha, q, 1, r, 1);
    double norm = cblas_dnrm2(n, r, 1);
    bool over = row->iterations >= block->refinement->config.iterations;
    if (!(norm > 0.9 * row->target) || over) {
        row->state = BB_REFINE_PAUSED;
    }
}

bb_need bb_refinement_block_cg_need(bb_index n, bb_index rows)
{
    return (bb_need){.host_bytes = sizeof(double) * (double)rows * (double)(n + 1)};
}

bb_status bb_refinement_block_cg(bb_refine_block *block)
{
    bb_status status = BB_OK;
    gradients work = {.block = block};
    BB_TRY(BB_ALLOCATE(block->rows * block->n, &work.p));
    BB_TRY(BB_ZEROED(block->rows, &work.rho));
    while (bb_refinement_block_collect(block, BB_REFINE_ACTIVE) > 0) {
        do {
            BB_TRY(turn(&work));
            BB_TRY(bb_refinement_block_multiply(block));
            for (bb_index i = 0; i < block->active_count; ++i) {
                step(&work, i);
            }
        } while (bb_refinement_block_collect(block, BB_REFINE_ACTIVE) > 0);
        if (bb_refinement_block_collect(block, BB_REFINE_PAUSED) > 0) {
            BB_TRY(bb_refinement_block_inspect(block));
        }
        for (bb_index i = 0; i < block->active_count; ++i) {
            work.rho[block->active[i]] = 0.0;
        }
    }
done:
    BB_RELEASE(&work.p);
    BB_RELEASE(&work.rho);
    return status;
}
