// SPDX-License-Identifier: Apache-2.0
//
// Device implementation of residual_noise.c: gathers the panels of R N on the device and multiplies
// by cuBLAS. Uses the first GPU only: mosaic-100368 needs 0.4 s, once per study.
#include "solvers/factor/residual_scorer_cuda.h"

namespace
{

const int threads = 256;
const bb_index strip = 1024; // rows of a diagonal block

struct projection {
    void *r, *g, *out;                // [m][n], [m][width], [m][m]
    void *row_start, *column, *value; // matrix N
};

__global__ void gather(const double *r, bb_index m, bb_index n, const bb_index *row_start,
                       const int32_t *column, const double *value, bb_index begin, bb_index width,
                       double *g)
{
    const bb_index k = static_cast<bb_index>(blockIdx.x) * threads + threadIdx.x;
    for (bb_index i = blockIdx.y; k < width && i < m; i += gridDim.y) {
        double sum = 0.0;
        for (bb_index e = row_start[begin + k]; e < row_start[begin + k + 1]; ++e) {
            sum += r[i * n + column[e]] * value[e];
        }
        g[i * width + k] = sum;
    }
}

bb_status send(const bb_residual_scorer *s, const void *values, size_t bytes, void **out)
{
    BB_RETURN_IF_FAILED(bb_device_allocate(s->gpus[0].device, bytes, out));
    return bb_transfer_upload(s->gpus[0].transfer, *out, values, bytes);
}

bb_status open(const bb_residual_scorer *s, const bb_csr *noise, bb_index m,
               const bb_residual_task *task, projection *work)
{
    const size_t entries = static_cast<size_t>(bb_csr_nonzeros(noise));
    const size_t n = static_cast<size_t>(noise->columns);
    const size_t rows = static_cast<size_t>(m);
    const size_t word = sizeof(double);
    BB_RETURN_IF_FAILED(bb_residual_scorer_use(&s->gpus[0]));
    BB_RETURN_IF_FAILED(
        send(s, noise->row_start, (n + 1) * sizeof *noise->row_start, &work->row_start));
    BB_RETURN_IF_FAILED(send(s, noise->column, entries * sizeof *noise->column, &work->column));
    BB_RETURN_IF_FAILED(send(s, noise->value, entries * word, &work->value));
    if (task->device_r == nullptr) {
        BB_RETURN_IF_FAILED(send(s, task->r, rows * n * word, &work->r));
    }
    BB_RETURN_IF_FAILED(bb_device_allocate(s->gpus[0].device,
                                           rows * static_cast<size_t>(s->width) * word, &work->g));
    BB_RETURN_IF_FAILED(bb_device_allocate(s->gpus[0].device, rows * rows * word, &work->out));
    BB_CUDA_TRY(cudaMemsetAsync(work->out, 0, rows * rows * word, s->gpus[0].stream));
    return BB_OK;
}

// Adds the symmetric G R^T to out [m][m]: its diagonal blocks once and the blocks below them twice.
// Blocks above stay 0, so that the symmetric part of `out` is the product.
bb_status add_lower(const bb_residual_scorer *s, const double *g, const double *r, bb_index m,
                    bb_index width, double *out)
{
    bb_dense_product_cuda p = {};
    p.a_stride = p.depth = width;
    p.b_stride = s->n;
    p.c_stride = m;
    p.transposed = true;
    p.beta = 1.0;
    for (bb_index row = 0; row < m; row += p.rows) {
        p.rows = m - row < strip ? m - row : strip;
        p.a = g + row * width;
        p.c = out + row * m + row;
        p.b = r + row * s->n;
        p.columns = p.rows;
        p.alpha = 1.0;
        BB_RETURN_IF_FAILED(bb_residual_scorer_queue(s, &s->gpus[0], &p));
        p.c = out + row * m;
        p.b = r;
        p.columns = row;
        p.alpha = 2.0;
        BB_RETURN_IF_FAILED(row > 0 ? bb_residual_scorer_queue(s, &s->gpus[0], &p) : BB_OK);
    }
    return BB_OK;
}

bb_status add_panel(const bb_residual_scorer *s, const projection *work, const double *r,
                    bb_index m, bb_index begin)
{
    const bb_index width = bb_residual_scorer_width(s, begin);
    double *g = static_cast<double *>(work->g);
    const dim3 grid(static_cast<unsigned>((width + threads - 1) / threads),
                    static_cast<unsigned>(m < 32768 ? m : 32768));
    gather<<<grid, threads, 0, s->gpus[0].stream>>>(
        r, m, s->n, static_cast<const bb_index *>(work->row_start),
        static_cast<const int32_t *>(work->column), static_cast<const double *>(work->value), begin,
        width, g);
    BB_CUDA_CHECK_LAUNCH();
    return add_lower(s, g, r + begin, m, width, static_cast<double *>(work->out));
}

bb_status run(const bb_residual_scorer *s, const bb_csr *noise, const bb_residual_task *task,
              projection *work, double *out)
{
    const bb_index m = bb_residual_task_rows(task);
    bb_matrix_source rows = {};
    rows.rows = m;
    rows.columns = s->n;
    bb_residual_task symmetric = {};
    symmetric.ctm = &rows;
    symmetric.cee = out;
    BB_RETURN_IF_FAILED(open(s, noise, m, task, work));
    const void *r = task->device_r != nullptr ? task->device_r : work->r;
    for (bb_index begin = 0; begin < s->n; begin += s->width) {
        BB_RETURN_IF_FAILED(add_panel(s, work, static_cast<const double *>(r), m, begin));
    }
    BB_RETURN_IF_FAILED(bb_residual_scorer_fetch(s, work->out, m * m, out));
    return bb_residual_task_close(&symmetric);
}

} // namespace

bb_status bb_residual_scorer_noise(bb_residual_scorer *scorer, const bb_csr *noise,
                                   const bb_residual_task *task, double *out)
{
    projection work = {};
    if (noise->columns != scorer->n || noise->rows != scorer->n) {
        return bb_status_set(BB_INVALID, __FILE__, __LINE__,
                             "noise covariance is %td x %td, but the estimate has %td columns",
                             noise->rows, noise->columns, scorer->n);
    }
    const bb_status status = run(scorer, noise, task, &work, out);
    void **const blocks[] = {&work.r,         &work.g,      &work.out,
                             &work.row_start, &work.column, &work.value};
    for (void **block : blocks) {
        bb_device_release(scorer->gpus[0].device, block);
    }
    return status;
}
