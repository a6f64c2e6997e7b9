// SPDX-License-Identifier: Apache-2.0
//
// Right-looking over tiles, by tasks that are taken in one fixed order and wait for what they read:
// no barrier, so the panel's tail is hidden behind the updates of the step before. Step k holds
//     pivot   (k, k) <- update by column k - 1, then potrf
//     panel   (i, k) <- update by column k - 1, then trsm and the rounded copies of its values
//     trail   (i, j) <- update by column k - 1, for all k < j <= i
// A task waits only for tasks before it in that order, so there is no deadlock, and a tile takes
// its updates in the order of the columns whoever computes them, so the bits do not depend on the
// threads.
//
// Copies: a panel tile is rounded once to each format that a product asks for; the copies of two
// columns are held at a time.
#include "solvers/factor/tiles/tile_cholesky.h"

#include "core/log.h"
#include "core/memory.h"
#include "core/thread.h"
#include "precision/light_tiles.h"
#include "solvers/factor/tiles/tile_choice.h"
#include "solvers/factor/tiles/tile_product.h"
#include "solvers/factor/tiles/tile_updates.h"

#include <math.h>
#include <sched.h>
#include <stdatomic.h>

typedef struct counter {
    atomic_ptrdiff_t value;
} counter;

typedef struct factoring {
    bb_tile_matrix *matrix;
    bb_outcome *outcome;
    bb_tile_workspace *workspaces; // [workers]
    bb_index workers;
    atomic_ptrdiff_t next;      // task to take
    atomic_ptrdiff_t saturated; // operands
    atomic_ptrdiff_t factored;  // rows before the pivot that failed
    atomic_bool stopped;        // after a breakdown
    bb_tile_updates *updates;   // [tiles] of the updates that a tile took
    counter *done;              // [tiles] updates taken; column + 1 when factored and copied
    counter *using;             // [tile_rows] updates still to be made with a column's copies
    void *copies[2][BB_OPERAND_COUNT]; // [tile_rows][tile_size^2] of even and odd columns, or NULL
} factoring;

static bb_tile_updates *account_of(const factoring *work, bb_index row, bb_index column)
{
    return &work->updates[row * (row + 1) / 2 + column];
}

static counter *progress_of(const factoring *work, bb_index row, bb_index column)
{
    return &work->done[row * (row + 1) / 2 + column];
}

// False where the factorization stops first.
static bool wait_for(factoring *work, counter *awaited, bb_index value)
{
    for (int turns = 0; atomic_load_explicit(&awaited->value, memory_order_acquire) != value;
         ++turns) {
        if (atomic_load_explicit(&work->stopped, memory_order_relaxed)) {
            return false;
        }
        if (turns > 1000) {
            (void)sched_yield();
        }
    }
    return true;
}

static void *copy_at(const factoring *work, bb_index row, bb_index column, bb_operand format)
{
    char *copies = work->copies[column % 2][format];
    size_t word = bb_tile_operand_bytes(format);
    size_t items = (size_t)work->matrix->tile_size * (size_t)work->matrix->tile_size;
    return copies == NULL ? NULL : copies + (size_t)row * items * word;
}

static const void *operand_at(const factoring *work, bb_index row, bb_index column,
                              bb_operand format)
{
    const bb_tile *tile = bb_tile_matrix_at(work->matrix, row, column);
    return bb_tile_serves(tile, format) ? bb_tile_values(tile) : copy_at(work, row, column, format);
}

static void make_copies(factoring *work, bb_index row, bb_index column)
{
    const bb_tile *tile = bb_tile_matrix_at(work->matrix, row, column);
    for (bb_operand f = 0; f < BB_OPERAND_COUNT; ++f) {
        void *copy = copy_at(work, row, column, f);
        if (copy != NULL && !bb_tile_serves(tile, f) &&
            bb_tile_choice_asks(work->matrix, row, column, f)) {
            atomic_fetch_add(&work->saturated, bb_tile_convert(tile, f, copy));
        }
    }
}

