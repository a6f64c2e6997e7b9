// SPDX-License-Identifier: Apache-2.0
//
// Tile Cholesky as tasks that StarPU-MPI orders by their data accesses. Step k consists of
//     pivot   (k, k) <- potrf                        at its owner
//     panel   (i, k) <- trsm with (k, k)             at the owner of (i, k)
//     write   a message of (i, k) in a form          at the owner of (i, k)
//     update  (i, j) <- (i, j) - (i, k) (j, k)^T     at the owner of (i, j), for all k < j <= i
// Every process submits all tasks in this order and runs those of its own tiles. Updates of a tile
// run in the order of k, so the result is bit-identical to tile_cholesky.c. Tiles stay with their
// owners (their handles have no data); only messages travel, and they are freed when their readers
// are done. After each step a process waits until at most one step's tasks and AHEAD more are open.
// This limits memory to the messages of a few columns, because StarPU allocates a message when its
// readers are submitted.
//
// A breakdown travels in the heads of messages: a task that reads one does nothing and passes it
// on. Exactly one pivot fails, and nothing that depends on it is computed.
#include "core/log.h"
#include "core/memory.h"
#include "solvers/distributed/starpu_engine_mpi.h"
#include "solvers/factor/tiles/tile_choice.h"
#include "solvers/factor/tiles/tile_product.h"

#include <math.h>
#include <starpu_mpi.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { NO_STEP = INT32_MAX, AHEAD = 64 };

typedef struct worker_scratch {
    bb_tile_workspace workspace;
    void *copies[2]; // one per operand, sized for the widest words
} worker_scratch;

typedef struct factoring {
    const bb_engine *engine;
    bb_tile_matrix *matrix;
    bb_index tiles;            // number of tiles of the triangle
    worker_scratch *scratches; // [workers]
    bb_tile_updates *updates;  // [tiles]
    bool *broken;       // [tiles] this process's tiles without valid values after a breakdown
    bb_outcome outcome; // outcome of the failed pivot, in the process that owns it
    int step;           // step whose pivot failed here, or NO_STEP
    atomic_ptrdiff_t saturated;
    starpu_data_handle_t *places; // [tiles] handles of the tiles, without data
    starpu_data_handle_t *sent;   // [tile_rows][BB_OPERAND_COUNT] messages of the current column
} factoring;

/// Arguments of a task: tile (row, column), the step, and the forms of its messages.
typedef struct task_place {
    factoring *work;
    bb_index row, column, k;
    int forms[2][2]; // forms of the row and column operands, one for each possible variant
    int count;       // number of messages per operand
} task_place;

static bb_index index_of(bb_index row, bb_index column)
{
    return row * (row + 1) / 2 + column;
}

static bb_tile *tile_at(const task_place *place, bb_index row, bb_index column)
{
    return bb_tile_matrix_at(place->work->matrix, row, column);
}

static task_place unpack(void *arguments)
{
    task_place place;
    starpu_codelet_unpack_args(arguments, &place);
    return place;
}

static void *message_of(void *buffer)
{
    return (void *)STARPU_VARIABLE_GET_PTR(buffer);
}

static bool is_broken(void *buffer)
{
    return ((const bb_tile_head *)message_of(buffer))->breakdown != 0;
}

static worker_scratch *own_scratch(const factoring *work)
{
    return &work->scratches[starpu_worker_get_id()];
}

static void run_pivot(void *buffers[], void *arguments)
{
    (void)buffers;
    const task_place place = unpack(arguments);
    factoring *work = place.work;
    bool *broken = &work->broken[index_of(place.k, place.k)];
    if (!*broken && !bb_tile_factor_diagonal(tile_at(&place, place.k, place.k), place.k,
                                             place.k * work->matrix->tile_size, &work->outcome)) {
        *broken = true;
        work->step = (int)place.k;
    }
}

