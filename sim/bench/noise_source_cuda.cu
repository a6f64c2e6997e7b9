// SPDX-License-Identifier: Apache-2.0
//
// Blocks of the random matrix, computed in fp64 as on the host and rounded once for fp32.
#include "core/device_cuda.h"
#include "sim/bench/noise_core.h"
#include "sim/bench/noise_source.h"

namespace
{

const bb_index wide = 32; // threads along a row
const bb_index high = 8;
const bb_index most_blocks = 65535; // of a grid's second axis

template <typename T>
__global__ void fill(double scale, bb_index row, bb_index column, bb_index rows, bb_index columns,
                     bb_index stride, T *out)
{
    const bb_index j = static_cast<bb_index>(blockIdx.x) * wide + threadIdx.x;
    if (j >= columns) {
        return;
    }
    for (bb_index i = static_cast<bb_index>(blockIdx.y) * high + threadIdx.y; i < rows;
         i += static_cast<bb_index>(gridDim.y) * high) {
        out[i * stride + j] = static_cast<T>(bb_noise_entry(scale, row + i, column + j));
    }
}

} // namespace

extern "C" bb_status bb_noise_fill_cuda(const bb_device_source *source, void *stream, bb_index row,
                                        bb_index column, bb_view out)
{
    const double scale = static_cast<const bb_noise *>(source->host->context)->scale;
    const bb_index rows = out.shape[0];
    const bb_index columns = out.shape[1];
    if (rows == 0 || columns == 0) {
        return BB_OK;
    }
    const bb_index tall = (rows + high - 1) / high;
    const dim3 threads(static_cast<unsigned>(wide), static_cast<unsigned>(high));
    const dim3 grid(static_cast<unsigned>((columns + wide - 1) / wide),
                    static_cast<unsigned>(tall < most_blocks ? tall : most_blocks));
    cudaStream_t order = static_cast<cudaStream_t>(stream);
    if (out.type == BB_F64) {
        fill<<<grid, threads, 0, order>>>(scale, row, column, rows, columns, out.strides[0],
                                          static_cast<double *>(out.data));
    } else {
        fill<<<grid, threads, 0, order>>>(scale, row, column, rows, columns, out.strides[0],
                                          static_cast<float *>(out.data));
    }
    BB_CUDA_CHECK_LAUNCH();
    return BB_OK;
}
