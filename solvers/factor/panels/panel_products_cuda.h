// SPDX-License-Identifier: Apache-2.0
//
// For .cu files only: addresses within a part of a factorization by panels, and its products by
// cuBLAS. A row-major product C [M][N] -= A [M][K] B [N][K]^T is, for cuBLAS, C^T -= B A^T of
// column-major matrices.
#ifndef BB_SOLVERS_FACTOR_PANELS_PANEL_PRODUCTS_CUDA_H
#define BB_SOLVERS_FACTOR_PANELS_PANEL_PRODUCTS_CUDA_H

#include "solvers/factor/panels/panel_part_cuda.h"

namespace panel
{

inline bb_type type_of(const bb_panel_part *part)
{
    return part->arithmetic.storage == BB_PANEL_FP64 ? BB_F64 : BB_F32;
}

inline bool in_halves(const bb_panel_part *part)
{
    return part->arithmetic.storage == BB_PANEL_HALVES;
}

// True if rows of B are stored in half planes.
inline bool splits_sides(const bb_panel_part *part)
{
    return in_halves(part) || part->arithmetic.split_sides;
}

// Item `index` of an array in the type of C.
inline char *at(const bb_panel_part *part, void *array, bb_index index)
{
    return static_cast<char *>(array) + static_cast<size_t>(index) * bb_type_bytes(type_of(part));
}

inline float *floats(const bb_panel_part *part, void *array, bb_index index)
{
    return reinterpret_cast<float *>(at(part, array, index));
}

// Offset of a position within a panel, or of a diagonal block.
inline bb_index panel_item(const bb_panel_part *part, bb_index position)
{
    return position * part->plan.block * part->plan.block;
}

// Offset of panel k among the current panels, of which it uses slot k % width.
inline bb_index panel_start(const bb_panel_part *part, bb_index k)
{
    return k % part->width * part->layout.held * part->plan.block * part->plan.block;
}

// Values of a current panel.
inline void *panel_of(const bb_panel_part *part, bb_index k)
{
    return at(part, part->panels, panel_start(part, k));
}

// True if the part owns block row k and with it diagonal block k.
inline bool holds(const bb_panel_part *part, bb_index k)
{
    return bb_triangle_layout_contains(part->layout, k);
}

// True if products read block row k in the triangle, not from a guest slot.
inline bool reads_own(const bb_panel_part *part, bb_index k)
{
    return holds(part, k) && !part->reads_guests;
}

// True if block columns are read from guest slots.
inline bool reads_gathered(const bb_panel_part *part)
{
    return part->layout.step > 1 || part->reads_guests;
}

inline char *diagonal_of(const bb_panel_part *part, bb_index k)
{
    return holds(part, k) ? at(part, part->diagonals, panel_item(part, k / part->layout.step))
                          : at(part, part->guest_diagonals, panel_item(part, k % 2));
}

inline void *inverse_of(const bb_panel_part *part, bb_index k)
{
    const bb_index slot = k / part->layout.step;
    return holds(part, k) ? at(part, part->inverses,
                               panel_item(part, part->arithmetic.keeps_inverses ? slot : slot % 2))
                          : at(part, part->guest_inverses, panel_item(part, k % 2));
}

// Offset of block row i in the folded triangle, from column k on.
inline bb_index triangle_item(const bb_panel_part *part, bb_index i, bb_index column)
{
    return bb_triangle_layout_row(part->layout, i) * bb_triangle_layout_columns(part->layout) +
           bb_triangle_layout_column(part->layout, i) + column;
}

// Address in the stored triangle, first plane.
inline void *triangle_at(const bb_panel_part *part, bb_index i, bb_index column)
{
    const size_t kept = in_halves(part) ? sizeof(__half) : bb_type_bytes(type_of(part));
    return static_cast<char *>(part->triangle) +
           static_cast<size_t>(triangle_item(part, i, column)) * kept;
}

// Block row k of L from a column on, first plane, in the triangle or in its guest slot.
inline bb_index guest_item(const bb_panel_part *part, bb_index k)
{
    return k % part->guests * part->plan.block * part->layout.blocks * part->plan.block;
}

inline void *guest_at(const bb_panel_part *part, bb_index k, bb_index item)
{
    const size_t kept = in_halves(part) ? sizeof(__half) : bb_type_bytes(type_of(part));
    return static_cast<char *>(part->guest_rows) +
           static_cast<size_t>(guest_item(part, k) + item) * kept;
}

inline void *row_at(const bb_panel_part *part, bb_index k, bb_index column)
{
    return reads_own(part, k) ? triangle_at(part, k, column) : guest_at(part, k, column);
}

inline bb_index row_stride(const bb_panel_part *part, bb_index k)
{
    return reads_own(part, k) ? bb_triangle_layout_columns(part->layout)
                              : part->layout.blocks * part->plan.block;
}

// Block row k as an operand in planes.
inline bb_operand_cuda row_operand(const bb_panel_part *part, bb_index k)
{
    if (reads_own(part, k)) {
        const bb_halves &planes = part->triangle_planes;
        return {BB_OPERAND_BLOCK_ROW, k * part->plan.block, planes.hi.map, planes.lo.map};
    }
    const bb_halves &planes = part->guest_row_planes[k % part->guests];
    return {BB_OPERAND_PLAIN, 0, planes.hi.map, planes.lo.map};
}

// Block (i, k) of the block column that a backward sweep of panel k reads; in the triangle if one
// part owns all of it.
inline void *column_at(const bb_panel_part *part, bb_index i, bb_index k)
{
    const bb_index block = part->plan.block;
    return reads_gathered(part) ? guest_at(part, k, i * block * block)
                                : triangle_at(part, i, k * block);
}

inline bb_index column_stride(const bb_panel_part *part)
{
    return reads_gathered(part) ? part->plan.block : bb_triangle_layout_columns(part->layout);
}

inline bb_split_product_cuda start_product(const bb_panel_part *part)
{
    bb_split_product_cuda p = {};
    p.triangle = part->layout;
    p.columns = part->plan.block;
    p.c_stride = part->plan.block;
    p.stopped = &static_cast<const bb_breakdown_cuda *>(part->breakdown)->row;
    return p;
}

// Ranges of the unfolded positions, and of the folded ones.
inline bb_positions unfolded(const bb_panel_part *part, bb_positions rows)
{
    const bb_index fold = part->layout.held - part->layout.half;
    return {rows.begin, rows.end < fold ? rows.end : fold};
}

inline bb_positions folded(const bb_panel_part *part, bb_positions rows)
{
    const bb_index fold = part->layout.held - part->layout.half;
    return {rows.begin > fold ? rows.begin : fold, rows.end};
}

inline bb_index rows_of(const bb_panel_part *part, bb_positions positions)
{
    return positions.end > positions.begin ? (positions.end - positions.begin) * part->plan.block
                                           : 0;
}

// fp16 tiles of the current panel k, from a position on.
inline __half *tile_at(const bb_panel_part *part, bb_index k, bb_index position)
{
    return static_cast<__half *>(part->tiles) + panel_start(part, k) + panel_item(part, position);
}

// Data type of A and B.
enum product_operands { OPERANDS_AS_C, OPERANDS_FP16, OPERANDS_BF16 };

// C <- alpha A op(B) + beta C by cuBLAS, for `problems` at fixed distances.
struct dense_product {
    const void *a, *b;
    void *c;
    bb_index a_stride, b_stride, c_stride;
    bb_index rows, columns, depth;
    bool transposed; // B is [columns][depth]
    product_operands operands;
    bool half_result; // C is fp16, else in the type of the part
    double alpha, beta;
    bb_index problems, a_apart, c_apart; // distances between problems; B is shared
    bool may_split; // on BULK: cuBLAS may split the sum, because that does not depend on the number
                    // of parts
    bb_panel_compute compute;
};

BB_CHECKED bb_status multiply(const bb_panel_part *part, const dense_product &p,
                              bb_panel_stream stream);

} // namespace panel

#endif
