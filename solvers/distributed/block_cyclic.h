// SPDX-License-Identifier: Apache-2.0
//
// Who keeps which tile of a symmetric matrix over several processes, and what each keeps: tile
// (row, column) is that of process (row mod P, column mod Q) of a grid of P x Q, row by row, as
// ScaLAPACK deals blocks. Nothing here talks to another process.
#ifndef BB_SOLVERS_DISTRIBUTED_BLOCK_CYCLIC_H
#define BB_SOLVERS_DISTRIBUTED_BLOCK_CYCLIC_H

#include "solvers/factor/tiles/tile_matrix.h"

/// Processes in rows and columns.
typedef struct bb_process_grid {
    int rows, columns;
} bb_process_grid;

/// The grid nearest to a square with no more rows than columns; processes >= 1.
bb_process_grid bb_process_grid_of(int processes);

/// A grid as text: "2x4". False where it is none of two counts of 1 to 9999.
bool bb_process_grid_read(const char *text, bb_process_grid *out);

int bb_process_grid_size(bb_process_grid grid);

/// Rank of the process that keeps tile (row, column).
int bb_block_cyclic_owner(bb_process_grid grid, bb_index row, bb_index column);

/// The tiles of a rank, as a share of a matrix (bb_tile_share).
typedef struct bb_block_cyclic_share {
    bb_process_grid grid;
    int rank;
} bb_block_cyclic_share;

/// `share` is borrowed.
bb_tile_share bb_block_cyclic_tiles(const bb_block_cyclic_share *share);

/// Bytes that the lower tiles of each rank take in its memory, narrow values as floats: out
/// [processes].
void bb_block_cyclic_bytes(const bb_tile_matrix *matrix, bb_process_grid grid, double *out);

#endif
