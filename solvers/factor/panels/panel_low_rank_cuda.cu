// SPDX-License-Identifier: Apache-2.0
//
// Low-rank part of solvers/factor/reconstructor.h on a device: R <- X - (X U) (C^-1 + V U)^-1 V.
// Products over n run there in fp64; the core, with few columns, is factored on the host.
#include "core/clock.h"
#include "core/memory.h"
#include "solvers/factor/panels/panel_cholesky.h"
#include "solvers/gpu/dense_library_cuda.h"

namespace
{

struct updating {
    bb_device *device;
    const bb_low_rank *part;
    bb_index n, m;
    double *r; // [m + count][n]
    const bb_dense_library_cuda *library;
    cublasHandle_t handle;
    void *u;       // [n][count]
    void *weights; // [m + count][count]: X U, then V U below it
    void *host;    // [m + count][count]: host copy of `weights`
};

bb_status open(updating *work)
{
    const size_t count = static_cast<size_t>(work->part->count);
    const size_t rows = static_cast<size_t>(work->m) + count;
    const size_t bytes = static_cast<size_t>(work->n) * count * sizeof(double);
    bb_device_report report;
    BB_RETURN_IF_FAILED(bb_device_describe(work->device, &report)); // makes it current
    BB_RETURN_IF_FAILED(bb_dense_library_open(&work->library));
    BB_CUBLAS_TRY(work->library->create(&work->handle));
    BB_RETURN_IF_FAILED(bb_device_allocate(work->device, bytes, &work->u));
    BB_RETURN_IF_FAILED(
        bb_device_allocate(work->device, rows * count * sizeof(double), &work->weights));
    BB_RETURN_IF_FAILED(
        bb_memory_allocate(static_cast<bb_index>(rows * count), sizeof(double), &work->host));
    BB_CUDA_TRY(cudaMemcpy(work->u, work->part->vectors, bytes, cudaMemcpyHostToDevice));
    return BB_OK;
}

void close(updating *work)
{
    if (work->handle != nullptr) {
        (void)work->library->destroy(work->handle);
    }
    bb_device_release(work->device, &work->u);
    bb_device_release(work->device, &work->weights);
    bb_memory_release(&work->host);
}

bb_status update(updating *work, bb_outcome *outcome)
{
    const bb_index count = work->part->count;
    const size_t bytes = static_cast<size_t>((work->m + count) * count) * sizeof(double);
    BB_RETURN_IF_FAILED(open(work));
    bb_dense_product_cuda p = {};
    p.a = work->r;
    p.b = static_cast<const double *>(work->u);
    p.c = static_cast<double *>(work->weights);
    p.a_stride = p.depth = work->n;
    p.b_stride = p.c_stride = p.columns = count;
    p.rows = work->m + count;
    p.alpha = 1.0;
    BB_RETURN_IF_FAILED(bb_dense_library_product(work->library, work->handle, &p));
    BB_CUDA_TRY(cudaMemcpy(work->host, work->weights, bytes, cudaMemcpyDeviceToHost));
    double *weights = static_cast<double *>(work->host);
    double *core = weights + work->m * count;
    BB_RETURN_IF_FAILED(bb_low_rank_core_factor(work->part, core, outcome));
    if (outcome->kind != BB_OUTCOME_OK) {
        return BB_OK;
    }
    bb_low_rank_core_solve(work->part, core, work->m, weights);
    BB_CUDA_TRY(cudaMemcpy(work->weights, work->host,
                           static_cast<size_t>(work->m * count) * sizeof(double),
                           cudaMemcpyHostToDevice));
    p.a = static_cast<const double *>(work->weights);
    p.b = work->r + work->m * work->n;
    p.c = work->r;
    p.a_stride = p.depth = count;
    p.b_stride = p.c_stride = p.columns = work->n;
    p.rows = work->m;
    p.alpha = -1.0;
    p.beta = 1.0;
    BB_RETURN_IF_FAILED(bb_dense_library_product(work->library, work->handle, &p));
    BB_CUDA_TRY(cudaDeviceSynchronize());
    return BB_OK;
}

} // namespace

bb_status bb_panel_cholesky_low_rank_apply(bb_device *device, const bb_low_rank *part, bb_index n,
                                           bb_index m, double *r, bb_outcome *outcome,
                                           double *seconds)
{
    updating work = {};
    if (part->count == 0) {
        return BB_OK;
    }
    const double begin = bb_clock_seconds();
    work.device = device;
    work.part = part;
    work.n = n;
    work.m = m;
    work.r = r;
    bb_status status = update(&work, outcome);
    close(&work);
    *seconds += bb_clock_seconds() - begin;
    return status;
}
