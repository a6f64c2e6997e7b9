// SPDX-License-Identifier: Apache-2.0
//
// Matrices are column-major, as the libraries have them: a panel of `panel` columns is what the
// source fills as so many rows, the matrix being symmetric.
#include "bench/peers/library_loop.h"
#include "bench/peers/solver_library_cuda.h"
#include "core/memory.h"
#include "solvers/gpu/dense_library_cuda.h"

#include <cuda_fp16.h>

namespace
{

const unsigned threads = 256;
const unsigned most_blocks = 4096;

// out [columns][out_stride] <- fp16 of in [columns][in_stride], `rows` of each; with `lower` zeros
// above the diagonal.
__global__ void narrow(const float *in, bb_index in_stride, bb_index rows, bb_index columns,
                       bool lower, __half *out, bb_index out_stride)
{
    const bb_index count = rows * columns;
    for (bb_index k = static_cast<bb_index>(blockIdx.x) * blockDim.x + threadIdx.x; k < count;
         k += static_cast<bb_index>(gridDim.x) * blockDim.x) {
        const bb_index row = k % rows;
        const bb_index column = k / rows;
        const float value = lower && row < column ? 0.0F : in[column * in_stride + row];
        out[column * out_stride + row] = __float2half_rn(value);
    }
}

__global__ void make_identity(float *out, bb_index n)
{
    for (bb_index k = static_cast<bb_index>(blockIdx.x) * blockDim.x + threadIdx.x; k < n * n;
         k += static_cast<bb_index>(gridDim.x) * blockDim.x) {
        out[k] = k % n == k / n ? 1.0F : 0.0F;
    }
}

unsigned blocks_of(bb_index items)
{
    const bb_index blocks = (items + threads - 1) / threads;
    return static_cast<unsigned>(blocks < most_blocks ? blocks : most_blocks);
}

// All that the loop holds.
struct task {
    const bb_device_source *matrix;
    bb_device *device;
    bb_index n, panel;
    const bb_dense_library_cuda *products;
    const bb_solver_library_cuda *solver;
    cublasHandle_t cublas;
    cusolverDnHandle_t cusolver;
    cusolverDnParams_t params;
    cudaStream_t stream;
    cudaEvent_t *events; // [2 panels]: before and after what counts
    void *factor;        // [n][n] fp16
    void *values;        // [panel][n] fp32
    void *narrowed;      // the same in fp16
    void *inverse;       // [panel][panel] fp32
    void *narrow_inverse;
    void *info; // [panels] int
    void *workspace, *solver_workspace, *host_workspace;
    size_t bytes, host_bytes;
};

bb_index panels_of(const task *t)
{
    return (t->n + t->panel - 1) / t->panel;
}

bb_status allocate(task *t)
{
    const size_t n = static_cast<size_t>(t->n);
    const size_t panel = static_cast<size_t>(t->panel);
    BB_RETURN_IF_FAILED(bb_device_allocate(t->device, n * n * sizeof(__half), &t->factor));
    BB_RETURN_IF_FAILED(bb_device_allocate(t->device, n * panel * sizeof(float), &t->values));
    BB_RETURN_IF_FAILED(bb_device_allocate(t->device, n * panel * sizeof(__half), &t->narrowed));
    BB_RETURN_IF_FAILED(bb_device_allocate(t->device, panel * panel * sizeof(float), &t->inverse));
    BB_RETURN_IF_FAILED(
        bb_device_allocate(t->device, panel * panel * sizeof(__half), &t->narrow_inverse));
    BB_RETURN_IF_FAILED(
        bb_device_allocate(t->device, static_cast<size_t>(panels_of(t)) * sizeof(int), &t->info));
    BB_RETURN_IF_FAILED(bb_device_allocate(t->device, t->bytes, &t->solver_workspace));
    return bb_memory_allocate(static_cast<bb_index>(t->host_bytes) + 1, 1, &t->host_workspace);
}

bb_status prepare(task *t)
{
    static const size_t workspace_bytes = static_cast<size_t>(64) << 20;
    bb_device_report report;
    BB_RETURN_IF_FAILED(bb_device_describe(t->device, &report)); // makes it the current one
    BB_RETURN_IF_FAILED(bb_dense_library_open(&t->products));
    BB_RETURN_IF_FAILED(bb_solver_library_open(&t->solver));
    BB_CUDA_TRY(cudaStreamCreateWithFlags(&t->stream, cudaStreamNonBlocking));
    BB_CUBLAS_TRY(t->products->create(&t->cublas));
    BB_CUBLAS_TRY(t->products->set_stream(t->cublas, t->stream));
    BB_RETURN_IF_FAILED(bb_device_allocate(t->device, workspace_bytes, &t->workspace));
    BB_CUBLAS_TRY(t->products->set_workspace(t->cublas, t->workspace, workspace_bytes));
    BB_CUSOLVER_TRY(t->solver->create(&t->cusolver));
    BB_CUSOLVER_TRY(t->solver->set_stream(t->cusolver, t->stream));
    BB_CUSOLVER_TRY(t->solver->create_params(&t->params));
    BB_CUSOLVER_TRY(t->solver->workspace(t->cusolver, t->params, CUBLAS_FILL_MODE_LOWER, t->panel,
                                         CUDA_R_32F, nullptr, t->n, CUDA_R_32F, &t->bytes,
                                         &t->host_bytes));
    BB_RETURN_IF_FAILED(allocate(t));
    BB_RETURN_IF_FAILED(bb_memory_allocate(2 * panels_of(t), sizeof *t->events,
                                           reinterpret_cast<void **>(&t->events)));
    for (bb_index k = 0; k < 2 * panels_of(t); ++k) {
        t->events[k] = nullptr;
    }
    for (bb_index k = 0; k < 2 * panels_of(t); ++k) {
        BB_CUDA_TRY(cudaEventCreate(&t->events[k]));
    }
    return BB_OK;
}

// The panel less the product of what is before it.
bb_status update(task *t, bb_index first, bb_index columns)
{
    const float minus = -1.0F;
    const float one = 1.0F;
    const __half *before = static_cast<const __half *>(t->factor) + first;
    const int rows = static_cast<int>(t->n - first);
    if (first > 0) {
        BB_CUBLAS_TRY(t->products->gemm(t->cublas, CUBLAS_OP_N, CUBLAS_OP_T, rows,
                                        static_cast<int>(columns), static_cast<int>(first), &minus,
                                        before, CUDA_R_16F, static_cast<int>(t->n), before,
                                        CUDA_R_16F, static_cast<int>(t->n), &one, t->values,
                                        CUDA_R_32F, rows, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    }
    return BB_OK;
}

// The diagonal block's factor, into L, and its inverse.
bb_status factor_block(task *t, bb_index first, bb_index columns)
{
    const float one = 1.0F;
    const int rows = static_cast<int>(t->n - first);
    float *values = static_cast<float *>(t->values);
    float *inverse = static_cast<float *>(t->inverse);
    __half *block = static_cast<__half *>(t->factor) + first * t->n + first;
    BB_CUSOLVER_TRY(t->solver->factor(t->cusolver, t->params, CUBLAS_FILL_MODE_LOWER, columns,
                                      CUDA_R_32F, values, rows, CUDA_R_32F, t->solver_workspace,
                                      t->bytes, t->host_workspace, t->host_bytes,
                                      static_cast<int *>(t->info) + first / t->panel));
    narrow<<<blocks_of(columns * columns), threads, 0, t->stream>>>(values, rows, columns, columns,
                                                                    true, block, t->n);
    BB_CUDA_CHECK_LAUNCH();
    make_identity<<<blocks_of(columns * columns), threads, 0, t->stream>>>(inverse, columns);
    BB_CUDA_CHECK_LAUNCH();
    BB_CUBLAS_TRY(t->products->solve_fp32(t->cublas, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER,
                                          CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT,
                                          static_cast<int>(columns), static_cast<int>(columns),
                                          &one, values, rows, inverse, static_cast<int>(columns)));
    return BB_OK;
}

// The blocks below it, times the inverse, into L.
bb_status solve_panel(task *t, bb_index first, bb_index columns)
{
    const float one = 1.0F;
    const float zero = 0.0F;
    const bb_index rows = t->n - first;
    const bb_index below = rows - columns;
    const float *values = static_cast<const float *>(t->values) + columns;
    __half *narrowed = static_cast<__half *>(t->narrowed);
    __half *inverse = static_cast<__half *>(t->narrow_inverse);
    __half *out = static_cast<__half *>(t->factor) + first * t->n + first + columns;
    if (below == 0) {
        return BB_OK;
    }
    narrow<<<blocks_of(below * columns), threads, 0, t->stream>>>(values, rows, below, columns,
                                                                  false, narrowed, below);
    BB_CUDA_CHECK_LAUNCH();
    narrow<<<blocks_of(columns * columns), threads, 0, t->stream>>>(
        static_cast<const float *>(t->inverse), columns, columns, columns, false, inverse, columns);
    BB_CUDA_CHECK_LAUNCH();
    BB_CUBLAS_TRY(t->products->gemm(
        t->cublas, CUBLAS_OP_N, CUBLAS_OP_T, static_cast<int>(below), static_cast<int>(columns),
        static_cast<int>(columns), &one, narrowed, CUDA_R_16F, static_cast<int>(below), inverse,
        CUDA_R_16F, static_cast<int>(columns), &zero, out, CUDA_R_16F, static_cast<int>(t->n),
        CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    return BB_OK;
}

bb_status queue_panels(task *t)
{
    for (bb_index first = 0; first < t->n; first += t->panel) {
        const bb_index rows = t->n - first;
        const bb_index columns = rows < t->panel ? rows : t->panel;
        cudaEvent_t *events = t->events + 2 * (first / t->panel);
        BB_RETURN_IF_FAILED(
            bb_device_source_fill(t->matrix, bb_stream_queue(t->stream), first, first,
                                  bb_device_matrix(t->values, BB_F32, columns, rows, rows)));
        BB_CUDA_TRY(cudaEventRecord(events[0], t->stream));
        BB_RETURN_IF_FAILED(update(t, first, columns));
        BB_RETURN_IF_FAILED(factor_block(t, first, columns));
        BB_RETURN_IF_FAILED(solve_panel(t, first, columns));
        BB_CUDA_TRY(cudaEventRecord(events[1], t->stream));
    }
    return BB_OK;
}

bb_status read_times(const task *t, double *seconds)
{
    *seconds = 0.0;
    BB_CUDA_TRY(cudaStreamSynchronize(t->stream));
    for (bb_index k = 0; k < panels_of(t); ++k) {
        float milliseconds = 0.0F;
        int info = 0;
        BB_CUDA_TRY(cudaMemcpy(&info, static_cast<const int *>(t->info) + k, sizeof info,
                               cudaMemcpyDeviceToHost));
        if (info != 0) {
            return bb_status_set(BB_UNSUPPORTED, __FILE__, __LINE__,
                                 "the library loop broke down in panel %td, potrf gave %d", k,
                                 info);
        }
        BB_CUDA_TRY(cudaEventElapsedTime(&milliseconds, t->events[2 * k], t->events[2 * k + 1]));
        *seconds += 1e-3 * static_cast<double>(milliseconds);
    }
    return BB_OK;
}

void release(task *t)
{
    for (bb_index k = 0; t->events != nullptr && k < 2 * panels_of(t); ++k) {
        if (t->events[k] != nullptr) {
            (void)cudaEventDestroy(t->events[k]);
        }
    }
    bb_memory_release(reinterpret_cast<void **>(&t->events));
    if (t->params != nullptr) {
        (void)t->solver->destroy_params(t->params);
    }
    if (t->cusolver != nullptr) {
        (void)t->solver->destroy(t->cusolver);
    }
    if (t->cublas != nullptr) {
        (void)t->products->destroy(t->cublas);
    }
    if (t->stream != nullptr) {
        (void)cudaStreamDestroy(t->stream);
    }
    for (void **block : {&t->factor, &t->values, &t->narrowed, &t->inverse, &t->narrow_inverse,
                         &t->info, &t->workspace, &t->solver_workspace}) {
        bb_device_release(t->device, block);
    }
    bb_memory_release(&t->host_workspace);
}

} // namespace

extern "C" bb_status bb_library_loop_time(const bb_device_source *matrix, bb_index panel,
                                          double *seconds)
{
    task t = {};
    t.matrix = matrix;
    t.device = matrix->device;
    t.n = matrix->rows;
    t.panel = panel < matrix->rows ? panel : matrix->rows;
    bb_status status = prepare(&t);
    status = status == BB_OK ? queue_panels(&t) : status;
    status = status == BB_OK ? read_times(&t, seconds) : status;
    release(&t);
    return status;
}
