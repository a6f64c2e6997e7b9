// SPDX-License-Identifier: Apache-2.0
#include "solvers/factor/residual_covariance.h"

#include "core/log.h"
#include "core/memory.h"
#include "core/thread.h"

#include <cblas.h>
#include <math.h>

// Columns of Cmm worked on at a time, and the blocks that are the tasks of one loop. All fixed, so
// that neither the bits nor the memory depend on the threads.
enum { PANEL = 1024, BLOCK = 256, FILLED_ROWS = 256, PROJECTED_ROWS = 64 };

typedef struct scoring {
    const bb_matrix_source *cmm;
    const bb_residual_task *tasks;
    bb_index count;
    bb_index most_rows;    // the largest m
    bb_index begin, width; // columns of the panel
    double *panel;         // [n][width] of Cmm
    double **g;            // [count], each [m][width]: R Cmm - 2 Ctm
} scoring;

static bb_index parts(bb_index count, bb_index size)
{
    return (count + size - 1) / size;
}

static bb_index shorter(bb_index count, bb_index size)
{
    return count < size ? count : size;
}

static bb_status fill_rows(void *context, bb_index begin, bb_index end)
{
    const scoring *work = context;
    return bb_matrix_source_fill(
        work->cmm, begin, work->begin,
        bb_view_matrix(work->panel + begin * work->width, end - begin, work->width));
}

// One block of G = R Cmm - 2 Ctm, so that Cee = Ctt + sym(G R^T).
static bb_status multiply_block(void *context, bb_index index)
{
    const scoring *work = context;
    bb_index across = parts(work->width, BLOCK);
    bb_index down = parts(work->most_rows, BLOCK);
    const bb_residual_task *task = &work->tasks[index / (across * down)];
    bb_index row = index / across % down * BLOCK;
    bb_index column = index % across * BLOCK;
    bb_index n = work->cmm->rows;
    bb_index m = task->ctm->rows;
    if (row >= m) {
        return BB_OK; // of a task smaller than the largest
    }
    bb_index rows = shorter(m - row, BLOCK);
    bb_index columns = shorter(work->width - column, BLOCK);
    bb_view view = bb_view_matrix(work->g[task - work->tasks], m, work->width);
    bb_view block = bb_view_block(view, row, rows, column, columns);
    BB_RETURN_IF_FAILED(bb_matrix_source_fill(task->ctm, row, work->begin + column, block));
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)rows, (int)columns, (int)n, 1.0,
                task->r + row * n, (int)n, work->panel + column, (int)work->width, -2.0, block.data,
                (int)work->width);
    return BB_OK;
}

// Rows of P = G R^T, panel by panel.
static bb_status project_rows(void *context, bb_index index)
{
    const scoring *work = context;
    bb_index down = parts(work->most_rows, PROJECTED_ROWS);
    const bb_residual_task *task = &work->tasks[index / down];
    bb_index row = index % down * PROJECTED_ROWS;
    int n = (int)work->cmm->rows;
    int m = (int)task->ctm->rows;
    int width = (int)work->width;
    if (row < m) {
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)shorter(m - row, PROJECTED_ROWS),
                    m, width, 1.0, work->g[task - work->tasks] + row * width, width,
                    task->r + work->begin, n, work->begin == 0 ? 0.0 : 1.0, task->cee + row * m, m);
    }
    return BB_OK;
}

// A block of the lower triangle and its mirror image, with its part of Ctt.
static bb_status close_block(void *context, bb_index index)
{
    bb_status status = BB_OK;
    const bb_residual_task *task = context;
    const bb_index m = task->ctm->rows;
    bb_index down = 0;
    double *ctt = NULL; // [height][width]; zeros without a source
    while ((down + 1) * (down + 2) / 2 <= index) {
        ++down;
    }
    const bb_index row = down * BLOCK;
    const bb_index column = (index - down * (down + 1) / 2) * BLOCK;
    const bb_index height = shorter(m - row, BLOCK);
    const bb_index width = shorter(m - column, BLOCK);
    BB_TRY(BB_ZEROED(height * width, &ctt));
    if (task->ctt != NULL) {
        BB_TRY(bb_matrix_source_fill(task->ctt, row, column, bb_view_matrix(ctt, height, width)));
    }
    for (bb_index i = row; i < row + height; ++i) {
        for (bb_index j = column; j < column + width && j <= i; ++j) {
            double sum = 0.5 * (task->cee[i * m + j] + task->cee[j * m + i]);
            task->cee[i * m + j] = ctt[(i - row) * width + j - column] + sum;
            task->cee[j * m + i] = task->cee[i * m + j];
        }
    }
done:
    BB_RELEASE(&ctt);
    return status;
}

