// SPDX-License-Identifier: Apache-2.0
//
// The order of a factorization by tiles: panels of neighbouring tile columns, one after the other.
// A panel's tiles take their updates by the columns before it, column by column, and then it is
// factored in itself: left-looking over panels, right-looking in them. Every tile takes its updates
// in the order of the columns, however wide the panels are, so they do not change the bits.
//
// In memory there is one panel, of all columns. With a limit a panel is as wide as its tiles, the
// column's tiles beside its diagonal (heads, twice, so that those of the next column can come
// early) and a few more of the column fit into it. With R tile rows, panel p from column c_p on
// reads each column before it from row c_p down, so out of T = R (R + 1) / 2 tiles
//     T' + sum over p of c_p (R - c_p)
// are read, T' of them those of A that did not stay in memory when they were loaded, less those
// that stay between two panels; and T + T' at most are written. With panels of equal width w the
// sum is R^3 / (6 w): each tile is read about R / (3 w) times.
#ifndef BB_SOLVERS_FACTOR_TILES_TILE_PANELS_H
#define BB_SOLVERS_FACTOR_TILES_TILE_PANELS_H

#include "solvers/factor/tiles/tile_matrix.h"

#include <stdatomic.h>

/// Stage `stage[p] + k` of the work is what panel p does with column k < first[p + 1].
typedef struct bb_tile_panels {
    bb_index tile_rows, count;
    bb_index *first; ///< [count + 1] columns; the last is tile_rows
    bb_index *stage; ///< [count + 1]
} bb_tile_panels;

/// Bytes of tile (row, column) in memory.
typedef size_t (*bb_tile_panels_measure)(const void *context, bb_index row, bb_index column);

/// The least limit that panels of one column can do with, and sweeps by rows and by columns.
size_t bb_tile_panels_least(bb_index tile_rows, bb_tile_panels_measure measure,
                            const void *context);

/// Panels within a limit in bytes, at least the one above; 0: none, one panel. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_tile_panels_create(bb_index tile_rows, size_t limit,
                                           bb_tile_panels_measure measure, const void *context,
                                           bb_tile_panels *out);
void bb_tile_panels_release(bb_tile_panels *panels);

/// Panel of a column or of a stage.
bb_index bb_tile_panels_of_column(const bb_tile_panels *panels, bb_index column);
bb_index bb_tile_panels_of_stage(const bb_tile_panels *panels, bb_index stage);

/// Tiles of the lower trapezoid of `rows` rows whose upper triangle has `width` <= rows columns.
bb_index bb_tile_panels_cells(bb_index rows, bb_index width);

/// Row and column of item t of it, row by row.
void bb_tile_panels_cell(bb_index t, bb_index width, bb_index *row, bb_index *column);

/// Updates of panel p's tiles by column k.
bb_index bb_tile_panels_updates(const bb_tile_panels *panels, bb_index p, bb_index k);

/// How often panel p's tiles take tile (row, column) as an operand; of a diagonal tile of its own,
/// how many solves do.
bb_index bb_tile_panels_uses(const bb_tile_panels *panels, bb_index p, bb_index row,
                             bb_index column);

/// The stage in which tile (row, column) is used next after panel p, BB_TILE_STORE_NEVER for none.
bb_index bb_tile_panels_next_use(const bb_tile_panels *panels, bb_index p, bb_index row,
                                 bb_index column);

/// Bytes of the table.
bb_need bb_tile_panels_need(bb_index tile_rows);

// Stream: reads the tiles of a stored matrix into memory in the order in which a factorization
// takes them, on a thread of its own, so that reading hides behind products. In memory at a time
// are the present panel's tiles that are not final and used up, and as many of the columns before
// it as there is room for.
//
// No deadlock: tasks are taken in one order and tiles come in the order of the tasks. When the
// first task that is not done waits for a tile, all that is held is held for it or for later ones
// of its panel, and that is what bb_tile_panels_least counts.

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