// Tile (row, column) takes its update by column k.
static bool update(factoring *work, bb_index row, bb_index column, bb_index k,
                   bb_tile_workspace *workspace)
{
    bb_tile *target = bb_tile_matrix_at(work->matrix, row, column);
    const bb_tile *row_tile = bb_tile_matrix_at(work->matrix, row, k);
    const bb_tile *column_tile = bb_tile_matrix_at(work->matrix, column, k);
    bb_index depth = row_tile->columns;
    if (!wait_for(work, progress_of(work, row, k), k + 1) ||
        !wait_for(work, progress_of(work, column, k), k + 1) ||
        !wait_for(work, progress_of(work, row, column), k)) {
        return false;
    }
    bb_variant variant =
        bb_tile_choice_variant(work->matrix, row, column, row_tile->norm, column_tile->norm);
    bb_operand format = bb_tile_operand_of(variant);
    const void *remainder = operand_at(work, row, k, format);
    bb_tile_updates_add(account_of(work, row, column), variant, row_tile, column_tile);
    if (row == column && !bb_variant_describe(variant)->rounds) {
        bb_tile_rank_update(remainder, depth, target);
    } else {
        bb_tile_product(variant, remainder, operand_at(work, column, k, format), depth, target,
                        workspace);
    }
    atomic_store_explicit(&progress_of(work, row, column)->value, k + 1, memory_order_release);
    atomic_fetch_sub_explicit(&work->using[k].value, 1, memory_order_release);
    return true;
}

static bool pivot_task(factoring *work, bb_index k, bb_tile_workspace *workspace)
{
    if (k > 0 && !update(work, k, k, k - 1, workspace)) {
        return false;
    }
    if (!bb_tile_factor_diagonal(bb_tile_matrix_at(work->matrix, k, k), k,
                                 k * work->matrix->tile_size, work->outcome)) {
        atomic_store(&work->factored, k * work->matrix->tile_size);
        atomic_store(&work->stopped, true);
        return false;
    }
    if (k > 1 && !wait_for(work, &work->using[k - 2], 0)) {
        return false;
    }
    make_copies(work, k, k);
    atomic_store_explicit(&progress_of(work, k, k)->value, k + 1, memory_order_release);
    return true;
}

static bool panel_task(factoring *work, bb_index row, bb_index k, bb_tile_workspace *workspace)
{
    bb_tile *tile = bb_tile_matrix_at(work->matrix, row, k);
    bb_format working = tile->f64 != NULL ? BB_FORMAT_FP64 : BB_FORMAT_FP32;
    if ((k > 0 && !update(work, row, k, k - 1, workspace)) ||
        (k > 1 && !wait_for(work, &work->using[k - 2], 0)) ||
        !wait_for(work, progress_of(work, k, k), k + 1)) {
        return false;
    }
    bb_tile_solve(operand_at(work, k, k, working), tile);
    tile->norm = bb_tile_norm(tile);
    make_copies(work, row, k);
    atomic_store_explicit(&progress_of(work, row, k)->value, k + 1, memory_order_release);
    return true;
}

// Row and column of item t of a lower triangle, row by row.
static void place_in_triangle(bb_index t, bb_index *row, bb_index *column)
{
    bb_index r = (bb_index)((sqrt(8.0 * (double)t + 1.0) - 1.0) / 2.0);
    r -= r * (r + 1) / 2 > t;
    r += (r + 1) * (r + 2) / 2 <= t;
    *row = r;
    *column = t - r * (r + 1) / 2;
}

// Task `place` of step k: the pivot, as many trailing updates as keep the other workers busy
// meanwhile, the panel, the other updates.
static bool run_task(factoring *work, bb_index k, bb_index place, bb_tile_workspace *workspace)
{
    bb_index below = work->matrix->tile_rows - 1 - k;
    bb_index trailing = k == 0 ? 0 : below * (below + 1) / 2;
    bb_index early = work->workers - 1 < trailing ? work->workers - 1 : trailing;
    bb_index row = 0;
    bb_index column = 0;
    if (place == 0) {
        return pivot_task(work, k, workspace);
    }
    if (place > early && place <= early + below) {
        return panel_task(work, k + place - early, k, workspace);
    }
    place_in_triangle(place <= early ? place - 1 : place - 1 - below, &row, &column);
    return update(work, k + 1 + row, k + 1 + column, k - 1, workspace);
}

static bb_index step_tasks(const factoring *work, bb_index k)
{
    bb_index below = work->matrix->tile_rows - 1 - k;
    return 1 + below + (k == 0 ? 0 : below * (below + 1) / 2);
}

