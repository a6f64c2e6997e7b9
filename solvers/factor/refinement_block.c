// SPDX-License-Identifier: Apache-2.0
#include "solvers/factor/refinement_block.h"

#include "core/thread.h"
#include "solvers/factor/tiles/tile_cholesky.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

// Block sizes of the tasks of a product; fixed, so that the bits do not depend on the threads.
enum { ROWS = 256, COLUMNS = 256, FILLED = 256 };

// A row whose residual shrinks by less than this factor over a restart stagnates.
static const double least_progress = 0.9;

double *bb_refine_row_of(const bb_refine_block *block, double *values, bb_index row)
{
    return values + row * block->n;
}

double bb_refinement_block_dot(bb_index n, const double *x, const double *y)
{
    return cblas_ddot((int)n, x, 1, y, 1);
}

bb_index bb_refinement_block_collect(bb_refine_block *block, bb_refine_state state)
{
    block->active_count = 0;
    for (bb_index i = 0; i < block->rows; ++i) {
        if (block->state[i].state == state) {
            block->active[block->active_count++] = i;
        }
    }
    return block->active_count;
}

typedef struct product {
    bb_refine_block *block;
    bb_index begin, width; // columns of the panel
} product;

// Computes rows of a panel of S = D A D.
static bb_status fill_rows(void *context, bb_index begin, bb_index end)
{
    const product *work = context;
    const bb_refine_block *block = work->block;
    const double *scale = block->refinement->scale;
    bb_view rows = bb_view_matrix(block->panel + begin * work->width, end - begin, work->width);
    BB_RETURN_IF_FAILED(bb_matrix_source_fill(block->refinement->matrix, begin, work->begin, rows));
    for (bb_index i = begin; scale != NULL && i < end; ++i) {
        for (bb_index j = 0; j < work->width; ++j) {
            block->panel[i * work->width + j] *= scale[i] * scale[work->begin + j];
        }
    }
    return BB_OK;
}

static bb_status multiply_part(void *context, bb_index index)
{
    const product *work = context;
    const bb_refine_block *block = work->block;
    bb_index across = (work->width + COLUMNS - 1) / COLUMNS;
    bb_index row = index / across * ROWS;
    bb_index column = index % across * COLUMNS;
    bb_index rows = block->active_count - row < ROWS ? block->active_count - row : ROWS;
    bb_index columns = work->width - column < COLUMNS ? work->width - column : COLUMNS;
    int n = (int)block->n;
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)rows, (int)columns, n, 1.0,
                block->gathered + row * n, n, block->panel + column, (int)work->width, 0.0,
                block->result + row * n + work->begin + column, n);
    return BB_OK;
}

bb_status bb_refinement_block_multiply(bb_refine_block *block)
{
    bb_status status = BB_OK;
    product work = {.block = block};
    for (work.begin = 0; work.begin < block->n; work.begin += BB_REFINE_PANEL) {
        bb_index rest = block->n - work.begin;
        work.width = rest < BB_REFINE_PANEL ? rest : BB_REFINE_PANEL;
        bb_index down = (block->active_count + ROWS - 1) / ROWS;
        bb_index across = (work.width + COLUMNS - 1) / COLUMNS;
        BB_TRY(bb_thread_ranges(block->n, FILLED, fill_rows, &work));
        BB_TRY(bb_thread_for(down * across, multiply_part, &work));
    }
done:
    return status;
}

bb_status bb_refinement_block_precondition(bb_refine_block *block)
{
    return bb_tile_cholesky_solve(block->refinement->factor, block->active_count, block->gathered);
}

static bb_refine_state classify(const bb_refine_block *block, bb_refine_row *row, double norm)
{
    row->norm = norm;
    if (!isfinite(norm)) {
        return BB_REFINE_NON_FINITE;
    }
    if (norm <= row->target) {
        row->best = norm;
        return BB_REFINE_DONE;
    }
    row->restarts = norm < least_progress * row->best ? 0 : row->restarts + 1;
    row->best = fmin(row->best, norm);
    if (row->iterations >= block->refinement->config.iterations) {
        return BB_REFINE_LIMIT;
    }
    return row->restarts > 1 ? BB_REFINE_STAGNATED : BB_REFINE_ACTIVE;
}

bb_status bb_refinement_block_inspect(bb_refine_block *block)
{
    bb_status status = BB_OK;
    bb_index n = block->n;
    size_t bytes = (size_t)n * sizeof(double);
    for (bb_index i = 0; i < block->active_count; ++i) {
        memcpy(block->gathered + i * n, bb_refine_row_of(block, block->y, block->active[i]), bytes);
    }
    BB_TRY(bb_refinement_block_multiply(block));
    for (bb_index i = 0; i < block->active_count; ++i) {
        bb_index index = block->active[i];
        const double *b = bb_refine_row_of(block, block->b, index);
        double *r = bb_refine_row_of(block, block->r, index);
        for (bb_index j = 0; j < n; ++j) {
            r[j] = b[j] - block->result[i * n + j];
        }
        bb_refine_row *row = &block->state[index];
        row->state = classify(block, row, sqrt(bb_refinement_block_dot(n, r, r)));
    }
done:
    return status;
}
