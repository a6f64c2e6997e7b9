// SPDX-License-Identifier: Apache-2.0
//
// Index arithmetic of a transform matrix on a GPU (solvers/operator/transform_stream.h), for both
// sides: which blocks of the mesh a panel has, what one thread does of a transform of a few short
// axes, and the words that coefficients stand in.
//
// A panel has every `panels`-th block of the mesh: a near field is spread over all of them.
// Frequencies of its blocks stand after one another in shared memory, `cells` a block, and a
// coefficient names its own by 10 bits.
#ifndef BB_SOLVERS_OPERATOR_TRANSFORM_STREAM_CORE_H
#define BB_SOLVERS_OPERATOR_TRANSFORM_STREAM_CORE_H

#include "core/portable.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    BB_TRANSFORM_PANEL_CELLS = 1024, ///< most of a panel
    BB_TRANSFORM_CELL_BITS = 10,
    BB_TRANSFORM_NARROW = 8, ///< entries of 16 bytes
    BB_TRANSFORM_WIDER = 4,
    BB_TRANSFORM_LONG = 2,
    BB_TRANSFORM_TILE = 4, ///< frequencies of a thread
    BB_TRANSFORM_LANES = 32,
};

/// Lengths along the row grid's lines and columns and the mesh's, in whole, of a block, and blocks.
typedef struct bb_transform_shape {
    uint32_t extent[4], length[4], count[4];
    uint32_t panels, panel_blocks; ///< panel_blocks: most of a panel
    uint32_t cells, block_rows;    ///< of a whole block
} bb_transform_shape;

/// Matrices [n][pitch] along each axis for whole and for shorter blocks, out[k] = sum in[i]
/// M[i][k]: the transform of cells, and of rows its inverse. Rows are filled up to a pitch of 8 or
/// more.
typedef struct bb_transform_bases {
    uint32_t first[4][2], pitch[4][2];
    uint32_t values; ///< of all
} bb_transform_bases;

/// Length of block `start` along an axis.
BB_DEVICE_FUNCTION
uint32_t bb_transform_stream_size(const bb_transform_shape *shape, int axis, uint32_t index)
{
    const uint32_t rest = shape->extent[axis] - index * shape->length[axis];
    return rest < shape->length[axis] ? rest : shape->length[axis];
}

/// Some frequencies, or values, that one thread has made: `count` of them, `step` apart.
typedef struct bb_transform_quad {
    double value[BB_TRANSFORM_TILE];
    uint32_t start, step, count;
} bb_transform_quad;

// Four outputs from `k` on of n inputs, `stride` apart; pitches are multiples of 8.
BB_DEVICE_FUNCTION
void bb_transform_stream_four(const double *basis, uint32_t n, uint32_t pitch, uint32_t k,
                              const double *input, uint32_t stride, bb_transform_quad *out)
{
    double sum[BB_TRANSFORM_TILE] = {0.0, 0.0, 0.0, 0.0};
    for (uint32_t i = 0; i < n; ++i) {
        const double value = input[i * stride];
#if defined(__CUDA_ARCH__)
        const double2 *pairs = reinterpret_cast<const double2 *>(basis + i * pitch + k);
        const double2 low = pairs[0];
        const double2 high = pairs[1];
        const double m[BB_TRANSFORM_TILE] = {low.x, low.y, high.x, high.y};
#else
        const double *m = basis + i * pitch + k;
#endif
        for (int o = 0; o < BB_TRANSFORM_TILE; ++o) {
            sum[o] = fma(m[o], value, sum[o]);
        }
    }
    for (int o = 0; o < BB_TRANSFORM_TILE; ++o) {
        out->value[o] = sum[o];
    }
    out->count = n - k < BB_TRANSFORM_TILE ? n - k : BB_TRANSFORM_TILE;
}

BB_DEVICE_FUNCTION
uint32_t bb_transform_stream_tiles(uint32_t n)
{
    return (n + BB_TRANSFORM_TILE - 1) / BB_TRANSFORM_TILE;
}

