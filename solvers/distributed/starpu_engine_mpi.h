// SPDX-License-Identifier: Apache-2.0
//
// Declarations shared by the files of the StarPU-MPI engine.
#ifndef BB_SOLVERS_DISTRIBUTED_STARPU_ENGINE_MPI_H
#define BB_SOLVERS_DISTRIBUTED_STARPU_ENGINE_MPI_H

#include "solvers/distributed/engine.h"
#include "solvers/distributed/stall_watch_mpi.h"
#include "solvers/distributed/tile_window.h"

struct bb_engine {
    bb_process_grid grid;
    bb_wire wire;
    int rank, processes;
    bb_index workers;
    bb_tile_window *window; ///< used to read tiles of the factors
};

/// Most severe status of all processes. A process that succeeded itself gets a message that names
/// the failed rank.
BB_CHECKED bb_status bb_starpu_engine_agree(bb_status status);

/// Implements bb_engine_row.factor.
BB_CHECKED bb_status bb_starpu_engine_factor(bb_engine *engine, bb_tile_matrix *matrix,
                                             bb_index accumulate_k, bb_outcome *outcome,
                                             double *sent);

#endif