static bb_status run_worker(void *context, bb_index worker)
{
    factoring *work = context;
    bb_index step = 0;
    bb_index first = 0; // task of the step
    bb_index tasks = 0; // of all steps
    bool going = true;
    for (bb_index k = 0; k < work->matrix->tile_rows; ++k) {
        tasks += step_tasks(work, k);
    }
    while (going) {
        bb_index task = atomic_fetch_add(&work->next, 1);
        while (step < work->matrix->tile_rows && task - first >= step_tasks(work, step)) {
            first += step_tasks(work, step++);
        }
        going = step < work->matrix->tile_rows && !atomic_load(&work->stopped) &&
                run_task(work, step, task - first, &work->workspaces[worker]);
        bb_log_progress_within(task < tasks ? task : tasks, tasks);
    }
    return BB_OK;
}

// Room for the copies that products may ask for: of each format that some product takes and some
// tile is not kept in.
static bb_status allocate_copies(factoring *work)
{
    bb_status status = BB_OK;
    const bb_tile_matrix *matrix = work->matrix;
    bool taken[BB_OPERAND_COUNT] = {false};
    bool lacking[BB_OPERAND_COUNT] = {false};
    for (bb_index row = 0; row < matrix->tile_rows; ++row) {
        for (bb_index column = 0; column <= row; ++column) {
            const bb_tile *tile = bb_tile_matrix_at(matrix, row, column);
            taken[tile->f64 != NULL ? BB_FORMAT_FP64 : BB_FORMAT_FP32] = true;
            for (bb_operand f = 0; f < BB_OPERAND_COUNT; ++f) {
                taken[f] = taken[f] || bb_tile_choice_takes(matrix, row, column, f);
                bool possible = row > column || f <= (bb_operand)BB_FORMAT_FP32;
                lacking[f] = lacking[f] || (possible && !bb_tile_serves(tile, f));
            }
        }
    }
    for (bb_operand f = 0; f < BB_OPERAND_COUNT; ++f) {
        size_t word = bb_tile_operand_bytes(f);
        bb_index items = matrix->tile_rows * matrix->tile_size * matrix->tile_size;
        for (int parity = 0; parity < 2 && taken[f] && lacking[f]; ++parity) {
            BB_TRY(bb_memory_allocate(items, word, &work->copies[parity][f]));
        }
    }
done:
    return status;
}

static bb_status prepare(factoring *work, bb_index accumulate_k)
{
    bb_status status = BB_OK;
    bb_index tiles = work->matrix->tile_rows;
    BB_TRY(BB_ZEROED(tiles * (tiles + 1) / 2, &work->done));
    BB_TRY(BB_ZEROED(tiles * (tiles + 1) / 2, &work->updates));
    BB_TRY(BB_ZEROED(tiles, &work->using));
    for (bb_index k = 0; k < tiles; ++k) {
        atomic_init(&work->using[k].value, (tiles - 1 - k) * (tiles - k) / 2);
    }
    BB_TRY(allocate_copies(work));
    BB_TRY(BB_ZEROED(work->workers, &work->workspaces));
    for (bb_index i = 0; i < work->workers; ++i) {
        BB_TRY(bb_tile_workspace_create(work->matrix->tile_size, accumulate_k,
                                        work->matrix->sums_from_c, &work->workspaces[i]));
    }
done:
    return status;
}

static void release(factoring *work)
{
    for (bb_index i = 0; work->workspaces != NULL && i < work->workers; ++i) {
        bb_tile_workspace_release(&work->workspaces[i]);
    }
    for (bb_operand f = 0; f < BB_OPERAND_COUNT; ++f) {
        BB_RELEASE(&work->copies[0][f]);
        BB_RELEASE(&work->copies[1][f]);
    }
    BB_RELEASE(&work->workspaces);
    BB_RELEASE(&work->using);
    BB_RELEASE(&work->updates);
    BB_RELEASE(&work->done);
}

// Which tiles of the factor its light sweeps take narrow.
static bb_status choose_light(bb_tile_matrix *matrix)
{
    bb_status status = BB_OK;
    double *energies = NULL;
    bb_index tiles = matrix->tile_rows;
    BB_TRY(BB_ALLOCATE(tiles * (tiles + 1) / 2, &energies));
    bb_tile_choice_energies(matrix, energies);
    BB_TRY(bb_tile_choice_light(matrix, energies));
done:
    BB_RELEASE(&energies);
    return status;
}

