// SPDX-License-Identifier: Apache-2.0
//
// Device sources of common matrices: blocks that the host fills and copies, a dense matrix that is
// copied whole, the identity.
#include "core/device/device_cuda.h"
#include "core/device/device_source.h"
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
    const void *source = out.type == BB_F64 ? static_cast<const void *>(work->wide) : work->narrow;
    const size_t width = static_cast<size_t>(work->columns) * word;
    BB_CUDA_TRY(cudaMemcpy2DAsync(out.data, static_cast<size_t>(out.strides[0]) * word, source,
                                  width, width, static_cast<size_t>(out.shape[0]),
                                  cudaMemcpyHostToDevice, stream));
    BB_CUDA_TRY(cudaStreamSynchronize(stream)); // the host block is released next
    return BB_OK;
}

struct dense_entry {
    const double *values;
    bb_index columns;
    __device__ double operator()(bb_index row, bb_index column) const
    {
        return values[row * columns + column];
    }
};

struct identity_entry {
    __device__ double operator()(bb_index row, bb_index column) const
    {
        return row == column ? 1.0 : 0.0;
    }
};

template <typename T, typename Entry>
__global__ void write_entries(Entry entry, bb_index row, bb_index column, T *out, bb_index rows,
                              bb_index wide, bb_index stride)
{
    const bb_index c = static_cast<bb_index>(blockIdx.x) * blockDim.x + threadIdx.x;
    for (bb_index r = blockIdx.y; c < wide && r < rows; r += gridDim.y) {
        out[r * stride + c] = static_cast<T>(entry(row + r, column + c));
    }
}

template <typename Entry>
bb_status fill_entries(Entry entry, bb_queue *queue, bb_index row, bb_index column, bb_view out)
{
    const cudaStream_t on = bb_queue_stream(queue);
    const dim3 grid(static_cast<unsigned>((out.shape[1] + 127) / 128),
                    static_cast<unsigned>(out.shape[0] < 32768 ? out.shape[0] : 32768));
    if (out.shape[0] == 0 || out.shape[1] == 0) {
        return BB_OK;
    }
    if (out.type == BB_F64) {
        write_entries<<<grid, 128, 0, on>>>(entry, row, column, static_cast<double *>(out.data),
                                            out.shape[0], out.shape[1], out.strides[0]);
    } else {
        write_entries<<<grid, 128, 0, on>>>(entry, row, column, static_cast<float *>(out.data),
                                            out.shape[0], out.shape[1], out.strides[0]);
    }
    BB_CUDA_CHECK_LAUNCH();
    return BB_OK;
}

bb_status fill_dense(const bb_device_source *source, bb_queue *queue, bb_index row, bb_index column,
                     bb_view out)
{
    const dense_entry entry = {static_cast<const double *>(source->context), source->columns};
    return fill_entries(entry, queue, row, column, out);
}

bb_status fill_identity(const bb_device_source *source, bb_queue *queue, bb_index row,
                        bb_index column, bb_view out)
{
    (void)source;
    return fill_entries(identity_entry(), queue, row, column, out);
}

void release_dense(bb_device_source *source)
{
    bb_device_release(source->device, &source->context);
}

// Copies row by row if the host's matrix has gaps.
bb_status upload_dense(const bb_view *matrix, bb_device *device, void *target)
{
    const size_t width = static_cast<size_t>(matrix->shape[1]) * sizeof(double);
    if (matrix->shape[0] == 0 || width == 0) {
        return BB_OK;
    }
    BB_CUDA_TRY(cudaMemcpy2D(target, width, matrix->data,
                             static_cast<size_t>(matrix->strides[0]) * sizeof(double), width,
                             static_cast<size_t>(matrix->shape[0]), cudaMemcpyHostToDevice));
    BB_CUDA_TRY(cudaDeviceSynchronize()); // a copy from pageable memory may return early
    return bb_device_wait(device);
}

} // namespace

extern "C" bb_status bb_device_source_dense(const bb_matrix_source *source, bb_device *device,
                                            bb_device_source **out)
{
    bb_status status = BB_OK;
    const bb_view *matrix = static_cast<const bb_view *>(source->context);
    void *memory = nullptr;
    bb_device_source *made = nullptr;
    const size_t bytes =
        static_cast<size_t>(source->rows) * static_cast<size_t>(source->columns) * sizeof(double);
    *out = nullptr;
    BB_TRY(bb_memory_zeroed(1, sizeof(bb_device_source), &memory));
    made = static_cast<bb_device_source *>(memory);
    made->device = device;
    made->fill = fill_dense;
    made->release = release_dense;
    BB_TRY(bb_device_allocate(device, bytes, &made->context)); // makes the device the current one
    BB_TRY(upload_dense(matrix, device, made->context));
    *out = made;
    made = nullptr;
done:
    bb_device_source_destroy(&made);
    return status;
}

extern "C" bb_status bb_device_source_identity(const bb_matrix_source *source, bb_device *device,
                                               bb_device_source **out)
{
    void *memory = nullptr;
    (void)source;
    *out = nullptr;
    BB_RETURN_IF_FAILED(bb_memory_zeroed(1, sizeof(bb_device_source), &memory));
    *out = static_cast<bb_device_source *>(memory);
    (*out)->device = device;
    (*out)->fill = fill_identity;
    return BB_OK;
}

extern "C" bb_status bb_device_source_copy_block(const bb_device_source *source, bb_queue *stream,
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
    BB_TRY(bb_thread_ranges(out.shape[0], grain, fill_rows, &work));
    BB_TRY(copy(&work, bb_queue_stream(stream), out));
done:
    bb_memory_release(&wide);
    bb_memory_release(&narrow);
    return status;
}
