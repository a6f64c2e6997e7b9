// SPDX-License-Identifier: Apache-2.0
//
// Right-looking factorization by tiles. Tasks start in one fixed order and wait for their inputs.
// There are no barriers, so the end of a panel overlaps with the updates of the previous step. Step
// k consists of
//     pivot   (k, k) <- update by column k - 1, then potrf
//     solve   (i, k) <- update by column k - 1, then trsm and the rounded copies of its values
//     trail   (i, j) <- update by column k - 1, for all k < j <= i
// within a panel of columns (tile_panels.h). A matrix in memory is a single panel. Otherwise a
// panel's tiles are first updated, stage by stage,
//     stream  (i, j) <- update by column k, for all k before the panel
// and a stream reads the tiles in this order (tile_panels.h). A task waits only for earlier tasks
// in that order, so there is no deadlock. A tile is updated in the order of the columns, whichever
// thread computes the updates, so the bits do not depend on the threads.
#include "solvers/factor/tiles/tile_cholesky.h"

#include "core/clock.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/thread.h"
#include "precision/light_tiles.h"
#include "solvers/factor/tiles/tile_choice.h"
#include "solvers/factor/tiles/tile_panels.h"
#include "solvers/factor/tiles/tile_product.h"
#include "solvers/factor/tiles/tile_store.h"

#include <math.h>
#include <sched.h>
#include <stdatomic.h>

// Rounded copies of tiles: a final tile is rounded once to each format that products need and that
// differs from its own. Copies exist for two columns at a time, of an even and an odd stage
// (tile_panels.h).
typedef struct tile_copies {
    const bb_tile_matrix *matrix;     // borrowed
    void *words[2][BB_OPERAND_COUNT]; // [tile_rows][tile_size^2], NULL: not needed by any product
} tile_copies;

static void tile_copies_release(tile_copies *copies)
{
    for (bb_operand f = 0; f < BB_OPERAND_COUNT; ++f) {
        BB_RELEASE(&copies->words[0][f]);
        BB_RELEASE(&copies->words[1][f]);
    }
}

// Allocates the copies that products may need.
static bb_status tile_copies_create(const bb_tile_matrix *matrix, tile_copies *out)
{
    bb_status status = BB_OK;
    bool taken[BB_OPERAND_COUNT] = {false};
    bool lacking[BB_OPERAND_COUNT] = {false};
    tile_copies copies = {.matrix = matrix};
    for (bb_index row = 0; row < matrix->tile_rows; ++row) {
        for (bb_index column = 0; column <= row; ++column) {
            const bb_tile *tile = bb_tile_matrix_at(matrix, row, column);
            taken[tile->format == BB_FORMAT_FP64 ? BB_FORMAT_FP64 : BB_FORMAT_FP32] = true;
            for (bb_operand f = 0; f < BB_OPERAND_COUNT; ++f) {
                taken[f] = taken[f] || bb_tile_choice_allows(matrix, row, column, f);
                bool possible = row > column || f <= (bb_operand)BB_FORMAT_FP32;
                lacking[f] = lacking[f] || (possible && !bb_tile_has_operand(tile, f));
            }
        }
    }
    for (bb_operand f = 0; f < BB_OPERAND_COUNT; ++f) {
        size_t word = bb_tile_operand_bytes(f);
        bb_index items = matrix->tile_rows * matrix->tile_size * matrix->tile_size;
        for (int parity = 0; parity < 2 && taken[f] && lacking[f]; ++parity) {
            BB_TRY(bb_memory_allocate(items, word, &copies.words[parity][f]));
        }
    }
    *out = copies;
    copies = (tile_copies){0};
done:
    tile_copies_release(&copies);
    return status;
}

static void *copy_at(const tile_copies *copies, bb_index stage, bb_index row, bb_operand operand)
{
    char *words = copies->words[stage % 2][operand];
    const size_t items = (size_t)copies->matrix->tile_size * (size_t)copies->matrix->tile_size;
    return words == NULL ? NULL : words + (size_t)row * items * bb_tile_operand_bytes(operand);
}

