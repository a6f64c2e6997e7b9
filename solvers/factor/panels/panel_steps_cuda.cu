// SPDX-License-Identifier: Apache-2.0
//
// Steps of panel_part_cuda.h on panels of A; the steps on panels of B are in panel_sides_cuda.cu.
#include "solvers/factor/panels/panel_products_cuda.h"

#include <cuda_bf16.h>

using namespace panel;

namespace
{

// Least depth of a cuBLAS call with 16-bit operands; below it our own kernel is as fast.
const bb_index shortest_depth = 2048;

// With 16-bit operands and an fp32 C, cuBLAS splits only sums of few results (at a depth of 16384
// it splits the sums of one block of 1024, but not of two: docs/lab/performance.md). From this
// number of results on, a handle with a workspace gives the same bits as one without.
const bb_index unsplit_results = static_cast<bb_index>(1) << 22;

// In fp32 and tf32 cuBLAS splits sums of many results. From a depth of this many blocks on it gets
// one block row per call. The call has the same shape on any number of parts, and its sums are
// split to use all multiprocessors.
const bb_index split_blocks = 4;

// Columns of an owned block row i of L, as operand of the products below the diagonal.
const void *operand_at(const bb_panel_part *part, bb_index i, bb_index column)
{
    return part->arithmetic.operand_plane
               ? static_cast<const __nv_bfloat16 *>(part->operands) + triangle_item(part, i, column)
               : triangle_at(part, i, column);
}

// Columns of block row i as the shared operand, which may be in a guest slot.
const void *shared_operand_at(const bb_panel_part *part, bb_index i, bb_index column)
{
    if (!part->arithmetic.operand_plane) {
        return row_at(part, i, column);
    }
    return reads_own(part, i) ? operand_at(part, i, column)
                              : static_cast<const __nv_bfloat16 *>(part->guest_operands) +
                                    guest_item(part, i) + column;
}

// End of the depth from `begin` up to the next cut. Sums are cut at multiples of a run, whatever
// panels a call covers.
bb_index next_cut(const bb_panel_part *part, bb_index begin, bb_index end)
{
    const bb_index run = bb_panel_plan_run(&part->plan);
    const bb_index cut = (begin / run + 1) * run;
    return cut < end ? cut : end;
}

// Variant of the block of panel k at a position.
bb_variant variant_at(const bb_panel_part *part, bb_index position, bb_index k)
{
    const bb_index i = bb_triangle_layout_block_at(part->layout, position);
    return part->plan.variants == nullptr
               ? part->plan.arithmetic
               : static_cast<bb_variant>(part->plan.variants[i * part->layout.blocks + k]);
}

// Shortens `rows` to its first positions with the same variant.
bb_positions first_run(const bb_panel_part *part, bb_index k, bb_positions rows)
{
    bb_index end = rows.begin + 1;
    while (end < rows.end && variant_at(part, end, k) == variant_at(part, rows.begin, k)) {
        ++end;
    }
    return {rows.begin, end};
}

// True if a run of positions is updated in fp16.
bool in_tiles(const bb_panel_part *part, bb_index k, bb_positions run)
{
    return bb_variant_describe(variant_at(part, run.begin, k))->output == BB_FORMAT_FP16;
}

// Arithmetic of the products of a run.
bb_panel_compute compute_of(const bb_panel_part *part, bb_index k, bb_positions run)
{
    const bb_variant_info *info = bb_variant_describe(variant_at(part, run.begin, k));
    return info->accumulator == BB_FORMAT_FP16 ? BB_PANEL_COMPUTE_FP16
           : in_halves(part)                   ? BB_PANEL_COMPUTE_FP32
                                               : part->arithmetic.compute;
}

// Updates positions of one half of the fold, in one call or one call per block row.
bb_status update_half(bb_panel_part *part, bb_index k, bb_index begin, bb_positions run,
                      bool by_rows, dense_product p)
{
    const bb_index block = part->plan.block;
    const bool bent = run.begin >= part->layout.held - part->layout.half;
    const bb_index next = by_rows ? run.begin + 1 : run.end;
    for (bb_positions now = {run.begin, next}; now.begin < run.end;
         now = {now.end, by_rows ? now.end + 1 : run.end}) {
        p.a = operand_at(part, bb_triangle_layout_block_at(part->layout, now.begin), begin);
        p.c = p.half_result ? static_cast<void *>(tile_at(part, k, now.begin))
                            : at(part, panel_of(part, k), panel_item(part, now.begin));
        p.rows = bent ? block : rows_of(part, now);
        p.problems = bent ? now.end - now.begin : 1;
        BB_RETURN_IF_FAILED(multiply(part, p, BB_PANEL_BULK));
    }
    return BB_OK;
}

// Multiplies columns [begin, end) of a run of block rows by block row k, in both halves of the
// fold.
bb_status update_by_library(bb_panel_part *part, bb_index k, bb_index begin, bb_index end,
                            bb_positions rows)
{
    const bb_index block = part->plan.block;
    const bb_index stride = bb_triangle_layout_columns(part->layout);
    const bool narrow = in_halves(part) || part->arithmetic.operand_plane;
    dense_product p = {};
    p.operands = in_halves(part) ? OPERANDS_FP16 : narrow ? OPERANDS_BF16 : OPERANDS_AS_C;
    p.half_result = in_tiles(part, k, rows);
    p.transposed = true;
    p.b = shared_operand_at(part, k, begin);
    p.a_stride = stride;
    p.b_stride = row_stride(part, k);
    p.c_stride = p.columns = block;
    p.depth = end - begin;
    p.alpha = -1.0;
    p.beta = 1.0;
    p.compute = compute_of(part, k, rows);
    p.a_apart = block * (stride + part->layout.step);
    p.c_apart = block * block;
    const bool by_rows = !narrow && type_of(part) == BB_F32 && p.depth >= split_blocks * block;
    for (const bb_positions &run : {unfolded(part, rows), folded(part, rows)}) {
        const bool large = rows_of(part, run) * block >= unsplit_results;
        p.may_split = by_rows || (narrow && !p.half_result && large);
        if (rows_of(part, run) > 0) {
            BB_RETURN_IF_FAILED(update_half(part, k, begin, run, by_rows, p));
        }
    }
    return BB_OK;
}

// Multiplies columns [begin, end) of a run of block rows in the longest calls that the arithmetic
// allows: an fp16 C is rounded after every panel, like a tile.
bb_status update_by_runs(bb_panel_part *part, bb_index k, bb_index begin, bb_index end,
                         bb_positions rows)
{
    const bb_index block = part->plan.block;
    const bool narrow = in_halves(part) || part->arithmetic.operand_plane;
    for (bb_index next = begin; begin < end; begin = next) {
        next = in_tiles(part, k, rows) ? begin + block : narrow ? next_cut(part, begin, end) : end;
        BB_RETURN_IF_FAILED(update_by_library(part, k, begin, next, rows));
    }
    return BB_OK;
}

// Updates a run of block rows with the same variant, between two cuts; blocks rounded after every
// panel have no cuts.
bb_status update_run(bb_panel_part *part, bb_index k, bb_index begin, bb_index end,
                     bb_positions run)
{
    const bb_halves &planes = part->triangle_planes;
    const int products = bb_variant_describe(variant_at(part, run.begin, k))->products;
    bb_split_product_cuda p = start_product(part);
    if (products == 1 && (in_tiles(part, k, run) || end - begin >= shortest_depth)) {
        return update_by_runs(part, k, begin, end, run);
    }
    p.a = {BB_OPERAND_PANEL, run.begin * part->plan.block, planes.hi.map, planes.lo.map};
    p.b = row_operand(part, k);
    p.begin = begin;
    p.end = end;
    p.rows = rows_of(part, run);
    p.c = floats(part, panel_of(part, k), panel_item(part, run.begin));
    return bb_split_product_launch(&p, products, part->bulk);
}

bb_status update_halves(bb_panel_part *part, bb_index k, bb_index begin, bb_index end,
                        bb_positions rows)
{
    for (bb_positions run = rows; rows.begin < rows.end; rows.begin = run.end) {
        run = first_run(part, k, rows);
        for (bb_index start = begin, next = begin; start < end; start = next) {
            next = in_tiles(part, k, run) ? end : next_cut(part, start, end);
            BB_RETURN_IF_FAILED(update_run(part, k, start, next, run));
        }
    }
    return BB_OK;
}

// Rounds the blocks that are updated in fp16 to fp16.
bb_status start_tiles(bb_panel_part *part, bb_index k, bb_positions rows)
{
    const bb_index block = part->plan.block;
    for (bb_positions run = rows; rows.begin < rows.end; rows.begin = run.end) {
        run = first_run(part, k, rows);
        if (in_tiles(part, k, run)) {
            BB_RETURN_IF_FAILED(
                bb_panel_part_split(floats(part, panel_of(part, k), panel_item(part, run.begin)),
                                    rows_of(part, run), block, block, false, nullptr,
                                    tile_at(part, k, run.begin), nullptr, block, part->bulk));
        }
    }
    return BB_OK;
}

// Updates a diagonal block in fp16, if it follows the variant.
bb_status update_diagonal_tile(bb_panel_part *part, bb_index k, bb_index start, bb_index stop,
                               bb_panel_stream stream)
{
    const bb_index block = part->plan.block;
    __half *tile = static_cast<__half *>(part->diagonal_tiles[k % 2]);
    float *diagonal = reinterpret_cast<float *>(diagonal_of(part, k));
    dense_product p = {};
    p.operands = OPERANDS_FP16;
    p.half_result = true;
    p.c = tile;
    p.a_stride = p.b_stride = row_stride(part, k);
    p.c_stride = p.rows = p.columns = p.depth = block;
    p.transposed = true;
    p.alpha = -1.0;
    p.beta = 1.0;
    p.problems = 1;
    p.compute = part->arithmetic.compute;
    BB_RETURN_IF_FAILED(bb_panel_part_split(diagonal, block, block, block, false, nullptr, tile,
                                            nullptr, block, bb_panel_stream_of(part, stream)));
    for (bb_index j = start; j < stop; ++j) {
        p.a = p.b = row_at(part, k, j * block);
        BB_RETURN_IF_FAILED(multiply(part, p, stream));
    }
    return bb_panel_part_join(tile, nullptr, block, block, block, diagonal, block,
                              bb_panel_stream_of(part, stream));
}

// Solves the positions of one run of panel k, in half planes.
bb_status solve_halves(bb_panel_part *part, bb_index k, bb_positions run)
{
    const bb_index block = part->plan.block;
    const bb_index first = run.begin * block;
    const bb_halves &inverse = part->inverse_planes[k % 2];
    const bool narrow = in_tiles(part, k, run);
    float *panel = floats(part, panel_of(part, k), panel_item(part, run.begin));
    bb_split_product_cuda p = start_product(part);
    if (narrow) {
        BB_RETURN_IF_FAILED(bb_panel_part_join(tile_at(part, k, run.begin), nullptr,
                                               rows_of(part, run), block, block, panel, block,
                                               part->bulk));
    }
    BB_RETURN_IF_FAILED(bb_panel_part_split(panel, rows_of(part, run), block, block, false, nullptr,
                                            static_cast<__half *>(part->split[0]) + first * block,
                                            static_cast<__half *>(part->split[1]) + first * block,
                                            block, part->bulk));
    p.a = {BB_OPERAND_PLAIN, first, part->panel_planes.hi.map, part->panel_planes.lo.map};
    p.b = {BB_OPERAND_PLAIN, 0, inverse.hi.map, inverse.lo.map};
    p.rows = rows_of(part, run);
    p.end = block;
    p.depth = BB_DEPTH_LOWER;
    p.write_planes = p.folded = true;
    p.hi = static_cast<__half *>(part->triangle);
    p.lo = narrow ? nullptr : static_cast<__half *>(part->triangle_lo);
    p.plane_stride = bb_triangle_layout_columns(part->layout);
    p.plane_column = k * block;
    p.largest = static_cast<const float *>(part->largest) + k % 2;
    return bb_split_product_launch(&p, 3, part->bulk);
}

bb_status solve_dense(bb_panel_part *part, bb_index k, bb_positions rows)
{
    const bb_index block = part->plan.block;
    const bb_index stride = bb_triangle_layout_columns(part->layout);
    const bb_positions straight = unfolded(part, rows);
    const bb_positions bent = folded(part, rows);
    dense_product p = {};
    p.b = inverse_of(part, k);
    p.a_stride = p.b_stride = p.columns = p.depth = block;
    p.c_stride = stride;
    p.transposed = true;
    p.alpha = 1.0;
    p.compute = part->arithmetic.diagonal;
    if (rows_of(part, straight) > 0) {
        const bb_index i = bb_triangle_layout_block_at(part->layout, straight.begin);
        p.a = at(part, panel_of(part, k), panel_item(part, straight.begin));
        p.c = at(part, part->triangle, triangle_item(part, i, k * block));
        p.rows = rows_of(part, straight);
        p.problems = 1;
        BB_RETURN_IF_FAILED(multiply(part, p, BB_PANEL_BULK));
    }
    if (rows_of(part, bent) > 0) {
        const bb_index i = bb_triangle_layout_block_at(part->layout, bent.begin);
        p.a = at(part, panel_of(part, k), panel_item(part, bent.begin));
        p.c = at(part, part->triangle, triangle_item(part, i, k * block));
        p.rows = block;
        p.problems = bent.end - bent.begin;
        p.a_apart = block * block;
        p.c_apart = block * (stride + part->layout.step);
        BB_RETURN_IF_FAILED(multiply(part, p, BB_PANEL_BULK));
    }
    return bb_panel_part_narrow(part, k, rows);
}

} // namespace