bb_status bb_tile_cholesky_factor(bb_tile_matrix *matrix, bb_index accumulate_k,
                                  bb_outcome *outcome)
{
    bb_status status = BB_OK;
    factoring work = {.matrix = matrix, .outcome = outcome, .workers = bb_threads_count()};
    BB_REQUIRE(accumulate_k >= 1, BB_INVALID, "accumulate_k = %td, expected at least 1",
               accumulate_k);
    BB_TRY(prepare(&work, accumulate_k));
    matrix->accumulate_k = accumulate_k;
    BB_TRY(bb_thread_for(work.workers, run_worker, &work));
    matrix->work = (bb_tile_work){.factored = atomic_load(&work.factored)};
    if (!atomic_load(&work.stopped)) {
        matrix->work = bb_tile_updates_sum(matrix, work.updates);
        matrix->work.saturated = atomic_load(&work.saturated);
        if (matrix->sweeps == BB_POLICY_SWEEPS_LIGHT) {
            BB_TRY(choose_light(matrix));
        }
    }
done:
    release(&work);
    return status;
}

double bb_tile_cholesky_flops(bb_index n, bb_index count)
{
    double rows = (double)n;
    return rows * rows * rows / 3.0 + 2.0 * rows * rows * (double)count;
}

// Room for rounded copies of two columns, for every operand that products may ask for and that some
// tile is not.
static double copies_bytes(bb_index n, bb_index size, int count, const bb_variant *given)
{
    bool taken[BB_OPERAND_COUNT] = {false};
    bool lacking[BB_OPERAND_COUNT] = {false};
    double words = 0.0;
    for (int v = 0; v < count; ++v) {
        const bb_variant_info *info = bb_variant_describe(given[v]);
        const bool wide = info->output == BB_FORMAT_FP64;
        double value = 0.0;
        const bb_tile tile = {.format = info->output, .f64 = wide ? &value : NULL};
        taken[wide ? BB_FORMAT_FP64 : BB_FORMAT_FP32] = true;
        taken[bb_tile_operand_of(given[v])] = true;
        for (bb_operand f = 0; f < BB_OPERAND_COUNT; ++f) {
            lacking[f] = lacking[f] || !bb_tile_serves(&tile, f);
        }
    }
    for (bb_operand f = 0; f < BB_OPERAND_COUNT; ++f) {
        words += taken[f] && lacking[f] ? (double)bb_tile_operand_bytes(f) : 0.0;
    }
    return 2.0 * ceil((double)n / (double)size) * (double)size * (double)size * words;
}

// Operations a second of one core: what the emulation of narrow formats leaves of fp32's, and of
// fp16 sums, whose accumulator is rounded.
static double rate_of(bb_variant variant)
{
    const bb_variant_info *info = bb_variant_describe(variant);
    if (info->accumulator == BB_FORMAT_FP16) {
        return 5.0e9;
    }
    const double plain = info->output == BB_FORMAT_FP64 ? BB_NEED_FP64_RATE : BB_NEED_FP32_RATE;
    return info->rounds ? 5.0e10 / (double)info->products : plain;
}

bb_need bb_tile_cholesky_factor_need(const bb_tile_plan *plan, bb_index n, int count,
                                     const bb_variant *given, double threads)
{
    const bb_index size = plan->tile_size < n ? plan->tile_size : n;
    const double tile_rows = ceil((double)n / (double)size);
    const double tiles = 0.5 * tile_rows * (tile_rows + 1.0);
    const bb_need scratch = bb_need_copies(bb_tile_workspace_need(size), threads);
    // Which tiles are light is chosen before the rest is released.
    const double light = plan->sweeps == BB_POLICY_SWEEPS_LIGHT
                             ? tile_rows * tile_rows + sizeof(double) * tiles +
                                   bb_light_tiles_need((bb_index)tile_rows).host_bytes
                             : 0.0;
    const double progress =
        sizeof(counter) * (tiles + tile_rows) + sizeof(bb_tile_updates) * tiles + light;
    return (bb_need){
        .host_bytes = copies_bytes(n, size, count, given) + scratch.host_bytes + progress,
        .seconds = bb_tile_cholesky_flops(n, 0) / (rate_of(plan->arithmetic) * threads)};
}
