// SPDX-License-Identifier: Apache-2.0
//
// How the sweeps read a factor whose tiles are not all here: one row of tiles at a time going
// forward, one column going backward. Which they are, other processes' or a file's, is the
// business of whoever made the access.
#ifndef BB_SOLVERS_FACTOR_TILES_TILE_ACCESS_H
#define BB_SOLVERS_FACTOR_TILES_TILE_ACCESS_H

#include "solvers/factor/tiles/tile_matrix.h"

typedef struct bb_tile_access {
    /// Brings the values of tiles (k, 0), ..., (k, k) here until the next call on this matrix.
    bb_status (*bring_row)(void *context, const bb_tile_matrix *matrix, bb_index k);
    /// The same of tiles (k, k), (k + 1, k), ..., those of column k.
    bb_status (*bring_column)(void *context, const bb_tile_matrix *matrix, bb_index k);
    /// What was brought leaves, and the room for it is given back; after a failure, too.
    void (*leave)(void *context, const bb_tile_matrix *matrix);
    /// Whether right-hand sides are dealt over the team (core/team.h), every process of which makes
    /// these calls.
    bool deals_sides;
    void *context;
} bb_tile_access;

#endif
