// SPDX-License-Identifier: Apache-2.0
//
// Steps of panel_part_cuda.h on panels of B.
#include "solvers/factor/panels/panel_products_cuda.h"

using namespace panel;

namespace
{

// Updates a panel of B in fp16, rounded after each panel's update, in the order of the sweeps on
// the cpu.
bb_status update_side_tile(bb_panel_part *part, bb_index k, bb_index j, __half *tile)
{
    const bb_index block = part->plan.block;
    dense_product p = {};
    p.operands = OPERANDS_FP16;
    p.half_result = true;
    p.transposed = j < k; // otherwise backward: L_jk
    p.a = static_cast<const __half *>(part->side) + j * block;
    p.b = p.transposed ? row_at(part, k, j * block) : column_at(part, j, k);
    p.c = tile;
    p.a_stride = part->layout.blocks * block;
    p.b_stride = p.transposed ? row_stride(part, k) : column_stride(part);
    p.c_stride = p.columns = p.depth = block;
    p.rows = part->side_rows;
    p.alpha = -1.0;
    p.beta = 1.0;
    p.problems = 1;
    p.compute = part->arithmetic.compute;
    return multiply(part, p, BB_PANEL_BULK);
}

bb_status update_sides_in_fp16(bb_panel_part *part, bb_index k, bool backward)
{
    const bb_index block = part->plan.block;
    const bb_index last = part->layout.blocks - 1;
    __half *tile = static_cast<__half *>(part->side_tile);
    float *panel = floats(part, part->side_panel, 0);
    if (k == (backward ? last : 0)) {
        return BB_OK;
    }
    BB_RETURN_IF_FAILED(bb_panel_part_split(panel, part->side_rows, block, block, false, nullptr,
                                            tile, nullptr, block, part->bulk));
    for (bb_index j = backward ? last : 0; j != k; backward ? --j : ++j) {
        BB_RETURN_IF_FAILED(update_side_tile(part, k, j, tile));
    }
    return bb_panel_part_join(tile, nullptr, part->sides, block, block, panel, block, part->bulk);
}

// True if a block column is stored as [blocks block][block].
bool stacks_columns(const bb_panel_part *part)
{
    return part->arithmetic.split_sides || reads_gathered(part);
}

// Updates with three products for heavy blocks of L and one for light blocks.
bb_status update_sides_by_weight(bb_panel_part *part, bb_index k, bool backward,
                                 bb_split_product_cuda p)
{
    const bb_index blocks = part->layout.blocks;
    const bb_index line = (backward ? blocks : 0) + k;
    const int all = static_cast<int>(backward ? blocks - 1 - k : k);
    p.list = static_cast<const int *>(part->sweep_lists) + line * blocks;
    p.listed = part->heavy_blocks[line];
    BB_RETURN_IF_FAILED(bb_split_product_launch(&p, 3, part->bulk));
    p.list += p.listed;
    p.listed = all - p.listed;
    return bb_split_product_launch(&p, 1, part->bulk);
}

// Splits a dense L into planes: block row k left of its diagonal block, or in the backward sweep
// block column k below it.
bb_status split_factor(bb_panel_part *part, bb_index k, bool backward)
{
    const bb_index block = part->plan.block;
    const bb_index blocks = part->layout.blocks;
    __half *hi = static_cast<__half *>(part->sweep[0]);
    __half *lo = static_cast<__half *>(part->sweep[1]);
    if (!backward) {
        return bb_panel_part_split(static_cast<const float *>(row_at(part, k, 0)), block, k * block,
                                   row_stride(part, k), false, nullptr, hi, lo, blocks * block,
                                   part->bulk);
    }
    for (bb_index i = k + 1, next = i; i < blocks; i = next) {
        next = i < blocks / 2 ? i + 1 : blocks; // beyond the fold in one call
        BB_RETURN_IF_FAILED(bb_panel_part_split(static_cast<const float *>(column_at(part, i, k)),
                                                (next - i) * block, block, column_stride(part),
                                                false, nullptr, hi + i * block * block,
                                                lo + i * block * block, block, part->bulk));
    }
    return BB_OK;
}

// Operand of L, in planes, for the sweep of panel k.
bb_operand_cuda factor_operand(const bb_panel_part *part, bb_index k, bool backward)
{
    if (!backward && !part->arithmetic.split_sides) {
        return row_operand(part, k);
    }
    if (!backward) {
        const bb_halves &planes = part->sweep_row_planes;
        return {BB_OPERAND_PLAIN, 0, planes.hi.map, planes.lo.map};
    }
    const bb_halves &planes = part->arithmetic.split_sides ? part->sweep_column_planes
                              : reads_gathered(part) ? part->guest_column_planes[k % part->guests]
                                                     : part->triangle_planes;
    return {BB_OPERAND_COLUMNS, stacks_columns(part) ? 0 : k * part->plan.block,
            planes.hi_short.map, planes.lo_short.map};
}

// Updates panels of B in half planes: A is the rows of B, against block row k, or against all block
// rows below it.
bb_status update_sides_in_halves(bb_panel_part *part, bb_index k, bool backward)
{
    const bb_index block = part->plan.block;
    const int products =
        backward ? part->arithmetic.backward_products : part->arithmetic.forward_products;
    bb_split_product_cuda p = start_product(part);
    p.a = {BB_OPERAND_PLAIN, 0, part->side_planes.hi.map, part->side_planes.lo.map};
    p.b = factor_operand(part, k, backward);
    if (backward && stacks_columns(part)) {
        p.triangle = bb_triangle_layout_stack(part->plan.n, block);
    }
    p.begin = backward ? (k + 1) * block : 0;
    p.end = backward ? part->layout.blocks * block : k * block;
    p.rows = part->sides;
    p.c = floats(part, part->side_panel, 0);
    if (p.begin == p.end) {
        return BB_OK;
    }
    if (part->arithmetic.split_sides) {
        BB_RETURN_IF_FAILED(split_factor(part, k, backward));
    }
    return part->arithmetic.light_sweeps ? update_sides_by_weight(part, k, backward, p)
                                         : bb_split_product_launch(&p, products, part->bulk);
}

// Updates panels of B by cuBLAS. In the backward sweep, block rows beyond the fold of a single GPU
// are one call and those before it one call each, which fixes the order of the sums for any number
// of GPUs.
bb_status update_sides_dense(bb_panel_part *part, bb_index k, bool backward)
{
    const bb_index block = part->plan.block;
    const bb_index blocks = part->layout.blocks;
    dense_product p = {};
    p.c = part->side_panel;
    p.a_stride = blocks * block;
    p.c_stride = p.columns = block;
    p.rows = part->side_rows;
    p.alpha = -1.0;
    p.beta = 1.0;
    p.problems = 1;
    p.compute = part->arithmetic.diagonal;
    if (!backward) {
        p.a = part->side;
        p.b = row_at(part, k, 0);
        p.b_stride = row_stride(part, k);
        p.depth = k * block;
        p.transposed = true;
        return multiply(part, p, BB_PANEL_BULK);
    }
    p.b_stride = column_stride(part);
    for (bb_index i = k + 1; i < blocks;) {
        const bb_index next = i < blocks / 2 ? i + 1 : blocks;
        p.a = at(part, part->side, i * block);
        p.b = column_at(part, i, k);
        p.depth = (next - i) * block;
        BB_RETURN_IF_FAILED(multiply(part, p, BB_PANEL_BULK));
        i = next;
    }
    return BB_OK;
}

bb_status update_sides(bb_panel_part *part, bb_index k, bool backward)
{
    const int products =
        backward ? part->arithmetic.backward_products : part->arithmetic.forward_products;
    if (part->arithmetic.half_sides && products == 1) {
        return update_sides_in_fp16(part, k, backward);
    }
    return splits_sides(part) ? update_sides_in_halves(part, k, backward)
                              : update_sides_dense(part, k, backward);
}

// Solves X L_kk^T = C in place of C [sides][stride], backward X L_kk = C. For cuBLAS, row-major L
// is an upper triangle U = L^T, so that U^T X^T = C^T, or U X^T = C^T.
bb_status substitute(bb_panel_part *part, bb_index k, bool backward, void *x, bb_index stride)
{
    const int block = static_cast<int>(part->plan.block);
    const int sides = static_cast<int>(part->side_rows);
    const int apart = static_cast<int>(stride);
    const cublasOperation_t op = backward ? CUBLAS_OP_N : CUBLAS_OP_T;
    if (type_of(part) == BB_F64) {
        const double one = 1.0;
        BB_CUBLAS_TRY(part->library->solve_fp64(
            part->handles[BB_PANEL_BULK], CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_UPPER, op,
            CUBLAS_DIAG_NON_UNIT, block, sides, &one,
            reinterpret_cast<const double *>(diagonal_of(part, k)), block, static_cast<double *>(x),
            apart));
    } else {
        const float one = 1.0F;
        BB_CUBLAS_TRY(part->library->solve_fp32(
            part->handles[BB_PANEL_BULK], CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_UPPER, op,
            CUBLAS_DIAG_NON_UNIT, block, sides, &one,
            reinterpret_cast<const float *>(diagonal_of(part, k)), block, static_cast<float *>(x),
            apart));
    }
    return BB_OK;
}

// Solves the columns of panel k of B, from side_panel.
bb_status substitute_sides(bb_panel_part *part, bb_index k, bool backward)
{
    const bb_index block = part->plan.block;
    const bb_index multiple = part->layout.blocks * block;
    const size_t word = bb_type_bytes(type_of(part));
    if (splits_sides(part)) {
        BB_RETURN_IF_FAILED(substitute(part, k, backward, part->side_panel, block));
        return bb_panel_part_split(floats(part, part->side_panel, 0), part->sides, block, block,
                                   false, nullptr, static_cast<__half *>(part->side) + k * block,
                                   static_cast<__half *>(part->side_lo) + k * block, multiple,
                                   part->bulk);
    }
    void *x = at(part, part->side, k * block);
    BB_CUDA_TRY(cudaMemcpy2DAsync(
        x, static_cast<size_t>(multiple) * word, part->side_panel,
        static_cast<size_t>(block) * word, static_cast<size_t>(block) * word,
        static_cast<size_t>(part->side_rows), cudaMemcpyDeviceToDevice, part->bulk));
    return substitute(part, k, backward, x, multiple);
}

// Columns of panel k of B <- side_panel times the inverse of L_kk^T, or of L_kk in the backward
// sweep.
bb_status solve_sides(bb_panel_part *part, bb_index k, bool backward)
{
    const bb_index block = part->plan.block;
    const bb_index multiple = part->layout.blocks * block;
    if (in_halves(part) && part->arithmetic.products == 1) {
        bb_split_product_cuda p = start_product(part);
        const bb_halves &inverse = part->inverse_planes[k % 2];
        BB_RETURN_IF_FAILED(
            bb_panel_part_split(floats(part, part->side_panel, 0), part->sides, block, block, false,
                                nullptr, static_cast<__half *>(part->split[0]),
                                static_cast<__half *>(part->split[1]), block, part->bulk));
        p.a = {BB_OPERAND_PLAIN, 0, part->panel_planes.hi.map, part->panel_planes.lo.map};
        p.b = {BB_OPERAND_PLAIN, 0, inverse.hi.map, inverse.lo.map};
        p.rows = part->sides;
        p.end = block;
        p.depth = backward ? BB_DEPTH_UPPER : BB_DEPTH_LOWER;
        p.write_planes = true;
        p.hi = static_cast<__half *>(part->side);
        p.lo = static_cast<__half *>(part->side_lo);
        p.plane_stride = multiple;
        p.plane_column = k * block;
        p.largest = static_cast<const float *>(part->largest) + k % 2;
        return bb_split_product_launch(&p, 3, part->bulk);
    }
    return substitute_sides(part, k, backward);
}

// Scales the columns of panel k of B by D, with zeros beyond the last column.
bb_status load_sides(bb_panel_part *part, bb_index side_count, const bb_device_source *const *sides,
                     bb_index k, const void *row_scale)
{
    const bb_index block = part->plan.block;
    const bb_index columns = bb_triangle_layout_extent(part->layout, k);
    const bb_index end = part->first_side + part->sides;
    bb_index first = 0; // first row of this side among all rows
    if (columns < block) {
        BB_CUDA_TRY(cudaMemsetAsync(
            part->side_panel, 0,
            static_cast<size_t>(part->sides * block) * bb_type_bytes(type_of(part)), part->bulk));
    }
    for (bb_index s = 0; s < side_count; first += sides[s++]->rows) {
        const bb_index start = first > part->first_side ? first : part->first_side;
        const bb_index target = first + sides[s]->rows < end ? first + sides[s]->rows : end;
        if (start < target) {
            void *out = at(part, part->side_panel, (start - part->first_side) * block);
            BB_RETURN_IF_FAILED(bb_device_source_fill(
                sides[s], bb_stream_queue(part->bulk), start - first, k * block,
                bb_device_matrix(out, type_of(part), target - start, columns, block)));
        }
    }
    return bb_panel_part_scale(part->side_panel, part->arithmetic.storage, part->sides, columns,
                               block, row_scale, at(part, part->scale, k * block), part->bulk);
}

} // namespace

