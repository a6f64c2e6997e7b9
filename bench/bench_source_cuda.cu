// SPDX-License-Identifier: Apache-2.0
//
// Blocks of the matrices on a device, computed in fp64 as on the host and rounded once for fp32.
#include "bench/bench_source.h"
#include "core/device/device_cuda.h"

namespace
{

const bb_index wide = 32; // threads along a row
const bb_index high = 8;
const bb_index most_blocks = 65535; // limit of a grid's second axis

__device__ double entry(const bb_decay &decay, bb_index row, bb_index column)
{
    return bb_decay_entry(decay, row, column);
}

__device__ double entry(const bb_noise &noise, bb_index row, bb_index column)
{
    return bb_noise_entry(noise, row, column);
}

template <typename Matrix, typename T>
__global__ void fill(Matrix matrix, bb_index row, bb_index column, bb_index rows, bb_index columns,
                     bb_index stride, T *out)
{
    const bb_index j = static_cast<bb_index>(blockIdx.x) * wide + threadIdx.x;
    if (j >= columns) {
        return;
    }
    for (bb_index i = static_cast<bb_index>(blockIdx.y) * high + threadIdx.y; i < rows;
         i += static_cast<bb_index>(gridDim.y) * high) {
        out[i * stride + j] = static_cast<T>(entry(matrix, row + i, column + j));
    }
}

template <typename Matrix>
bb_status run(const bb_device_source *source, bb_queue *stream, bb_index row, bb_index column,
              const bb_view &out)
{
    const Matrix matrix = *static_cast<const Matrix *>(source->host->context);
    const bb_index rows = out.shape[0];
    const bb_index columns = out.shape[1];
    if (rows == 0 || columns == 0) {
        return BB_OK;
    }
    const bb_index tall = (rows + high - 1) / high;
    const dim3 threads(static_cast<unsigned>(wide), static_cast<unsigned>(high));
    const dim3 grid(static_cast<unsigned>((columns + wide - 1) / wide),
                    static_cast<unsigned>(tall < most_blocks ? tall : most_blocks));
    cudaStream_t order = bb_queue_stream(stream);
    if (out.type == BB_F64) {
        fill<<<grid, threads, 0, order>>>(matrix, row, column, rows, columns, out.strides[0],
                                          static_cast<double *>(out.data));
    } else {
        fill<<<grid, threads, 0, order>>>(matrix, row, column, rows, columns, out.strides[0],
                                          static_cast<float *>(out.data));
    }
    BB_CUDA_CHECK_LAUNCH();
    return BB_OK;
}

} // namespace

extern "C" bb_status bb_decay_fill_cuda(const bb_device_source *source, bb_queue *stream,
                                        bb_index row, bb_index column, bb_view out)
{
    return run<bb_decay>(source, stream, row, column, out);
}

extern "C" bb_status bb_noise_fill_cuda(const bb_device_source *source, bb_queue *stream,
                                        bb_index row, bb_index column, bb_view out)
{
    return run<bb_noise>(source, stream, row, column, out);
}