static void run_write(void *buffers[], void *arguments)
{
    const task_place place = unpack(arguments);
    factoring *work = place.work;
    const bb_tile *tile = tile_at(&place, place.row, place.column);
    const bb_operand form = place.forms[0][0];
    float *scratch = own_scratch(work)->copies[0];
    if (work->broken[index_of(place.row, place.column)]) {
        *(bb_tile_head *)message_of(buffers[1]) = (bb_tile_head){.breakdown = 1};
        return;
    }
    atomic_fetch_add(&work->saturated,
                     bb_tile_message_write(tile, form, scratch, message_of(buffers[1])));
}

static void run_panel(void *buffers[], void *arguments)
{
    const task_place place = unpack(arguments);
    bb_tile *tile = tile_at(&place, place.row, place.k);
    const bb_operand working = (bb_operand)(tile->f64 != NULL ? BB_FORMAT_FP64 : BB_FORMAT_FP32);
    bool *broken = &place.work->broken[index_of(place.row, place.k)];
    *broken |= is_broken(buffers[0]);
    if (!*broken) {
        bb_tile_solve(bb_tile_message_read(tile_at(&place, place.k, place.k), place.forms[0][0],
                                           working, message_of(buffers[0]),
                                           own_scratch(place.work)->copies[0]),
                      tile);
        tile->norm = bb_tile_norm(tile);
    }
}

// Sizes of a tile, with the norm from its message.
static bb_tile sized(const bb_tile *tile, void *message)
{
    return (bb_tile){.format = tile->format,
                     .rows = tile->rows,
                     .columns = tile->columns,
                     .norm = ((const bb_tile_head *)message)->norm};
}

// Index of the operand's message in the form that the product reads.
static int message_for(const task_place *place, int side, const bb_tile *tile, bb_operand operand)
{
    const bb_operand form = bb_tile_message_form(tile, operand, place->work->engine->wire);
    return place->count == 2 && place->forms[side][1] == form ? 1 : 0;
}

// Buffers: messages of the row's tile, messages of the column's tile (none on the diagonal),
// target.
static void run_update(void *buffers[], void *arguments)
{
    const task_place place = unpack(arguments);
    factoring *work = place.work;
    const bool is_square = place.row == place.column;
    bb_tile *target = tile_at(&place, place.row, place.column);
    void **column_buffers = buffers + (is_square ? 0 : place.count);
    bool *broken = &work->broken[index_of(place.row, place.column)];
    *broken |= is_broken(buffers[0]) || is_broken(column_buffers[0]);
    if (*broken) {
        return;
    }
    const bb_tile row_tile = sized(tile_at(&place, place.row, place.k), message_of(buffers[0]));
    const bb_tile other =
        sized(tile_at(&place, place.column, place.k), message_of(column_buffers[0]));
    const bb_tile *column_tile = is_square ? &row_tile : &other;
    const bb_variant variant = bb_tile_choice_variant(work->matrix, place.row, place.column,
                                                      row_tile.norm, column_tile->norm);
    const bb_operand operand = bb_tile_operand_of(variant);
    const int row_message = message_for(&place, 0, &row_tile, operand);
    const int column_message = message_for(&place, 1, column_tile, operand);
    worker_scratch *scratch = own_scratch(work);
    const void *a = bb_tile_message_read(&row_tile, place.forms[0][row_message], operand,
                                         message_of(buffers[row_message]), scratch->copies[0]);
    bb_tile_updates_add(&work->updates[index_of(place.row, place.column)], variant, &row_tile,
                        column_tile);
    if (is_square && !bb_variant_describe(variant)->rounds) {
        bb_tile_rank_update(a, row_tile.columns, target);
        return;
    }
    const void *b =
        is_square
            ? a
            : bb_tile_message_read(column_tile, place.forms[1][column_message], operand,
                                   message_of(column_buffers[column_message]), scratch->copies[1]);
    bb_tile_product(variant, a, b, row_tile.columns, target, &scratch->workspace);
}

