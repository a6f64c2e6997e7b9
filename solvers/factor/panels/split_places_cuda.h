// SPDX-License-Identifier: Apache-2.0
//
// For .cu files only: addresses of operands and results of
// solvers/factor/panels/split_product_cuda.h, for both of its implementations.
#ifndef BB_SOLVERS_FACTOR_PANELS_SPLIT_PLACES_CUDA_H
#define BB_SOLVERS_FACTOR_PANELS_SPLIT_PLACES_CUDA_H

#include "solvers/factor/panels/split_product_cuda.h"

namespace split_product
{

constexpr float low_unit = 1.0F / 2048.0F;

struct place {
    int column, row;
};

// Position of 64 of the depth from k on, for the operand's rows from `row` on.
__device__ __forceinline__ place find(const bb_triangle_layout &triangle,
                                      bb_operand_layout_cuda layout, bb_index first, bb_index row,
                                      bb_index k)
{
    bb_index block = 0;
    bb_index position = 0;
    switch (layout) {
    case BB_OPERAND_PANEL:
        row += first;
        position = row / triangle.block;
        break;
    case BB_OPERAND_BLOCK_ROW:
        row += first;
        position = bb_triangle_layout_position(triangle, row / triangle.block);
        break;
    case BB_OPERAND_COLUMNS:
        block = k / triangle.block;
        return {static_cast<int>(bb_triangle_layout_column(triangle, block) + first + row),
                static_cast<int>(bb_triangle_layout_row(triangle, block) + k % triangle.block)};
    default:
        return {static_cast<int>(k), static_cast<int>(first + row)};
    }
    return {static_cast<int>(bb_triangle_layout_column_at(triangle, position) + k),
            static_cast<int>(bb_triangle_layout_row_at(triangle, position) + row % triangle.block)};
}

// Offset of row `row` of the product in C, or in the planes.
__device__ __forceinline__ bb_index result_item(const bb_split_product_cuda &p, bb_index row,
                                                bb_index column)
{
    if (!p.write_planes) {
        return row * p.c_stride + column;
    }
    if (!p.folded) {
        return (p.plane_row + row) * p.plane_stride + p.plane_column + column;
    }
    const bb_index panel = p.a.first + row;
    const bb_index position = panel / p.triangle.block;
    return (bb_triangle_layout_row_at(p.triangle, position) + panel % p.triangle.block) *
               p.plane_stride +
           bb_triangle_layout_column_at(p.triangle, position) + p.plane_column + column;
}

__device__ __forceinline__ void write_pair(const bb_split_product_cuda &p, bb_index index, float x,
                                           float y)
{
    const __half2 hi = __floats2half2_rn(x, y);
    *reinterpret_cast<__half2 *>(p.hi + index) = hi;
    if (p.lo != nullptr) {
        *reinterpret_cast<__half2 *>(p.lo + index) =
            __floats2half2_rn((x - __low2float(hi)) * 2048.0F, (y - __high2float(hi)) * 2048.0F);
    }
}

} // namespace split_product

#endif
