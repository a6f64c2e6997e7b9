// SPDX-License-Identifier: Apache-2.0
#include "sim/pipelines/factor_engine.h"

#include "core/clock.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/stage.h"
#include "core/team.h"
#include "core/thread.h"
#include "sim/pipelines/factor_device.h"
#include "sim/pipelines/factor_map.h"
#include "sim/pipelines/factor_warm.h"
#include "solvers/distributed/tile_window.h"
#include "solvers/factor/tiles/tile_cholesky.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

bool bb_factor_engine_is_spread(const bb_factor_solver_config *solver)
{
    return bb_engine_registered() != NULL && solver->engine != (int)BB_FACTOR_ENGINE_OWN;
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
    if (solver->engine == (int)BB_FACTOR_ENGINE_STARPU && bb_engine_registered() == NULL) {
        BB_TRY(bb_problems_add(problems, engine,
                               "solver.engine starpu: this program has no StarPU-MPI, expected own "
                               "or auto, or the program bitbudget-mpi (./setup --mpi)"));
    }
    if (solver->engine == (int)BB_FACTOR_ENGINE_OWN && size > 1) {
        BB_TRY(bb_problems_add(problems, engine,
                               "solver.engine own: each of %d processes would do all the work, "
                               "expected starpu or auto, or one process",
                               size));
    }
    BB_TRY(bb_study_refuse(bb_factor_engine_is_spread(solver) && solver->memory_limit_gb > 0.0,
                           config, problems,
                           "solver.memory_limit_gb: needs engine own, expected 0 over processes"));
    BB_TRY(bb_study_refuse(solver->stall_s > 0.0 && solver->stall_s < 1.0, config, problems,
                           "solver.stall_s = %g, expected 0 or at least 1", solver->stall_s));
    BB_TRY(
        bb_study_refuse(reads && is_given(solver) && size > 1 && bb_process_grid_size(grid) != size,
                        config, problems, "solver.grid %dx%d has %d processes, but %d were started",
                        grid.rows, grid.columns, bb_process_grid_size(grid), size));
    BB_TRY(bb_study_refuse(
        !reads, config, problems,
        "solver.grid '%s', expected auto, or rows and columns of processes such as 2x4",
        solver->grid));
done:
    return status;
}

