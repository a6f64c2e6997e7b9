// SPDX-License-Identifier: Apache-2.0
//
// Operands of products below the diagonal in bf16 and fp8: a bf16 plane of the fp32 L.
//
// fp8 is emulated. A block's values are rounded to round(s a) / s in e4m3, s the power of two that
// brings its largest magnitude to (224, 448]. They are stored in bf16, which represents them
// exactly for any s. Products of them are exact in fp32. Only the order of the sums and the
// truncation in the tensor core therefore differ from a product of e4m3 operands; the speed is that
// of bf16.
#include "precision/format_core.h"
#include "solvers/factor/panels/panel_products_cuda.h"

#include <cmath>
#include <cuda_bf16.h>

using namespace panel;

namespace
{

const int threads = 256;

// Blocks of one panel in the folded triangle.
struct blocks_of_panel {
    bb_triangle_layout layout;
    bb_index begin;  // position of the first block
    bb_index column; // column in the matrix
};

__device__ bb_index item_of(const blocks_of_panel &blocks, bb_index place)
{
    const bb_triangle_layout &layout = blocks.layout;
    const bb_index i = bb_triangle_layout_block_at(layout, blocks.begin + place);
    return bb_triangle_layout_row(layout, i) * bb_triangle_layout_columns(layout) +
           bb_triangle_layout_column(layout, i) + blocks.column;
}

// Magnitudes compare like their bit patterns, so the order of the maxima does not matter.
__global__ void find_largest_of_blocks(const float *values, blocks_of_panel blocks,
                                       unsigned *largest)
{
    const bb_index block = blocks.layout.block;
    const bb_index stride = bb_triangle_layout_columns(blocks.layout);
    const float *source = values + item_of(blocks, blockIdx.y);
    unsigned own = 0;
    for (bb_index r = blockIdx.x; r < block; r += gridDim.x) {
        for (bb_index c = threadIdx.x; c < block; c += blockDim.x) {
            own = max(own, __float_as_uint(fabsf(source[r * stride + c])));
        }
    }
    own = __reduce_max_sync(0xFFFFFFFFU, own);
    if (threadIdx.x % 32 == 0) {
        atomicMax(&largest[blockIdx.y], own);
    }
}

// Scale as in solvers/factor/tiles/tile_operand.c: 1 for zeros or if a value is not finite.
__device__ float scale_to_e4m3(float largest)
{
    int exponent = 0;
    if (largest == 0.0F || !isfinite(largest)) {
        return 1.0F;
    }
    (void)frexpf(448.0F / fmaxf(largest, 0x1p-110F), &exponent);
    return ldexpf(1.0F, exponent - 1);
}

__device__ float round_to_e4m3(float value)
{
    const float magnitude = bb_format_round_magnitude_f32(fabsf(value), 20, 0x1p-6F, 0x1p14F);
    return isnan(value) ? value : copysignf(fminf(magnitude, 448.0F), value);
}

// Narrows blocks to bf16 values, without scaling if `largest` is NULL.
__global__ void narrow_blocks(const float *values, blocks_of_panel blocks, const unsigned *largest,
                              __nv_bfloat16 *out)
{
    const bb_index block = blocks.layout.block;
    const bb_index stride = bb_triangle_layout_columns(blocks.layout);
    const bb_index item = item_of(blocks, blockIdx.y);
    const bool scaled = largest != nullptr;
    const float scale = scaled ? scale_to_e4m3(__uint_as_float(largest[blockIdx.y])) : 1.0F;
    const float back = 1.0F / scale;
    for (bb_index r = blockIdx.x; r < block; r += gridDim.x) {
        for (bb_index c = threadIdx.x; c < block; c += blockDim.x) {
            const float value = values[item + r * stride + c];
            out[item + r * stride + c] =
                __float2bfloat16_rn(scaled ? back * round_to_e4m3(scale * value) : value);
        }
    }
}

} // namespace

bb_status bb_panel_part_narrow(bb_panel_part *part, bb_index k, bb_positions rows)
{
    const bb_index count = rows.end - rows.begin;
    if (!part->arithmetic.operand_plane || count <= 0) {
        return BB_OK;
    }
    const dim3 grid(64, static_cast<unsigned>(count));
    const blocks_of_panel blocks = {part->layout, rows.begin, k * part->plan.block};
    const float *values = static_cast<const float *>(part->triangle);
    unsigned *largest = static_cast<unsigned *>(part->largest_of_blocks);
    if (part->arithmetic.tile_scale) {
        BB_CUDA_TRY(
            cudaMemsetAsync(largest, 0, static_cast<size_t>(count) * sizeof *largest, part->bulk));
        find_largest_of_blocks<<<grid, threads, 0, part->bulk>>>(values, blocks, largest);
        BB_CUDA_CHECK_LAUNCH();
    }
    narrow_blocks<<<grid, threads, 0, part->bulk>>>(values, blocks,
                                                    part->arithmetic.tile_scale ? largest : nullptr,
                                                    static_cast<__nv_bfloat16 *>(part->operands));
    BB_CUDA_CHECK_LAUNCH();
    return BB_OK;
}