bb_positions bb_panel_part_below(const bb_panel_part *part, bb_index k)
{
    return {bb_triangle_layout_begin_below(part->layout, k),
            bb_triangle_layout_end_below(part->layout, k)};
}

namespace
{

bb_status fill_diagonal(bb_panel_part *part, const bb_device_source *matrix, bb_index k)
{
    const bb_index block = part->plan.block;
    const bb_index columns = bb_triangle_layout_extent(part->layout, k);
    const bb_panel_storage storage = part->arithmetic.storage;
    BB_RETURN_IF_FAILED(bb_device_source_fill(
        matrix, bb_stream_queue(part->bulk), k * block, k * block,
        bb_device_matrix(diagonal_of(part, k), type_of(part), columns, columns, block)));
    BB_RETURN_IF_FAILED(bb_panel_part_scale(diagonal_of(part, k), storage, columns, columns, block,
                                            at(part, part->scale, k * block),
                                            at(part, part->scale, k * block), part->bulk));
    return bb_panel_part_pad_diagonal(diagonal_of(part, k), storage, block, columns, part->bulk);
}

// Fills the positions of panel k, which are adjacent in the matrix.
bb_status fill_run(bb_panel_part *part, const bb_device_source *matrix, bb_index k,
                   bb_positions run, cudaStream_t stream)
{
    const bb_index block = part->plan.block;
    const bb_index row = bb_triangle_layout_block_at(part->layout, run.begin) * block;
    const bb_index rest = part->plan.n - row;
    const bb_index rows = rows_of(part, run);
    return bb_device_source_fill(
        matrix, bb_stream_queue(stream), row, k * block,
        bb_device_matrix(at(part, panel_of(part, k), panel_item(part, run.begin)), type_of(part),
                         rows < rest ? rows : rest, block, block));
}

// On a single part the unfolded positions are one run.
bb_status fill_alone(bb_panel_part *part, const bb_device_source *matrix, bb_index k,
                     bb_positions rows)
{
    const bb_positions straight = unfolded(part, rows);
    if (rows_of(part, straight) > 0) {
        BB_RETURN_IF_FAILED(fill_run(part, matrix, k, straight, part->bulk));
    }
    for (bb_index position = folded(part, rows).begin; position < rows.end; ++position) {
        BB_RETURN_IF_FAILED(fill_run(part, matrix, k, {position, position + 1}, part->bulk));
    }
    return BB_OK;
}

// On one of several parts positions are not adjacent. They are filled block by block on two
// streams, because the end of a single block leaves multiprocessors idle.
bb_status fill_in_turn(bb_panel_part *part, const bb_device_source *matrix, bb_index k,
                       bb_positions rows)
{
    BB_CUDA_TRY(cudaEventRecord(part->fill_begin, part->bulk));
    BB_CUDA_TRY(cudaStreamWaitEvent(part->ahead, part->fill_begin, 0));
    for (bb_index position = rows.begin; position < rows.end; ++position) {
        const bool even = (position - rows.begin) % 2 == 0;
        BB_RETURN_IF_FAILED(
            fill_run(part, matrix, k, {position, position + 1}, even ? part->bulk : part->ahead));
    }
    BB_CUDA_TRY(cudaEventRecord(part->fill_end, part->ahead));
    BB_CUDA_TRY(cudaStreamWaitEvent(part->bulk, part->fill_end, 0));
    return BB_OK;
}

// Zeroes the rows of panel k beyond the last row of the matrix.
bb_status clear_rest(bb_panel_part *part, bb_index k)
{
    const bb_index block = part->plan.block;
    const bb_index last = part->layout.blocks - 1;
    const bb_index extent = bb_triangle_layout_extent(part->layout, last);
    if (!holds(part, last) || last <= k) {
        return BB_OK;
    }
    const bb_index item =
        panel_item(part, bb_triangle_layout_position(part->layout, last)) + extent * block;
    BB_CUDA_TRY(cudaMemsetAsync(
        at(part, panel_of(part, k), item), 0,
        static_cast<size_t>((block - extent) * block) * bb_type_bytes(type_of(part)), part->bulk));
    return BB_OK;
}

} // namespace

