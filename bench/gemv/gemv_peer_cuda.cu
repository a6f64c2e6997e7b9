// SPDX-License-Identifier: Apache-2.0
#include "bench/gemv/gemv_peer.h"
#include "core/device/device_cuda.h"
#include "core/memory.h"
#include "solvers/gpu/dense_library_cuda.h"

#include <cuda_fp16.h>

struct bb_gemv_peer {
    bb_device *device;
    bb_gemv_peer_kind kind;
    bb_index rows, columns;
    int units; // multiprocessors
    int repeats;
    size_t word; // size of a value in bytes
    void *matrix, *x, *y;
    void *partial; // [64][rows] of the split product
    void *staging; // host buffer for a row or y
    const bb_dense_library_cuda *library;
    cublasHandle_t handle;
};

namespace
{

constexpr int lanes = 256;
constexpr int splits = 64;

// Kernel of Figure 9 with an explicit final reduction.
__global__ void figure9(const float *__restrict__ matrix, const float *__restrict__ x,
                        bb_index columns, float *__restrict__ y)
{
    __shared__ double partial_sums[lanes];
    double sum = 0.0;
#pragma unroll
    for (bb_index j = threadIdx.x; j < columns; j += blockDim.x) {
        float product = matrix[blockIdx.x * columns + j] * x[j];
        sum += static_cast<double>(product);
    }
    partial_sums[threadIdx.x] = sum;
    for (int half = lanes / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) {
            partial_sums[threadIdx.x] += partial_sums[threadIdx.x + half];
        }
    }
    if (threadIdx.x == 0) {
        y[blockIdx.x] = static_cast<float>(partial_sums[0]);
    }
}

__global__ void add_splits(const float *partial, bb_index rows, float *y)
{
    bb_index row = static_cast<bb_index>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (row < rows) {
        double sum = 0.0;
        for (int k = 0; k < splits; ++k) {
            sum += static_cast<double>(partial[k * rows + row]);
        }
        y[row] = static_cast<float>(sum);
    }
}

// Reads the matrix with eight loads of 16 bytes in flight per thread.
__global__ void __launch_bounds__(lanes, 4)
    read_all(const float4 *__restrict__ values, bb_index count, float *out)
{
    constexpr int ahead = 8;
    const bb_index stride = static_cast<bb_index>(gridDim.x) * lanes * ahead;
    float sum = 0.0F;
    for (bb_index begin = static_cast<bb_index>(blockIdx.x) * lanes * ahead + threadIdx.x;
         begin < count; begin += stride) {
        float4 four[ahead];
#pragma unroll
        for (int k = 0; k < ahead; ++k) {
            bb_index i = begin + k * lanes;
            four[k] = i < count ? __ldcs(values + i) : float4{0.0F, 0.0F, 0.0F, 0.0F};
        }
#pragma unroll
        for (int k = 0; k < ahead; ++k) {
            sum += four[k].x + four[k].y + four[k].z + four[k].w;
        }
    }
    if (sum == 12345.678F) { // prevents the loads from being optimised away
        *out = sum;
    }
}

bb_status multiply_cublas(const bb_gemv_peer *peer)
{
    const int m = static_cast<int>(peer->columns);
    const int n = static_cast<int>(peer->rows);
    const int chunk = m / splits;
    const float one = 1.0F;
    const float none = 0.0F;
    const double one_wide = 1.0;
    const double none_wide = 0.0;
    const float *matrix = static_cast<const float *>(peer->matrix);
    const float *x = static_cast<const float *>(peer->x);
    float *partial = static_cast<float *>(peer->partial);
    switch (peer->kind) {
    case BB_GEMV_CUBLAS_H:
        BB_CUBLAS_TRY(peer->library->gemv_batched_fp16(
            peer->handle, CUBLAS_OP_T, m, n, &one, static_cast<const __half *>(peer->matrix), m, 0,
            static_cast<const __half *>(peer->x), 1, 0, &none, static_cast<float *>(peer->y), 1, 0,
            1));
        break;
    case BB_GEMV_CUBLAS_S:
        BB_CUBLAS_TRY(peer->library->gemv_fp32(peer->handle, CUBLAS_OP_T, m, n, &one, matrix, m, x,
                                               1, &none, static_cast<float *>(peer->y), 1));
        break;
    case BB_GEMV_CUBLAS_D:
        BB_CUBLAS_TRY(peer->library->gemv_fp64(peer->handle, CUBLAS_OP_T, m, n, &one_wide,
                                               static_cast<const double *>(peer->matrix), m,
                                               static_cast<const double *>(peer->x), 1, &none_wide,
                                               static_cast<double *>(peer->y), 1));
        break;
    default:
        BB_CUBLAS_TRY(peer->library->gemm_batched(
            peer->handle, CUBLAS_OP_T, CUBLAS_OP_N, n, 1, chunk, &one, matrix, CUDA_R_32F, m, chunk,
            x, CUDA_R_32F, m, chunk, &none, partial, CUDA_R_32F, n, n, splits, CUBLAS_COMPUTE_32F,
            CUBLAS_GEMM_DEFAULT));
    }
    return BB_OK;
}

