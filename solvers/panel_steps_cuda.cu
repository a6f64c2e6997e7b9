// SPDX-License-Identifier: Apache-2.0
//
// The steps of panel_part_cuda.h. A row-major product C [M][N] -= A [M][K] B [N][K]^T is, to
// cuBLAS, C^T -= B A^T of column-major matrices.
#include "solvers/panel_part_cuda.h"

namespace
{

bb_type type_of(const bb_panel_part *part)
{
    return part->arithmetic.storage == BB_PANEL_FP64 ? BB_F64 : BB_F32;
}

bool in_halves(const bb_panel_part *part)
{
    return part->arithmetic.storage == BB_PANEL_HALVES;
}

// Item `index` of an array in the type of C.
char *at(const bb_panel_part *part, void *array, bb_index index)
{
    return static_cast<char *>(array) + static_cast<size_t>(index) * bb_type_bytes(type_of(part));
}

float *floats(const bb_panel_part *part, void *array, bb_index index)
{
    return reinterpret_cast<float *>(at(part, array, index));
}

// The first row of panel k at a position, and panel k's diagonal block.
bb_index panel_item(const bb_panel_part *part, bb_index position)
{
    return position * part->plan.block * part->plan.block;
}

// The values of a panel in work: an owner has two at a time.
void *panel_of(const bb_panel_part *part, bb_index k)
{
    return part->panels[k / part->gpus % 2];
}

char *diagonal_of(const bb_panel_part *part, bb_index k)
{
    return at(part, part->diagonals, panel_item(part, k));
}

// Block row i of the folded triangle from column k on.
bb_index triangle_item(const bb_panel_part *part, bb_index i, bb_index column)
{
    return bb_triangle_row(part->layout, i) * bb_triangle_columns(part->layout) +
           bb_triangle_column(part->layout, i) + column;
}

bb_split_product_cuda start_product(const bb_panel_part *part)
{
    bb_split_product_cuda p = {};
    p.triangle = part->layout;
    p.columns = part->plan.block;
    p.c_stride = part->plan.block;
    p.stopped = &static_cast<const bb_breakdown_cuda *>(part->breakdown)->row;
    return p;
}

// C <- alpha A op(B) + beta C by cuBLAS, `problems` times a distance apart.
struct dense_product {
    const void *a, *b;
    void *c;
    bb_index a_stride, b_stride, c_stride;
    bb_index rows, columns, depth;
    bool transposed; // B is [columns][depth]
    bool halves;     // A and B are fp16, C is fp32
    double alpha, beta;
    bb_index problems, a_apart, c_apart; // B is shared
    cublasComputeType_t compute;
};

bb_status multiply(const bb_panel_part *part, const dense_product &p, bb_panel_stream stream)
{
    if (p.rows <= 0 || p.depth <= 0 || p.problems <= 0) {
        return BB_OK;
    }
    const bool wide = type_of(part) == BB_F64;
    const cudaDataType type = wide ? CUDA_R_64F : CUDA_R_32F;
    const cudaDataType operand = p.halves ? CUDA_R_16F : type;
    const float narrow[2] = {static_cast<float>(p.alpha), static_cast<float>(p.beta)};
    const double doubles[2] = {p.alpha, p.beta};
    const void *alpha = wide ? static_cast<const void *>(&doubles[0]) : &narrow[0];
    const void *beta = wide ? static_cast<const void *>(&doubles[1]) : &narrow[1];
    const cublasOperation_t op = p.transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    const int rows = static_cast<int>(p.rows);
    const int columns = static_cast<int>(p.columns);
    const int depth = static_cast<int>(p.depth);
    const int strides[3] = {static_cast<int>(p.a_stride), static_cast<int>(p.b_stride),
                            static_cast<int>(p.c_stride)};
    if (p.problems == 1) {
        BB_CUBLAS_TRY(part->library->gemm(part->handles[stream], op, CUBLAS_OP_N, columns, rows,
                                          depth, alpha, p.b, operand, strides[1], p.a, operand,
                                          strides[0], beta, p.c, type, strides[2], p.compute,
                                          CUBLAS_GEMM_DEFAULT));
        return BB_OK;
    }
    BB_CUBLAS_TRY(part->library->gemm_batched(
        part->handles[stream], op, CUBLAS_OP_N, columns, rows, depth, alpha, p.b, operand,
        strides[1], 0, p.a, operand, strides[0], p.a_apart, beta, p.c, type, strides[2], p.c_apart,
        static_cast<int>(p.problems), p.compute, CUBLAS_GEMM_DEFAULT));
    return BB_OK;
}

// The positions that are not folded, and those that are.
bb_positions unfolded(const bb_panel_part *part, bb_positions rows)
{
    const bb_index fold = part->layout.blocks - bb_triangle_half(part->layout);
    return {rows.begin, rows.end < fold ? rows.end : fold};
}

bb_positions folded(const bb_panel_part *part, bb_positions rows)
{
    const bb_index fold = part->layout.blocks - bb_triangle_half(part->layout);
    return {rows.begin > fold ? rows.begin : fold, rows.end};
}

bb_index rows_of(const bb_panel_part *part, bb_positions positions)
{
    return positions.end > positions.begin ? (positions.end - positions.begin) * part->plan.block
                                           : 0;
}

// Panels [from, to) of all block rows at `rows` against a block row: both halves of the fold.
bb_status update_dense(bb_panel_part *part, bb_index k, bb_index from, bb_index to,
                       bb_positions rows)
{
    const bb_index block = part->plan.block;
    const bb_index stride = bb_triangle_columns(part->layout);
    const bb_positions straight = unfolded(part, rows);
    const bb_positions bent = folded(part, rows);
    dense_product p = {};
    p.b = at(part, part->triangle, triangle_item(part, k, from * block));
    p.a_stride = p.b_stride = stride;
    p.c_stride = p.columns = block;
    p.depth = (to - from) * block;
    p.transposed = true;
    p.alpha = -1.0;
    p.beta = 1.0;
    p.compute = part->arithmetic.compute;
    if (rows_of(part, straight) > 0) {
        const bb_index i = bb_triangle_block_at(part->layout, straight.begin);
        p.a = at(part, part->triangle, triangle_item(part, i, from * block));
        p.c = at(part, panel_of(part, k), panel_item(part, straight.begin));
        p.rows = rows_of(part, straight);
        p.problems = 1;
        BB_RETURN_IF_FAILED(multiply(part, p, BB_PANEL_BULK));
    }
    if (rows_of(part, bent) > 0) {
        const bb_index i = bb_triangle_block_at(part->layout, bent.begin);
        p.a = at(part, part->triangle, triangle_item(part, i, from * block));
        p.c = at(part, panel_of(part, k), panel_item(part, bent.begin));
        p.rows = block;
        p.problems = bent.end - bent.begin;
        p.a_apart = block * stride + block;
        p.c_apart = block * block;
        BB_RETURN_IF_FAILED(multiply(part, p, BB_PANEL_BULK));
    }
    return BB_OK;
}

// Longest run of the depth in one call of cuBLAS with halves: the tensor core truncates while it
// sums, C takes the parts in fp32. Below the other length our own kernel is as fast.
const bb_index longest_depth = 16384;
const bb_index shortest_depth = 2048;

// The same as update_dense for one plane of halves.
bb_status update_plane(bb_panel_part *part, bb_index k, bb_index from, bb_index to,
                       bb_positions rows)
{
    const bb_index block = part->plan.block;
    const bb_index stride = bb_triangle_columns(part->layout);
    const __half *plane = static_cast<const __half *>(part->triangle);
    const bb_positions parts[2] = {unfolded(part, rows), folded(part, rows)};
    dense_product p = {};
    p.halves = p.transposed = true;
    p.a_stride = p.b_stride = stride;
    p.c_stride = p.columns = block;
    p.alpha = -1.0;
    p.beta = 1.0;
    p.compute = CUBLAS_COMPUTE_32F;
    p.a_apart = block * stride + block;
    p.c_apart = block * block;
    for (bb_index begin = from * block; begin < to * block; begin += longest_depth) {
        const bb_index left = to * block - begin;
        p.depth = left < longest_depth ? left : longest_depth;
        p.b = plane + triangle_item(part, k, begin);
        for (int half = 0; half < 2; ++half) {
            const bb_positions &run = parts[half];
            if (rows_of(part, run) == 0) {
                continue;
            }
            const bb_index i = bb_triangle_block_at(part->layout, run.begin);
            p.a = plane + triangle_item(part, i, begin);
            p.c = at(part, panel_of(part, k), panel_item(part, run.begin));
            p.rows = half == 0 ? rows_of(part, run) : block;
            p.problems = half == 0 ? 1 : run.end - run.begin;
            BB_RETURN_IF_FAILED(multiply(part, p, BB_PANEL_BULK));
        }
    }
    return BB_OK;
}

int products_at(const bb_panel_part *part, bb_index position, bb_index k)
{
    const bb_index i = bb_triangle_block_at(part->layout, position);
    if (part->plan.narrow == nullptr) {
        return part->arithmetic.products;
    }
    return part->plan.narrow[i * part->layout.blocks + k] != 0 ? 1 : 3;
}

// One launch for every run of block rows that take the same number of products.
bb_status update_halves(bb_panel_part *part, bb_index k, bb_index from, bb_index to,
                        bb_positions rows)
{
    const bb_halves &planes = part->triangle_planes;
    const bb_index block = part->plan.block;
    bb_split_product_cuda p = start_product(part);
    p.b = {BB_OPERAND_BLOCK_ROW, k * block, planes.hi.map, planes.lo.map};
    p.begin = from * block;
    p.end = to * block;
    bb_index end = rows.begin;
    for (bb_index begin = rows.begin; begin < rows.end; begin = end) {
        const int products = products_at(part, begin, k);
        for (end = begin + 1; end < rows.end && products_at(part, end, k) == products; ++end) {
        }
        if (products == 1 && (to - from) * block >= shortest_depth) {
            BB_RETURN_IF_FAILED(update_plane(part, k, from, to, {begin, end}));
            continue;
        }
        p.a = {BB_OPERAND_PANEL, begin * block, planes.hi.map, planes.lo.map};
        p.rows = (end - begin) * block;
        p.c = floats(part, panel_of(part, k), panel_item(part, begin));
        BB_RETURN_IF_FAILED(bb_split_product_launch(&p, products, part->bulk));
    }
    return BB_OK;
}

// Panels of B: A is rows of B, plain, against block row k, or all block rows below it.
bb_status update_sides(bb_panel_part *part, bb_index k, bool backward)
{
    const bb_index block = part->plan.block;
    const bb_index whole = part->layout.blocks * block;
    const bb_halves &planes = part->triangle_planes;
    if (in_halves(part)) {
        bb_split_product_cuda p = start_product(part);
        p.a = {BB_OPERAND_PLAIN, 0, part->side_planes.hi.map, part->side_planes.lo.map};
        p.b = {BB_OPERAND_BLOCK_ROW, k * block, planes.hi.map, planes.lo.map};
        if (backward) {
            p.b = {BB_OPERAND_COLUMNS, k * block, planes.hi_short.map, planes.lo_short.map};
        }
        p.begin = backward ? (k + 1) * block : 0;
        p.end = backward ? whole : k * block;
        p.rows = part->sides;
        p.c = floats(part, part->side_panel, 0);
        return bb_split_product_launch(
            &p, backward ? part->arithmetic.backward_products : part->arithmetic.forward_products,
            part->bulk);
    }
    dense_product p = {};
    p.c = part->side_panel;
    p.a_stride = whole;
    p.b_stride = bb_triangle_columns(part->layout);
    p.c_stride = p.columns = block;
    p.rows = part->sides;
    p.alpha = -1.0;
    p.beta = 1.0;
    p.problems = 1;
    p.compute = part->arithmetic.diagonal;
    if (!backward) {
        p.a = part->side;
        p.b = at(part, part->triangle, triangle_item(part, k, 0));
        p.depth = k * block;
        p.transposed = true;
        return multiply(part, p, BB_PANEL_BULK);
    }
    // Block rows in one piece beyond the fold, one by one before it.
    const bb_index half = bb_triangle_half(part->layout);
    for (bb_index i = k + 1; i < part->layout.blocks;) {
        const bb_index next = i < half ? i + 1 : part->layout.blocks;
        p.a = at(part, part->side, i * block);
        p.b = at(part, part->triangle, triangle_item(part, i, k * block));
        p.depth = (next - i) * block;
        BB_RETURN_IF_FAILED(multiply(part, p, BB_PANEL_BULK));
        i = next;
    }
    return BB_OK;
}

// The columns of B of panel k <- side_panel times the inverse of L_kk^T, or of L_kk going backward.
bb_status solve_sides(bb_panel_part *part, bb_index k, bool backward)
{
    const bb_index block = part->plan.block;
    const bb_index whole = part->layout.blocks * block;
    if (in_halves(part)) {
        bb_split_product_cuda p = start_product(part);
        const bb_halves &inverse = part->inverse_planes[k % 2];
        BB_RETURN_IF_FAILED(
            bb_kernel_split(floats(part, part->side_panel, 0), part->sides, block, block, false,
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
        p.plane_stride = whole;
        p.plane_column = k * block;
        p.largest = static_cast<const float *>(part->largest) + k % 2;
        return bb_split_product_launch(&p, 3, part->bulk);
    }
    dense_product p = {};
    p.a = part->side_panel;
    p.b = at(part, part->inverses, panel_item(part, k));
    p.c = at(part, part->side, k * block);
    p.a_stride = p.b_stride = p.columns = p.depth = block;
    p.c_stride = whole;
    p.rows = part->sides;
    p.transposed = !backward;
    p.alpha = 1.0;
    p.problems = 1;
    p.compute = part->arithmetic.diagonal;
    return multiply(part, p, BB_PANEL_BULK);
}

} // namespace

bb_positions bb_panel_below(const bb_triangle_layout &layout, bb_index k)
{
    const bb_index half = bb_triangle_half(layout);
    return {k + 1 > half ? k + 1 - half : 0,
            k + 1 < half ? layout.blocks - 1 - k : layout.blocks - half};
}

bb_status bb_panel_fill(bb_panel_part *part, const bb_device_source *matrix, bb_index k)
{
    const bb_index block = part->plan.block;
    const bb_index half = bb_triangle_half(part->layout);
    const bb_index first = k + 1 > half ? k + 1 : half; // beyond the fold
    const bb_index last = part->layout.blocks - 1;
    const bb_index columns = bb_triangle_extent(part->layout, k);
    void *panel = panel_of(part, k);
    const bb_positions below = bb_panel_below(part->layout, k);
    BB_RETURN_IF_FAILED(bb_device_source_fill(
        matrix, part->bulk, k * block, k * block,
        bb_device_matrix(diagonal_of(part, k), type_of(part), columns, columns, block)));
    BB_RETURN_IF_FAILED(bb_kernel_scale(diagonal_of(part, k), part->arithmetic.storage, columns,
                                        columns, block, at(part, part->scale, k * block),
                                        at(part, part->scale, k * block), part->bulk));
    BB_RETURN_IF_FAILED(bb_kernel_pad_diagonal(diagonal_of(part, k), part->arithmetic.storage,
                                               block, columns, part->bulk));
    if (first <= last) {
        bb_index to = panel_item(part, bb_triangle_position(part->layout, first));
        BB_RETURN_IF_FAILED(
            bb_device_source_fill(matrix, part->bulk, first * block, k * block,
                                  bb_device_matrix(at(part, panel, to), type_of(part),
                                                   part->plan.n - first * block, block, block)));
        // Rows past the last one are zeros.
        to = panel_item(part, bb_triangle_position(part->layout, last)) +
             bb_triangle_extent(part->layout, last) * block;
        const bb_index rest = block - bb_triangle_extent(part->layout, last);
        BB_CUDA_TRY(cudaMemsetAsync(
            at(part, panel, to), 0,
            static_cast<size_t>(rest * block) * bb_type_bytes(type_of(part)), part->bulk));
    }
    for (bb_index i = k + 1; i < half; ++i) {
        const bb_index to = panel_item(part, bb_triangle_position(part->layout, i));
        BB_RETURN_IF_FAILED(bb_device_source_fill(
            matrix, part->bulk, i * block, k * block,
            bb_device_matrix(at(part, panel, to), type_of(part), block, block, block)));
    }
    return bb_kernel_scale(at(part, panel, panel_item(part, below.begin)), part->arithmetic.storage,
                           rows_of(part, below), block, block,
                           at(part, part->panel_scale, below.begin * block),
                           at(part, part->scale, k * block), part->bulk);
}

bb_status bb_panel_update(bb_panel_part *part, bb_index k, bb_index from, bb_index to)
{
    const bb_positions rows = bb_panel_below(part->layout, k);
    if (to <= from || rows_of(part, rows) == 0) {
        return BB_OK;
    }
    return in_halves(part) ? update_halves(part, k, from, to, rows)
                           : update_dense(part, k, from, to, rows);
}

bb_status bb_panel_update_diagonal(bb_panel_part *part, bb_index k, bb_index from, bb_index to,
                                   bb_panel_stream stream)
{
    const bb_index block = part->plan.block;
    const bb_halves &planes = part->triangle_planes;
    if (to <= from) {
        return BB_OK;
    }
    if (in_halves(part)) {
        bb_split_product_cuda p = start_product(part);
        p.a = {BB_OPERAND_BLOCK_ROW, k * block, planes.hi.map, planes.lo.map};
        p.b = p.a;
        p.begin = from * block;
        p.end = to * block;
        p.rows = block;
        p.lower_only = true;
        p.c = reinterpret_cast<float *>(diagonal_of(part, k));
        return bb_split_product_launch(&p, part->arithmetic.diagonal_products,
                                       bb_panel_stream_of(part, stream));
    }
    dense_product p = {};
    p.a = p.b = at(part, part->triangle, triangle_item(part, k, from * block));
    p.c = diagonal_of(part, k);
    p.a_stride = p.b_stride = bb_triangle_columns(part->layout);
    p.c_stride = p.rows = p.columns = block;
    p.depth = (to - from) * block;
    p.transposed = true;
    p.alpha = -1.0;
    p.beta = 1.0;
    p.problems = 1;
    p.compute = part->arithmetic.diagonal;
    return multiply(part, p, stream);
}

bb_status bb_panel_factor_diagonal(bb_panel_part *part, bb_index k)
{
    const bb_index block = part->plan.block;
    void *inverse = at(part, part->inverses, panel_item(part, k));
    bb_breakdown_cuda *breakdown = static_cast<bb_breakdown_cuda *>(part->breakdown);
    if (type_of(part) == BB_F64) {
        return bb_diagonal_factor_launch(
            reinterpret_cast<double *>(diagonal_of(part, k)), static_cast<double *>(inverse),
            static_cast<double *>(part->scratch), block, k * block, breakdown, part->chain);
    }
    return bb_diagonal_factor_launch(
        reinterpret_cast<float *>(diagonal_of(part, k)), static_cast<float *>(inverse),
        static_cast<float *>(part->scratch), block, k * block, breakdown, part->chain);
}

bb_status bb_panel_ready_inverse(bb_panel_part *part, bb_index k, bool transposed)
{
    const bb_index block = part->plan.block;
    if (!in_halves(part)) {
        return BB_OK;
    }
    const float *inverse = floats(part, part->inverses, panel_item(part, k));
    float *largest = static_cast<float *>(part->largest) + k % 2;
    void **planes = part->split_inverse[k % 2];
    BB_RETURN_IF_FAILED(bb_kernel_largest(inverse, block * block, largest, part->bulk));
    return bb_kernel_split(inverse, block, block, block, transposed, largest,
                           static_cast<__half *>(planes[0]), static_cast<__half *>(planes[1]),
                           block, part->bulk);
}

bb_status bb_panel_solve(bb_panel_part *part, bb_index k, bb_positions rows)
{
    const bb_index block = part->plan.block;
    const bb_index stride = bb_triangle_columns(part->layout);
    if (rows_of(part, rows) == 0) {
        return BB_OK;
    }
    void *panel = at(part, panel_of(part, k), panel_item(part, rows.begin));
    if (in_halves(part)) {
        const bb_halves &inverse = part->inverse_planes[k % 2];
        const bb_index first = rows.begin * block;
        bb_split_product_cuda p = start_product(part);
        BB_RETURN_IF_FAILED(bb_kernel_split(
            static_cast<const float *>(panel), rows_of(part, rows), block, block, false, nullptr,
            static_cast<__half *>(part->split[0]) + first * block,
            static_cast<__half *>(part->split[1]) + first * block, block, part->bulk));
        p.a = {BB_OPERAND_PLAIN, first, part->panel_planes.hi.map, part->panel_planes.lo.map};
        p.b = {BB_OPERAND_PLAIN, 0, inverse.hi.map, inverse.lo.map};
        p.rows = rows_of(part, rows);
        p.end = block;
        p.depth = BB_DEPTH_LOWER;
        p.write_planes = p.folded = true;
        p.hi = static_cast<__half *>(part->triangle);
        p.lo = static_cast<__half *>(part->triangle_lo);
        p.plane_stride = stride;
        p.plane_column = k * block;
        p.largest = static_cast<const float *>(part->largest) + k % 2;
        return bb_split_product_launch(&p, 3, part->bulk);
    }
    const bb_positions straight = unfolded(part, rows);
    const bb_positions bent = folded(part, rows);
    dense_product p = {};
    p.b = at(part, part->inverses, panel_item(part, k));
    p.a_stride = p.b_stride = p.columns = p.depth = block;
    p.c_stride = stride;
    p.transposed = true;
    p.alpha = 1.0;
    p.compute = part->arithmetic.diagonal;
    if (rows_of(part, straight) > 0) {
        const bb_index i = bb_triangle_block_at(part->layout, straight.begin);
        p.a = panel;
        p.c = at(part, part->triangle, triangle_item(part, i, k * block));
        p.rows = rows_of(part, straight);
        p.problems = 1;
        BB_RETURN_IF_FAILED(multiply(part, p, BB_PANEL_BULK));
    }
    if (rows_of(part, bent) > 0) {
        const bb_index i = bb_triangle_block_at(part->layout, bent.begin);
        p.a = at(part, panel_of(part, k), panel_item(part, bent.begin));
        p.c = at(part, part->triangle, triangle_item(part, i, k * block));
        p.rows = block;
        p.problems = bent.end - bent.begin;
        p.a_apart = block * block;
        p.c_apart = block * stride + block;
        BB_RETURN_IF_FAILED(multiply(part, p, BB_PANEL_BULK));
    }
    return BB_OK;
}

// D-scaled columns of panel k of B, zeros beyond the last column.
static bb_status load_sides(bb_panel_part *part, bb_index side_count,
                            const bb_device_source *const *sides, bb_index k, const void *row_scale)
{
    const bb_index block = part->plan.block;
    const bb_index columns = bb_triangle_extent(part->layout, k);
    const bb_index end = part->first_side + part->sides;
    bb_index first = 0; // of this side among all rows
    if (columns < block) {
        BB_CUDA_TRY(cudaMemsetAsync(
            part->side_panel, 0,
            static_cast<size_t>(part->sides * block) * bb_type_bytes(type_of(part)), part->bulk));
    }
    for (bb_index s = 0; s < side_count; first += sides[s++]->rows) {
        const bb_index from = first > part->first_side ? first : part->first_side;
        const bb_index to = first + sides[s]->rows < end ? first + sides[s]->rows : end;
        if (from < to) {
            void *out = at(part, part->side_panel, (from - part->first_side) * block);
            BB_RETURN_IF_FAILED(bb_device_source_fill(
                sides[s], part->bulk, from - first, k * block,
                bb_device_matrix(out, type_of(part), to - from, columns, block)));
        }
    }
    return bb_kernel_scale(part->side_panel, part->arithmetic.storage, part->sides, columns, block,
                           row_scale, at(part, part->scale, k * block), part->bulk);
}

bb_status bb_panel_scale_sides(bb_panel_part *part, bb_index side_count,
                               const bb_device_source *const *sides)
{
    const bb_index block = part->plan.block;
    float *largest = static_cast<float *>(part->side_scale);
    if (part->sides == 0 || !in_halves(part)) {
        return BB_OK;
    }
    BB_CUDA_TRY(
        cudaMemsetAsync(largest, 0, static_cast<size_t>(part->sides) * sizeof(float), part->bulk));
    for (bb_index k = 0; k < part->layout.blocks; ++k) {
        BB_RETURN_IF_FAILED(load_sides(part, side_count, sides, k, nullptr));
        BB_RETURN_IF_FAILED(bb_kernel_row_largest(floats(part, part->side_panel, 0), part->sides,
                                                  bb_triangle_extent(part->layout, k), block,
                                                  largest, part->bulk));
    }
    return bb_kernel_row_scale(largest, part->sides, part->bulk);
}

bb_status bb_panel_fill_sides(bb_panel_part *part, bb_index side_count,
                              const bb_device_source *const *sides, bb_index k)
{
    return load_sides(part, side_count, sides, k, part->side_scale);
}

bb_status bb_panel_sweep_forward(bb_panel_part *part, bb_index k)
{
    if (part->sides == 0) {
        return BB_OK;
    }
    BB_RETURN_IF_FAILED(update_sides(part, k, false));
    return solve_sides(part, k, false);
}

bb_status bb_panel_sweep_backward(bb_panel_part *part, bb_index k)
{
    const bb_index block = part->plan.block;
    const bb_index whole = part->layout.blocks * block;
    if (part->sides == 0) {
        return BB_OK;
    }
    if (in_halves(part)) {
        BB_RETURN_IF_FAILED(bb_kernel_join(static_cast<const __half *>(part->side) + k * block,
                                           static_cast<const __half *>(part->side_lo) + k * block,
                                           part->sides, block, whole,
                                           floats(part, part->side_panel, 0), block, part->bulk));
    } else {
        const size_t word = bb_type_bytes(type_of(part));
        BB_CUDA_TRY(cudaMemcpy2DAsync(
            part->side_panel, static_cast<size_t>(block) * word, at(part, part->side, k * block),
            static_cast<size_t>(whole) * word, static_cast<size_t>(block) * word,
            static_cast<size_t>(part->sides), cudaMemcpyDeviceToDevice, part->bulk));
    }
    BB_RETURN_IF_FAILED(update_sides(part, k, true));
    BB_RETURN_IF_FAILED(bb_panel_ready_inverse(part, k, true));
    return solve_sides(part, k, true);
}

// A rectangle of a plane, from one GPU's to the same place of another's.
static bb_status send_rectangle(const bb_panel_part *from, const void *source, void *to,
                                bb_index item, bb_index rows, bb_index columns, bb_index stride,
                                size_t word)
{
    const size_t offset = static_cast<size_t>(item) * word;
    const size_t pitch = static_cast<size_t>(stride) * word;
    if (source == nullptr || rows == 0) {
        return BB_OK;
    }
    BB_CUDA_TRY(cudaMemcpy2DAsync(static_cast<char *>(to) + offset, pitch,
                                  static_cast<const char *>(source) + offset, pitch,
                                  static_cast<size_t>(columns) * word, static_cast<size_t>(rows),
                                  cudaMemcpyDefault, from->bulk));
    return BB_OK;
}

bb_status bb_panel_send(const bb_panel_part *from, bb_panel_part *to, bb_index k)
{
    const bb_index block = from->plan.block;
    const bb_index stride = bb_triangle_columns(from->layout);
    const bb_index half = bb_triangle_half(from->layout);
    const size_t word = bb_type_bytes(type_of(from));
    const size_t kept = in_halves(from) ? sizeof(__half) : word;
    for (bb_index i = k + 1; i < from->layout.blocks;) {
        const bb_index next = i < half ? i + 1 : from->layout.blocks;
        const bb_index item = triangle_item(from, i, k * block);
        BB_RETURN_IF_FAILED(send_rectangle(from, from->triangle, to->triangle, item,
                                           (next - i) * block, block, stride, kept));
        BB_RETURN_IF_FAILED(send_rectangle(from, from->triangle_lo, to->triangle_lo, item,
                                           (next - i) * block, block, stride, kept));
        i = next;
    }
    BB_RETURN_IF_FAILED(send_rectangle(from, from->inverses, to->inverses, panel_item(from, k),
                                       block, block, block, word));
    BB_RETURN_IF_FAILED(send_rectangle(from, from->diagonals, to->diagonals, panel_item(from, k),
                                       block, block, block, word));
    return send_rectangle(from, from->breakdown, to->breakdown, 0, 1, 1, 1,
                          sizeof(bb_breakdown_cuda));
}
