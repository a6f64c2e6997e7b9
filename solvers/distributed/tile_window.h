// SPDX-License-Identifier: Apache-2.0
//
// Window on the tiles of a factor that is distributed over the team (core/team.h). Owners broadcast
// one row or column of tiles at a time, in the words of the tiles' formats (fp16 and bf16 in 2
// bytes a value, fp32 in 4, fp64 in 8) or in fp32. Each sweep of all right-hand sides thus moves
// the triangle once to every process.
#ifndef BB_SOLVERS_DISTRIBUTED_TILE_WINDOW_H
#define BB_SOLVERS_DISTRIBUTED_TILE_WINDOW_H

#include "solvers/distributed/tile_message.h"
#include "solvers/factor/tiles/tile_access.h"

typedef struct bb_tile_window bb_tile_window;

/// For factors distributed over `grid`, whose processes must be the team. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_tile_window_create(bb_process_grid grid, bb_wire wire,
                                           bb_tile_window **out);
void bb_tile_window_destroy(bb_tile_window **window);

/// Access that reads through the window and is owned by it. The first line read allocates a row of
/// tiles and one message; `release` frees them. Errors of its calls: BB_MEMORY, errors of the team.
const bb_tile_access *bb_tile_window_access(const bb_tile_window *window);

/// Memory of the window in every process [bytes].
double bb_tile_window_bytes(const bb_tile_plan *plan, bb_index n);

/// Bytes that each process receives for both sweeps: out [processes].
void bb_tile_window_traffic(const bb_tile_matrix *matrix, bb_process_grid grid, bb_wire wire,
                            double *out);

#endif
