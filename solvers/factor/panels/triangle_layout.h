// SPDX-License-Identifier: Apache-2.0
//
// The strictly lower triangle of a matrix in square blocks, its block rows dealt in turn to several
// parts, and those of one part folded into a rectangle.
//
// A part holds block rows i = first + step a, a = 0 ... m - 1; one part of one holds all of them.
// Block row i holds i blocks. Rows a and m - 1 - a of a part together hold 2 first + step (m - 1)
// of them and share one row of the rectangle, so that nothing is stored twice, every block row is
// contiguous along its columns with one leading dimension, and a product can run over any of its
// columns at once:
//     a >= h = m / 2:  block row a - h of the rectangle, from column 0
//     a <  h:          block row m - 1 - a - h, behind the blocks of row m - 1 - a
// Diagonal blocks are kept apart.
//
// A panel (the part's block rows of one block column) stands in the order of the rectangle: row a
// at position a - h, or m - 1 - a for a < h, so that both halves step evenly through both.
//
// A strip is what one panel of many columns holds of a part of one: block rows from some on below
// each other, none folded, and of them the columns of the strip.
#ifndef BB_SOLVERS_FACTOR_PANELS_TRIANGLE_LAYOUT_H
#define BB_SOLVERS_FACTOR_PANELS_TRIANGLE_LAYOUT_H

#include "core/portable.h"
#include "core/status.h"

#include <stdbool.h>

typedef struct bb_triangle_layout {
    bb_index n;      ///< rows of the matrix
    bb_index block;  ///< rows and columns of a block
    bb_index blocks; ///< N = ceil(n / block)
    bb_index first;  ///< block row of the part
    bb_index step;   ///< from one block row of the part to its next: how many parts there are
    bb_index held;   ///< m: block rows of the part
    bb_index half;   ///< h: those before it are folded
    bb_index width;  ///< columns of the rectangle
    bb_index top;    ///< strip: the block row that it begins with; else 0
    bb_index origin; ///< strip: the column of the matrix that it begins with; else 0
} bb_triangle_layout;

/// Part `first` of `step` parts, 0 <= first < step; it may hold no block row.
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

/// All block rows in one part.
BB_DEVICE_FUNCTION
bb_triangle_layout bb_triangle_layout_make(bb_index n, bb_index block)
{
    return bb_triangle_layout_share(n, block, 0, 1);
}

/// All block rows below each other, none folded: how one gathered block column lies.
BB_DEVICE_FUNCTION
bb_triangle_layout bb_triangle_layout_stack(bb_index n, bb_index block)
{
    bb_triangle_layout layout = bb_triangle_layout_make(n, block);
    layout.half = 0;
    return layout;
}

/// Block rows from `top` on of the columns [origin, origin + width).
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

/// The first of the part's block rows that is not folded, counted in the part.
BB_DEVICE_FUNCTION
bb_index bb_triangle_layout_half(bb_triangle_layout layout)
{
    return layout.half;
}

/// Rows and columns of the rectangle; columns are the leading dimension.
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

/// Block row i, counted in the part.
BB_DEVICE_FUNCTION
bb_index bb_triangle_layout_index(bb_triangle_layout layout, bb_index i)
{
    return layout.step == 1 ? i : (i - layout.first) / layout.step; // divisions are slow
}

/// Position of block row i of the part in a panel, in blocks, and back.
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

/// Where the block row at a position starts in the rectangle.
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

/// Where block row i of the part starts in the rectangle.
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

/// The positions [begin, end) of the part's block rows below block row k, 0 <= k.
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

/// Rows of block row i: all of them but the last are whole.
BB_DEVICE_FUNCTION
bb_index bb_triangle_layout_extent(bb_triangle_layout layout, bb_index i)
{
    const bb_index rest = layout.n - i * layout.block;
    return rest < layout.block ? rest : layout.block;
}

#endif
