// SPDX-License-Identifier: Apache-2.0
#include "solvers/residual_covariance.h"

#include "core/memory.h"
#include "core/thread.h"

#include <cblas.h>

enum { PANEL = 192 };

typedef struct scoring {
    const bb_matrix_source *cmm;
    const bb_residual_task *task; // the one a loop works on
    const bb_residual_task *tasks;
    bb_index count;
    double **g; // [count], each [m][n]: R Cmm - 2 Ctm
} scoring;

// G[:, panel] = R Cmm[:, panel] - 2 Ctm[:, panel], so that Cee = Ctt + sym(G R^T).
static bb_status multiply_panel(void *context, bb_index index)
{
    bb_status status = BB_OK;
    const scoring *work = context;
    bb_index n = work->cmm->rows;
    bb_index begin = index * PANEL;
    bb_index width = n - begin < PANEL ? n - begin : PANEL;
    double *panel = NULL;
    BB_TRY(BB_ALLOCATE(n * width, &panel));
    BB_TRY(bb_matrix_source_fill(work->cmm, 0, begin, bb_view_matrix(panel, n, width)));
    for (bb_index t = 0; t < work->count; ++t) {
        const bb_residual_task *task = &work->tasks[t];
        bb_index m = task->ctm->rows;
        bb_view whole = bb_view_matrix(work->g[t], m, n);
        bb_view target = bb_view_block(whole, 0, m, begin, width);
        BB_TRY(bb_matrix_source_fill(task->ctm, 0, begin, target));
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)m, (int)width, (int)n, 1.0,
                    task->r, (int)n, panel, (int)width, -2.0, target.data, (int)n);
    }
done:
    BB_RELEASE(&panel);
    return status;
}

// Rows of P = G R^T.
static bb_status project_rows(void *context, bb_index begin, bb_index end)
{
    const scoring *work = context;
    const bb_residual_task *task = work->task;
    int n = (int)work->cmm->rows;
    int m = (int)task->ctm->rows;
    const double *g = work->g[task - work->tasks];
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)(end - begin), m, n, 1.0,
                g + begin * n, n, task->r, n, 0.0, task->cee + begin * m, m);
    return BB_OK;
}

// Cee = Ctt + (P + P^T) / 2.
static bb_status finish(const bb_residual_task *task)
{
    bb_status status = BB_OK;
    bb_index m = task->ctm->rows;
    double *ctt = NULL;
    BB_TRY(BB_ALLOCATE(m * m, &ctt));
    BB_TRY(bb_matrix_source_fill(task->ctt, 0, 0, bb_view_matrix(ctt, m, m)));
    for (bb_index i = 0; i < m; ++i) {
        for (bb_index j = 0; j <= i; ++j) {
            double sum = 0.5 * (task->cee[i * m + j] + task->cee[j * m + i]);
            task->cee[i * m + j] = ctt[i * m + j] + sum;
            task->cee[j * m + i] = task->cee[i * m + j];
        }
    }
done:
    BB_RELEASE(&ctt);
    return status;
}

bb_status bb_residual_covariance(const bb_matrix_source *cmm, bb_index count,
                                 const bb_residual_task *tasks)
{
    bb_status status = BB_OK;
    scoring work = {.cmm = cmm, .tasks = tasks, .count = count};
    BB_TRY(BB_ZEROED(count, &work.g));
    for (bb_index t = 0; t < count; ++t) {
        BB_REQUIRE(tasks[t].ctm->columns == cmm->rows && tasks[t].ctt->rows == tasks[t].ctm->rows,
                   BB_INVALID, "estimate %td: %s is %td x %td, expected %td columns", t,
                   tasks[t].ctm->name, tasks[t].ctm->rows, tasks[t].ctm->columns, cmm->rows);
        BB_TRY(BB_ALLOCATE(tasks[t].ctm->rows * cmm->rows, &work.g[t]));
    }
    BB_TRY(bb_parallel_for((cmm->rows + PANEL - 1) / PANEL, multiply_panel, &work));
    for (bb_index t = 0; t < count; ++t) {
        work.task = &tasks[t];
        BB_TRY(bb_parallel_ranges(tasks[t].ctm->rows, PANEL, project_rows, &work));
        BB_TRY(finish(&tasks[t]));
    }
done:
    for (bb_index t = 0; work.g != NULL && t < count; ++t) {
        BB_RELEASE(&work.g[t]);
    }
    BB_RELEASE(&work.g);
    return status;
}
