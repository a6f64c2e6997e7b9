// SPDX-License-Identifier: Apache-2.0
//
// How a final tile of L travels: a head with what its readers ask of it, then its values in the
// words of one form. A form is an operand of products (`follow`: what those into the reader's tiles
// take, in as many bytes as the format has, x3 as two planes of fp16), or the tile's own values in
// fp32 or fp64 (`fp32`), which readers round for themselves. Both give products the same bits.
// Where products are chosen one by one `follow` sends both operands that they may take, in fp16 and
// fp32 6 bytes a value for 4.
//
// A tile goes once to each process that reads it, in each form that this one may ask for; a
// process that keeps it itself reads the same message. bb_tile_message_traffic counts these bytes
// without sending any.
#ifndef BB_SOLVERS_DISTRIBUTED_TILE_MESSAGE_H
#define BB_SOLVERS_DISTRIBUTED_TILE_MESSAGE_H

#include "solvers/factor/tiles/tile_matrix.h"
#include "solvers/factor/tiles/tile_operand.h"

#include <stdint.h>

// Who keeps which tile of a symmetric matrix over several processes, and what each keeps: tile
// (row, column) is that of process (row mod P, column mod Q) of a grid of P x Q, row by row, as
// ScaLAPACK deals blocks. Nothing here talks to another process.

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
int bb_process_grid_owner(bb_process_grid grid, bb_index row, bb_index column);

/// The tiles of a rank, as a share of a matrix (bb_tile_share).
typedef struct bb_block_cyclic_share {
    bb_process_grid grid;
    int rank;
} bb_block_cyclic_share;

/// `share` is borrowed.
bb_tile_share bb_block_cyclic_share_tiles(const bb_block_cyclic_share *share);

/// Bytes that the lower tiles of each rank take in its memory, narrow values as floats: out
/// [processes].
void bb_process_grid_bytes(const bb_tile_matrix *matrix, bb_process_grid grid, double *out);

typedef enum bb_wire { BB_WIRE_FOLLOW, BB_WIRE_FP32 } bb_wire;

/// "follow", "fp32", NULL.
extern const char *const bb_wire_names[];

/// What stands before the values.
typedef struct bb_tile_head {
    double norm;       ///< of the tile's values, Frobenius
    double unit;       ///< e4m3: what its words are multiplied by; 1 otherwise
    int64_t breakdown; ///< not 0: a pivot failed before; the values are nothing
} bb_tile_head;

/// The form in which products read an operand of tile (row, column): that operand, or with
/// BB_WIRE_FP32 the values of the tile, BB_FORMAT_FP64 where it is kept in fp64.
bb_operand bb_tile_message_form(const bb_tile *tile, bb_operand operand, bb_wire wire);

/// Bytes of a tile's message in a form, the head with them.
size_t bb_tile_message_bytes(const bb_tile *tile, bb_operand form);

/// Writes a tile's message; returns how many of its values e4m3 clipped. `scratch`
/// [2 rows * columns] of floats.
bb_index bb_tile_message_write(const bb_tile *tile, bb_operand form, float *scratch, void *out);

/// The operand that a product reads from a message in `form`, in `copy` as bb_tile_convert writes
/// it, or as it lies in the message: the address of what to read. `tile` has the sizes. `copy`
/// [rows * columns] in words of bb_tile_operand_bytes.
const void *bb_tile_message_read(const bb_tile *tile, bb_operand form, bb_operand operand,
                                 void *message, void *copy);

/// Whether tile (row, column) has a message in a form.
bool bb_tile_message_is_sent(const bb_tile_matrix *matrix, bb_index row, bb_index column,
                             bb_operand form, bb_wire wire);

/// Bytes that each rank sends in a factorization: out [processes]; `readers` [processes] is
/// scratch.
void bb_tile_message_traffic(const bb_tile_matrix *matrix, bb_process_grid grid, bb_wire wire,
                             bool *readers, double *out);

#endif