static struct starpu_codelet pivot_codelet = {
    .cpu_funcs = {run_pivot}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "pivot"};
static struct starpu_codelet write_codelet = {
    .cpu_funcs = {run_write}, .nbuffers = 2, .modes = {STARPU_R, STARPU_W}, .name = "write"};
static struct starpu_codelet panel_codelet = {
    .cpu_funcs = {run_panel}, .nbuffers = 2, .modes = {STARPU_R, STARPU_RW}, .name = "panel"};
static struct starpu_codelet update_codelets[] = {
    {.cpu_funcs = {run_update}, .nbuffers = 2, .modes = {STARPU_R, STARPU_RW}, .name = "update"},
    {.cpu_funcs = {run_update},
     .nbuffers = 3,
     .modes = {STARPU_R, STARPU_R, STARPU_RW},
     .name = "update"},
    {.cpu_funcs = {run_update},
     .nbuffers = 5,
     .modes = {STARPU_R, STARPU_R, STARPU_R, STARPU_R, STARPU_RW},
     .name = "update"},
};

// Aborts if StarPU refuses a task, because other processes would wait for its messages.
static void check_inserted(int code)
{
    if (code != 0) {
        bb_log_warning("StarPU-MPI refused a task (error %d): aborting all processes", code);
        (void)MPI_Abort(MPI_COMM_WORLD, BB_INTERNAL);
    }
}

static starpu_data_handle_t *message_at(const factoring *work, bb_index row, bb_operand form)
{
    return &work->sent[row * BB_OPERAND_COUNT + form];
}

static int owner_of(const factoring *work, bb_index row, bb_index column)
{
    return bb_process_grid_owner(work->engine->grid, row, column);
}

// Submits the messages of tile (row, k) in every form that has readers.
static void send_tile(factoring *work, bb_index row, bb_index k)
{
    const bb_tile *tile = bb_tile_matrix_at(work->matrix, row, k);
    for (bb_operand form = 0; form < BB_OPERAND_COUNT; ++form) {
        if (!bb_tile_message_is_sent(work->matrix, row, k, form, work->engine->wire)) {
            continue;
        }
        const task_place place = {.work = work, .row = row, .column = k, .k = k, .forms = {{form}}};
        starpu_data_handle_t *message = message_at(work, row, form);
        starpu_variable_data_register(message, -1, 0, bb_tile_message_bytes(tile, form));
        starpu_mpi_data_register(*message, (form + 1) * work->tiles + index_of(row, k),
                                 owner_of(work, row, k));
        check_inserted(starpu_mpi_task_insert(
            MPI_COMM_WORLD, &write_codelet, STARPU_VALUE, &place, sizeof place, STARPU_R,
            work->places[index_of(row, k)], STARPU_W, *message, STARPU_PRIORITY, 3, 0));
    }
}

static void solve_tile(factoring *work, bb_index row, bb_index k)
{
    const bool wide = bb_tile_matrix_at(work->matrix, row, k)->format == BB_FORMAT_FP64;
    const bb_operand form = bb_tile_message_form(
        bb_tile_matrix_at(work->matrix, k, k), (bb_operand)(wide ? BB_FORMAT_FP64 : BB_FORMAT_FP32),
        work->engine->wire);
    const task_place place = {.work = work, .row = row, .column = k, .k = k, .forms = {{form}}};
    check_inserted(starpu_mpi_task_insert(MPI_COMM_WORLD, &panel_codelet, STARPU_VALUE, &place,
                                          sizeof place, STARPU_R, *message_at(work, k, form),
                                          STARPU_RW, work->places[index_of(row, k)],
                                          STARPU_PRIORITY, 2, 0));
    send_tile(work, row, k);
}

