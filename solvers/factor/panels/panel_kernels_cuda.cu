// SPDX-License-Identifier: Apache-2.0
//
// Small kernels around the products of a factorization by panels. All are memory-bound.
#include "solvers/factor/panels/panel_part_cuda.h"

#include <cmath>

namespace
{

const int threads = 256;
const float low_unit = 1.0F / 2048.0F;

dim3 grid_of(bb_index rows, bb_index columns, bb_index wide)
{
    const bb_index across = (columns + wide - 1) / wide;
    return dim3(static_cast<unsigned>((across + threads - 1) / threads),
                static_cast<unsigned>(rows < 32768 ? rows : 32768));
}

template <typename T>
__global__ void scale_rows(T *values, bb_index rows, bb_index columns, bb_index stride,
                           const T *row_scale, const T *column_scale)
{
    const bb_index c = static_cast<bb_index>(blockIdx.x) * blockDim.x + threadIdx.x;
    for (bb_index r = blockIdx.y; c < columns && r < rows; r += gridDim.y) {
        const T of_row = row_scale != nullptr ? row_scale[r] : T(1);
        values[r * stride + c] *= of_row * column_scale[c];
    }
}

// Replaces rows and columns from `used` on by those of the identity.
template <typename T> __global__ void pad_block(T *block, bb_index size, bb_index used)
{
    const bb_index c = static_cast<bb_index>(blockIdx.x) * blockDim.x + threadIdx.x;
    const bb_index r = blockIdx.y;
    if (c < size && (r >= used || c >= used)) {
        block[r * size + c] = r == c ? T(1) : T(0);
    }
}

__global__ void split_values(const float *values, bb_index rows, bb_index columns, bb_index stride,
                             bool transposed, const float *largest, __half *hi, __half *lo,
                             bb_index plane_stride)
{
    const bb_index c = 2 * (static_cast<bb_index>(blockIdx.x) * blockDim.x + threadIdx.x);
    const float unit = largest != nullptr ? 1.0F / bb_split_product_plane_unit(*largest) : 1.0F;
    for (bb_index r = blockIdx.y; c < columns && r < rows; r += gridDim.y) {
        const float *source = transposed ? values + c * stride + r : values + r * stride + c;
        const float x = unit * source[0];
        const float y = unit * source[transposed ? stride : 1];
        const __half2 high = __floats2half2_rn(x, y);
        *reinterpret_cast<__half2 *>(hi + r * plane_stride + c) = high;
        if (lo != nullptr) {
            *reinterpret_cast<__half2 *>(lo + r * plane_stride + c) = __floats2half2_rn(
                (x - __low2float(high)) * 2048.0F, (y - __high2float(high)) * 2048.0F);
        }
    }
}

__global__ void join_values(const __half *hi, const __half *lo, bb_index rows, bb_index columns,
                            bb_index plane_stride, float *values, bb_index stride)
{
    const bb_index c = static_cast<bb_index>(blockIdx.x) * blockDim.x + threadIdx.x;
    for (bb_index r = blockIdx.y; c < columns && r < rows; r += gridDim.y) {
        const bb_index index = r * plane_stride + c;
        const float low = lo != nullptr ? low_unit * __half2float(lo[index]) : 0.0F;
        values[r * stride + c] = __half2float(hi[index]) + low;
    }
}

// Magnitudes compare like their bit patterns, so the order of the maxima does not matter.
__global__ void find_largest(const float *values, bb_index count, unsigned *largest)
{
    unsigned own = 0;
    for (bb_index i = static_cast<bb_index>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
         i += static_cast<bb_index>(gridDim.x) * blockDim.x) {
        own = max(own, __float_as_uint(fabsf(values[i])));
    }
    own = __reduce_max_sync(0xFFFFFFFFU, own);
    if (threadIdx.x % 32 == 0) {
        atomicMax(largest, own);
    }
}

// Computes the largest magnitude of each row, one warp per row.
__global__ void find_row_largest(const float *values, bb_index rows, bb_index columns,
                                 bb_index stride, unsigned *largest)
{
    const bb_index r = (static_cast<bb_index>(blockIdx.x) * blockDim.x + threadIdx.x) / 32;
    unsigned own = 0;
    if (r >= rows) {
        return;
    }
    for (bb_index c = threadIdx.x % 32; c < columns; c += 32) {
        own = max(own, __float_as_uint(fabsf(values[r * stride + c])));
    }
    own = __reduce_max_sync(0xFFFFFFFFU, own);
    if (threadIdx.x % 32 == 0) {
        largest[r] = max(largest[r], own);
    }
}

__global__ void make_row_scale(float *largest, bb_index rows)
{
    const bb_index r = static_cast<bb_index>(blockIdx.x) * blockDim.x + threadIdx.x;
    int exponent = 0;
    if (r < rows) {
        const bool usable = isfinite(largest[r]) && largest[r] > 1e-30F && largest[r] < 1e30F;
        (void)frexpf(usable ? largest[r] : 0.75F, &exponent);
        largest[r] = ldexpf(1.0F, -exponent);
    }
}

template <typename T, typename Scale>
__global__ void widen_values(const T *values, const __half *lo, bb_index rows, bb_index columns,
                             bb_index stride, const Scale *column_scale, const float *row_scale,
                             double *out, bb_index out_stride)
{
    const bb_index c = static_cast<bb_index>(blockIdx.x) * blockDim.x + threadIdx.x;
    const bool scaled = column_scale != nullptr && c < columns;
    const double unit = scaled ? static_cast<double>(column_scale[c]) : 1.0;
    for (bb_index r = blockIdx.y; c < columns && r < rows; r += gridDim.y) {
        const bb_index index = r * stride + c;
        double value = 0.0;
        if constexpr (sizeof(T) == sizeof(__half)) {
            value = static_cast<double>(__half2float(values[index]));
            if (lo != nullptr) {
                value += static_cast<double>(low_unit * __half2float(lo[index]));
            }
        } else {
            value = static_cast<double>(values[index]);
        }
        const double of_row = row_scale != nullptr ? static_cast<double>(row_scale[r]) : 1.0;
        out[r * out_stride + c] = unit * value / of_row;
    }
}

} // namespace

