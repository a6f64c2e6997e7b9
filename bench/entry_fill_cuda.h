// SPDX-License-Identifier: Apache-2.0
//
// For .cu files only: blocks of a matrix whose entries are a formula of row and column, computed in
// fp64 as on the host and rounded once for fp32.
#ifndef BB_BENCH_ENTRY_FILL_CUDA_H
#define BB_BENCH_ENTRY_FILL_CUDA_H

#include "core/device/device_cuda.h"
#include "core/device/device_source.h"

namespace bb_entry_fill
{

const bb_index wide = 32; // threads along a row
const bb_index high = 8;
const bb_index most_blocks = 65535; // of a grid's second axis

template <typename Entry, typename T>
__global__ void fill(Entry entry, bb_index row, bb_index column, bb_index rows, bb_index columns,
                     bb_index stride, T *out)
{
    const bb_index j = static_cast<bb_index>(blockIdx.x) * wide + threadIdx.x;
    if (j >= columns) {
        return;
    }
    for (bb_index i = static_cast<bb_index>(blockIdx.y) * high + threadIdx.y; i < rows;
         i += static_cast<bb_index>(gridDim.y) * high) {
        out[i * stride + j] = static_cast<T>(entry(row + i, column + j));
    }
}

/// Fills `out` as bb_device_fill says, with entry(row, column) for every place. `Entry` is a struct
/// that is copied to the device.
template <typename Entry>
bb_status run(const Entry &entry, bb_queue *stream, bb_index row, bb_index column,
              const bb_view &out)
{
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
        fill<<<grid, threads, 0, order>>>(entry, row, column, rows, columns, out.strides[0],
                                          static_cast<double *>(out.data));
    } else {
        fill<<<grid, threads, 0, order>>>(entry, row, column, rows, columns, out.strides[0],
                                          static_cast<float *>(out.data));
    }
    BB_CUDA_CHECK_LAUNCH();
    return BB_OK;
}

} // namespace bb_entry_fill

#endif
