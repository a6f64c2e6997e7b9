// SPDX-License-Identifier: Apache-2.0
//
// Sweeps of tile_cholesky.h with a factored matrix: block by block if the whole factor is in
// memory, otherwise all blocks row by row (column by column) of tiles.
#include "core/log.h"
#include "core/memory.h"
#include "core/team.h"
#include "core/thread.h"
#include "solvers/factor/tiles/tile_access.h"
#include "solvers/factor/tiles/tile_cholesky.h"
#include "solvers/factor/tiles/tile_sweep.h"

typedef struct sweeping {
    const bb_tile_matrix *factor;
    const bb_tile_sweep_kind *kind;
    bb_index count;
    double *x;      // [count][n]
    bb_index first; // first block of this process
    void **blocks;  // all blocks of this process, if processed together
    bb_index step;  // current row or column of tiles
} sweeping;

static bb_status create_block(const sweeping *work, bb_index index, void **out)
{
    const bb_index begin = index * work->kind->block_rows;
    const bb_index rest = work->count - begin;
    return work->kind->create(work->factor,
                              rest < work->kind->block_rows ? rest : work->kind->block_rows,
                              work->x + begin * work->factor->n, out);
}

static bb_status sweep_block(void *context, bb_index index)
{
    bb_status status = BB_OK;
    const sweeping *work = context;
    const bb_tile_sweep_kind *kind = work->kind;
    void *block = NULL;
    BB_TRY(create_block(work, index, &block));
    for (bb_index k = 0; k < work->factor->tile_rows; ++k) {
        kind->forward(block, k);
    }
    kind->turn(block);
    for (bb_index k = work->factor->tile_rows - 1; k >= 0; --k) {
        kind->backward(block, k);
    }
    kind->store(block);
    bb_log_progress_within(
        (index + 1) * kind->block_rows < work->count ? (index + 1) * kind->block_rows : work->count,
        work->count);
done:
    kind->destroy(&block);
    return status;
}

static bb_status start_block(void *context, bb_index index)
{
    const sweeping *work = context;
    return create_block(work, work->first + index, &work->blocks[index]);
}

static bb_status step_forward(void *context, bb_index index)
{
    const sweeping *work = context;
    work->kind->forward(work->blocks[index], work->step);
    return BB_OK;
}

static bb_status step_backward(void *context, bb_index index)
{
    const sweeping *work = context;
    work->kind->backward(work->blocks[index], work->step);
    return BB_OK;
}

static bb_status end_block(void *context, bb_index index)
{
    const sweeping *work = context;
    work->kind->store(work->blocks[index]);
    return BB_OK;
}

// Sweeps all blocks of this process through the rows of tiles, then through the columns.
static bb_status sweep_brought(sweeping *work)
{
    bb_status status = BB_OK;
    const bb_tile_matrix *factor = work->factor;
    const bb_tile_access *access = factor->access;
    const bb_index tile_rows = factor->tile_rows;
    const bb_index block_count =
        (work->count + work->kind->block_rows - 1) / work->kind->block_rows;
    bb_index end = block_count;
    if (access->distributes_sides) {
        bb_team_part(block_count, bb_team_joined()->rank, &work->first, &end);
    }
    const bb_index count = end - work->first;
    BB_TRY(BB_ZEROED(count + 1, &work->blocks));
    BB_TRY(bb_thread_for(count, start_block, work));
    for (work->step = 0; work->step < tile_rows; ++work->step) {
        bb_log_progress_within(work->step, 2 * tile_rows);
        BB_TRY(access->load_row(access->context, factor, work->step));
        BB_TRY(bb_thread_for(count, step_forward, work));
    }
    for (bb_index b = 0; b < count; ++b) {
        work->kind->turn(work->blocks[b]);
    }
    for (work->step = tile_rows - 1; work->step >= 0; --work->step) {
        bb_log_progress_within(2 * tile_rows - 1 - work->step, 2 * tile_rows);
        BB_TRY(access->load_column(access->context, factor, work->step));
        BB_TRY(bb_thread_for(count, step_backward, work));
    }
    BB_TRY(bb_thread_for(count, end_block, work));
    if (access->distributes_sides) {
        BB_TRY(bb_team_gather(work->count, work->kind->block_rows,
                              (size_t)factor->n * sizeof *work->x, work->x));
    }
done:
    access->release(access->context, factor);
    for (bb_index b = 0; work->blocks != NULL && b < count; ++b) {
        work->kind->destroy(&work->blocks[b]);
    }
    BB_RELEASE(&work->blocks);
    return status;
}

bb_status bb_tile_cholesky_solve(const bb_tile_matrix *factor, bb_index count, double *x)
{
    const bool wide = bb_tile_sweep_is_wide(factor);
    const bool follows = factor->sweeps != BB_POLICY_SWEEPS_SP && !wide;
    sweeping work = {.factor = factor,
                     .kind = follows ? &bb_tile_sweep_narrow : &bb_tile_sweep_plain,
                     .count = count,
                     .x = x};
    if (factor->access != NULL) {
        return sweep_brought(&work);
    }
    return bb_thread_for((count + work.kind->block_rows - 1) / work.kind->block_rows, sweep_block,
                         &work);
}

bb_need bb_tile_cholesky_solve_need(const bb_tile_plan *plan, bb_index n, bb_index rows,
                                    double threads)
{
    const bb_index size = plan->tile_size < n ? plan->tile_size : n;
    const double flops = bb_tile_cholesky_flops(n, rows) - bb_tile_cholesky_flops(n, 0);
    const bool wide = bb_variant_describe(plan->arithmetic)->output == BB_FORMAT_FP64;
    bb_need need = {.seconds = flops / ((wide ? BB_NEED_FP64_RATE : BB_NEED_FP32_RATE) * threads)};
    // All blocks are processed together if tiles are in a file.
    const double blocks = bb_tile_plan_is_stored(plan, n) ? (double)rows : threads;
    need.host_bytes = plan->sweeps != BB_POLICY_SWEEPS_SP && !wide
                          ? bb_tile_sweep_narrow_bytes(n, size, rows, blocks)
                          : bb_tile_sweep_plain_bytes(n, size, rows, blocks, wide);
    return need;
}
