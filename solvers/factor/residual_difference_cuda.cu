// SPDX-License-Identifier: Apache-2.0
//
// The residual of an estimate by its difference from another one: residual_scorer.h has the
// formula, the scales and the error.
#include "core/memory.h"
#include "solvers/factor/panels/split_product_cuda.h"
#include "solvers/factor/residual_difference_cuda.h"

#include <cmath>

namespace
{

const int threads = 256;
const bb_index plane_multiple = 64;   // of the depth, in the products
const bb_index column_multiple = 128; // of their results
const bb_index stretch = 16384;       // of the depth, between sums in fp64
const int magnitude = 10;             // largest values in planes are below 2^10

struct differing {
    bb_residual_scorer *scorer;
    bb_index m, stride; // stride of the planes
    void *delta;        // R - R0 [m][n]
    void *shifts;       // [m] exponents of the rows of it
    void *delta_hi, *delta_lo;
    void *panel;           // rows of Cmm [width][n]
    void *panel_planes[2]; // NULL where the scorer has those of all of Cmm
    void *sums;            // float [m][sum_stride]
    void *h;               // G0 + D Cmm / 2 [m][width]
    void *cee;
};

bb_index rounded_up(bb_index count, bb_index multiple)
{
    return (count + multiple - 1) / multiple * multiple;
}

bb_index sum_stride(const bb_residual_scorer *scorer)
{
    return rounded_up(scorer->width, column_multiple);
}

// A row of R becomes that of R - R0, and the exponent of its largest entry in units is noted.
__global__ void subtract_base(const double *base, const double *units, bb_index n, double *r,
                              int *shifts)
{
    __shared__ double largest[threads];
    const bb_index first = static_cast<bb_index>(blockIdx.x) * n;
    double own = 0.0;
    for (bb_index j = threadIdx.x; j < n; j += threads) {
        const double difference = r[first + j] - base[first + j];
        r[first + j] = difference;
        own = fmax(own, fabs(difference) * units[j]);
    }
    largest[threadIdx.x] = own;
    __syncthreads();
    for (int half = threads / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            largest[threadIdx.x] = fmax(largest[threadIdx.x], largest[threadIdx.x + half]);
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        shifts[blockIdx.x] = largest[0] > 0.0 && isfinite(largest[0]) ? ilogb(largest[0]) + 1 : 0;
    }
}

__device__ void write_planes(double value, bb_index item, __half *hi, __half *lo)
{
    const float single = static_cast<float>(value);
    const __half high = __float2half_rn(single);
    hi[item] = high;
    lo[item] = __float2half_rn((single - __half2float(high)) * 2048.0F);
}

// Planes of D in units, every row brought below 2^10.
__global__ void split_difference(const double *delta, const double *units, const int *shifts,
                                 bb_index rows, bb_index n, bb_index stride, __half *hi, __half *lo)
{
    const bb_index j = static_cast<bb_index>(blockIdx.x) * threads + threadIdx.x;
    for (bb_index i = blockIdx.y; j < n && i < rows; i += gridDim.y) {
        write_planes(scalbn(delta[i * n + j] * units[j], magnitude - shifts[i]), i * stride + j, hi,
                     lo);
    }
}

// Planes of rows of Cmm from `first` on, over the units of both indices.
__global__ void split_covariance(const double *panel, const double *units, bb_index first,
                                 bb_index rows, bb_index n, bb_index stride, __half *hi, __half *lo)
{
    const bb_index j = static_cast<bb_index>(blockIdx.x) * threads + threadIdx.x;
    for (bb_index i = blockIdx.y; j < n && i < rows; i += gridDim.y) {
        const double value = panel[i * n + j] / (units[first + i] * units[j]);
        write_planes(scalbn(value, magnitude), i * stride + j, hi, lo);
    }
}

// H += D Cmm / 2 from -sums, which are 0 again.
__global__ void add_sums(const double *units, const int *shifts, bb_index rows, bb_index width,
                         bb_index stride, float *sums, double *h)
{
    const bb_index k = static_cast<bb_index>(blockIdx.x) * threads + threadIdx.x;
    for (bb_index i = blockIdx.y; k < width && i < rows; i += gridDim.y) {
        const double sum = -static_cast<double>(sums[i * stride + k]);
        h[i * width + k] += 0.5 * units[k] * scalbn(sum, shifts[i] - 2 * magnitude);
        sums[i * stride + k] = 0.0F;
    }
}

__global__ void add_items(const double *addend, bb_index items, double *sum)
{
    const bb_index stride = static_cast<bb_index>(gridDim.x) * threads;
    for (bb_index i = static_cast<bb_index>(blockIdx.x) * threads + threadIdx.x; i < items;
         i += stride) {
        sum[i] += addend[i];
    }
}

dim3 grid_of(bb_index rows, bb_index columns)
{
    return dim3(static_cast<unsigned>((columns + threads - 1) / threads),
                static_cast<unsigned>(rows < 32768 ? rows : 32768));
}

const double *units_of(const bb_residual_scorer *scorer)
{
    return static_cast<const double *>(scorer->units);
}

void close(differing *work)
{
    void **const blocks[] = {&work->delta,
                             &work->shifts,
                             &work->delta_hi,
                             &work->delta_lo,
                             &work->panel,
                             &work->panel_planes[0],
                             &work->panel_planes[1],
                             &work->sums,
                             &work->h,
                             &work->cee};
    for (void **block : blocks) {
        bb_device_release(work->scorer->device, block);
    }
}

bb_status allocate(const differing *work, bb_index items, size_t item_bytes, void **out)
{
    return bb_device_allocate(work->scorer->device, static_cast<size_t>(items) * item_bytes, out);
}

bb_status open(differing *work)
{
    const bb_residual_scorer *s = work->scorer;
    const bb_index m = work->m;
    BB_RETURN_IF_FAILED(allocate(work, m * s->n, sizeof(double), &work->delta));
    BB_RETURN_IF_FAILED(allocate(work, m, sizeof(int), &work->shifts));
    BB_RETURN_IF_FAILED(allocate(work, m * work->stride, sizeof(__half), &work->delta_hi));
    BB_RETURN_IF_FAILED(allocate(work, m * work->stride, sizeof(__half), &work->delta_lo));
    BB_RETURN_IF_FAILED(allocate(work, s->width * s->n, sizeof(double), &work->panel));
    for (int plane = 0; plane < 2 && s->planes[0] == nullptr; ++plane) {
        BB_RETURN_IF_FAILED(
            allocate(work, s->width * work->stride, sizeof(__half), &work->panel_planes[plane]));
    }
    BB_RETURN_IF_FAILED(allocate(work, m * sum_stride(s), sizeof(float), &work->sums));
    BB_RETURN_IF_FAILED(allocate(work, m * s->width, sizeof(double), &work->h));
    return allocate(work, m * m, sizeof(double), &work->cee);
}

// D, its planes, and Cee0.
bb_status start(const bb_residual_base *base, const bb_residual_task *task, differing *work)
{
    const bb_residual_scorer *s = work->scorer;
    const size_t cee_bytes = static_cast<size_t>(work->m * work->m) * sizeof(double);
    double *delta = static_cast<double *>(work->delta);
    BB_RETURN_IF_FAILED(bb_transfer_upload(s->transfer, delta, task->r,
                                           static_cast<size_t>(work->m * s->n) * sizeof(double)));
    subtract_base<<<static_cast<unsigned>(work->m), threads, 0, s->stream>>>(
        static_cast<const double *>(base->r), units_of(s), s->n, delta,
        static_cast<int *>(work->shifts));
    BB_CUDA_CHECK_LAUNCH();
    split_difference<<<grid_of(work->m, s->n), threads, 0, s->stream>>>(
        delta, units_of(s), static_cast<const int *>(work->shifts), work->m, s->n, work->stride,
        static_cast<__half *>(work->delta_hi), static_cast<__half *>(work->delta_lo));
    BB_CUDA_CHECK_LAUNCH();
    BB_CUDA_TRY(cudaMemsetAsync(
        work->sums, 0, static_cast<size_t>(work->m * sum_stride(s)) * sizeof(float), s->stream));
    BB_CUDA_TRY(
        cudaMemcpyAsync(work->cee, base->cee, cee_bytes, cudaMemcpyDeviceToDevice, s->stream));
    return BB_OK;
}

bb_status describe(const differing *work, void *hi, void *lo, bb_index rows, bb_operand_cuda *out)
{
    bb_plane_cuda high = {};
    bb_plane_cuda low = {};
    BB_RETURN_IF_FAILED(bb_plane_cuda_describe(static_cast<__half *>(hi), rows, work->scorer->n,
                                               work->stride, 128, &high));
    BB_RETURN_IF_FAILED(bb_plane_cuda_describe(static_cast<__half *>(lo), rows, work->scorer->n,
                                               work->stride, 128, &low));
    *out = {BB_OPERAND_PLAIN, 0, high.map, low.map};
    return BB_OK;
}

// H of the columns from `begin` on, whose planes of Cmm are given.
bb_status multiply(const differing *work, bb_index begin, bb_index width, __half *const planes[2])
{
    const bb_residual_scorer *s = work->scorer;
    bb_split_product_cuda p = {};
    BB_RETURN_IF_FAILED(describe(work, work->delta_hi, work->delta_lo, work->m, &p.a));
    BB_RETURN_IF_FAILED(describe(work, planes[0], planes[1], width, &p.b));
    p.rows = work->m;
    p.columns = rounded_up(width, column_multiple);
    p.c = static_cast<float *>(work->sums);
    p.c_stride = sum_stride(s);
    for (p.begin = 0; p.begin < work->stride; p.begin += stretch) {
        p.end = p.begin + stretch < work->stride ? p.begin + stretch : work->stride;
        BB_RETURN_IF_FAILED(bb_split_product_launch(&p, 3, s->stream));
        add_sums<<<grid_of(work->m, width), threads, 0, s->stream>>>(
            units_of(s) + begin, static_cast<const int *>(work->shifts), work->m, width, p.c_stride,
            p.c, static_cast<double *>(work->h));
        BB_CUDA_CHECK_LAUNCH();
    }
    return BB_OK;
}

// Planes of rows of Cmm from `begin` on: kept ones are made once for all estimates.
bb_status find_planes(const differing *work, bb_index begin, bb_index width, __half *planes[2])
{
    bb_residual_scorer *s = work->scorer;
    const bool kept = s->planes[0] != nullptr;
    for (int plane = 0; plane < 2; ++plane) {
        planes[plane] = kept ? static_cast<__half *>(s->planes[plane]) + begin * work->stride
                             : static_cast<__half *>(work->panel_planes[plane]);
    }
    if (kept && begin + width <= s->planes_rows) {
        return BB_OK;
    }
    BB_RETURN_IF_FAILED(
        bb_device_source_fill(s->cmm, bb_stream_queue(s->stream), begin, 0,
                              bb_device_matrix(work->panel, BB_F64, width, s->n, s->n)));
    split_covariance<<<grid_of(width, s->n), threads, 0, s->stream>>>(
        static_cast<const double *>(work->panel), units_of(s), begin, width, s->n, work->stride,
        planes[0], planes[1]);
    BB_CUDA_CHECK_LAUNCH();
    s->planes_rows = begin + width;
    return BB_OK;
}

// Cee += 2 (G0 + D Cmm / 2) D^T over the columns from `begin` on.
bb_status add_panel(const differing *work, const bb_residual_base *base, bb_index begin)
{
    const bb_residual_scorer *s = work->scorer;
    const bb_index width = s->n - begin < s->width ? s->n - begin : s->width;
    __half *planes[2];
    BB_RETURN_IF_FAILED(find_planes(work, begin, width, planes));
    BB_CUDA_TRY(cudaMemcpyAsync(work->h, static_cast<const double *>(base->g) + work->m * begin,
                                static_cast<size_t>(work->m * width) * sizeof(double),
                                cudaMemcpyDeviceToDevice, s->stream));
    BB_RETURN_IF_FAILED(multiply(work, begin, width, planes));
    bb_dense_product_cuda p = {};
    p.a = static_cast<const double *>(work->h);
    p.b = static_cast<const double *>(work->delta) + begin;
    p.c = static_cast<double *>(work->cee);
    p.a_stride = p.depth = width;
    p.b_stride = s->n;
    p.c_stride = p.rows = p.columns = work->m;
    p.transposed = true;
    p.alpha = 2.0;
    p.beta = 1.0;
    return bb_dense_library_product(s->library, s->handle, &p);
}

// Room for the planes of all of Cmm, asked for once: where it leaves what solves and scores take.
bb_status offer_planes(bb_residual_scorer *s, bb_index m, bb_index stride)
{
    const size_t bytes = static_cast<size_t>(s->n * stride) * sizeof(__half);
    const double scored = bb_residual_difference_bytes(s, m);
    double available = 0.0;
    if (s->planes_asked) {
        return BB_OK;
    }
    s->planes_asked = true;
    BB_RETURN_IF_FAILED(bb_residual_scorer_free_bytes(s, &available));
    if (2.0 * static_cast<double>(bytes) + (scored > s->spare_bytes ? scored : s->spare_bytes) >
        available) {
        return BB_OK;
    }
    if (bb_device_allocate(s->device, bytes, &s->planes[0]) != BB_OK ||
        bb_device_allocate(s->device, bytes, &s->planes[1]) != BB_OK) {
        bb_device_release(s->device, &s->planes[0]); // another program took it: without, then
        bb_status_clear();
    }
    return BB_OK;
}

bb_status run(const bb_residual_base *base, const bb_residual_task *task, differing *work)
{
    bb_residual_scorer *s = work->scorer;
    const bb_residual_task symmetric = {task->r, task->ctm, nullptr, task->cee};
    BB_RETURN_IF_FAILED(offer_planes(s, work->m, work->stride));
    BB_RETURN_IF_FAILED(open(work));
    BB_RETURN_IF_FAILED(start(base, task, work));
    for (bb_index begin = 0; begin < s->n; begin += s->width) {
        BB_RETURN_IF_FAILED(add_panel(work, base, begin));
    }
    BB_RETURN_IF_FAILED(bb_residual_scorer_fetch(s, work->cee, work->m * work->m, task->cee));
    return bb_residual_covariance_close(&symmetric);
}

} // namespace

