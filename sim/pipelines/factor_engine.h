// SPDX-License-Identifier: Apache-2.0
//
// Engines of factorizations: by tiles on the cpu, by panels on cuda, a row each.
//
// Tiles are those of this process alone, or of several by StarPU-MPI
// (solvers/distributed/engine.h), which the program bitbudget-mpi alone has. Every process of a run
// comes to the same calls; factors have the same bits by both.
#ifndef BB_SIM_PIPELINES_FACTOR_ENGINE_H
#define BB_SIM_PIPELINES_FACTOR_ENGINE_H

#include "sim/pipelines/factor_problem.h"
#include "solvers/distributed/engine.h"

/// A way to factor and solve.
typedef struct bb_factor_engine_row {
    /// First use of a pipeline's kernels, which no later time has; NULL: there are none. Errors:
    /// those of bb_factor_warm.
    bb_status (*warm)(const bb_factor_solver_config *solver, const bb_factor_pipeline *pipeline);
    /// One factorization of `problem` and its solves with the scale of `drawn`, the same problem as
    /// a draw: r[t], the evaluation's outcome and report; adds to `spent`. Errors: those of
    /// bb_factor_problem_solve.
    bb_status (*solve)(const bb_factor_problem *problem, const bb_factor_problem *drawn,
                       const bb_factor_pipeline *pipeline, double **r, bb_evaluation *evaluation,
                       bb_factor_effort *spent);
} bb_factor_engine_row;

/// The engine of a device that bb_factor_device_choose gave.
const bb_factor_engine_row *bb_factor_engine_of(bb_device_kind device);

/// Whether a solver's factorizations run over processes in this program.
bool bb_factor_engine_is_spread(const bb_factor_solver_config *solver);

/// Adds a problem for what this program or its number of processes cannot do. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_factor_engine_check(const bb_factor_solver_config *solver,
                                            const bb_config *config, bb_problems *problems);

/// The processes that a solver asks for: of its grid, else those of the team.
bb_process_grid bb_factor_engine_grid(const bb_factor_solver_config *solver);

/// An engine at work.
typedef struct bb_factor_engine {
    const bb_engine_row *row;
    bb_engine *engine;
    bb_engine_config config;
} bb_factor_engine;

/// Starts the engine of a solver, with as many workers as the pool has threads. Errors: those of
/// bb_engine_row.create. Close it with bb_factor_engine_close, after an error too.
BB_CHECKED bb_status bb_factor_engine_open(const bb_factor_solver_config *solver,
                                           bb_factor_engine *out);

/// `status` is that of the work: after a failure that the other processes need not have had they
/// may wait for this one, which ends them as it ends; its engine stays as it is. What is wrong with
/// a study (BB_INVALID) all find.
void bb_factor_engine_close(bb_factor_engine *engine, bb_status status);

/// The tiles of D A D, as bb_engine_row.load; NULL is this process's own engine.
BB_CHECKED bb_status bb_factor_engine_load(const bb_factor_engine *engine,
                                           const bb_matrix_source *source, const double *scale,
                                           const bb_tile_plan *plan, bb_tile_matrix **out);

/// Factors, as bb_engine_row.factor, and says in the report what the factor is and what went over
/// the wire for it and for its sweeps.
BB_CHECKED bb_status bb_factor_engine_factor(const bb_factor_engine *engine, bb_tile_matrix *factor,
                                             bb_index accumulate_k, bb_outcome *outcome,
                                             bb_factor_report *report);

/// Writes who computed into /provenance. Errors: those of bb_results_note.
BB_CHECKED bb_status bb_factor_engine_note(const bb_factor_engine *engine, bb_results *results);

#endif
