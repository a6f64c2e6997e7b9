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

#endif
