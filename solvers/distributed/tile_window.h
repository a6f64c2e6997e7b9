// SPDX-License-Identifier: Apache-2.0
//
// The tiles of a factor dealt over the team (core/team.h), on their way through every process: a
// row or a column at a time comes from those that keep its tiles, in the words of the tiles'
// formats (fp16 and bf16 in 2 bytes a value, fp32 in 4, fp64 in 8) or in fp32. Each sweep of all
// right-hand sides so moves the triangle once to every process.
#ifndef BB_SOLVERS_DISTRIBUTED_TILE_WINDOW_H
#define BB_SOLVERS_DISTRIBUTED_TILE_WINDOW_H

#include "solvers/distributed/tile_message.h"
#include "solvers/factor/tiles/tile_access.h"

typedef struct bb_tile_window bb_tile_window;

/// For factors dealt over `grid`, whose processes are the team's. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_tile_window_create(bb_process_grid grid, bb_wire wire,
                                           bb_tile_window **out);
void bb_tile_window_destroy(bb_tile_window **window);

/// The access that reads through a window, which keeps it. Its memory, a row of tiles and a tile's
/// message, is taken by the first row and given back when it leaves. Errors of its calls:
/// BB_MEMORY, the team's.
const bb_tile_access *bb_tile_window_access(const bb_tile_window *window);

/// What it takes in every process.
double bb_tile_window_bytes(const bb_tile_plan *plan, bb_index n);

/// Bytes that each process receives for both sweeps: out [processes].
void bb_tile_window_traffic(const bb_tile_matrix *matrix, bb_process_grid grid, bb_wire wire,
                            double *out);

#endif
