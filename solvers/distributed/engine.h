// SPDX-License-Identifier: Apache-2.0
//
// Who factors a symmetric matrix by tiles: this process alone, or several through StarPU-MPI. Every
// engine runs the same kernels on a tile in the same order (solvers/factor/tiles), so the factor
// has the same bits by all of them, on any grid, by any number of workers and with either wire,
// where BLAS runs one thread inside a task (core/thread.h; OPENBLAS_NUM_THREADS=1).
//
// Calls are collective: every process of a grid makes them in the same order with equal arguments.
// A failure of one is returned by all, a breakdown of the factorization has one outcome on all. A
// task that StarPU refuses ends the processes (MPI_Abort): others wait for what it would send.
//
// StarPU: every process submits all tasks and keeps 4 KB for every tile of the matrix, wherever it
// is. Solves with a factor over several processes are collective, too: right-hand sides, which all
// processes have, are dealt over the team (core/team.h), which is to be these processes, and tiles
// come by (tile_window.h). A process that fails within a solve has to end the others. Norms of
// others' tiles stay those of A.
#ifndef BB_SOLVERS_DISTRIBUTED_ENGINE_H
#define BB_SOLVERS_DISTRIBUTED_ENGINE_H

#include "core/outcome.h"
#include "solvers/distributed/tile_message.h"

typedef struct bb_engine_config {
    bb_process_grid grid; ///< 0 x 0: bb_process_grid_of the processes
    bb_wire wire;
    double stall_s;   ///< StarPU: bb_stall_watch_limit from now on
    bb_index workers; ///< StarPU's of a process, at least 1; `own` takes the pool's threads
} bb_engine_config;

typedef struct bb_engine bb_engine;

/// What an engine can do; all members are set.
typedef struct bb_engine_row {
    const char *name;
    /// Joins the other processes; MPI, where the engine needs it, is the caller's to start and
    /// end, with MPI_THREAD_MULTIPLE. Errors: BB_INVALID (a grid of another number of processes),
    /// BB_MEMORY, BB_INTERNAL.
    bb_status (*create)(const bb_engine_config *config, bb_engine **out);
    void (*destroy)(bb_engine **engine);
    /// This process's tiles of D A D, with the norms of all; as bb_tile_matrix_create. The source
    /// is whole in every process. The matrix is used while the engine is there.
    bb_status (*load)(bb_engine *engine, const bb_matrix_source *source, const double *scale,
                      const bb_tile_plan *plan, bb_tile_matrix **out);
    /// Factors in place, as bb_tile_cholesky_factor; the outcome and `matrix->work` are those of
    /// the whole. `sent` [processes] or NULL: bytes of the messages that each process sent for it,
    /// as StarPU counted them with STARPU_COMM_STATS=1 in the environment; else NaN. Errors:
    /// BB_INVALID, BB_MEMORY.
    bb_status (*factor)(bb_engine *engine, bb_tile_matrix *matrix, bb_index accumulate_k,
                        bb_outcome *outcome, double *sent);
    /// bb_tile_matrix_digest of the whole.
    bb_status (*digest)(bb_engine *engine, const bb_tile_matrix *matrix, uint64_t *out);
} bb_engine_row;

extern const bb_engine_row bb_engine_own;    ///< one process, its pool of threads
extern const bb_engine_row bb_engine_starpu; ///< in programs that link StarPU-MPI

/// The engine over processes that this program has, borrowed; before any work. A program that says
/// nothing has none.
void bb_engine_offer(const bb_engine_row *row);

/// That engine, or NULL.
const bb_engine_row *bb_engine_offered(void);

// Plan of a factorization over processes and of the sweeps of its right-hand sides: memory of the
// fullest process, bytes on the wire, and a time by the model
//     t = max(work / (P w), submission) + bytes / rate + sweeps / (P w) + their bytes / rate
// with P processes of w workers, the work at the nominal rates of core/need.h, 24 us a task that
// every process submits, and a wire of BB_ENGINE_PLAN_WIRE_RATE.

/// Bytes a second that a process sends, or receives: nine tenths of 10 Gb/s Ethernet.
#define BB_ENGINE_PLAN_WIRE_RATE 1.125e9

typedef struct bb_engine_plan {
    double tile_bytes;   ///< of the fullest process's tiles in its memory
    double host_bytes;   ///< all that process takes: tiles, StarPU's, messages, sweeps
    double factor_bytes; ///< between all processes, for the factor
    double sweep_bytes;  ///< that come to one process, at most, for both sweeps
    double seconds;
} bb_engine_plan;

/// Of n x n in the tiles of `plan` and `rows` right-hand sides; `variants` [count] are those that
/// tiles may get: of a policy whose rule needs facts all count as the widest of them. `config` has
/// its grid and workers. Errors: BB_MEMORY, BB_INVALID (the plan's).
BB_CHECKED bb_status bb_engine_plan_make(const bb_engine_config *config, const bb_tile_plan *plan,
                                         bb_index n, bb_index rows, int count,
                                         const bb_variant *variants, bb_engine_plan *out);

#endif
