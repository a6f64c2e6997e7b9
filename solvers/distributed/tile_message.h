// SPDX-License-Identifier: Apache-2.0
//
// Message of a final tile of L: a head with metadata for its readers, then the values in the words
// of one form. With wire format `follow` a form is an operand of the readers' products, in as many
// bytes as its format has (x3: two planes of fp16). With `fp32` it is the tile's own values in fp32
// or fp64, which readers round themselves. Both give bit-identical products. If variants are
// selected per product, `follow` sends both possible operands: 6 bytes a value for fp16 and fp32,
// instead of 4.
//
// A tile is sent once to each process that reads it, in each form that this process may need; its
// owner reads the same message. bb_tile_message_traffic counts these bytes without sending any.
#ifndef BB_SOLVERS_DISTRIBUTED_TILE_MESSAGE_H
#define BB_SOLVERS_DISTRIBUTED_TILE_MESSAGE_H

#include "solvers/factor/tiles/tile_matrix.h"
#include "solvers/factor/tiles/tile_operand.h"

#include <stdint.h>

// Block-cyclic distribution of a symmetric matrix: rank (row mod P, column mod Q) of a P x Q grid
// owns tile (row, column), ranks counted row by row as in ScaLAPACK. Nothing here communicates.

/// Numbers of processes in rows and columns.
typedef struct bb_process_grid {
    int rows, columns;
} bb_process_grid;

/// Most nearly square grid with no more rows than columns; processes >= 1.
bb_process_grid bb_process_grid_of(int processes);

/// Parses a grid such as "2x4". Returns false unless it is two counts from 1 to 9999.
bool bb_process_grid_read(const char *text, bb_process_grid *out);

int bb_process_grid_size(bb_process_grid grid);

/// Rank that owns tile (row, column).
int bb_process_grid_owner(bb_process_grid grid, bb_index row, bb_index column);

/// Tiles of one rank as a share of a matrix (bb_tile_share).
typedef struct bb_block_cyclic_share {
    bb_process_grid grid;
    int rank;
} bb_block_cyclic_share;

/// `share` is borrowed.
bb_tile_share bb_block_cyclic_share_tiles(const bb_block_cyclic_share *share);

/// Memory of each rank's tiles of the lower triangle [bytes], with narrow values stored as floats:
/// out [processes].
void bb_process_grid_bytes(const bb_tile_matrix *matrix, bb_process_grid grid, double *out);

typedef enum bb_wire { BB_WIRE_FOLLOW, BB_WIRE_FP32 } bb_wire;

/// "follow", "fp32", NULL.
extern const char *const bb_wire_names[];

/// Head of a message.
typedef struct bb_tile_head {
    double norm;       ///< Frobenius norm of the tile's values
    double unit;       ///< e4m3: unit by which words are multiplied; otherwise 1
    int64_t breakdown; ///< nonzero: an earlier pivot failed and the values are undefined
} bb_tile_head;

/// Form in which products read an operand of tile (row, column). With BB_WIRE_FP32 it is the tile's
/// own values, BB_FORMAT_FP64 if the tile is stored in fp64; otherwise the operand itself.
bb_operand bb_tile_message_form(const bb_tile *tile, bb_operand operand, bb_wire wire);

/// Bytes of a tile's message in a form, including the head.
size_t bb_tile_message_bytes(const bb_tile *tile, bb_operand form);

/// Writes a tile's message; returns the number of values clipped to e4m3. `scratch` [2 rows *
/// columns] of floats.
bb_index bb_tile_message_write(const bb_tile *tile, bb_operand form, float *scratch, void *out);

/// Address of the operand of a product, read from a message in `form`: in place, or converted into
/// `copy` [rows * columns] as by bb_tile_convert, in words of bb_tile_operand_bytes. `tile`
/// supplies the sizes.
const void *bb_tile_message_read(const bb_tile *tile, bb_operand form, bb_operand operand,
                                 void *message, void *copy);

/// True if tile (row, column) has a message in this form.
bool bb_tile_message_is_sent(const bb_tile_matrix *matrix, bb_index row, bb_index column,
                             bb_operand form, bb_wire wire);

/// Bytes that each rank sends in a factorization: out [processes]; `readers` [processes] is
/// scratch.
void bb_tile_message_traffic(const bb_tile_matrix *matrix, bb_process_grid grid, bb_wire wire,
                             bool *readers, double *out);

#endif