bb_status multiply(const bb_gemv_peer *peer, cudaStream_t queue)
{
    const unsigned rows = static_cast<unsigned>(peer->rows);
    const float *matrix = static_cast<const float *>(peer->matrix);
    float *y = static_cast<float *>(peer->y);
    if (peer->kind == BB_GEMV_FIGURE9) {
        figure9<<<rows, lanes, 0, queue>>>(matrix, static_cast<const float *>(peer->x),
                                           peer->columns, y);
    } else if (peer->kind == BB_GEMV_READ) {
        read_all<<<static_cast<unsigned>(4 * peer->units), lanes, 0, queue>>>(
            static_cast<const float4 *>(peer->matrix), peer->rows * peer->columns / 4, y);
    } else {
        BB_CUBLAS_TRY(peer->library->set_stream(peer->handle, queue));
        BB_RETURN_IF_FAILED(multiply_cublas(peer));
        if (peer->partial != nullptr) {
            add_splits<<<(rows + lanes - 1) / lanes, lanes, 0, queue>>>(
                static_cast<const float *>(peer->partial), peer->rows, y);
        }
    }
    BB_CUDA_CHECK_LAUNCH();
    return BB_OK;
}

bb_status multiply_often(bb_queue *queue, bb_index, bb_index items, void *arguments)
{
    const bb_gemv_peer *peer = static_cast<const bb_gemv_peer *>(arguments);
    (void)items;
    for (int k = 0; k < peer->repeats; ++k) {
        BB_RETURN_IF_FAILED(multiply(peer, bb_queue_stream(queue)));
    }
    return BB_OK;
}

// Converts `count` values on the host to the peer's format.
void round_values(const bb_gemv_peer *peer, const double *values, bb_index count, void *out)
{
    for (bb_index j = 0; j < count; ++j) {
        if (peer->word == sizeof(double)) {
            static_cast<double *>(out)[j] = values[j];
        } else if (peer->word == sizeof(__half)) {
            static_cast<__half *>(out)[j] = __float2half(static_cast<float>(values[j]));
        } else {
            static_cast<float *>(out)[j] = static_cast<float>(values[j]);
        }
    }
}

bb_status allocate(bb_gemv_peer *peer, const double *x)
{
    const size_t row_bytes = static_cast<size_t>(peer->columns) * peer->word;
    const size_t rows = static_cast<size_t>(peer->rows);
    bb_device_report report;
    BB_RETURN_IF_FAILED(bb_device_describe(peer->device, &report));
    peer->units = static_cast<int>(report.units);
    BB_RETURN_IF_FAILED(bb_memory_zeroed(peer->rows > peer->columns ? peer->rows : peer->columns,
                                         peer->word, &peer->staging));
    BB_RETURN_IF_FAILED(bb_device_allocate(peer->device, rows * row_bytes, &peer->matrix));
    BB_RETURN_IF_FAILED(bb_device_allocate(peer->device, row_bytes, &peer->x));
    BB_RETURN_IF_FAILED(bb_device_allocate(peer->device, rows * sizeof(double), &peer->y));
    if (peer->kind == BB_GEMV_SPLIT_BATCHED) {
        BB_RETURN_IF_FAILED(
            bb_device_allocate(peer->device, splits * rows * sizeof(float), &peer->partial));
    }
    if (peer->kind != BB_GEMV_FIGURE9 && peer->kind != BB_GEMV_READ) {
        BB_RETURN_IF_FAILED(bb_dense_library_open(&peer->library));
        BB_CUBLAS_TRY(peer->library->create(&peer->handle));
    }
    round_values(peer, x, peer->columns, peer->staging);
    BB_RETURN_IF_FAILED(bb_device_upload(peer->device, peer->x, peer->staging, row_bytes));
    return bb_device_wait(peer->device);
}

} // namespace

