// SPDX-License-Identifier: Apache-2.0
//
// Rounding sweep with its products on a GPU. The feedback to panel k is E [m][n] of all later
// columns times L of its columns, in two products: by the columns after panel k + 1 while the host
// rounds that panel, and by panel k + 1 itself as soon as its E is available. Everything is queued
// on one stream.
#include "solvers/factor/panels/panel_cholesky.h"
#include "solvers/factor/rounding_engine.h"
#include "solvers/gpu/dense_library_cuda.h"

namespace
{

const size_t word = sizeof(double);

struct sweeping {
    bb_device *device;
    const bb_panel_cholesky *factor;
    bb_index n, m, width; // columns of a panel
    const bb_dense_library_cuda *library;
    cublasHandle_t handle;
    cudaStream_t stream;
    void *errors;                 // [m][n] E of the rounded panels
    void *fed;                    // [m][width] feedback to the next panel
    void *columns;                // [n][width] L of the next panel, from its first row on
    void *pivots;                 // [n] on the host, like the following members
    void *host_fed, *host_errors; // [m][width]
    void *host_diagonal;          // [width][width]
};

double *doubles(void *memory, bb_index item)
{
    return static_cast<double *>(memory) + item;
}

bb_status open_sweep(sweeping *work)
{
    bb_device *device = work->device;
    const size_t panel_bytes = static_cast<size_t>(work->m * work->width) * word;
    const size_t column_bytes = static_cast<size_t>(work->n) * word;
    const size_t width = static_cast<size_t>(work->width);
    BB_RETURN_IF_FAILED(bb_device_allocate(device, static_cast<size_t>(work->m) * column_bytes,
                                           &work->errors)); // makes the device current
    BB_RETURN_IF_FAILED(bb_device_allocate(device, panel_bytes, &work->fed));
    BB_RETURN_IF_FAILED(bb_device_allocate(device, width * column_bytes, &work->columns));
    BB_RETURN_IF_FAILED(bb_device_host_allocate(device, column_bytes, &work->pivots));
    BB_RETURN_IF_FAILED(bb_device_host_allocate(device, panel_bytes, &work->host_fed));
    BB_RETURN_IF_FAILED(bb_device_host_allocate(device, panel_bytes, &work->host_errors));
    BB_RETURN_IF_FAILED(
        bb_device_host_allocate(device, width * width * word, &work->host_diagonal));
    BB_RETURN_IF_FAILED(bb_dense_library_open(&work->library));
    BB_CUDA_TRY(cudaStreamCreateWithFlags(&work->stream, cudaStreamNonBlocking));
    BB_CUBLAS_TRY(work->library->create(&work->handle));
    BB_CUBLAS_TRY(work->library->set_stream(work->handle, work->stream));
    return bb_panel_cholesky_pivots(work->factor, doubles(work->pivots, 0));
}

void close_sweep(sweeping *work)
{
    bb_device *device = work->device;
    if (work->stream != nullptr) {
        (void)cudaStreamSynchronize(work->stream); // wait for the work of a failed sweep
    }
    if (work->handle != nullptr) {
        (void)work->library->destroy(work->handle);
    }
    if (work->stream != nullptr) {
        (void)cudaStreamDestroy(work->stream);
    }
    for (void **block : {&work->errors, &work->fed, &work->columns}) {
        bb_device_release(device, block);
    }
    for (void **block :
         {&work->pivots, &work->host_fed, &work->host_errors, &work->host_diagonal}) {
        bb_device_host_release(device, block);
    }
}

// Adds the feedback of E of the later columns [begin, end) to the panel at `first`.
bb_status feed(const sweeping *work, bb_index first, bb_index begin, bb_index end, double beta)
{
    bb_dense_product_cuda p = {};
    p.a = doubles(work->errors, begin);
    p.b = doubles(work->columns, (begin - first) * work->width);
    p.c = doubles(work->fed, 0);
    p.a_stride = work->n;
    p.b_stride = p.c_stride = p.columns = work->width;
    p.rows = work->m;
    p.depth = end - begin;
    p.alpha = 1.0;
    p.beta = beta;
    return bb_dense_library_product(work->library, work->handle, &p);
}

// Reads L of a panel, and starts its feedback from column `begin` on.
bb_status start_panel(const sweeping *work, bb_index first, bb_index begin)
{
    const bb_index columns = work->n - first < work->width ? work->n - first : work->width;
    BB_RETURN_IF_FAILED(bb_panel_cholesky_columns(work->factor, bb_stream_queue(work->stream),
                                                  first, columns, doubles(work->columns, 0),
                                                  work->width));
    if (begin < work->n) {
        return feed(work, first, begin, work->n, 0.0);
    }
    BB_CUDA_TRY(cudaMemsetAsync(work->fed, 0, static_cast<size_t>(work->m * work->width) * word,
                                work->stream));
    return BB_OK;
}

// Copies the panel's feedback and its diagonal block to the host.
bb_status fetch_panel(const sweeping *work, bb_index columns)
{
    const size_t row_bytes = static_cast<size_t>(columns) * word;
    BB_CUDA_TRY(cudaMemcpyAsync(work->host_fed, work->fed,
                                static_cast<size_t>(work->m * work->width) * word,
                                cudaMemcpyDeviceToHost, work->stream));
    BB_CUDA_TRY(cudaMemcpy2DAsync(
        work->host_diagonal, row_bytes, work->columns, static_cast<size_t>(work->width) * word,
        row_bytes, static_cast<size_t>(columns), cudaMemcpyDeviceToHost, work->stream));
    BB_CUDA_TRY(cudaStreamSynchronize(work->stream));
    return BB_OK;
}

bb_status begin_panel(void *context, bb_index index, bb_rounding_panel *out)
{
    const sweeping *work = static_cast<const sweeping *>(context);
    const bb_index first = index * work->width;
    const bb_index rest = work->n - first;
    const bb_index columns = rest < work->width ? rest : work->width;
    if (first + columns == work->n) {
        BB_RETURN_IF_FAILED(start_panel(work, first, work->n));
    }
    BB_RETURN_IF_FAILED(fetch_panel(work, columns));
    *out = {};
    out->first = first;
    out->width = columns;
    out->diagonal = doubles(work->host_diagonal, 0);
    out->fed = doubles(work->host_fed, 0);
    out->errors = doubles(work->host_errors, 0);
    out->fed_stride = out->errors_stride = work->width;
    return index > 0 ? start_panel(work, first - work->width, first + columns) : BB_OK;
}

// The host writes E of the next panel only after it has fetched that panel, and the fetch is queued
// behind this copy.
bb_status end_panel(void *context, const bb_rounding_panel *panel)
{
    const sweeping *work = static_cast<const sweeping *>(context);
    if (panel->first == 0) {
        return BB_OK;
    }
    BB_CUDA_TRY(cudaMemcpy2DAsync(
        doubles(work->errors, panel->first), static_cast<size_t>(work->n) * word, work->host_errors,
        static_cast<size_t>(work->width) * word, static_cast<size_t>(panel->width) * word,
        static_cast<size_t>(work->m), cudaMemcpyHostToDevice, work->stream));
    return feed(work, panel->first - work->width, panel->first, panel->first + panel->width, 1.0);
}

double pivot_of(const void *context, bb_index column)
{
    return *doubles(static_cast<const sweeping *>(context)->pivots, column);
}

} // namespace

bb_status bb_rounding_sweep_panels(struct bb_device *device, const struct bb_panel_cholesky *factor,
                                   bb_index n, const bb_rounding_step *step, bb_index m, double *r,
                                   double *excess)
{
    sweeping work = {};
    const bool blocked = step->block > 0 && step->block <= BB_ROUNDING_BLOCK;
    work.device = device;
    work.factor = factor;
    work.n = n;
    work.m = m;
    work.width = blocked ? BB_ROUNDING_PANEL / step->block * step->block : BB_ROUNDING_PANEL;
    bb_rounding_engine engine = {};
    engine.n = n;
    engine.panels = (n + work.width - 1) / work.width;
    engine.context = &work;
    engine.begin_panel = begin_panel;
    engine.end_panel = end_panel;
    engine.pivot = pivot_of;
    bb_status status = open_sweep(&work);
    status = status == BB_OK ? bb_rounding_engine_run(&engine, step, m, r, excess) : status;
    close_sweep(&work);
    return status;
}