// Forms in which products into tile (row, column) may read their operands.
static void find_forms(const factoring *work, task_place *place)
{
    const bb_wire wire = work->engine->wire;
    const bb_tile *sides[2] = {bb_tile_matrix_at(work->matrix, place->row, place->k),
                               bb_tile_matrix_at(work->matrix, place->column, place->k)};
    const bool is_open = bb_tile_choice_is_open(work->matrix, place->row, place->column);
    const bb_variant given = bb_tile_matrix_at(work->matrix, place->row, place->column)->variant;
    const bb_variant variants[2] = {given, is_open ? work->matrix->product_variant : given};
    place->count = 1;
    for (int side = 0; side < 2; ++side) {
        for (int v = 0; v < 2; ++v) {
            place->forms[side][v] =
                bb_tile_message_form(sides[side], bb_tile_operand_of(variants[v]), wire);
        }
        place->count = place->forms[side][0] != place->forms[side][1] ? 2 : place->count;
    }
}

static void update_tile(factoring *work, bb_index row, bb_index column, bb_index k)
{
    task_place place = {.work = work, .row = row, .column = column, .k = k};
    find_forms(work, &place);
    const starpu_data_handle_t target = work->places[index_of(row, column)];
    const starpu_data_handle_t row_first = *message_at(work, row, place.forms[0][0]);
    const starpu_data_handle_t row_second = *message_at(work, row, place.forms[0][1]);
    const starpu_data_handle_t column_first = *message_at(work, column, place.forms[1][0]);
    const starpu_data_handle_t column_second = *message_at(work, column, place.forms[1][1]);
    const int urgency = column == k + 1 ? 1 : 0;
    int code = 0;
    if (row == column && place.count == 1) {
        code = starpu_mpi_task_insert(MPI_COMM_WORLD, &update_codelets[0], STARPU_VALUE, &place,
                                      sizeof place, STARPU_R, row_first, STARPU_RW, target,
                                      STARPU_PRIORITY, urgency, 0);
    } else if (row == column) {
        code = starpu_mpi_task_insert(MPI_COMM_WORLD, &update_codelets[1], STARPU_VALUE, &place,
                                      sizeof place, STARPU_R, row_first, STARPU_R, row_second,
                                      STARPU_RW, target, STARPU_PRIORITY, urgency, 0);
    } else if (place.count == 1) {
        code = starpu_mpi_task_insert(MPI_COMM_WORLD, &update_codelets[1], STARPU_VALUE, &place,
                                      sizeof place, STARPU_R, row_first, STARPU_R, column_first,
                                      STARPU_RW, target, STARPU_PRIORITY, urgency, 0);
    } else {
        code = starpu_mpi_task_insert(MPI_COMM_WORLD, &update_codelets[2], STARPU_VALUE, &place,
                                      sizeof place, STARPU_R, row_first, STARPU_R, row_second,
                                      STARPU_R, column_first, STARPU_R, column_second, STARPU_RW,
                                      target, STARPU_PRIORITY, urgency, 0);
    }
    check_inserted(code);
}

// Frees the messages of a column once the tasks that read them are done.
static void free_messages(factoring *work, bb_index k)
{
    for (bb_index row = k; row < work->matrix->tile_rows; ++row) {
        for (bb_operand form = 0; form < BB_OPERAND_COUNT; ++form) {
            starpu_data_handle_t *message = message_at(work, row, form);
            if (*message != NULL) {
                starpu_data_unregister_submit(*message);
                *message = NULL;
            }
        }
    }
}

static void submit_step(factoring *work, bb_index k)
{
    const bb_index rows = work->matrix->tile_rows;
    const task_place place = {.work = work, .row = k, .column = k, .k = k};
    check_inserted(starpu_mpi_task_insert(MPI_COMM_WORLD, &pivot_codelet, STARPU_VALUE, &place,
                                          sizeof place, STARPU_RW, work->places[index_of(k, k)],
                                          STARPU_PRIORITY, 3, 0));
    send_tile(work, k, k);
    for (bb_index row = k + 1; row < rows; ++row) {
        solve_tile(work, row, k);
    }
    for (bb_index column = k + 1; column < rows; ++column) {
        for (bb_index row = column; row < rows; ++row) {
            update_tile(work, row, column, k);
        }
    }
    free_messages(work, k);
}

