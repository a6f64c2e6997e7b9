// SPDX-License-Identifier: Apache-2.0
//
// Brings the tiles of a stored matrix into memory in the order in which a factorization takes them,
// on a thread of its own, so that reading hides behind products. What is held at a time are the
// present panel's tiles that are not final and used up, and as many of the columns before it as
// there is room for.
//
// No deadlock: tasks are taken in one order and tiles come in the order of the tasks. When the
// first task that is not done waits for a tile, all that is held is held for it or for later ones
// of its panel, and that is what bb_tile_panels_least counts.
#ifndef BB_SOLVERS_FACTOR_TILES_TILE_STREAM_H
#define BB_SOLVERS_FACTOR_TILES_TILE_STREAM_H

#include "solvers/factor/tiles/tile_panels.h"

#include <stdatomic.h>

typedef struct bb_tile_stream bb_tile_stream;

/// What a factorization shares with its stream; borrowed while that runs.
typedef struct bb_tile_stream_work {
    bb_tile_matrix *matrix;
    const bb_tile_panels *panels;
    atomic_bool *stopped; ///< by a breakdown, or by the stream when it fails
    /// On the stream's thread: tile (row, column) of a column before the panel is in memory for a
    /// stage. Returns false where the work was stopped.
    bool (*arrived)(void *context, bb_index stage, bb_index row, bb_index column);
    void *context;
} bb_tile_stream_work;

/// Starts the thread. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_tile_stream_create(const bb_tile_stream_work *work, bb_tile_stream **out);

/// Waits until tile (row, column) is in memory for panel p; false where the work was stopped.
bool bb_tile_stream_await(bb_tile_stream *stream, bb_index p, bb_index row, bb_index column);

/// Panel p took tile (row, column) as an operand, or it is final: one of bb_tile_panels_uses, and
/// one more for a tile of the panel.
void bb_tile_stream_drop(bb_tile_stream *stream, bb_index p, bb_index row, bb_index column);

/// Waits for the thread, which has ended where all was taken, and otherwise stops. Nothing is held
/// afterwards. `*waited` gets the seconds that all awaits took. Errors: the store's.
BB_CHECKED bb_status bb_tile_stream_finish(bb_tile_stream **stream, double *waited);

/// Bytes of it.
bb_need bb_tile_stream_need(bb_index tile_rows);

#endif
