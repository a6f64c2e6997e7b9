// SPDX-License-Identifier: Apache-2.0
#include "core/device/device_cuda.h"
#include "core/memory.h"
#include "solvers/factor/updated_source.h"

namespace
{

const unsigned threads = 128;

struct update {
    bb_device *device;
    bb_device_source *base;
    bb_index rank;
    void *v;    // [rows][rank]
    void *w;    // [rank][columns]
    void *wide; // [BB_UPDATED_SOURCE_ITEMS] fp64 blocks before conversion to fp32
};

// out <- values + V W^T for the rows and columns from (row, column) on; `out` may equal `values`.
template <typename T>
__global__ void add_products(const double *values, bb_index values_stride, const double *v,
                             const double *w, bb_index rank, bb_index all_columns, bb_index row,
                             bb_index column, bb_index rows, bb_index columns, T *out,
                             bb_index stride)
{
    const bb_index c = static_cast<bb_index>(blockIdx.x) * blockDim.x + threadIdx.x;
    for (bb_index r = blockIdx.y; c < columns && r < rows; r += gridDim.y) {
        double value = values[r * values_stride + c];
        for (bb_index k = 0; k < rank; ++k) {
            value += v[(row + r) * rank + k] * w[k * all_columns + column + c];
        }
        out[r * stride + c] = static_cast<T>(value);
    }
}

template <typename T>
bb_status launch(const bb_device_source *source, const double *values, bb_index values_stride,
                 bb_index row, bb_index column, bb_index rows, bb_index columns, T *out,
                 bb_index stride, cudaStream_t stream)
{
    const update *terms = static_cast<const update *>(source->context);
    const dim3 grid(static_cast<unsigned>((columns + threads - 1) / threads),
                    static_cast<unsigned>(rows < 32768 ? rows : 32768));
    add_products<<<grid, threads, 0, stream>>>(
        values, values_stride, static_cast<const double *>(terms->v),
        static_cast<const double *>(terms->w), terms->rank, source->columns, row, column, rows,
        columns, out, stride);
    BB_CUDA_CHECK_LAUNCH();
    return BB_OK;
}

bb_status fill_wide(const bb_device_source *source, bb_queue *queue, bb_index row, bb_index column,
                    bb_view out)
{
    const update *terms = static_cast<const update *>(source->context);
    double *values = static_cast<double *>(out.data);
    BB_RETURN_IF_FAILED(bb_device_source_fill(terms->base, queue, row, column, out));
    return launch(source, values, out.strides[0], row, column, out.shape[0], out.shape[1], values,
                  out.strides[0], bb_queue_stream(queue));
}

// Processes as many rows at a time as the buffer has room for.
bb_status fill_narrow(const bb_device_source *source, bb_queue *queue, bb_index row,
                      bb_index column, bb_view out)
{
    const update *terms = static_cast<const update *>(source->context);
    const bb_index columns = out.shape[1];
    const bb_index height = BB_UPDATED_SOURCE_ITEMS / columns;
    if (height < 1) {
        return bb_status_set(BB_INVALID, __FILE__, __LINE__,
                             "matrix %s: %td columns per fill, expected at most %d", source->name,
                             columns, static_cast<int>(BB_UPDATED_SOURCE_ITEMS));
    }
    for (bb_index r = 0; r < out.shape[0]; r += height) {
        const bb_index rows = out.shape[0] - r < height ? out.shape[0] - r : height;
        BB_RETURN_IF_FAILED(
            bb_device_source_fill(terms->base, queue, row + r, column,
                                  bb_device_matrix(terms->wide, BB_F64, rows, columns, columns)));
        BB_RETURN_IF_FAILED(launch(source, static_cast<const double *>(terms->wide), columns,
                                   row + r, column, rows, columns,
                                   static_cast<float *>(out.data) + r * out.strides[0],
                                   out.strides[0], bb_queue_stream(queue)));
    }
    return BB_OK;
}

bb_status fill(const bb_device_source *source, bb_queue *queue, bb_index row, bb_index column,
               bb_view out)
{
    if (out.shape[0] == 0 || out.shape[1] == 0) {
        return BB_OK;
    }
    return out.type == BB_F64 ? fill_wide(source, queue, row, column, out)
                              : fill_narrow(source, queue, row, column, out);
}

void release(bb_device_source *source)
{
    update *terms = static_cast<update *>(source->context);
    if (terms != nullptr) {
        bb_device_release(terms->device, &terms->v);
        bb_device_release(terms->device, &terms->w);
        bb_device_release(terms->device, &terms->wide);
        bb_device_source_destroy(&terms->base);
    }
    bb_memory_release(&source->context);
}

// Uploads V as it is and W transposed, so that neighbouring threads read neighbouring values.
bb_status upload(update *terms, bb_index rows, bb_index columns, const double *v, const double *w)
{
    const size_t line = static_cast<size_t>(terms->rank) * sizeof(double);
    void *memory = nullptr;
    if (terms->rank == 0) {
        return BB_OK;
    }
    BB_RETURN_IF_FAILED(
        bb_device_allocate(terms->device, static_cast<size_t>(rows) * line, &terms->v));
    BB_RETURN_IF_FAILED(
        bb_device_allocate(terms->device, static_cast<size_t>(columns) * line, &terms->w));
    BB_RETURN_IF_FAILED(
        bb_device_upload(terms->device, terms->v, v, static_cast<size_t>(rows) * line));
    BB_RETURN_IF_FAILED(bb_memory_allocate(columns * terms->rank, sizeof(double), &memory));
    double *transposed = static_cast<double *>(memory);
    for (bb_index j = 0; j < columns; ++j) {
        for (bb_index k = 0; k < terms->rank; ++k) {
            transposed[k * columns + j] = w[j * terms->rank + k];
        }
    }
    bb_status status =
        bb_device_upload(terms->device, terms->w, transposed, static_cast<size_t>(columns) * line);
    status = status == BB_OK ? bb_device_wait(terms->device) : status;
    bb_memory_release(&memory);
    return status;
}

} // namespace

bb_status bb_updated_source_create(const bb_matrix_source *base, bb_device *device, bb_index rank,
                                   const double *v, const double *w, bb_device_source **out)
{
    bb_status status = BB_OK;
    bb_device_source *made = nullptr;
    update *terms = nullptr;
    void *memory = nullptr;
    *out = nullptr;
    BB_TRY(bb_memory_zeroed(1, sizeof(bb_device_source), &memory));
    made = static_cast<bb_device_source *>(memory);
    made->device = device;
    made->rows = base->rows;
    made->columns = base->columns;
    made->symmetric = base->symmetric;
    made->name = base->name;
    made->host = base;
    made->fill = fill;
    made->release = release;
    BB_TRY(bb_memory_zeroed(1, sizeof(update), &made->context));
    terms = static_cast<update *>(made->context);
    terms->device = device;
    terms->rank = rank;
    BB_TRY(bb_device_source_create(base, device, &terms->base));
    BB_TRY(bb_device_allocate(device, BB_UPDATED_SOURCE_ITEMS * sizeof(double), &terms->wide));
    BB_TRY(upload(terms, base->rows, base->columns, v, w));
    *out = made;
    made = nullptr;
done:
    bb_device_source_destroy(&made);
    return status;
}
