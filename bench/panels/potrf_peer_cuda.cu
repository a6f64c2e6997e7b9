// SPDX-License-Identifier: Apache-2.0
#include "bench/panels/potrf_peer.h"
#include "core/device/device_cuda.h"
#include "core/memory.h"

#include <cusolverDn.h>

// Returns from the function where a call of cuSOLVER failed: BB_MEMORY where it ran out of memory,
// else BB_DEVICE.
#define BB_CUSOLVER_TRY(call)                                                                      \
    do {                                                                                           \
        cusolverStatus_t result_ = (call);                                                         \
        if (result_ != CUSOLVER_STATUS_SUCCESS) {                                                  \
            return bb_status_set(result_ == CUSOLVER_STATUS_ALLOC_FAILED ? BB_MEMORY : BB_DEVICE,  \
                                 __FILE__, __LINE__, "%s: cuSOLVER status %d", #call,              \
                                 static_cast<int>(result_));                                       \
        }                                                                                          \
    } while (0)

namespace
{

// All that one factorization holds.
struct task {
    const bb_device_source *matrix;
    cudaStream_t stream;
    cudaEvent_t begin, end;
    cusolverDnHandle_t handle;
    cusolverDnParams_t params;
    void *values; // [n][n] fp32
    void *workspace, *host_workspace;
    void *info; // int
    size_t bytes, host_bytes;
};

bb_status prepare(task *t)
{
    const bb_index n = t->matrix->rows;
    bb_device *device = t->matrix->device;
    bb_device_report report;
    BB_RETURN_IF_FAILED(bb_device_describe(device, &report)); // makes it the current one
    BB_RETURN_IF_FAILED(bb_device_allocate(
        device, static_cast<size_t>(n) * static_cast<size_t>(n) * sizeof(float), &t->values));
    BB_RETURN_IF_FAILED(bb_device_allocate(device, sizeof(int), &t->info));
    BB_CUDA_TRY(cudaStreamCreateWithFlags(&t->stream, cudaStreamNonBlocking));
    BB_CUDA_TRY(cudaEventCreate(&t->begin));
    BB_CUDA_TRY(cudaEventCreate(&t->end));
    BB_CUSOLVER_TRY(cusolverDnCreate(&t->handle));
    BB_CUSOLVER_TRY(cusolverDnSetStream(t->handle, t->stream));
    BB_CUSOLVER_TRY(cusolverDnCreateParams(&t->params));
    BB_CUSOLVER_TRY(cusolverDnXpotrf_bufferSize(t->handle, t->params, CUBLAS_FILL_MODE_LOWER, n,
                                                CUDA_R_32F, t->values, n, CUDA_R_32F, &t->bytes,
                                                &t->host_bytes));
    BB_RETURN_IF_FAILED(bb_device_allocate(device, t->bytes, &t->workspace));
    return bb_memory_allocate(static_cast<bb_index>(t->host_bytes), 1, &t->host_workspace);
}

bb_status factor(const task *t, double *seconds)
{
    const bb_index n = t->matrix->rows;
    float milliseconds = 0.0F;
    int info = 0;
    BB_RETURN_IF_FAILED(bb_device_source_fill(t->matrix, bb_stream_queue(t->stream), 0, 0,
                                              bb_device_matrix(t->values, BB_F32, n, n, n)));
    BB_CUDA_TRY(cudaEventRecord(t->begin, t->stream));
    BB_CUSOLVER_TRY(cusolverDnXpotrf(
        t->handle, t->params, CUBLAS_FILL_MODE_LOWER, n, CUDA_R_32F, t->values, n, CUDA_R_32F,
        t->workspace, t->bytes, t->host_workspace, t->host_bytes, static_cast<int *>(t->info)));
    BB_CUDA_TRY(cudaEventRecord(t->end, t->stream));
    BB_CUDA_TRY(cudaEventSynchronize(t->end));
    BB_CUDA_TRY(cudaEventElapsedTime(&milliseconds, t->begin, t->end));
    BB_CUDA_TRY(cudaMemcpy(&info, t->info, sizeof info, cudaMemcpyDeviceToHost));
    if (info != 0) {
        return bb_status_set(BB_INTERNAL, __FILE__, __LINE__, "cusolverDnXpotrf gave %d", info);
    }
    *seconds = 1e-3 * static_cast<double>(milliseconds);
    return BB_OK;
}

void release(task *t)
{
    if (t->params != nullptr) {
        (void)cusolverDnDestroyParams(t->params);
    }
    if (t->handle != nullptr) {
        (void)cusolverDnDestroy(t->handle);
    }
    for (cudaEvent_t event : {t->begin, t->end}) {
        if (event != nullptr) {
            (void)cudaEventDestroy(event);
        }
    }
    if (t->stream != nullptr) {
        (void)cudaStreamDestroy(t->stream);
    }
    bb_device_release(t->matrix->device, &t->values);
    bb_device_release(t->matrix->device, &t->info);
    bb_device_release(t->matrix->device, &t->workspace);
    bb_memory_release(&t->host_workspace);
}

} // namespace

extern "C" bb_status bb_potrf_peer_time(const bb_device_source *matrix, double *seconds)
{
    task t = {};
    t.matrix = matrix;
    bb_status status = prepare(&t);
    status = status == BB_OK ? factor(&t, seconds) : status;
    release(&t);
    return status;
}
