// SPDX-License-Identifier: Apache-2.0
//
// Access to the tiles of a factor that are not all in memory of this process, for the sweeps: one
// row of tiles at a time in the forward sweep, one column in the backward sweep. The creator of the
// access knows whether they come from other processes or from a file.
#ifndef BB_SOLVERS_FACTOR_TILES_TILE_ACCESS_H
#define BB_SOLVERS_FACTOR_TILES_TILE_ACCESS_H

#include "solvers/factor/tiles/tile_matrix.h"

typedef struct bb_tile_access {
    /// Makes the values of tiles (k, 0), ..., (k, k) available until the next call on this matrix.
    bb_status (*load_row)(void *context, const bb_tile_matrix *matrix, bb_index k);
    /// Makes available the tiles of column k: (k, k), (k + 1, k), ....
    bb_status (*load_column)(void *context, const bb_tile_matrix *matrix, bb_index k);
    /// Releases the tiles and their memory; also called after a failure.
    void (*release)(void *context, const bb_tile_matrix *matrix);
    /// True if right-hand sides are distributed over the team (core/team.h); then every process
    /// makes these calls.
    bool distributes_sides;
    void *context;
} bb_tile_access;

#endif