// The wait cannot deadlock: all dependencies of the open tasks of the slowest process have been
// submitted by every process.
static void submit(factoring *work)
{
    for (bb_index k = 0; k < work->matrix->tile_rows; ++k) {
        const bb_index below = work->matrix->tile_rows - 1 - k;
        const bb_index step = (below + 1) * (below + 4) / 2 / work->engine->processes;
        submit_step(work, k);
        (void)starpu_task_wait_for_n_submitted((unsigned)(step + AHEAD));
    }
}

static bb_status prepare(factoring *work, bb_index accumulate_k)
{
    bb_status status = BB_OK;
    const bb_index size = work->matrix->tile_size;
    const bb_index workers = (bb_index)starpu_worker_get_count();
    BB_TRY(BB_ZEROED(work->tiles, &work->updates));
    BB_TRY(BB_ZEROED(work->tiles, &work->broken));
    BB_TRY(BB_ZEROED(work->tiles, &work->places));
    BB_TRY(BB_ZEROED(work->matrix->tile_rows * BB_OPERAND_COUNT, &work->sent));
    BB_TRY(BB_ZEROED(workers, &work->scratches));
    for (bb_index w = 0; w < workers; ++w) {
        BB_TRY(bb_tile_workspace_create(size, accumulate_k, work->matrix->sums_from_c,
                                        &work->scratches[w].workspace));
        for (int side = 0; side < 2; ++side) {
            BB_TRY(
                bb_memory_allocate(size * size, sizeof(double), &work->scratches[w].copies[side]));
        }
    }
done:
    return status;
}

static void register_tiles(factoring *work)
{
    for (bb_index row = 0; row < work->matrix->tile_rows; ++row) {
        for (bb_index column = 0; column <= row; ++column) {
            starpu_data_handle_t *place = &work->places[index_of(row, column)];
            starpu_void_data_register(place);
            starpu_mpi_data_register(*place, index_of(row, column), owner_of(work, row, column));
        }
    }
}

static void release(factoring *work)
{
    const bb_index workers = (bb_index)starpu_worker_get_count();
    for (bb_index t = 0; work->places != NULL && t < work->tiles; ++t) {
        if (work->places[t] != NULL) {
            starpu_data_unregister(work->places[t]);
        }
    }
    for (bb_index w = 0; work->scratches != NULL && w < workers; ++w) {
        bb_tile_workspace_release(&work->scratches[w].workspace);
        BB_RELEASE(&work->scratches[w].copies[0]);
        BB_RELEASE(&work->scratches[w].copies[1]);
    }
    BB_RELEASE(&work->scratches);
    BB_RELEASE(&work->sent);
    BB_RELEASE(&work->places);
    BB_RELEASE(&work->broken);
    BB_RELEASE(&work->updates);
}

// Outcome of the first step that broke down, on all processes.
static void gather(factoring *work, bb_outcome *outcome)
{
    bb_tile_matrix *matrix = work->matrix;
    struct {
        int step, rank;
    } first = {work->step, work->engine->rank};
    bb_index saturated = atomic_load(&work->saturated);
    (void)MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_2INT, MPI_MINLOC, MPI_COMM_WORLD);
    if (first.step != NO_STEP) {
        (void)MPI_Bcast(&work->outcome, sizeof work->outcome, MPI_BYTE, first.rank, MPI_COMM_WORLD);
        bb_outcome_set(outcome, work->outcome.kind, "%s", work->outcome.detail);
        matrix->work = (bb_tile_work){.factored = first.step * matrix->tile_size};
        return;
    }
    // Counts of tiles owned by other processes are 0 here, so that the sums are exact.
    const int doubles = (int)(work->tiles * (bb_index)(sizeof *work->updates / sizeof(double)));
    (void)MPI_Allreduce(MPI_IN_PLACE, work->updates, doubles, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    (void)MPI_Allreduce(MPI_IN_PLACE, &saturated, 1, MPI_AINT, MPI_SUM, MPI_COMM_WORLD);
    matrix->work = bb_tile_updates_sum(matrix, work->updates);
    matrix->work.saturated = saturated;
}