// Computes the copies of final tile (row, column) for a stage; returns the number of values clipped
// to e4m3.
static bb_index tile_copies_compute(const tile_copies *copies, bb_index stage, bb_index row,
                                    bb_index column)
{
    const bb_tile *tile = bb_tile_matrix_at(copies->matrix, row, column);
    bb_index saturated = 0;
    for (bb_operand f = 0; f < BB_OPERAND_COUNT; ++f) {
        void *copy = copy_at(copies, stage, row, f);
        if (copy != NULL && !bb_tile_has_operand(tile, f) &&
            bb_tile_choice_needs(copies->matrix, row, column, f)) {
            saturated += bb_tile_convert(tile, f, copy);
        }
    }
    return saturated;
}

// Returns the operand of tile (row, column) for products of a stage's column: its values, or a
// copy.
static const void *tile_copies_operand(const tile_copies *copies, bb_index stage, bb_index row,
                                       bb_index column, bb_operand operand)
{
    const bb_tile *tile = bb_tile_matrix_at(copies->matrix, row, column);
    return bb_tile_has_operand(tile, operand) ? bb_tile_values(tile)
                                              : copy_at(copies, stage, row, operand);
}

// Bytes of the copies if tiles get the variants `given` [count].
static bb_need tile_copies_need(bb_index n, bb_index tile_size, int count, const bb_variant *given)
{
    bool taken[BB_OPERAND_COUNT] = {false};
    bool lacking[BB_OPERAND_COUNT] = {false};
    double words = 0.0;
    for (int v = 0; v < count; ++v) {
        const bb_tile tile = {.format = bb_variant_describe(given[v])->output};
        taken[tile.format == BB_FORMAT_FP64 ? BB_FORMAT_FP64 : BB_FORMAT_FP32] = true;
        taken[bb_tile_operand_of(given[v])] = true;
        for (bb_operand f = 0; f < BB_OPERAND_COUNT; ++f) {
            lacking[f] = lacking[f] || !bb_tile_has_operand(&tile, f);
        }
    }
    for (bb_operand f = 0; f < BB_OPERAND_COUNT; ++f) {
        words += taken[f] && lacking[f] ? (double)bb_tile_operand_bytes(f) : 0.0;
    }
    const double size = (double)tile_size;
    return (bb_need){.host_bytes = 2.0 * ceil((double)n / size) * size * size * words};
}

enum { NAP_NS = 50000 };

typedef struct counter {
    atomic_ptrdiff_t value;
} counter;

typedef struct factoring {
    bb_tile_matrix *matrix;
    bb_outcome *outcome;
    bb_tile_workspace *workspaces; // [workers]
    bb_index workers;
    atomic_ptrdiff_t next;      // next task
    atomic_ptrdiff_t saturated; // number of saturated operands
    atomic_ptrdiff_t factored;  // rows before the failed pivot
    atomic_bool stopped;        // set after a breakdown
    bb_tile_updates *updates;   // [tiles] statistics of the updates of each tile
    counter *done;  // [tiles] number of completed updates; column + 1 once factored and copied
    counter *using; // [stages] remaining updates that use a column's copies; for the last column of
                    // a panel: solves
    bb_tile_panels panels;
    bb_tile_stream *stream; // NULL: all tiles are in memory
    tile_copies copies;
} factoring;

// Column k as processed for panel p.
typedef struct place {
    bb_index panel, k, stage;
} place;

static bb_tile_updates *account_of(const factoring *work, bb_index row, bb_index column)
{
    return &work->updates[row * (row + 1) / 2 + column];
}

static counter *progress_of(const factoring *work, bb_index row, bb_index column)
{
    return &work->done[row * (row + 1) / 2 + column];
}

// Returns false if the factorization stops before the value is reached.
static bool wait_for(factoring *work, counter *awaited, bb_index value)
{
    for (int turns = 0; atomic_load_explicit(&awaited->value, memory_order_acquire) != value;
         ++turns) {
        if (atomic_load_explicit(&work->stopped, memory_order_relaxed)) {
            return false;
        }
        // Sleep, because the wait may be for the disk.
        if (work->matrix->store != NULL && turns > 4000) {
            (void)bb_clock_sleep_until(bb_clock_ns() + NAP_NS);
        } else if (turns > 1000) {
            (void)sched_yield();
        }
    }
    return true;
}