/// Threads' work in reading a panel's x, and in either pass over it.
BB_DEVICE_FUNCTION
uint32_t bb_transform_stream_cell_works(const bb_transform_shape *shape, int axis)
{
    return bb_transform_stream_tiles(shape->length[axis]) * shape->panel_blocks *
           shape->length[5 - axis];
}

/// Where value `work` < panel_blocks cells of a panel lies in x and in shared memory.
BB_DEVICE_FUNCTION
bool bb_transform_stream_cell(const bb_transform_shape *shape, uint32_t panel, uint32_t work,
                              uint32_t *of_x, uint32_t *cursor)
{
    const uint32_t j = work / shape->cells;
    const uint32_t line = work % shape->cells / shape->length[3];
    const uint32_t column = work % shape->length[3];
    const uint32_t block = panel + j * shape->panels;
    const uint32_t down = block / shape->count[3];
    const uint32_t across = block % shape->count[3];
    if (down >= shape->count[2] || line >= bb_transform_stream_size(shape, 2, down) ||
        column >= bb_transform_stream_size(shape, 3, across)) {
        return false;
    }
    *of_x =
        (down * shape->length[2] + line) * shape->extent[3] + across * shape->length[3] + column;
    *cursor = j * shape->cells + line * bb_transform_stream_size(shape, 3, across) + column;
    return true;
}

/// One of bb_transform_stream_cell_works of an axis of the mesh: lines first, which turns a block's
/// lines and columns over, then columns, which turns them back.
BB_DEVICE_FUNCTION
bb_transform_quad bb_transform_stream_along_cells(const bb_transform_shape *shape,
                                                  const bb_transform_bases *bases,
                                                  const double *values, uint32_t panel, int axis,
                                                  uint32_t work, const double *input)
{
    bb_transform_quad out = {{0.0, 0.0, 0.0, 0.0}, 0, 1, 0};
    const int other = 5 - axis;
    const uint32_t c = work % shape->length[other];
    const uint32_t j = work / shape->length[other] % shape->panel_blocks;
    const uint32_t k = work / shape->length[other] / shape->panel_blocks * BB_TRANSFORM_TILE;
    const uint32_t block = panel + j * shape->panels;
    const uint32_t down = block / shape->count[3];
    const uint32_t across = block % shape->count[3];
    if (down >= shape->count[2]) {
        return out;
    }
    const uint32_t n = bb_transform_stream_size(shape, axis, axis == 2 ? down : across);
    const uint32_t width = bb_transform_stream_size(shape, other, axis == 2 ? across : down);
    if (k < n && c < width) {
        const int rest = n < shape->length[axis];
        bb_transform_stream_four(values + bases->first[axis][rest], n, bases->pitch[axis][rest], k,
                                 input + j * shape->cells + c, width, &out);
        out.start = j * shape->cells + c * n + k;
    }
    return out;
}

/// Threads' work in either pass back over `groups` blocks of rows.
BB_DEVICE_FUNCTION
uint32_t bb_transform_stream_row_works(const bb_transform_shape *shape, int axis, uint32_t groups)
{
    return bb_transform_stream_tiles(shape->length[axis]) * groups * shape->length[1 - axis];
}

/// The block of rows of a piece of work, and which output of the other axis it is for.
BB_DEVICE_FUNCTION
void bb_transform_stream_row_work(const bb_transform_shape *shape, int axis, uint32_t groups,
                                  uint32_t work, uint32_t *group, uint32_t *c, uint32_t *k)
{
    *c = work % shape->length[1 - axis];
    *group = work / shape->length[1 - axis] % groups;
    *k = work / shape->length[1 - axis] / groups * BB_TRANSFORM_TILE;
}