bb_status bb_panel_part_fill(bb_panel_part *part, const bb_device_source *matrix, bb_index k)
{
    const bb_index block = part->plan.block;
    const bb_positions below = bb_panel_part_below(part, k);
    if (holds(part, k)) {
        BB_RETURN_IF_FAILED(fill_diagonal(part, matrix, k));
    }
    BB_RETURN_IF_FAILED(part->layout.step == 1 ? fill_alone(part, matrix, k, below)
                                               : fill_in_turn(part, matrix, k, below));
    BB_RETURN_IF_FAILED(clear_rest(part, k));
    BB_RETURN_IF_FAILED(bb_panel_part_scale(
        at(part, panel_of(part, k), panel_item(part, below.begin)), part->arithmetic.storage,
        rows_of(part, below), block, block, at(part, part->panel_scale, below.begin * block),
        at(part, part->scale, k * block), part->bulk));
    return part->arithmetic.half_tiles ? start_tiles(part, k, below) : BB_OK;
}

bb_status bb_panel_part_update_rows(bb_panel_part *part, bb_index k, bb_index start, bb_index stop,
                                    bb_positions rows)
{
    const bb_index block = part->plan.block;
    if (stop <= start || rows_of(part, rows) == 0) {
        return BB_OK;
    }
    return in_halves(part) ? update_halves(part, k, start * block, stop * block, rows)
                           : update_by_runs(part, k, start * block, stop * block, rows);
}

