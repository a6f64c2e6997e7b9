// SPDX-License-Identifier: Apache-2.0
#include "solvers/factor/residual_noise.h"

#include "core/memory.h"
#include "core/thread.h"
#include "solvers/factor/residual_covariance.h"

#include <cblas.h>
#include <math.h>

enum { PANEL = 1024, ROWS = 64 };

typedef struct projection {
    const bb_csr *noise;
    bb_index m;
    const double *r;
    bb_index begin, width; // columns of the panel
    double *g;             // [m][width] R N
    double *out;
} projection;

static bb_status gather_rows(void *context, bb_index begin, bb_index end)
{
    const projection *work = context;
    const bb_csr *noise = work->noise;
    for (bb_index i = begin; i < end; ++i) {
        const double *r = work->r + i * noise->columns;
        for (bb_index k = 0; k < work->width; ++k) {
            const bb_index row = work->begin + k; // also counts as the column, N being symmetric
            double sum = 0.0;
            for (bb_index e = noise->row_start[row]; e < noise->row_start[row + 1]; ++e) {
                sum += r[noise->column[e]] * noise->value[e];
            }
            work->g[i * work->width + k] = sum;
        }
    }
    return BB_OK;
}

static bb_status project_rows(void *context, bb_index begin, bb_index end)
{
    const projection *work = context;
    const int n = (int)work->noise->columns;
    const int m = (int)work->m;
    const int width = (int)work->width;
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)(end - begin), m, width, 1.0,
                work->g + begin * width, width, work->r + work->begin, n,
                work->begin == 0 ? 0.0 : 1.0, work->out + begin * m, m);
    return BB_OK;
}

bb_status bb_residual_noise(const bb_csr *noise, bb_index m, const double *r, double *out)
{
    bb_status status = BB_OK;
    const bb_index n = noise->columns;
    const bb_matrix_source rows = {.rows = m, .columns = n};
    const bb_residual_task symmetric = {.r = r, .ctm = &rows, .cee = out};
    projection work = {.noise = noise, .m = m, .r = r, .out = out};
    BB_TRY(BB_ALLOCATE(m * (n < PANEL ? n : PANEL), &work.g));
    for (work.begin = 0; work.begin < n; work.begin += PANEL) {
        work.width = n - work.begin < PANEL ? n - work.begin : PANEL;
        BB_TRY(bb_thread_ranges(m, ROWS, gather_rows, &work));
        BB_TRY(bb_thread_ranges(m, ROWS, project_rows, &work));
    }
    BB_TRY(bb_residual_task_close(&symmetric));
done:
    BB_RELEASE(&work.g);
    return status;
}

// Memory: a panel, then the blocks for symmetrisation.
bb_need bb_residual_noise_need(double n, double m, double threads)
{
    enum { BLOCK = 256 };
    const double edge = fmin(m, BLOCK);
    const double values = m * fmin(n, PANEL) + fmin(threads * edge, m) * edge;
    return (bb_need){.host_bytes = sizeof(double) * values,
                     .seconds = 2.0 * m * m * n / (BB_NEED_FP64_RATE * threads)};
}