/// The same for rows, whose block `group` counts the bands' blocks one after another: lines first,
/// from sums [row lines][row columns] to [row columns][lines], then columns, to [lines][columns].
BB_DEVICE_FUNCTION
bb_transform_quad bb_transform_stream_along_rows(const bb_transform_shape *shape,
                                                 const bb_transform_bases *bases,
                                                 const double *values, uint32_t group, int axis,
                                                 uint32_t c, uint32_t k, const double *input)
{
    bb_transform_quad out = {{0.0, 0.0, 0.0, 0.0}, 0, 1, 0};
    const uint32_t band = group / shape->count[1];
    const uint32_t across = group % shape->count[1];
    const uint32_t n = bb_transform_stream_size(shape, axis, axis == 0 ? band : across);
    const uint32_t width = bb_transform_stream_size(shape, 1 - axis, axis == 0 ? across : band);
    if (k < n && c < width) {
        const int rest = n < shape->length[axis];
        bb_transform_stream_four(values + bases->first[axis][rest], n, bases->pitch[axis][rest], k,
                                 input + c, width, &out);
        out.start = c * n + k;
    }
    return out;
}

/// Row of the matrix of value `start` of a block of rows.
BB_DEVICE_FUNCTION
uint64_t bb_transform_stream_row(const bb_transform_shape *shape, uint32_t group, uint32_t index)
{
    const uint32_t across = group % shape->count[1];
    const uint32_t width = bb_transform_stream_size(shape, 1, across);
    const uint64_t line = (uint64_t)(group / shape->count[1]) * shape->length[0] + index / width;
    return line * shape->extent[1] + across * shape->length[1] + index % width;
}

/// What a lane of a slice does: some of the chunks of one frequency of a block's rows, which 1 to
/// 32 neighbouring lanes take in turn. Bits: row 8, log2 lanes 3, chunks of narrow entries 8, of
/// others 10; then whether those are long, whether there is a row at all, and whether it is NaN.
typedef struct bb_transform_lane {
    uint32_t row, log_lanes;
    uint32_t narrow, others; ///< chunks of the row
    uint32_t is_long, present, poisoned;
} bb_transform_lane;

BB_DEVICE_FUNCTION
uint32_t bb_transform_lane_word(const bb_transform_lane *lane)
{
    return lane->row | lane->log_lanes << 8 | lane->narrow << 11 | lane->others << 19 |
           lane->is_long << 29 | lane->present << 30 | lane->poisoned << 31;
}

BB_DEVICE_FUNCTION
bb_transform_lane bb_transform_lane_of(uint32_t word)
{
    bb_transform_lane lane;
    lane.row = word & 255U;
    lane.log_lanes = word >> 8 & 7U;
    lane.narrow = word >> 11 & 255U;
    lane.others = word >> 19 & 1023U;
    lane.is_long = word >> 29 & 1U;
    lane.present = word >> 30 & 1U;
    lane.poisoned = word >> 31;
    return lane;
}

/// The row's chunk that a lane takes in a step; there is one if it is below narrow + others.
BB_DEVICE_FUNCTION
uint32_t bb_transform_lane_chunk(const bb_transform_lane *lane, uint32_t index, uint32_t step)
{
    return (step << lane->log_lanes) + (index & ((1U << lane->log_lanes) - 1U));
}

/// Entries: a cell of the panel in 10 bits below a quotient of 6, in 16 bits, or of 22, in 32; long
/// ones are a word for each.
BB_DEVICE_FUNCTION
uint32_t bb_transform_stream_entry_cell(uint32_t entry)
{
    return entry & (BB_TRANSFORM_PANEL_CELLS - 1U);
}

BB_DEVICE_FUNCTION
int32_t bb_transform_stream_entry_narrow(uint32_t entry)
{
    return (int32_t)(entry << 16) >> (16 + BB_TRANSFORM_CELL_BITS);
}

BB_DEVICE_FUNCTION
int32_t bb_transform_stream_entry_wide(uint32_t entry)
{
    return (int32_t)entry >> BB_TRANSFORM_CELL_BITS;
}

#endif