// Waits until the copies of two stages before may be overwritten.
static bool wait_for_copies(factoring *work, bb_index stage)
{
    return stage < 2 || wait_for(work, &work->using[stage - 2], 0);
}

static bool wait_for_memory(factoring *work, bb_index panel, bb_index row, bb_index column)
{
    return work->stream == NULL || bb_tile_stream_await(work->stream, panel, row, column);
}

static void release_use(factoring *work, bb_index panel, bb_index row, bb_index column)
{
    if (work->stream != NULL) {
        bb_tile_stream_drop(work->stream, panel, row, column);
    }
}

// Waits for an operand of panel p's tiles: in memory, final and copied.
static bool wait_for_operand(factoring *work, bb_index panel, bb_index row, bb_index column)
{
    return (column >= work->panels.first[panel] || wait_for_memory(work, panel, row, column)) &&
           wait_for(work, progress_of(work, row, column), column + 1);
}

// Copies a tile of an earlier column once the stream has read it.
static bool copy_arrived(void *context, bb_index stage, bb_index row, bb_index column)
{
    factoring *work = context;
    if (!wait_for(work, progress_of(work, row, column), column + 1) ||
        !wait_for_copies(work, stage)) {
        return false;
    }
    // Clipped values were counted when the tile became final.
    (void)tile_copies_compute(&work->copies, stage, row, column);
    return true;
}

// Updates tile (row, column) by column `by`.
static bool update(factoring *work, place here, bb_index row, bb_index column, bb_index by,
                   bb_tile_workspace *workspace)
{
    bb_tile *target = bb_tile_matrix_at(work->matrix, row, column);
    const bb_tile *row_tile = bb_tile_matrix_at(work->matrix, row, by);
    const bb_tile *column_tile = bb_tile_matrix_at(work->matrix, column, by);
    const bb_index stage = work->panels.stage[here.panel] + by;
    bb_index depth = row_tile->columns;
    if (!wait_for_operand(work, here.panel, row, by) ||
        !wait_for_operand(work, here.panel, column, by) ||
        !wait_for_memory(work, here.panel, row, column) ||
        !wait_for(work, progress_of(work, row, column), by)) {
        return false;
    }
    bb_variant variant =
        bb_tile_choice_variant(work->matrix, row, column, row_tile->norm, column_tile->norm);
    bb_operand format = bb_tile_operand_of(variant);
    const void *remainder = tile_copies_operand(&work->copies, stage, row, by, format);
    bb_tile_updates_add(account_of(work, row, column), variant, row_tile, column_tile);
    if (row == column && !bb_variant_describe(variant)->rounds) {
        bb_tile_rank_update(remainder, depth, target);
    } else {
        bb_tile_product(variant, remainder,
                        tile_copies_operand(&work->copies, stage, column, by, format), depth,
                        target, workspace);
    }
    atomic_store_explicit(&progress_of(work, row, column)->value, by + 1, memory_order_release);
    atomic_fetch_sub_explicit(&work->using[stage].value, 1, memory_order_release);
    release_use(work, here.panel, row, by);
    if (row != column) {
        release_use(work, here.panel, column, by);
    }
    return true;
}

// Copies a tile of the panel that has become final, for the products or solves that read it.
static void finish(factoring *work, place here, bb_index row)
{
    atomic_fetch_add(&work->saturated, tile_copies_compute(&work->copies, here.stage, row, here.k));
    atomic_store_explicit(&progress_of(work, row, here.k)->value, here.k + 1, memory_order_release);
    release_use(work, here.panel, row, here.k);
}

static bool is_first(const factoring *work, place here)
{
    return here.k == work->panels.first[here.panel];
}

static bool pivot_task(factoring *work, place here, bb_tile_workspace *workspace)
{
    const bb_index k = here.k;
    if ((!is_first(work, here) && !update(work, here, k, k, k - 1, workspace)) ||
        !wait_for_memory(work, here.panel, k, k) || !wait_for(work, progress_of(work, k, k), k)) {
        return false;
    }
    if (!bb_tile_factor_diagonal(bb_tile_matrix_at(work->matrix, k, k), k,
                                 k * work->matrix->tile_size, work->outcome)) {
        atomic_store(&work->factored, k * work->matrix->tile_size);
        atomic_store(&work->stopped, true);
        return false;
    }
    if (!wait_for_copies(work, here.stage)) {
        return false;
    }
    finish(work, here, k);
    return true;
}

