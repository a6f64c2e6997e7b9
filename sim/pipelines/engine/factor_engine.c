// SPDX-License-Identifier: Apache-2.0
#include "sim/pipelines/engine/factor_engine.h"

#include "core/memory.h"
#include "core/team.h"
#include "core/thread.h"
#include "solvers/distributed/tile_window.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool bb_factor_engine_is_spread(const bb_factor_solver_config *solver)
{
    return bb_engine_offered() != NULL && solver->engine != (int)BB_FACTOR_ENGINE_OWN;
}

static bool is_given(const bb_factor_solver_config *solver)
{
    return solver->grid != NULL && strcmp(solver->grid, "auto") != 0;
}

bb_process_grid bb_factor_engine_grid(const bb_factor_solver_config *solver)
{
    bb_process_grid grid = {0, 0};
    if (is_given(solver) && bb_process_grid_read(solver->grid, &grid)) {
        return grid;
    }
    return bb_process_grid_of(bb_team_joined()->size);
}

bb_status bb_factor_engine_check(const bb_factor_solver_config *solver, const bb_config *config,
                                 bb_problems *problems)
{
    bb_status status = BB_OK;
    bb_process_grid grid = {0, 0};
    const int size = bb_team_joined()->size;
    const bool reads = !is_given(solver) || bb_process_grid_read(solver->grid, &grid);
    const bb_place engine = bb_config_place(config, "solver.engine");
    if (solver->engine == (int)BB_FACTOR_ENGINE_STARPU && bb_engine_offered() == NULL) {
        BB_TRY(bb_problems_add(problems, engine,
                               "solver.engine starpu: this program has no StarPU-MPI, expected own "
                               "or auto, or the program bitbudget-mpi (./setup --mpi)"));
    }
    if (solver->engine == (int)BB_FACTOR_ENGINE_OWN && size > 1) {
        BB_TRY(bb_problems_add(problems, engine,
                               "solver.engine own: %d processes would each do all of it, expected "
                               "starpu or auto, or one process",
                               size));
    }
    if (bb_factor_engine_is_spread(solver) && solver->memory_limit_gb > 0.0) {
        BB_TRY(bb_problems_add(problems, bb_config_place(config, "solver.memory_limit_gb"),
                               "solver.memory_limit_gb: of engine own, over processes expected 0"));
    }
    if (solver->stall_s > 0.0 && solver->stall_s < 1.0) {
        BB_TRY(bb_problems_add(problems, bb_config_place(config, "solver.stall_s"),
                               "solver.stall_s = %g, expected 0 or at least 1", solver->stall_s));
    }
    if (reads && is_given(solver) && size > 1 && bb_process_grid_size(grid) != size) {
        BB_TRY(bb_problems_add(problems, bb_config_place(config, "solver.grid"),
                               "solver.grid %dx%d has %d processes, started are %d", grid.rows,
                               grid.columns, bb_process_grid_size(grid), size));
    }
    if (!reads) {
        BB_TRY(bb_problems_add(problems, bb_config_place(config, "solver.grid"),
                               "solver.grid '%s', expected auto, or rows and columns of processes "
                               "such as 2x4",
                               solver->grid));
    }
done:
    return status;
}

bb_status bb_factor_engine_open(const bb_factor_solver_config *solver, bb_factor_engine *out)
{
    bb_status status = BB_OK;
    *out = (bb_factor_engine){.row = bb_factor_engine_is_spread(solver) ? bb_engine_offered()
                                                                        : &bb_engine_own,
                              .config = {.grid = bb_factor_engine_grid(solver),
                                         .wire = (bb_wire)solver->wire,
                                         .stall_s = solver->stall_s,
                                         .workers = bb_threads_count()}};
    if (out->row == &bb_engine_own) {
        out->config.grid = (bb_process_grid){1, 1};
    }
    BB_TRY(out->row->create(&out->config, &out->engine));
done:
    return status;
}

void bb_factor_engine_close(bb_factor_engine *engine, bb_status status)
{
    const bool is_alone = bb_team_joined()->size == 1;
    if (engine->row != NULL && (is_alone || status == BB_OK || status == BB_INVALID)) {
        engine->row->destroy(&engine->engine);
    }
    *engine = (bb_factor_engine){0};
}

static const bb_engine_row *row_of(const bb_factor_engine *engine)
{
    return engine != NULL ? engine->row : &bb_engine_own;
}

static bb_engine *engine_of(const bb_factor_engine *engine)
{
    return engine != NULL ? engine->engine : NULL;
}

bb_status bb_factor_engine_load(const bb_factor_engine *engine, const bb_matrix_source *source,
                                const double *scale, const bb_tile_plan *plan, bb_tile_matrix **out)
{
    return row_of(engine)->load(engine_of(engine), source, scale, plan, out);
}

// Bytes between processes: the messages of the factorization and the tiles of both sweeps.
static bb_status count_bytes(const bb_factor_engine *engine, const bb_tile_matrix *factor,
                             double *out)
{
    bb_status status = BB_OK;
    const bb_engine_config *config = &engine->config;
    const int processes = bb_process_grid_size(config->grid);
    double *bytes = NULL;
    bool *readers = NULL;
    *out = 0.0;
    BB_TRY(BB_ALLOCATE(processes, &bytes));
    BB_TRY(BB_ALLOCATE(processes, &readers));
    bb_tile_message_traffic(factor, config->grid, config->wire, readers, bytes);
    for (int rank = 0; rank < processes; ++rank) {
        *out += bytes[rank];
    }
    bb_tile_window_traffic(factor, config->grid, config->wire, bytes);
    for (int rank = 0; rank < processes; ++rank) {
        *out += bytes[rank];
    }
done:
    BB_RELEASE(&readers);
    BB_RELEASE(&bytes);
    return status;
}

bb_status bb_factor_engine_factor(const bb_factor_engine *engine, bb_tile_matrix *factor,
                                  bb_index accumulate_k, bb_outcome *outcome,
                                  bb_factor_report *report)
{
    bb_status status = BB_OK;
    uint64_t digest = 0;
    BB_TRY(row_of(engine)->factor(engine_of(engine), factor, accumulate_k, outcome, NULL));
    if (outcome->kind != BB_OUTCOME_OK) {
        goto done;
    }
    BB_TRY(row_of(engine)->digest(engine_of(engine), factor, &digest));
    (void)snprintf(report->digest, sizeof report->digest, "%016" PRIx64, digest);
    const bb_tile_traffic traffic = bb_tile_matrix_traffic(factor);
    if (factor->store != NULL) {
        report->swap_read_bytes = traffic.read_bytes;
        report->swap_written_bytes = traffic.written_bytes;
        report->swap_wait_s = traffic.waited_seconds;
    }
    if (engine != NULL && engine->row != &bb_engine_own) {
        BB_TRY(count_bytes(engine, factor, &report->wire_bytes));
    }
done:
    return status;
}

bb_status bb_factor_engine_note(const bb_factor_engine *engine, bb_results *results)
{
    bb_status status = BB_OK;
    char grid[24];
    BB_TRY(bb_results_note(results, "provenance", "engine", engine->row->name));
    if (engine->row != &bb_engine_own) {
        (void)snprintf(grid, sizeof grid, "%dx%d", engine->config.grid.rows,
                       engine->config.grid.columns);
        BB_TRY(bb_results_note(results, "provenance", "engine_grid", grid));
        BB_TRY(bb_results_note(results, "provenance", "engine_wire",
                               bb_wire_names[engine->config.wire]));
    }
done:
    return status;
}
