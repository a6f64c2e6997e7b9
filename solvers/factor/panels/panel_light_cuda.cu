// SPDX-License-Identifier: Apache-2.0
//
// Light sweeps of panel_part_cuda.h: energies of the blocks of L, and lists of the blocks that
// update each block of B.
#include "core/memory.h"
#include "solvers/factor/panels/panel_products_cuda.h"

using namespace panel;

namespace
{

const int threads = 256;

// Computes the energies, one thread block per block of L from block column `start` on; each sum has
// a fixed order.
__global__ void __launch_bounds__(threads)
    sum_squares(const __half *values, const bb_triangle_layout layout, bb_index start,
                double *energies)
{
    __shared__ double sums[threads];
    const bb_index i = bb_triangle_layout_block_at(layout, blockIdx.y);
    const bb_index j = start + blockIdx.x;
    const bb_index stride = bb_triangle_layout_columns(layout);
    double sum = 0.0;
    if (j >= i) {
        if (j == i && threadIdx.x == 0) {
            energies[i * (i + 1) / 2 + i] = 0.0;
        }
        return;
    }
    const __half *block = values + bb_triangle_layout_row(layout, i) * stride +
                          bb_triangle_layout_column(layout, i) + j * layout.block;
    for (bb_index r = 0; r < layout.block; ++r) {
        for (bb_index c = 2 * threadIdx.x; c < layout.block; c += 2 * threads) {
            const float2 pair =
                __half22float2(*reinterpret_cast<const __half2 *>(block + r * stride + c));
            sum += static_cast<double>(pair.x * pair.x + pair.y * pair.y);
        }
    }
    sums[threadIdx.x] = sum;
    for (int half = threads / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) {
            sums[threadIdx.x] += sums[threadIdx.x + half];
        }
    }
    if (threadIdx.x == 0) {
        energies[i * (i + 1) / 2 + j] = sums[0];
    }
}

// Lists the blocks that update panel k, heavy ones first; returns the number of heavy blocks.
int list_blocks(bb_index blocks, const unsigned char *light, bb_index k, bool backward, int *out)
{
    const bb_index begin = backward ? k + 1 : 0;
    const bb_index end = backward ? blocks : k;
    int count = 0;
    int heavy = 0;
    for (int weight = 0; weight < 2; ++weight) {
        for (bb_index j = begin; j < end; ++j) {
            const bb_index index = backward ? j * blocks + k : k * blocks + j;
            if ((light[index] != 0) == (weight == 1)) {
                out[count++] = static_cast<int>(j);
            }
        }
        heavy = weight == 0 ? count : heavy;
    }
    return heavy;
}

} // namespace

bb_status bb_panel_part_find_energies(bb_panel_part *part, bb_index start, bb_index stop)
{
    const dim3 grid(static_cast<unsigned>(stop - start), static_cast<unsigned>(part->layout.held));
    if (part->layout.held == 0 || stop <= start) {
        return BB_OK;
    }
    sum_squares<<<grid, threads, 0, part->bulk>>>(static_cast<const __half *>(part->triangle),
                                                  part->layout, start,
                                                  static_cast<double *>(part->energies));
    BB_CUDA_CHECK_LAUNCH();
    return BB_OK;
}

bb_status bb_panel_part_energies(bb_panel_part *part, double *out)
{
    const bb_index blocks = part->layout.blocks;
    const bb_index count = blocks * (blocks + 1) / 2;
    void *found = nullptr;
    if (part->layout.held == 0) {
        return BB_OK;
    }
    BB_RETURN_IF_FAILED(bb_memory_allocate(count, sizeof(double), &found));
    cudaError_t error =
        cudaMemcpyAsync(found, part->energies, static_cast<size_t>(count) * sizeof(double),
                        cudaMemcpyDeviceToHost, part->bulk);
    error = error != cudaSuccess ? error : cudaStreamSynchronize(part->bulk);
    for (bb_index i = part->layout.first; error == cudaSuccess && i < blocks;
         i += part->layout.step) {
        for (bb_index item = i * (i + 1) / 2; item <= i * (i + 1) / 2 + i; ++item) {
            out[item] = static_cast<const double *>(found)[item];
        }
    }
    bb_memory_release(&found);
    BB_CUDA_TRY(error);
    return BB_OK;
}

bb_status bb_panel_part_set_light(bb_panel_part *part, const unsigned char *light)
{
    const bb_index blocks = part->layout.blocks;
    void *lists = nullptr;
    void *counts = part->heavy_blocks;
    if (counts == nullptr) {
        BB_RETURN_IF_FAILED(bb_memory_zeroed(2 * blocks, sizeof(int), &counts));
        part->heavy_blocks = static_cast<int *>(counts);
    }
    BB_RETURN_IF_FAILED(bb_memory_zeroed(2 * blocks * blocks, sizeof(int), &lists));
    for (bb_index line = 0; line < 2 * blocks; ++line) {
        part->heavy_blocks[line] = list_blocks(blocks, light, line % blocks, line >= blocks,
                                               static_cast<int *>(lists) + line * blocks);
    }
    cudaError_t error = cudaMemcpyAsync(part->sweep_lists, lists,
                                        static_cast<size_t>(2 * blocks * blocks) * sizeof(int),
                                        cudaMemcpyHostToDevice, part->bulk);
    error = error != cudaSuccess ? error : cudaStreamSynchronize(part->bulk);
    bb_memory_release(&lists);
    BB_CUDA_TRY(error);
    return BB_OK;
}
