// SPDX-License-Identifier: Apache-2.0
#include "solvers/factor/residual_covariance.h"
#include "solvers/gpu/dense_library_cuda.h"

namespace
{

const bb_index panel_columns = 1024;

// One estimate on the device.
struct scoring {
    bb_device *device;
    const bb_dense_library_cuda *library;
    cublasHandle_t handle;
    cudaStream_t stream;
    bb_device_source *cmm, *ctm;
    bb_index n, m, width; // width of a panel
    void *r, *panel, *g, *cee;
};

bb_status open(const bb_matrix_source *cmm, const bb_residual_task *task, scoring *work)
{
    const size_t word = sizeof(double);
    const size_t n = static_cast<size_t>(work->n);
    const size_t m = static_cast<size_t>(work->m);
    const size_t width = static_cast<size_t>(work->width);
    bb_device_report report;
    BB_RETURN_IF_FAILED(bb_device_describe(work->device, &report)); // makes it the current one
    const double needed = bb_residual_covariance_device_need(work->n, work->m).device_bytes;
    if (needed > static_cast<double>(report.free_memory_bytes)) {
        return bb_status_set(BB_MEMORY, __FILE__, __LINE__,
                             "GPU memory: the score of %td x %td needs %.0f bytes, %zu are free",
                             work->m, work->n, needed, report.free_memory_bytes);
    }
    BB_RETURN_IF_FAILED(bb_dense_library_open(&work->library));
    BB_CUDA_TRY(cudaStreamCreateWithFlags(&work->stream, cudaStreamNonBlocking));
    BB_CUBLAS_TRY(work->library->create(&work->handle));
    BB_CUBLAS_TRY(work->library->set_stream(work->handle, work->stream));
    BB_RETURN_IF_FAILED(bb_device_source_create(cmm, work->device, &work->cmm));
    BB_RETURN_IF_FAILED(bb_device_source_create(task->ctm, work->device, &work->ctm));
    BB_RETURN_IF_FAILED(bb_device_allocate(work->device, m * n * word, &work->r));
    BB_RETURN_IF_FAILED(bb_device_allocate(work->device, n * width * word, &work->panel));
    BB_RETURN_IF_FAILED(bb_device_allocate(work->device, m * width * word, &work->g));
    BB_RETURN_IF_FAILED(bb_device_allocate(work->device, m * m * word, &work->cee));
    BB_CUDA_TRY(cudaMemcpy(work->r, task->r, m * n * word, cudaMemcpyHostToDevice));
    BB_CUDA_TRY(cudaDeviceSynchronize()); // a copy from pageable memory may return early
    BB_CUDA_TRY(cudaMemsetAsync(work->cee, 0, m * m * word, work->stream));
    return BB_OK;
}

void close(scoring *work)
{
    bb_device_release(work->device, &work->r);
    bb_device_release(work->device, &work->panel);
    bb_device_release(work->device, &work->g);
    bb_device_release(work->device, &work->cee);
    bb_device_source_destroy(&work->cmm);
    bb_device_source_destroy(&work->ctm);
    if (work->handle != nullptr) {
        (void)work->library->destroy(work->handle);
    }
    if (work->stream != nullptr) {
        (void)cudaStreamDestroy(work->stream);
    }
}

// G = R Cmm - 2 Ctm for the columns from `begin` on, and P += G R^T.
bb_status add_panel(const scoring *work, bb_index begin)
{
    const bb_index width = work->n - begin < work->width ? work->n - begin : work->width;
    double *r = static_cast<double *>(work->r);
    double *g = static_cast<double *>(work->g);
    BB_RETURN_IF_FAILED(
        bb_device_source_fill(work->cmm, bb_stream_queue(work->stream), 0, begin,
                              bb_device_matrix(work->panel, BB_F64, work->n, width, work->width)));
    BB_RETURN_IF_FAILED(
        bb_device_source_fill(work->ctm, bb_stream_queue(work->stream), 0, begin,
                              bb_device_matrix(g, BB_F64, work->m, width, work->width)));
    bb_dense_product_cuda p = {};
    p.a = r;
    p.b = static_cast<const double *>(work->panel);
    p.c = g;
    p.a_stride = work->n;
    p.b_stride = p.c_stride = work->width;
    p.rows = work->m;
    p.columns = width;
    p.depth = work->n;
    p.alpha = 1.0;
    p.beta = -2.0;
    BB_RETURN_IF_FAILED(bb_dense_library_product(work->library, work->handle, &p));
    p.a = g;
    p.b = r + begin;
    p.c = static_cast<double *>(work->cee);
    p.a_stride = work->width;
    p.b_stride = work->n;
    p.c_stride = p.columns = work->m;
    p.depth = width;
    p.transposed = true;
    p.beta = 1.0;
    return bb_dense_library_product(work->library, work->handle, &p);
}

bb_status run(const bb_matrix_source *cmm, const bb_residual_task *task, scoring *work)
{
    const size_t bytes = static_cast<size_t>(work->m * work->m) * sizeof(double);
    BB_RETURN_IF_FAILED(open(cmm, task, work));
    for (bb_index begin = 0; begin < work->n; begin += work->width) {
        BB_RETURN_IF_FAILED(add_panel(work, begin));
    }
    BB_CUDA_TRY(cudaStreamSynchronize(work->stream));
    BB_RETURN_IF_FAILED(bb_device_download(work->device, task->cee, work->cee, bytes));
    return bb_residual_covariance_close(task);
}

} // namespace

bb_status bb_residual_covariance_device(bb_device *device, const bb_matrix_source *cmm,
                                        bb_index count, const bb_residual_task *tasks)
{
    for (bb_index t = 0; t < count; ++t) {
        scoring work = {};
        if (tasks[t].ctm->columns != cmm->rows || tasks[t].ctt->rows != tasks[t].ctm->rows) {
            return bb_status_set(BB_INVALID, __FILE__, __LINE__,
                                 "estimate %td: %s is %td x %td, expected %td columns", t,
                                 tasks[t].ctm->name, tasks[t].ctm->rows, tasks[t].ctm->columns,
                                 cmm->rows);
        }
        work.device = device;
        work.n = cmm->rows;
        work.m = tasks[t].ctm->rows;
        work.width = work.n < panel_columns ? work.n : panel_columns;
        bb_status status = run(cmm, &tasks[t], &work);
        close(&work);
        BB_RETURN_IF_FAILED(status);
    }
    return BB_OK;
}