static bool solve_task(factoring *work, place here, bb_index row, bb_tile_workspace *workspace)
{
    const bb_index k = here.k;
    bb_tile *tile = bb_tile_matrix_at(work->matrix, row, k);
    const bool wide = tile->format == BB_FORMAT_FP64;
    const bb_operand working = (bb_operand)(wide ? BB_FORMAT_FP64 : BB_FORMAT_FP32);
    if ((!is_first(work, here) && !update(work, here, row, k, k - 1, workspace)) ||
        !wait_for_memory(work, here.panel, row, k) ||
        !wait_for(work, progress_of(work, row, k), k) || !wait_for_copies(work, here.stage) ||
        !wait_for(work, progress_of(work, k, k), k + 1)) {
        return false;
    }
    bb_tile_solve(tile_copies_operand(&work->copies, here.stage, k, k, working), tile);
    tile->norm = bb_tile_norm(tile);
    release_use(work, here.panel, k, k);
    finish(work, here, row);
    if (k + 1 == work->panels.first[here.panel + 1]) { // no update in this panel follows
        atomic_fetch_sub_explicit(&work->using[here.stage].value, 1, memory_order_release);
    }
    return true;
}

// Number of trailing updates by the previous column in a step; none for the first column of a
// panel.
static bb_index trailing_tasks(const factoring *work, place here)
{
    return is_first(work, here) ? 0 : bb_tile_panels_updates(&work->panels, here.panel, here.k);
}

static bb_index stage_tasks(const factoring *work, place here)
{
    if (here.k < work->panels.first[here.panel]) {
        return bb_tile_panels_updates(&work->panels, here.panel, here.k);
    }
    return work->matrix->tile_rows - here.k + trailing_tasks(work, here);
}

// Runs task `task` of a stage. Order within a panel: the pivot, enough trailing updates to keep the
// other workers busy, the solves, the remaining updates.
static bool run_task(factoring *work, place here, bb_index task, bb_tile_workspace *workspace)
{
    const bb_index end = work->panels.first[here.panel + 1];
    const bb_index k = here.k;
    bb_index row = 0;
    bb_index column = 0;
    if (k < work->panels.first[here.panel]) {
        const bb_index begin = work->panels.first[here.panel];
        bb_tile_panels_cell(task, end - begin, &row, &column);
        return update(work, here, begin + row, begin + column, k, workspace);
    }
    bb_index below = work->matrix->tile_rows - 1 - k;
    bb_index trailing = trailing_tasks(work, here);
    bb_index early = work->workers - 1 < trailing ? work->workers - 1 : trailing;
    if (task == 0) {
        return pivot_task(work, here, workspace);
    }
    if (task > early && task <= early + below) {
        return solve_task(work, here, k + task - early, workspace);
    }
    bb_tile_panels_cell(task <= early ? task - 1 : task - 1 - below, end - k - 1, &row, &column);
    return update(work, here, k + 1 + row, k + 1 + column, k - 1, workspace);
}

static place place_of(const factoring *work, bb_index stage)
{
    const bb_index panel = bb_tile_panels_of_stage(&work->panels, stage);
    return (place){panel, stage - work->panels.stage[panel], stage};
}

static bb_status run_worker(void *context, bb_index worker)
{
    factoring *work = context;
    const bb_index stages = work->panels.stage[work->panels.count];
    bb_index stage = 0;
    bb_index first = 0; // first task of the stage
    bb_index tasks = 0; // number of tasks of all stages
    bool going = true;
    for (bb_index s = 0; s < stages; ++s) {
        tasks += stage_tasks(work, place_of(work, s));
    }
    while (going) {
        bb_index task = atomic_fetch_add(&work->next, 1);
        while (stage < stages && task - first >= stage_tasks(work, place_of(work, stage))) {
            first += stage_tasks(work, place_of(work, stage++));
        }
        going = stage < stages && !atomic_load(&work->stopped) &&
                run_task(work, place_of(work, stage), task - first, &work->workspaces[worker]);
        bb_log_progress_within(task < tasks ? task : tasks, tasks);
    }
    return BB_OK;
}