bb_status bb_panel_part_update(bb_panel_part *part, bb_index k, bb_index start, bb_index stop)
{
    return bb_panel_part_update_rows(part, k, start, stop, bb_panel_part_below(part, k));
}

namespace
{

bb_status update_diagonal_halves(bb_panel_part *part, bb_index k, bb_index begin, bb_index end,
                                 bb_panel_stream stream)
{
    bb_split_product_cuda p = start_product(part);
    p.a = p.b = row_operand(part, k);
    p.rows = part->plan.block;
    p.lower_only = true;
    p.c = reinterpret_cast<float *>(diagonal_of(part, k));
    for (p.begin = begin; p.begin < end; p.begin = p.end) {
        p.end = next_cut(part, p.begin, end);
        BB_RETURN_IF_FAILED(bb_split_product_launch(&p, part->arithmetic.diagonal_products,
                                                    bb_panel_stream_of(part, stream)));
    }
    return BB_OK;
}

} // namespace

bb_status bb_panel_part_update_diagonal(bb_panel_part *part, bb_index k, bb_index start,
                                        bb_index stop, bb_panel_stream stream)
{
    const bb_index block = part->plan.block;
    if (stop <= start) {
        return BB_OK;
    }
    if (part->arithmetic.half_diagonal) {
        return update_diagonal_tile(part, k, start, stop, stream);
    }
    if (in_halves(part)) {
        return update_diagonal_halves(part, k, start * block, stop * block, stream);
    }
    dense_product p = {};
    p.a = p.b = at(part, part->triangle, triangle_item(part, k, start * block));
    p.c = diagonal_of(part, k);
    p.a_stride = p.b_stride = bb_triangle_layout_columns(part->layout);
    p.c_stride = p.rows = p.columns = block;
    p.depth = (stop - start) * block;
    p.transposed = true;
    p.alpha = -1.0;
    p.beta = 1.0;
    p.problems = 1;
    p.compute = part->arithmetic.diagonal;
    return multiply(part, p, stream);
}

