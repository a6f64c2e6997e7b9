// SPDX-License-Identifier: Apache-2.0
//
// Columns of the factor of A itself from a factorization by panels, in fp64 on the device. The
// first GPU reads its own block rows, and the block rows of every other GPU over the link.
#include "solvers/factor/panels/panel_cholesky_cuda.h"

using namespace panel;

namespace
{

const unsigned threads = 128;
const double low_unit = 1.0 / 2048.0;

// L as stored on a GPU, with D.
struct kept_factor {
    bb_triangle_layout layout;
    const void *triangle;
    const __half *low; // second half plane, or NULL
    const void *diagonals, *scale;
};

kept_factor kept_of(const bb_panel_part &part)
{
    return {part.layout, part.triangle, static_cast<const __half *>(part.triangle_lo),
            part.diagonals, part.scale};
}

// Row i of D^-1 L, owned by the part, in column j <= i. `Kept` is the type of the triangle, `Value`
// that of all other arrays.
template <typename Kept, typename Value>
__device__ double entry(const kept_factor &factor, bb_index i, bb_index j)
{
    const bb_index block = factor.layout.block;
    const bb_index k = i / block;
    double value = 0.0;
    if (k == j / block) {
        value = static_cast<double>(static_cast<const Value *>(
            factor.diagonals)[(k / factor.layout.step * block + i % block) * block + j % block]);
    } else {
        const bb_index row = bb_triangle_layout_row(factor.layout, k) + i % block;
        const bb_index item = row * bb_triangle_layout_columns(factor.layout) +
                              bb_triangle_layout_column(factor.layout, k) + j;
        if constexpr (sizeof(Kept) == sizeof(__half)) {
            value = static_cast<double>(
                __half2float(static_cast<const __half *>(factor.triangle)[item]));
            if (factor.low != nullptr) {
                value += low_unit * static_cast<double>(__half2float(factor.low[item]));
            }
        } else {
            value = static_cast<double>(static_cast<const Kept *>(factor.triangle)[item]);
        }
    }
    return value / static_cast<double>(static_cast<const Value *>(factor.scale)[i]);
}

template <typename Kept, typename Value>
__global__ void read_columns(kept_factor factor, bb_index first, bb_index width, double *out,
                             bb_index stride)
{
    const bb_index c = static_cast<bb_index>(blockIdx.x) * blockDim.x + threadIdx.x;
    const bb_index rows = factor.layout.n - first;
    for (bb_index r = blockIdx.y; c < width && r < rows; r += gridDim.y) {
        if (!bb_triangle_layout_contains(factor.layout, (first + r) / factor.layout.block)) {
            continue;
        }
        out[r * stride + c] = c > r ? 0.0 : entry<Kept, Value>(factor, first + r, first + c);
    }
}

template <typename Kept, typename Value>
__global__ void read_diagonal(kept_factor factor, double *out)
{
    const bb_index i = static_cast<bb_index>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < factor.layout.n &&
        bb_triangle_layout_contains(factor.layout, i / factor.layout.block)) {
        out[i] = entry<Kept, Value>(factor, i, i);
    }
}

bb_status launch_diagonal(const bb_panel_part &part, cudaStream_t stream, double *out)
{
    const kept_factor kept = kept_of(part);
    const unsigned blocks = static_cast<unsigned>((kept.layout.n + threads - 1) / threads);
    switch (part.arithmetic.storage) {
    case BB_PANEL_HALVES:
        read_diagonal<__half, float><<<blocks, threads, 0, stream>>>(kept, out);
        break;
    case BB_PANEL_FP32:
        read_diagonal<float, float><<<blocks, threads, 0, stream>>>(kept, out);
        break;
    case BB_PANEL_FP64:
        read_diagonal<double, double><<<blocks, threads, 0, stream>>>(kept, out);
        break;
    }
    BB_CUDA_CHECK_LAUNCH();
    return BB_OK;
}

bb_status read_pivots(const bb_panel_cholesky *factor, double *out)
{
    const cudaStream_t stream = factor->parts[0].bulk;
    BB_RETURN_IF_FAILED(use(&factor->parts[0]));
    for (bb_index g = 0; g < factor->gpus; ++g) {
        BB_RETURN_IF_FAILED(launch_diagonal(factor->parts[g], stream, out));
    }
    BB_CUDA_TRY(cudaStreamSynchronize(stream));
    return BB_OK;
}

bb_status launch_columns(const bb_panel_part &part, cudaStream_t stream, bb_index first,
                         bb_index width, double *out, bb_index stride)
{
    const kept_factor kept = kept_of(part);
    const bb_index rows = kept.layout.n - first;
    const dim3 grid(static_cast<unsigned>((width + threads - 1) / threads),
                    static_cast<unsigned>(rows < 32768 ? rows : 32768));
    switch (part.arithmetic.storage) {
    case BB_PANEL_HALVES:
        read_columns<__half, float><<<grid, threads, 0, stream>>>(kept, first, width, out, stride);
        break;
    case BB_PANEL_FP32:
        read_columns<float, float><<<grid, threads, 0, stream>>>(kept, first, width, out, stride);
        break;
    case BB_PANEL_FP64:
        read_columns<double, double><<<grid, threads, 0, stream>>>(kept, first, width, out, stride);
        break;
    }
    BB_CUDA_CHECK_LAUNCH();
    return BB_OK;
}

} // namespace

bb_status bb_panel_cholesky_columns(const bb_panel_cholesky *factor, bb_queue *queue,
                                    bb_index first, bb_index width, double *out, bb_index stride)
{
    const bb_index rows = factor->plan.n - first;
    if (first < 0 || width < 1 || width > rows || width > stride) {
        return bb_status_set(BB_INVALID, __FILE__, __LINE__,
                             "columns %td to %td of a factor with stride %td: range or stride does "
                             "not fit %td columns",
                             first, first + width, stride, factor->plan.n);
    }
    BB_RETURN_IF_FAILED(use(&factor->parts[0]));
    for (bb_index g = 0; g < factor->gpus; ++g) {
        BB_RETURN_IF_FAILED(launch_columns(*source_of(factor, g), bb_queue_stream(queue), first,
                                           width, out, stride));
    }
    return BB_OK;
}

bb_status bb_panel_cholesky_pivots(const bb_panel_cholesky *factor, double *out)
{
    bb_device *device = factor->parts[0].device;
    const size_t bytes = static_cast<size_t>(factor->plan.n) * sizeof(double);
    void *pivots = nullptr;
    BB_RETURN_IF_FAILED(bb_device_allocate(device, bytes, &pivots));
    bb_status status = read_pivots(factor, static_cast<double *>(pivots));
    status = status == BB_OK ? bb_device_download(device, out, pivots, bytes) : status;
    bb_device_release(device, &pivots);
    return status;
}