double bb_residual_difference_bytes(const bb_residual_scorer *scorer, bb_index m)
{
    const bb_index stride = rounded_up(scorer->n, plane_multiple);
    const bb_index doubles = m * scorer->n + scorer->width * scorer->n + m * scorer->width + m * m;
    const bb_index halves = 2 * stride * (m + scorer->width);
    const bb_index floats = m * (sum_stride(scorer) + 1);
    return static_cast<double>(doubles) * sizeof(double) +
           static_cast<double>(halves) * sizeof(__half) +
           static_cast<double>(floats) * sizeof(float);
}

bb_status bb_residual_difference_score(bb_residual_scorer *scorer, const bb_residual_base *base,
                                       const bb_residual_task *task)
{
    differing work = {};
    work.scorer = scorer;
    work.m = base->m;
    work.stride = rounded_up(scorer->n, plane_multiple);
    const bb_status status = run(base, task, &work);
    close(&work);
    return status;
}

bb_status bb_residual_difference_units(bb_residual_scorer *scorer)
{
    const size_t bytes = static_cast<size_t>(scorer->n) * sizeof(double);
    void *block = nullptr;
    BB_RETURN_IF_FAILED(bb_memory_allocate(scorer->n, sizeof(double), &block));
    double *units = static_cast<double *>(block);
    bb_status status = bb_matrix_source_diagonal(scorer->source, units);
    for (bb_index i = 0; i < scorer->n && status == BB_OK; ++i) {
        const bool positive = units[i] > 0.0 && std::isfinite(units[i]);
        units[i] = positive ? std::scalbn(1.0, (std::ilogb(units[i]) + 1) / 2) : 1.0;
    }
    status = status == BB_OK ? bb_device_allocate(scorer->device, bytes, &scorer->units) : status;
    status = status == BB_OK ? bb_transfer_upload(scorer->transfer, scorer->units, units, bytes)
                             : status;
    bb_memory_release(&block);
    return status;
}

bb_status bb_residual_difference_add(const bb_residual_scorer *scorer, const double *addend,
                                     bb_index items, double *sum)
{
    if (items > 0) {
        add_items<<<4096, threads, 0, scorer->stream>>>(addend, items, sum);
        BB_CUDA_CHECK_LAUNCH();
    }
    return BB_OK;
}
