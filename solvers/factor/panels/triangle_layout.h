// SPDX-License-Identifier: Apache-2.0
//
// Layout of the strictly lower triangle of a matrix in square blocks: block rows are distributed
// cyclically over several parts, and those of one part are folded into a rectangle.
//
// A part owns block rows i = first + step a, a = 0 ... m - 1; a single part owns all of them. Block
// row i has i blocks. Rows a and m - 1 - a of a part together have 2 first + step (m - 1) blocks
// and share one row of the rectangle. Nothing is thus stored twice, every block row is contiguous
// along its columns with one leading dimension, and a product can run over any of its columns at
// once:
//     a >= h = m / 2:  block row a - h of the rectangle, from column 0
//     a <  h:          block row m - 1 - a - h, behind the blocks of row m - 1 - a
// Diagonal blocks are stored separately.
//
// A panel (the part's block rows of one block column) is stored in the order of the rectangle: row
// a at position a - h, or m - 1 - a for a < h, so that both halves have constant strides in both.
//
// A strip is the part of L in one panel of many columns, for a single part: block rows from one on
// below each other, unfolded, restricted to the columns of the strip.
#ifndef BB_SOLVERS_FACTOR_PANELS_TRIANGLE_LAYOUT_H
#define BB_SOLVERS_FACTOR_PANELS_TRIANGLE_LAYOUT_H

#include "core/portable.h"
#include "core/status.h"

#include <stdbool.h>

typedef struct bb_triangle_layout {
    bb_index n;      ///< rows of the matrix
    bb_index block;  ///< rows and columns of a block
    bb_index blocks; ///< N = ceil(n / block)
    bb_index first;  ///< first block row of the part
    bb_index step;   ///< distance between block rows of the part: the number of parts
    bb_index held;   ///< m: number of block rows of the part
    bb_index half;   ///< h: block rows below this index are folded
    bb_index width;  ///< columns of the rectangle
    bb_index top;    ///< strip: its first block row; else 0
    bb_index origin; ///< strip: its first column of the matrix; else 0
} bb_triangle_layout;

/// Layout of part `first` of `step` parts, 0 <= first < step; it may own no block row.
BB_DEVICE_FUNCTION
bb_triangle_layout bb_triangle_layout_share(bb_index n, bb_index block, bb_index first,
                                            bb_index step)
{
    bb_triangle_layout layout;
    layout.n = n;
    layout.block = block;
    layout.blocks = (n + block - 1) / block;
    layout.first = first;
    layout.step = step;
    layout.held = layout.blocks > first ? (layout.blocks - first + step - 1) / step : 0;
    layout.half = layout.held / 2;
    layout.width = layout.held > 1 ? 2 * first + step * (layout.held - 1) : layout.held * first;
    layout.width *= block;
    layout.top = layout.origin = 0;
    return layout;
}

/// Layout with all block rows in one part.
BB_DEVICE_FUNCTION
bb_triangle_layout bb_triangle_layout_make(bb_index n, bb_index block)
{
    return bb_triangle_layout_share(n, block, 0, 1);
}

/// Layout with all block rows below each other, unfolded: that of one gathered block column.
BB_DEVICE_FUNCTION
bb_triangle_layout bb_triangle_layout_stack(bb_index n, bb_index block)
{
    bb_triangle_layout layout = bb_triangle_layout_make(n, block);
    layout.half = 0;
    return layout;
}

/// Layout of the block rows from `top` on, with columns [origin, origin + width).
BB_DEVICE_FUNCTION
bb_triangle_layout bb_triangle_layout_strip(bb_index n, bb_index block, bb_index top,
                                            bb_index origin, bb_index width)
{
    bb_triangle_layout layout = bb_triangle_layout_stack(n, block);
    layout.top = top;
    layout.origin = origin;
    layout.width = width;
    return layout;
}

BB_DEVICE_FUNCTION
bool bb_triangle_layout_contains(bb_triangle_layout layout, bb_index i)
{
    return i % layout.step == layout.first;
}

/// First block row of the part that is not folded, counted within the part.
BB_DEVICE_FUNCTION
bb_index bb_triangle_layout_half(bb_triangle_layout layout)
{
    return layout.half;
}

/// Rows and columns of the rectangle; the leading dimension is the number of columns.
BB_DEVICE_FUNCTION
bb_index bb_triangle_layout_rows(bb_triangle_layout layout)
{
    return (layout.held - layout.half - layout.top) * layout.block;
}

BB_DEVICE_FUNCTION
bb_index bb_triangle_layout_columns(bb_triangle_layout layout)
{
    return layout.width;
}

/// Block row i as an index within the part.
BB_DEVICE_FUNCTION
bb_index bb_triangle_layout_index(bb_triangle_layout layout, bb_index i)
{
    return layout.step == 1 ? i : (i - layout.first) / layout.step; // divisions are slow
}

/// Position of block row i of the part in a panel, in blocks, and the inverse.
BB_DEVICE_FUNCTION
bb_index bb_triangle_layout_position(bb_triangle_layout layout, bb_index i)
{
    const bb_index a = bb_triangle_layout_index(layout, i);
    return a >= layout.half ? a - layout.half : layout.held - 1 - a;
}

BB_DEVICE_FUNCTION
bb_index bb_triangle_layout_block_at(bb_triangle_layout layout, bb_index position)
{
    const bb_index straight = layout.held - layout.half;
    const bb_index a = position < straight ? position + layout.half : layout.held - 1 - position;
    return layout.first + layout.step * a;
}

/// Start in the rectangle of the block row at a position.
BB_DEVICE_FUNCTION
bb_index bb_triangle_layout_row_at(bb_triangle_layout layout, bb_index position)
{
    const bb_index straight = layout.held - layout.half;
    return (position < straight ? position - layout.top : position - layout.half) * layout.block;
}

BB_DEVICE_FUNCTION
bb_index bb_triangle_layout_column_at(bb_triangle_layout layout, bb_index position)
{
    const bb_index straight = layout.held - layout.half;
    return position < straight ? -layout.origin
                               : (layout.first + layout.step * position) * layout.block;
}

/// Start in the rectangle of block row i of the part.
BB_DEVICE_FUNCTION
bb_index bb_triangle_layout_row(bb_triangle_layout layout, bb_index i)
{
    return bb_triangle_layout_row_at(layout, bb_triangle_layout_position(layout, i));
}

BB_DEVICE_FUNCTION
bb_index bb_triangle_layout_column(bb_triangle_layout layout, bb_index i)
{
    return bb_triangle_layout_column_at(layout, bb_triangle_layout_position(layout, i));
}

/// Positions [begin, end) of the part's block rows below block row k, 0 <= k.
BB_DEVICE_FUNCTION
bb_index bb_triangle_layout_begin_below(bb_triangle_layout layout, bb_index k)
{
    const bb_index a = k < layout.first ? 0 : (k - layout.first) / layout.step + 1;
    return a > layout.half ? a - layout.half : 0;
}

BB_DEVICE_FUNCTION
bb_index bb_triangle_layout_end_below(bb_triangle_layout layout, bb_index k)
{
    const bb_index a = k < layout.first ? 0 : (k - layout.first) / layout.step + 1;
    return layout.held - (a < layout.half ? a : layout.half);
}

/// Rows of block row i: `block`, except for the last one.
BB_DEVICE_FUNCTION
bb_index bb_triangle_layout_extent(bb_triangle_layout layout, bb_index i)
{
    const bb_index rest = layout.n - i * layout.block;
    return rest < layout.block ? rest : layout.block;
}

#endif