// Bytes of messages that every process has sent since StarPU started, or NaN if StarPU does not
// count them: out [processes]; `amounts` [processes] is scratch.
static void count_sent(const bb_engine *engine, size_t *amounts, double *out)
{
    const char *counts = getenv("STARPU_COMM_STATS");
    const bool is_counted = counts != NULL && atoi(counts) > 0;
    memset(out, 0, (size_t)engine->processes * sizeof *out);
    starpu_mpi_comm_amounts_retrieve(amounts);
    for (int rank = 0; rank < engine->processes; ++rank) {
        out[engine->rank] += is_counted ? (double)amounts[rank] : NAN;
    }
    (void)MPI_Allreduce(MPI_IN_PLACE, out, engine->processes, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

// Selects the same light tiles on all processes. Energies of tiles owned by other processes are 0
// here, so that the sums are exact.
static bb_status choose_light(bb_tile_matrix *matrix)
{
    bb_status status = BB_OK;
    double *energies = NULL;
    const bb_index tiles = matrix->tile_rows * (matrix->tile_rows + 1) / 2;
    BB_TRY(bb_starpu_engine_agree(BB_ALLOCATE(tiles, &energies)));
    BB_TRY(bb_starpu_engine_agree(bb_tile_choice_energies(matrix, energies)));
    (void)MPI_Allreduce(MPI_IN_PLACE, energies, (int)tiles, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    BB_TRY(bb_starpu_engine_agree(bb_tile_choice_light(matrix, energies)));
done:
    BB_RELEASE(&energies);
    return status;
}

bb_status bb_starpu_engine_factor(bb_engine *engine, bb_tile_matrix *matrix, bb_index accumulate_k,
                                  bb_outcome *outcome, double *sent)
{
    bb_status status = BB_OK;
    double *before = NULL;
    size_t *amounts = NULL;
    factoring work = {.engine = engine,
                      .matrix = matrix,
                      .tiles = matrix->tile_rows * (matrix->tile_rows + 1) / 2,
                      .step = NO_STEP};
    BB_REQUIRE(accumulate_k >= 1, BB_INVALID, "accumulate_k = %td, expected at least 1",
               accumulate_k);
    BB_TRY(bb_starpu_engine_agree(BB_ZEROED(engine->processes, &before)));
    BB_TRY(bb_starpu_engine_agree(BB_ZEROED(engine->processes, &amounts)));
    BB_TRY(bb_starpu_engine_agree(prepare(&work, accumulate_k)));
    count_sent(engine, amounts, before);
    matrix->accumulate_k = accumulate_k;
    register_tiles(&work);
    starpu_resume();
    submit(&work);
    (void)starpu_task_wait_for_all();
    (void)starpu_mpi_barrier(MPI_COMM_WORLD);
    starpu_pause(); // idle workers would busy-wait and slow down the sweeps
    gather(&work, outcome);
    for (int rank = 0; sent != NULL && rank < engine->processes; ++rank) {
        sent[rank] = -before[rank];
    }
    if (sent != NULL) {
        count_sent(engine, amounts, before);
    }
    for (int rank = 0; sent != NULL && rank < engine->processes; ++rank) {
        sent[rank] += before[rank];
    }
    if (matrix->sweeps == BB_POLICY_SWEEPS_LIGHT && outcome->kind == BB_OUTCOME_OK) {
        BB_TRY(choose_light(matrix));
    }
done:
    release(&work);
    BB_RELEASE(&amounts);
    BB_RELEASE(&before);
    return status;
}