bb_status bb_panel_part_factor_diagonal(bb_panel_part *part, bb_index k)
{
    const bb_index block = part->plan.block;
    void *inverse = inverse_of(part, k);
    bb_breakdown_cuda *breakdown = static_cast<bb_breakdown_cuda *>(part->breakdown);
    if (type_of(part) == BB_F64) {
        return bb_square_factor_launch_diagonal(
            reinterpret_cast<double *>(diagonal_of(part, k)), static_cast<double *>(inverse),
            static_cast<double *>(part->scratch), block, k * block, breakdown, part->chain);
    }
    return bb_square_factor_launch_diagonal(
        reinterpret_cast<float *>(diagonal_of(part, k)), static_cast<float *>(inverse),
        static_cast<float *>(part->scratch), block, k * block, breakdown, part->chain);
}

bb_status bb_panel_part_ready_inverse(bb_panel_part *part, bb_index k, bool transposed)
{
    const bb_index block = part->plan.block;
    if (!in_halves(part)) {
        return BB_OK;
    }
    const float *inverse = reinterpret_cast<const float *>(inverse_of(part, k));
    float *largest = static_cast<float *>(part->largest) + k % 2;
    void **planes = part->split_inverse[k % 2];
    BB_RETURN_IF_FAILED(bb_panel_part_largest(inverse, block * block, largest, part->bulk));
    return bb_panel_part_split(inverse, block, block, block, transposed, largest,
                               static_cast<__half *>(planes[0]), static_cast<__half *>(planes[1]),
                               block, part->bulk);
}

bb_status bb_panel_part_solve(bb_panel_part *part, bb_index k, bb_positions rows)
{
    if (rows_of(part, rows) == 0) {
        return BB_OK;
    }
    for (bb_positions run = rows; in_halves(part) && rows.begin < rows.end; rows.begin = run.end) {
        run = part->arithmetic.half_tiles ? first_run(part, k, rows) : rows;
        BB_RETURN_IF_FAILED(solve_halves(part, k, run));
    }
    return in_halves(part) ? BB_OK : solve_dense(part, k, rows);
}