bb_status bb_residual_covariance_close(const bb_residual_task *task)
{
    const bb_index down = parts(task->ctm->rows, BLOCK);
    bb_residual_task closing = *task;
    return bb_thread_for(down * (down + 1) / 2, close_block, &closing);
}

static bb_status start(scoring *work)
{
    bb_status status = BB_OK;
    bb_index widest = shorter(work->cmm->rows, PANEL);
    BB_TRY(BB_ALLOCATE(work->cmm->rows * widest, &work->panel));
    BB_TRY(BB_ZEROED(work->count, &work->g));
    for (bb_index t = 0; t < work->count; ++t) {
        const bb_residual_task *task = &work->tasks[t];
        BB_REQUIRE(task->ctm->columns == work->cmm->rows && task->ctt->rows == task->ctm->rows,
                   BB_INVALID, "estimate %td: %s is %td x %td, expected %td columns", t,
                   task->ctm->name, task->ctm->rows, task->ctm->columns, work->cmm->rows);
        work->most_rows = work->most_rows < task->ctm->rows ? task->ctm->rows : work->most_rows;
        BB_TRY(BB_ALLOCATE(task->ctm->rows * widest, &work->g[t]));
    }
done:
    return status;
}

bb_status bb_residual_covariance(const bb_matrix_source *cmm, bb_index count,
                                 const bb_residual_task *tasks)
{
    bb_status status = BB_OK;
    scoring work = {.cmm = cmm, .tasks = tasks, .count = count};
    if (count == 0) {
        goto done;
    }
    BB_TRY(start(&work));
    for (work.begin = 0; work.begin < cmm->rows; work.begin += PANEL) {
        work.width = shorter(cmm->rows - work.begin, PANEL);
        bb_log_progress_within(work.begin, cmm->rows);
        BB_TRY(bb_thread_ranges(cmm->rows, FILLED_ROWS, fill_rows, &work));
        BB_TRY(bb_thread_for(count * parts(work.most_rows, BLOCK) * parts(work.width, BLOCK),
                             multiply_block, &work));
        BB_TRY(bb_thread_for(count * parts(work.most_rows, PROJECTED_ROWS), project_rows, &work));
    }
    for (bb_index t = 0; t < count; ++t) {
        BB_TRY(bb_residual_covariance_close(&tasks[t]));
    }
done:
    for (bb_index t = 0; work.g != NULL && t < count; ++t) {
        BB_RELEASE(&work.g[t]);
    }
    BB_RELEASE(&work.g);
    BB_RELEASE(&work.panel);
    return status;
}

// A panel of Cmm and the product of every row with it; at the end blocks of Ctt of one task.
bb_need bb_residual_covariance_need(const bb_residual_extent *extent, double threads)
{
    const double n = (double)extent->n;
    const double width = (double)shorter(extent->n, PANEL);
    const double flops = 2.0 * n * (n * extent->rows + extent->squared_rows);
    const double edge = fmin(extent->most_rows, BLOCK);
    const double values =
        width * (n + extent->rows) + fmin(threads * edge, extent->most_rows) * edge;
    const double list = extent->rows / fmax(1.0, extent->most_rows) * sizeof(double *);
    return (bb_need){.host_bytes = sizeof(double) * values + ceil(list),
                     .seconds = flops / (BB_NEED_FP64_RATE * threads)};
}

bb_need bb_residual_covariance_device_need(bb_index n, bb_index m)
{
    const double width = (double)shorter(n, PANEL);
    const double rows = (double)m;
    return (bb_need){.device_bytes =
                         sizeof(double) * (rows * ((double)n + rows + width) + width * (double)n),
                     .seconds = 2.0 * (double)n * rows * ((double)n + rows) / BB_NEED_DEVICE_RATE};
}
