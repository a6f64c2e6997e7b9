// SPDX-License-Identifier: Apache-2.0
//
// Engines that factor a symmetric matrix by tiles: in this process alone, or in several through
// StarPU-MPI. Every engine runs the same kernels on a tile in the same order
// (solvers/factor/tiles). The factor is therefore bit-identical for every engine, grid, number of
// workers and wire format, if BLAS runs one thread inside a task (core/thread.h;
// OPENBLAS_NUM_THREADS=1).
//
// Calls are collective: every process of a grid makes them in the same order with equal arguments.
// All processes return the failure of one; a breakdown of the factorization has the same outcome on
// all. If StarPU refuses a task, all processes end (MPI_Abort), because others wait for its
// messages.
//
// StarPU: every process submits all tasks and keeps 4 KB for every tile of the matrix, including
// tiles of other processes. Solves with a factor over several processes are collective, too. Every
// process has all right-hand sides and solves its share of them (core/team.h; the team must be
// these processes) while tiles are broadcast (tile_window.h). A process that fails within a solve
// has to end the others. Norms of tiles owned by other processes remain those of A.
#ifndef BB_SOLVERS_DISTRIBUTED_ENGINE_H
#define BB_SOLVERS_DISTRIBUTED_ENGINE_H

#include "core/outcome.h"
#include "solvers/distributed/tile_message.h"

typedef struct bb_engine_config {
    bb_process_grid grid; ///< 0 x 0: bb_process_grid_of the number of processes
    bb_wire wire;
    double stall_s;   ///< StarPU: passed to bb_stall_watch_limit
    bb_index workers; ///< StarPU workers per process, at least 1; `own` uses the thread pool
} bb_engine_config;

typedef struct bb_engine bb_engine;

/// Operations of an engine; all members are set.
typedef struct bb_engine_row {
    const char *name;
    /// Joins the other processes. If the engine needs MPI, the caller initialises it with
    /// MPI_THREAD_MULTIPLE and finalises it. Errors: BB_INVALID (the grid has another number of
    /// processes), BB_MEMORY, BB_INTERNAL.
    bb_status (*create)(const bb_engine_config *config, bb_engine **out);
    void (*destroy)(bb_engine **engine);
    /// Creates this process's tiles of D A D with the norms of all tiles; see
    /// bb_tile_matrix_create. Every process has the whole source. The matrix must not outlive the
    /// engine.
    bb_status (*load)(bb_engine *engine, const bb_matrix_source *source, const double *scale,
                      const bb_tile_plan *plan, bb_tile_matrix **out);
    /// Factors in place; see bb_tile_cholesky_factor. The outcome and `matrix->work` describe the
    /// whole matrix. `sent` [processes] or NULL: bytes of the messages that each process sent,
    /// counted by StarPU if STARPU_COMM_STATS=1 is in the environment, else NaN. Errors:
    /// BB_INVALID, BB_MEMORY.
    bb_status (*factor)(bb_engine *engine, bb_tile_matrix *matrix, bb_index accumulate_k,
                        bb_outcome *outcome, double *sent);
    /// Computes bb_tile_matrix_digest of the whole matrix.
    bb_status (*digest)(bb_engine *engine, const bb_tile_matrix *matrix, uint64_t *out);
} bb_engine_row;

extern const bb_engine_row bb_engine_own;    ///< engine of one process with its thread pool
extern const bb_engine_row bb_engine_starpu; ///< engine of several processes, in programs that link
                                             ///< StarPU-MPI

/// Registers this program's engine for several processes (borrowed) before any other work. By
/// default no engine is registered.
void bb_engine_register(const bb_engine_row *row);

/// The registered engine, or NULL.
const bb_engine_row *bb_engine_registered(void);

// Plan of a factorization over processes and of the sweeps of its right-hand sides: memory of the
// process with most tiles, bytes on the wire, and a time by the model
//     t = max(work / (P w), submission) + bytes / rate + sweeps / (P w) + sweep bytes / rate
// with P processes of w workers, the work at the nominal rates of core/need.h, 24 us per task in
// every process, and a wire of BB_ENGINE_PLAN_WIRE_RATE.

/// Send or receive rate of a process [bytes/s]: nine tenths of 10 Gb/s Ethernet.
#define BB_ENGINE_PLAN_WIRE_RATE 1.125e9

typedef struct bb_engine_plan {
    double tile_bytes;   ///< tiles of the process that has most of them
    double host_bytes;   ///< total of that process: tiles, StarPU, messages, sweeps
    double factor_bytes; ///< bytes sent between all processes for the factor
    double sweep_bytes;  ///< largest number of bytes received by one process for both sweeps
    double seconds;
} bb_engine_plan;

/// Plans an n x n matrix in the tiles of `plan` with `rows` right-hand sides. `variants` [count]
/// are the variants that tiles may get: with a rule whose inputs are unknown, all tiles count as
/// the widest of them. `config` supplies grid and workers. Errors: BB_MEMORY, BB_INVALID (from the
/// plan).
BB_CHECKED bb_status bb_engine_plan_make(const bb_engine_config *config, const bb_tile_plan *plan,
                                         bb_index n, bb_index rows, int count,
                                         const bb_variant *variants, bb_engine_plan *out);

#endif
