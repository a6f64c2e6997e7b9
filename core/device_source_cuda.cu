// SPDX-License-Identifier: Apache-2.0
//
// Blocks of a source without kernels of its own: filled on the host by the threads, then copied.
#include "core/device_cuda.h"
#include "core/device_source.h"
#include "core/memory.h"
#include "core/thread.h"

namespace
{

const bb_index grain = 16;

struct filling {
    const bb_matrix_source *source;
    bb_index row, column, columns;
    double *wide;  // [rows][columns]
    float *narrow; // [rows][columns], or NULL
};

bb_status fill_rows(void *context, bb_index begin, bb_index end)
{
    const filling *work = static_cast<const filling *>(context);
    double *wide = work->wide + begin * work->columns;
    BB_RETURN_IF_FAILED(bb_matrix_source_fill(work->source, work->row + begin, work->column,
                                              bb_view_matrix(wide, end - begin, work->columns)));
    for (bb_index i = 0; work->narrow != nullptr && i < (end - begin) * work->columns; ++i) {
        work->narrow[begin * work->columns + i] = static_cast<float>(wide[i]);
    }
    return BB_OK;
}

bb_status copy(const filling *work, cudaStream_t stream, bb_view out)
{
    const size_t word = bb_type_bytes(out.type);
    const void *from = out.type == BB_F64 ? static_cast<const void *>(work->wide) : work->narrow;
    const size_t width = static_cast<size_t>(work->columns) * word;
    BB_CUDA_TRY(cudaMemcpy2DAsync(out.data, static_cast<size_t>(out.strides[0]) * word, from, width,
                                  width, static_cast<size_t>(out.shape[0]), cudaMemcpyHostToDevice,
                                  stream));
    BB_CUDA_TRY(cudaStreamSynchronize(stream)); // the host block is released next
    return BB_OK;
}

} // namespace

extern "C" bb_status bb_device_source_copy_block(const bb_device_source *source, void *stream,
                                                 bb_index row, bb_index column, bb_view out)
{
    bb_status status = BB_OK;
    const bb_index items = out.shape[0] * out.shape[1];
    filling work = {source->host, row, column, out.shape[1], nullptr, nullptr};
    void *wide = nullptr;
    void *narrow = nullptr;
    BB_TRY(bb_memory_allocate(items, sizeof(double), &wide));
    if (out.type == BB_F32) {
        BB_TRY(bb_memory_allocate(items, sizeof(float), &narrow));
    }
    work.wide = static_cast<double *>(wide);
    work.narrow = static_cast<float *>(narrow);
    BB_TRY(bb_parallel_ranges(out.shape[0], grain, fill_rows, &work));
    BB_TRY(copy(&work, static_cast<cudaStream_t>(stream), out));
done:
    bb_memory_release(&wide);
    bb_memory_release(&narrow);
    return status;
}
