// SPDX-License-Identifier: Apache-2.0
//
// Engines of factorizations: tiles on the CPU and panels on CUDA, one row each.
//
// Tiles belong to this process alone, or are distributed over several by StarPU-MPI
// (solvers/distributed/engine.h), in the program bitbudget-mpi only. All processes of a run make
// the same calls. Factors have the same bits with both.
#ifndef BB_SIM_PIPELINES_FACTOR_ENGINE_H
#define BB_SIM_PIPELINES_FACTOR_ENGINE_H

#include "sim/pipelines/factor_problem.h"
#include "solvers/distributed/engine.h"

/// Engine to factor and solve on one kind of device.
typedef struct bb_factor_engine_row {
    /// Warms up a pipeline's kernels, so that their first use is in no time measurement; NULL: no
    /// kernels. Errors: from bb_factor_warm.
    bb_status (*warm)(const bb_factor_solver_config *solver, const bb_factor_pipeline *pipeline);
    /// Factors `problem` once and solves with the scale of `drawn`, the same problem as a draw.
    /// Sets r[t] and the evaluation's outcome and report, and adds to `spent`. Errors: those of
    /// bb_factor_problem_solve.
    bb_status (*solve)(const bb_factor_problem *problem, const bb_factor_problem *drawn,
                       const bb_factor_pipeline *pipeline, double **r, bb_evaluation *evaluation,
                       bb_factor_effort *spent);
} bb_factor_engine_row;

/// Engine of a device selected by bb_factor_device_choose.
const bb_factor_engine_row *bb_factor_engine_of(bb_device_kind device);

/// True if a solver's factorizations run over processes in this program.
bool bb_factor_engine_is_spread(const bb_factor_solver_config *solver);

/// Adds problems for settings that this program or its number of processes does not support.
/// Errors: BB_MEMORY.
BB_CHECKED bb_status bb_factor_engine_check(const bb_factor_solver_config *solver,
                                            const bb_config *config, bb_problems *problems);

/// Process grid of a solver; by default that of the team.
bb_process_grid bb_factor_engine_grid(const bb_factor_solver_config *solver);

/// Open engine with its settings.
typedef struct bb_factor_engine {
    const bb_engine_row *row;
    bb_engine *engine;
    bb_engine_config config;
} bb_factor_engine;

/// Starts the engine of a solver, with as many workers as the pool has threads. Errors: those of
/// bb_engine_row.create. Close it with bb_factor_engine_close, after an error too.
BB_CHECKED bb_status bb_factor_engine_open(const bb_factor_solver_config *solver,
                                           bb_factor_engine *out);

/// Closes the engine. `status` is that of the work. After a failure that other processes may not
/// have had, they may be waiting for this one, so the engine is left open; the exit of this process
/// ends them. BB_INVALID occurs in all processes alike.
void bb_factor_engine_close(bb_factor_engine *engine, bb_status status);

/// Loads the tiles of D A D, as bb_engine_row.load; `engine` NULL is this process's own.
BB_CHECKED bb_status bb_factor_engine_load(const bb_factor_engine *engine,
                                           const bb_matrix_source *source, const double *scale,
                                           const bb_tile_plan *plan, bb_tile_matrix **out);

/// Factors, as bb_engine_row.factor, and reports the factor's digest and the traffic between
/// processes for it and its sweeps.
BB_CHECKED bb_status bb_factor_engine_factor(const bb_factor_engine *engine, bb_tile_matrix *factor,
                                             bb_index accumulate_k, bb_outcome *outcome,
                                             bb_factor_report *report);

/// Writes the engine's name and grid to /provenance. Errors: from bb_results_note.
BB_CHECKED bb_status bb_factor_engine_note(const bb_factor_engine *engine, bb_results *results);

#endif
