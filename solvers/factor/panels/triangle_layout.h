// SPDX-License-Identifier: Apache-2.0
//
// The strictly lower triangle of a matrix in square blocks, folded into a rectangle.
//
// Block row i holds i blocks. Block rows i and N - 1 - i together hold N - 1 of them and share one
// row of the rectangle, so that nothing is stored twice, every block row is contiguous along its
// columns with one leading dimension, and a product can run over any of its columns at once:
//     i >= h = N / 2:  block row i - h of the rectangle, from column 0
//     i <  h:          block row N - 1 - i - h, from block column N - 1 - i
// Diagonal blocks are kept apart.
//
// A panel (all block rows of one block column) stands in the order of the rectangle: block row i at
// position i - h, or N - 1 - i for i < h, so that both halves step evenly through both.
#ifndef BB_SOLVERS_FACTOR_PANELS_TRIANGLE_LAYOUT_H
#define BB_SOLVERS_FACTOR_PANELS_TRIANGLE_LAYOUT_H

#include "core/portable.h"
#include "core/status.h"

typedef struct bb_triangle_layout {
    bb_index n;      ///< rows of the matrix
    bb_index block;  ///< rows and columns of a block
    bb_index blocks; ///< N = ceil(n / block)
} bb_triangle_layout;

BB_DEVICE_FUNCTION
bb_triangle_layout bb_triangle_layout_make(bb_index n, bb_index block)
{
    bb_triangle_layout layout;
    layout.n = n;
    layout.block = block;
    layout.blocks = (n + block - 1) / block;
    return layout;
}

/// The first block row that is not folded.
BB_DEVICE_FUNCTION
bb_index bb_triangle_layout_half(bb_triangle_layout layout)
{
    return layout.blocks / 2;
}

/// Rows and columns of the rectangle; columns are the leading dimension.
BB_DEVICE_FUNCTION
bb_index bb_triangle_layout_rows(bb_triangle_layout layout)
{
    return (layout.blocks - layout.blocks / 2) * layout.block;
}

BB_DEVICE_FUNCTION
bb_index bb_triangle_layout_columns(bb_triangle_layout layout)
{
    return (layout.blocks - 1) * layout.block;
}

/// Where block row i starts in the rectangle.
BB_DEVICE_FUNCTION
bb_index bb_triangle_layout_row(bb_triangle_layout layout, bb_index i)
{
    const bb_index half = layout.blocks / 2;
    return (i >= half ? i - half : layout.blocks - 1 - i - half) * layout.block;
}

BB_DEVICE_FUNCTION
bb_index bb_triangle_layout_column(bb_triangle_layout layout, bb_index i)
{
    return i >= layout.blocks / 2 ? 0 : (layout.blocks - 1 - i) * layout.block;
}

/// Position of block row i in a panel, in blocks, and back.
BB_DEVICE_FUNCTION
bb_index bb_triangle_layout_position(bb_triangle_layout layout, bb_index i)
{
    const bb_index half = layout.blocks / 2;
    return i >= half ? i - half : layout.blocks - 1 - i;
}

BB_DEVICE_FUNCTION
bb_index bb_triangle_layout_block_at(bb_triangle_layout layout, bb_index position)
{
    const bb_index half = layout.blocks / 2;
    return position < layout.blocks - half ? position + half : layout.blocks - 1 - position;
}

/// Rows of block row i: all of them but the last are whole.
BB_DEVICE_FUNCTION
bb_index bb_triangle_layout_extent(bb_triangle_layout layout, bb_index i)
{
    const bb_index rest = layout.n - i * layout.block;
    return rest < layout.block ? rest : layout.block;
}

#endif