bb_status bb_panel_part_scale(void *values, bb_panel_storage storage, bb_index rows,
                              bb_index columns, bb_index stride, const void *row_scale,
                              const void *column_scale, cudaStream_t stream)
{
    const dim3 grid = grid_of(rows, columns, 1);
    if (rows == 0 || columns == 0) {
        return BB_OK;
    }
    if (storage == BB_PANEL_FP64) {
        scale_rows<<<grid, threads, 0, stream>>>(static_cast<double *>(values), rows, columns,
                                                 stride, static_cast<const double *>(row_scale),
                                                 static_cast<const double *>(column_scale));
    } else {
        scale_rows<<<grid, threads, 0, stream>>>(static_cast<float *>(values), rows, columns,
                                                 stride, static_cast<const float *>(row_scale),
                                                 static_cast<const float *>(column_scale));
    }
    BB_CUDA_CHECK_LAUNCH();
    return BB_OK;
}

bb_status bb_panel_part_pad_diagonal(void *block, bb_panel_storage storage, bb_index size,
                                     bb_index used, cudaStream_t stream)
{
    const dim3 grid(static_cast<unsigned>((size + threads - 1) / threads),
                    static_cast<unsigned>(size));
    if (used == size) {
        return BB_OK;
    }
    if (storage == BB_PANEL_FP64) {
        pad_block<<<grid, threads, 0, stream>>>(static_cast<double *>(block), size, used);
    } else {
        pad_block<<<grid, threads, 0, stream>>>(static_cast<float *>(block), size, used);
    }
    BB_CUDA_CHECK_LAUNCH();
    return BB_OK;
}

bb_status bb_panel_part_split(const float *values, bb_index rows, bb_index columns, bb_index stride,
                              bool transposed, const float *largest, __half *hi, __half *lo,
                              bb_index plane_stride, cudaStream_t stream)
{
    if (rows == 0) {
        return BB_OK;
    }
    split_values<<<grid_of(rows, columns, 2), threads, 0, stream>>>(
        values, rows, columns, stride, transposed, largest, hi, lo, plane_stride);
    BB_CUDA_CHECK_LAUNCH();
    return BB_OK;
}

bb_status bb_panel_part_join(const __half *hi, const __half *lo, bb_index rows, bb_index columns,
                             bb_index plane_stride, float *values, bb_index stride,
                             cudaStream_t stream)
{
    if (rows == 0) {
        return BB_OK;
    }
    join_values<<<grid_of(rows, columns, 1), threads, 0, stream>>>(hi, lo, rows, columns,
                                                                   plane_stride, values, stride);
    BB_CUDA_CHECK_LAUNCH();
    return BB_OK;
}

bb_status bb_panel_part_largest(const float *values, bb_index count, float *largest,
                                cudaStream_t stream)
{
    BB_CUDA_TRY(cudaMemsetAsync(largest, 0, sizeof *largest, stream));
    find_largest<<<128, threads, 0, stream>>>(values, count, reinterpret_cast<unsigned *>(largest));
    BB_CUDA_CHECK_LAUNCH();
    return BB_OK;
}

bb_status bb_panel_part_row_largest(const float *values, bb_index rows, bb_index columns,
                                    bb_index stride, float *largest, cudaStream_t stream)
{
    const bb_index blocks = (32 * rows + threads - 1) / threads;
    find_row_largest<<<static_cast<unsigned>(blocks), threads, 0, stream>>>(
        values, rows, columns, stride, reinterpret_cast<unsigned *>(largest));
    BB_CUDA_CHECK_LAUNCH();
    return BB_OK;
}

bb_status bb_panel_part_row_scale(float *largest, bb_index rows, cudaStream_t stream)
{
    make_row_scale<<<static_cast<unsigned>((rows + threads - 1) / threads), threads, 0, stream>>>(
        largest, rows);
    BB_CUDA_CHECK_LAUNCH();
    return BB_OK;
}

bb_status bb_panel_part_widen(const void *values, const __half *lo, bb_panel_storage storage,
                              bb_index rows, bb_index columns, bb_index stride,
                              const void *column_scale, const float *row_scale, double *out,
                              bb_index out_stride, cudaStream_t stream)
{
    const dim3 grid = grid_of(rows, columns, 1);
    if (rows == 0 || columns == 0) {
        return BB_OK;
    }
    if (storage == BB_PANEL_HALVES) {
        widen_values<<<grid, threads, 0, stream>>>(
            static_cast<const __half *>(values), lo, rows, columns, stride,
            static_cast<const float *>(column_scale), row_scale, out, out_stride);
    } else if (storage == BB_PANEL_FP32) {
        widen_values<<<grid, threads, 0, stream>>>(
            static_cast<const float *>(values), lo, rows, columns, stride,
            static_cast<const float *>(column_scale), row_scale, out, out_stride);
    } else {
        widen_values<<<grid, threads, 0, stream>>>(
            static_cast<const double *>(values), lo, rows, columns, stride,
            static_cast<const double *>(column_scale), row_scale, out, out_stride);
    }
    BB_CUDA_CHECK_LAUNCH();
    return BB_OK;
}