bb_status bb_gemv_peer_create(bb_device *device, bb_gemv_peer_kind kind, bb_index rows,
                              bb_index columns, const double *x, bb_gemv_peer **out)
{
    void *block = nullptr;
    *out = nullptr;
    BB_RETURN_IF_FAILED(bb_memory_zeroed(1, sizeof(bb_gemv_peer), &block));
    bb_gemv_peer *peer = static_cast<bb_gemv_peer *>(block);
    peer->device = device;
    peer->kind = kind;
    peer->rows = rows;
    peer->columns = columns;
    peer->word = kind == BB_GEMV_CUBLAS_D   ? sizeof(double)
                 : kind == BB_GEMV_CUBLAS_H ? sizeof(__half)
                                            : sizeof(float);
    bb_status status = allocate(peer, x);
    if (status != BB_OK) {
        bb_gemv_peer_destroy(&peer);
    }
    *out = peer;
    return status;
}

void bb_gemv_peer_destroy(bb_gemv_peer **peer)
{
    bb_gemv_peer *gemv_peer = *peer;
    if (gemv_peer != nullptr) {
        if (gemv_peer->handle != nullptr) {
            (void)gemv_peer->library->destroy(gemv_peer->handle);
        }
        bb_device_release(gemv_peer->device, &gemv_peer->matrix);
        bb_device_release(gemv_peer->device, &gemv_peer->x);
        bb_device_release(gemv_peer->device, &gemv_peer->y);
        bb_device_release(gemv_peer->device, &gemv_peer->partial);
        bb_memory_release(&gemv_peer->staging);
        void *block = gemv_peer;
        bb_memory_release(&block);
        *peer = nullptr;
    }
}

double bb_gemv_peer_bytes(const bb_gemv_peer *peer)
{
    return static_cast<double>(peer->rows) * static_cast<double>(peer->columns) *
           static_cast<double>(peer->word);
}

bb_status bb_gemv_peer_load(bb_gemv_peer *peer, bb_index row, const double *values)
{
    const size_t row_bytes = static_cast<size_t>(peer->columns) * peer->word;
    round_values(peer, values, peer->columns, peer->staging);
    BB_RETURN_IF_FAILED(bb_device_upload(peer->device,
                                         static_cast<unsigned char *>(peer->matrix) +
                                             static_cast<size_t>(row) * row_bytes,
                                         peer->staging, row_bytes));
    return bb_device_wait(peer->device);
}

bb_status bb_gemv_peer_time(bb_gemv_peer *peer, int repeats, double *seconds)
{
    static const bb_kernel kernel = {"gemv peer", 1, {nullptr, multiply_often}};
    peer->repeats = repeats;
    BB_RETURN_IF_FAILED(bb_device_timer_start(peer->device));
    BB_RETURN_IF_FAILED(bb_device_launch(peer->device, &kernel, peer->rows, peer));
    BB_RETURN_IF_FAILED(bb_device_timer_stop(peer->device, seconds));
    *seconds /= repeats;
    return BB_OK;
}

bb_status bb_gemv_peer_result(bb_gemv_peer *peer, double *y)
{
    if (peer->kind == BB_GEMV_CUBLAS_D) {
        return bb_device_download(peer->device, y, peer->y,
                                  static_cast<size_t>(peer->rows) * sizeof *y);
    }
    float *narrow_y = static_cast<float *>(peer->staging);
    BB_RETURN_IF_FAILED(bb_device_download(peer->device, narrow_y, peer->y,
                                           static_cast<size_t>(peer->rows) * sizeof *narrow_y));
    for (bb_index i = 0; i < peer->rows; ++i) {
        y[i] = static_cast<double>(narrow_y[i]);
    }
    return BB_OK;
}