static size_t bytes_of(const void *context, bb_index row, bb_index column)
{
    const bb_tile *tile = bb_tile_matrix_at(context, row, column);
    return bb_tile_store_bytes(tile->format, tile->rows, tile->columns);
}

static bb_status prepare_stages(factoring *work)
{
    bb_status status = BB_OK;
    const bb_tile_matrix *matrix = work->matrix;
    bb_tile_panels *panels = &work->panels;
    BB_TRY(bb_tile_panels_create(matrix->tile_rows,
                                 matrix->store != NULL ? matrix->memory_limit : 0, bytes_of, matrix,
                                 panels));
    BB_TRY(BB_ZEROED(panels->stage[panels->count], &work->using));
    for (bb_index p = 0; p < panels->count; ++p) {
        const bb_index end = panels->first[p + 1];
        for (bb_index k = 0; k < end; ++k) {
            atomic_init(&work->using[panels->stage[p] + k].value,
                        k + 1 < end ? bb_tile_panels_updates(panels, p, k)
                                    : matrix->tile_rows - end);
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
    BB_TRY(prepare_stages(work));
    BB_TRY(tile_copies_create(work->matrix, &work->copies));
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
    tile_copies_release(&work->copies);
    bb_tile_panels_release(&work->panels);
    BB_RELEASE(&work->workspaces);
    BB_RELEASE(&work->using);
    BB_RELEASE(&work->updates);
    BB_RELEASE(&work->done);
}

// Selects the tiles of the factor that its light sweeps use in narrow form.
static bb_status choose_light(bb_tile_matrix *matrix)
{
    bb_status status = BB_OK;
    double *energies = NULL;
    bb_index tiles = matrix->tile_rows;
    BB_TRY(BB_ALLOCATE(tiles * (tiles + 1) / 2, &energies));
    BB_TRY(bb_tile_choice_energies(matrix, energies));
    BB_TRY(bb_tile_choice_light(matrix, energies));
done:
    BB_RELEASE(&energies);
    return status;
}

// Runs all tasks while a stream reads the tiles of a stored matrix.
static bb_status run_all(factoring *work)
{
    bb_status status = BB_OK;
    const bb_tile_stream_work streamed = {.matrix = work->matrix,
                                          .panels = &work->panels,
                                          .stopped = &work->stopped,
                                          .arrived = copy_arrived,
                                          .context = work};
    if (work->matrix->store != NULL) {
        BB_TRY(bb_tile_stream_create(&streamed, &work->stream));
    }
    BB_TRY(bb_thread_for(work->workers, run_worker, work));
    BB_TRY(bb_tile_stream_finish(&work->stream, &work->matrix->waited_seconds));
done:
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
    BB_TRY(run_all(&work));
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

// Operations per second of one core. Emulation of narrow formats reduces the rate of fp32, and
// rounding of the accumulator that of fp16 sums.
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
    const bb_index tile_rows = (n + size - 1) / size;
    const double tiles = 0.5 * (double)tile_rows * (double)(tile_rows + 1);
    const bool is_stored = bb_tile_plan_is_stored(plan, n);
    const double stages = is_stored ? tiles : (double)tile_rows; // for panels of one column each
    const bb_need tables[] = {
        bb_need_copies(bb_tile_workspace_need(size), threads),
        tile_copies_need(n, size, count, given),
        bb_tile_panels_need(tile_rows),
        is_stored ? bb_tile_stream_need(tile_rows) : (bb_need){0},
    };
    // Light tiles are selected before the other memory is released.
    const double light = plan->sweeps == BB_POLICY_SWEEPS_LIGHT
                             ? (double)(tile_rows * tile_rows) + sizeof(double) * tiles +
                                   bb_light_tiles_need(tile_rows).host_bytes
                             : 0.0;
    bb_need need = {
        .host_bytes = sizeof(counter) * (tiles + stages) + sizeof(bb_tile_updates) * tiles + light,
        .seconds = bb_tile_cholesky_flops(n, 0) / (rate_of(plan->arithmetic) * threads)};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; ++i) {
        need = bb_need_together(need, tables[i]);
    }
    return need;
}