bb_status bb_factor_engine_open(const bb_factor_solver_config *solver, bb_factor_engine *out)
{
    bb_status status = BB_OK;
    *out = (bb_factor_engine){.row = bb_factor_engine_is_spread(solver) ? bb_engine_registered()
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

// Bytes sent between processes: the messages of the factorization and the tiles of both sweeps.
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

// Fraction of the operations of a solve without refinement that its factorization needs.
static double factor_share(const bb_factor_problem *problem)
{
    const bb_index n = problem->matrix->rows;
    return bb_tile_cholesky_flops(n, 0) /
           bb_tile_cholesky_flops(n, bb_factor_problem_sides(problem));
}

// Loads a right-hand side and checks that it is finite.
static bb_status load_side(const bb_matrix_source *side, double **out, bb_outcome *outcome)
{
    bb_status status = BB_OK;
    BB_TRY(BB_ALLOCATE(side->rows * side->columns, out));
    BB_TRY(bb_matrix_source_load(side, *out));
    bb_index bad = bb_stage_find_nonfinite("right-hand side", *out, side->rows * side->columns);
    if (bad >= 0) {
        bb_outcome_set(outcome, BB_OUTCOME_NON_FINITE,
                       "%s, row %td, column %td: %g, expected a finite value", side->name,
                       bad / side->columns, bad % side->columns, (*out)[bad]);
    }
done:
    return status;
}

// Solves for R of every target with one inverse.
static bb_status solve_sides(const bb_factor_problem *problem, const bb_inverse *inverse,
                             double **r, bb_outcome *outcome)
{
    bb_status status = BB_OK;
    bb_low_rank_update *update = NULL;
    const double sides = (double)bb_factor_problem_sides(problem);
    double done = factor_share(problem);
    bb_log_progress_part(done, done);
    BB_TRY(bb_low_rank_update_make(inverse, &problem->part, outcome, &update));
    for (bb_index t = 0; t < problem->target_count && outcome->kind == BB_OUTCOME_OK; ++t) {
        bb_index rows = problem->sides[t]->rows;
        const double share = (1.0 - factor_share(problem)) * (double)rows / sides;
        bb_log_progress_part(done, done + share);
        done += share;
        BB_TRY(load_side(problem->sides[t], &r[t], outcome));
        if (outcome->kind != BB_OUTCOME_OK) {
            break;
        }
        BB_TRY(bb_reconstructor_make(inverse, update, rows, r[t], outcome));
        bb_index bad = bb_stage_find_nonfinite("reconstructor", r[t], rows * inverse->n);
        if (bad >= 0) {
            bb_outcome_set(outcome, BB_OUTCOME_NON_FINITE, "reconstructor %td, row %td, column %td",
                           t, bad / inverse->n, bad % inverse->n);
        }
    }
done:
    bb_low_rank_update_destroy(&update);
    return status;
}

static void note_refinement(const bb_factor_problem *problem, const bb_refinement_report *refined,
                            bb_factor_report *report)
{
    bb_index sides = bb_factor_problem_sides(problem);
    report->break_even = bb_refinement_break_even(problem->matrix->rows, sides);
    report->iterations_mean = (double)refined->iterations / (double)refined->rows;
    report->iterations_most = (double)refined->slowest;
    bb_log_info("refinement of %td right-hand sides: %.1f iterations, at most %td; break-even with "
                "a direct factorization in x3 at %.2f",
                sides, report->iterations_mean, refined->slowest, report->break_even);
}

// Solves with the factor alone, or with refinement; adds to the operations.
static bb_status solve_with(const bb_factor_problem *problem, const bb_factor_pipeline *pipeline,
                            const bb_tile_matrix *factor, double **r, bb_evaluation *evaluation,
                            double *flops)
{
    bb_status status = BB_OK;
    bb_factor_inverse direct = {factor, problem->scale};
    bb_refinement refined = {.matrix = problem->matrix,
                             .scale = problem->scale,
                             .factor = factor,
                             .config = pipeline->refine};
    bool refines = pipeline->refine.method != (int)BB_REFINE_NONE;
    const bb_inverse inverse =
        refines ? bb_inverse_of_refinement(&refined) : bb_inverse_of_factor(&direct);
    BB_TRY(solve_sides(problem, &inverse, r, &evaluation->outcome));
    *flops += evaluation->flops_dense;
    if (refines) {
        note_refinement(problem, &refined.report, &evaluation->factor);
        *flops += bb_refinement_flops(factor->n, &refined.report);
    }
done:
    return status;
}

static void note_factor(const bb_policy_map *map, const bb_tile_matrix *factor,
                        bb_factor_report *report)
{
    double flops = 0.0;
    bb_policy_map_shares(map, report->tile_share);
    report->tolerance = map->tolerance;
    if (factor->work.factored < factor->n) {
        return; // the following values need a complete factorization
    }
    for (int v = 0; v < BB_VARIANT_COUNT; ++v) {
        flops += factor->work.flops[v];
    }
    for (int v = 0; flops > 0.0 && v < BB_VARIANT_COUNT; ++v) { // a single tile has no updates
        report->product_share[v] = factor->work.flops[v] / flops;
    }
    report->cost = flops > 0.0 ? bb_variant_relative_cost(report->product_share) : NAN;
    report->certificate = factor->work.certificate;
    report->saturated = (double)factor->work.saturated;
}

static bb_status solve_by_tiles(const bb_factor_problem *problem, const bb_factor_problem *drawn,
                                const bb_factor_pipeline *pipeline, double **r,
                                bb_evaluation *evaluation, bb_factor_effort *spent)
{
    bb_status status = BB_OK;
    bb_tile_matrix *factor = NULL;
    bb_policy_map *map = NULL;
    bb_tile_plan plan = bb_factor_pipeline_tiles(problem->solver, pipeline);
    double begin = bb_clock_seconds();
    BB_TRY(bb_factor_map_create(problem, &plan.policy, plan.arithmetic, &map));
    plan.map = map;
    BB_TRY(bb_factor_engine_load(problem->engine, problem->matrix, drawn->scale, &plan, &factor));
    spent->bytes += (double)bb_tile_matrix_bytes(factor);
    double encoded = bb_clock_seconds();
    spent->encode_seconds += encoded - begin;
    bb_log_progress_part(0.0, factor_share(problem));
    BB_TRY(bb_factor_engine_factor(problem->engine, factor, pipeline->accumulate_k,
                                   &evaluation->outcome, &evaluation->factor));
    note_factor(map, factor, &evaluation->factor);
    if (evaluation->outcome.kind == BB_OUTCOME_OK) {
        BB_TRY(solve_with(drawn, pipeline, factor, r, evaluation, &spent->flops));
    } else {
        spent->flops += bb_tile_cholesky_flops(factor->work.factored, 0);
    }
    spent->solve_seconds += bb_clock_seconds() - encoded;
done:
    bb_tile_matrix_destroy(&factor);
    bb_policy_map_destroy(&map);
    return status;
}

static const bb_factor_engine_row rows[] = {
    [BB_DEVICE_CPU] = {NULL, solve_by_tiles},
    [BB_DEVICE_CUDA] = {bb_factor_warm, bb_factor_device_run},
};

const bb_factor_engine_row *bb_factor_engine_of(bb_device_kind device)
{
    return &rows[device];
}
