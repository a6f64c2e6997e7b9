// SPDX-License-Identifier: Apache-2.0
//
// Order of a factorization by tiles: panels of adjacent tile columns, one after the other. A
// panel's tiles are updated by the columns before it, column by column, and then the panel itself
// is factored: left-looking over panels, right-looking within them. Every tile is updated in the
// order of the columns, so the panel width does not change the bits.
//
// A matrix in memory is one panel of all columns. With a limit, a panel is as wide as memory allows
// for its tiles, for the current column's tiles beside its diagonal (heads, twice, so that those of
// the next column can be read early), and for a few more tiles of the column. With R tile rows,
// panel p from column c_p on reads each column before it from row c_p down. Of T = R (R + 1) / 2
// tiles
//     T' + sum over p of c_p (R - c_p)
// are read, minus those that stay in memory between two panels; T' of them are tiles of A that did
// not stay in memory when they were loaded. At most T + T' tiles are written. With panels of equal
// width w the sum is R^3 / (6 w): each tile is read about R / (3 w) times.
#ifndef BB_SOLVERS_FACTOR_TILES_TILE_PANELS_H
#define BB_SOLVERS_FACTOR_TILES_TILE_PANELS_H

#include "solvers/factor/tiles/tile_matrix.h"

#include <stdatomic.h>

/// Panels and stages: stage `stage[p] + k` is the processing of column k < first[p + 1] for panel
/// p.
typedef struct bb_tile_panels {
    bb_index tile_rows, count;
    bb_index *first; ///< [count + 1] first columns; the last entry is tile_rows
    bb_index *stage; ///< [count + 1]
} bb_tile_panels;

/// Bytes of tile (row, column) in memory.
typedef size_t (*bb_tile_panels_measure)(const void *context, bb_index row, bb_index column);

/// Smallest limit that suffices for panels of one column, and for sweeps by rows and by columns.
size_t bb_tile_panels_least(bb_index tile_rows, bb_tile_panels_measure measure,
                            const void *context);

/// Creates panels within a limit in bytes, at least the one above; 0: no limit, one panel. Errors:
/// BB_MEMORY.
BB_CHECKED bb_status bb_tile_panels_create(bb_index tile_rows, size_t limit,
                                           bb_tile_panels_measure measure, const void *context,
                                           bb_tile_panels *out);
void bb_tile_panels_release(bb_tile_panels *panels);

/// Panel of a column or of a stage.
bb_index bb_tile_panels_of_column(const bb_tile_panels *panels, bb_index column);
bb_index bb_tile_panels_of_stage(const bb_tile_panels *panels, bb_index stage);

/// Number of tiles in the lower trapezoid of `rows` rows whose upper triangle has `width` <= rows
/// columns.
bb_index bb_tile_panels_cells(bb_index rows, bb_index width);

/// Row and column of tile t of this trapezoid, row by row.
void bb_tile_panels_cell(bb_index t, bb_index width, bb_index *row, bb_index *column);

/// Number of updates of panel p's tiles by column k.
bb_index bb_tile_panels_updates(const bb_tile_panels *panels, bb_index p, bb_index k);

/// How often tile (row, column) is an operand for panel p's tiles; for its own diagonal tile, the
/// number of solves.
bb_index bb_tile_panels_uses(const bb_tile_panels *panels, bb_index p, bb_index row,
                             bb_index column);

/// Stage in which tile (row, column) is used next after panel p, or BB_TILE_STORE_NEVER.
bb_index bb_tile_panels_next_use(const bb_tile_panels *panels, bb_index p, bb_index row,
                                 bb_index column);

/// Bytes of the table.
bb_need bb_tile_panels_need(bb_index tile_rows);

// Stream: a thread that reads the tiles of a stored matrix into memory in the order in which the
// factorization uses them, so that reading overlaps with products. Memory contains the current
// panel's tiles, except those that are final and no longer used, and as many tiles of earlier
// columns as fit.
//
// No deadlock: tasks start in one order and tiles arrive in that order. When the first unfinished
// task waits for a tile, all acquired tiles are needed by it or by later tasks of its panel, and
// bb_tile_panels_least allows for these.

typedef struct bb_tile_stream bb_tile_stream;

/// Arguments of a stream, shared with the factorization and borrowed while it runs.
typedef struct bb_tile_stream_work {
    bb_tile_matrix *matrix;
    const bb_tile_panels *panels;
    atomic_bool *stopped; ///< set by a breakdown, or by the stream when it fails
    /// Called on the stream's thread when tile (row, column) of a column before the panel is in
    /// memory for a stage. Returns false if the work was stopped.
    bool (*arrived)(void *context, bb_index stage, bb_index row, bb_index column);
    void *context;
} bb_tile_stream_work;

/// Starts the thread. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_tile_stream_create(const bb_tile_stream_work *work, bb_tile_stream **out);

/// Waits until tile (row, column) is in memory for panel p; returns false if the work was stopped.
bool bb_tile_stream_await(bb_tile_stream *stream, bb_index p, bb_index row, bb_index column);

/// Call it once for each use counted by bb_tile_panels_uses, and once more for a tile of the panel
/// when it is final.
void bb_tile_stream_drop(bb_tile_stream *stream, bb_index p, bb_index row, bb_index column);

/// Joins the thread, which ends when all tiles have been used, or is stopped otherwise. Afterwards
/// no tile is acquired. `*waited` receives the total time of all bb_tile_stream_await calls [s].
/// Errors: from the store.
BB_CHECKED bb_status bb_tile_stream_finish(bb_tile_stream **stream, double *waited);

/// Memory of a stream.
bb_need bb_tile_stream_need(bb_index tile_rows);

#endif