bb_status bb_panel_part_scale_sides(bb_panel_part *part, bb_index side_count,
                                    const bb_device_source *const *sides)
{
    const bb_index block = part->plan.block;
    float *largest = static_cast<float *>(part->side_scale);
    if (part->sides == 0 || !splits_sides(part)) {
        return BB_OK;
    }
    BB_CUDA_TRY(
        cudaMemsetAsync(largest, 0, static_cast<size_t>(part->sides) * sizeof(float), part->bulk));
    for (bb_index k = 0; k < part->layout.blocks; ++k) {
        BB_RETURN_IF_FAILED(load_sides(part, side_count, sides, k, nullptr));
        BB_RETURN_IF_FAILED(bb_panel_part_row_largest(
            floats(part, part->side_panel, 0), part->sides,
            bb_triangle_layout_extent(part->layout, k), block, largest, part->bulk));
    }
    return bb_panel_part_row_scale(largest, part->sides, part->bulk);
}

bb_status bb_panel_part_fill_sides(bb_panel_part *part, bb_index side_count,
                                   const bb_device_source *const *sides, bb_index k)
{
    return load_sides(part, side_count, sides, k, part->side_scale);
}

bb_status bb_panel_part_sweep_forward(bb_panel_part *part, bb_index k)
{
    if (part->sides == 0) {
        return BB_OK;
    }
    BB_RETURN_IF_FAILED(update_sides(part, k, false));
    return solve_sides(part, k, false);
}

bb_status bb_panel_part_sweep_backward(bb_panel_part *part, bb_index k)
{
    const bb_index block = part->plan.block;
    const bb_index multiple = part->layout.blocks * block;
    if (part->sides == 0) {
        return BB_OK;
    }
    if (splits_sides(part)) {
        BB_RETURN_IF_FAILED(bb_panel_part_join(
            static_cast<const __half *>(part->side) + k * block,
            static_cast<const __half *>(part->side_lo) + k * block, part->sides, block, multiple,
            floats(part, part->side_panel, 0), block, part->bulk));
    } else {
        const size_t word = bb_type_bytes(type_of(part));
        BB_CUDA_TRY(cudaMemcpy2DAsync(
            part->side_panel, static_cast<size_t>(block) * word, at(part, part->side, k * block),
            static_cast<size_t>(multiple) * word, static_cast<size_t>(block) * word,
            static_cast<size_t>(part->sides), cudaMemcpyDeviceToDevice, part->bulk));
    }
    BB_RETURN_IF_FAILED(update_sides(part, k, true));
    if (part->arithmetic.keeps_inverses) {
        BB_RETURN_IF_FAILED(bb_panel_part_ready_inverse(part, k, true));
    }
    return solve_sides(part, k, true);
}
