// SPDX-License-Identifier: Apache-2.0
#include "solvers/factor/residual_task.h"

#include "core/memory.h"
#include "core/row_product.h"
#include "core/thread.h"

#include <cblas.h>
#include <string.h>

// What a loop works on at a time; fixed, so that the bits do not depend on the threads.
enum { BLOCK = 256, ROWS = 64, TRUTHS = 64, COLUMNS = 1024 };

static bb_index shorter(bb_index count, bb_index size)
{
    return count < size ? count : size;
}

bb_index bb_residual_task_size(const bb_residual_task *task)
{
    return task->ctt != NULL ? task->ctt->rows : task->ctm->rows;
}

bb_index bb_residual_task_rows(const bb_residual_task *task)
{
    return task->rows > 0 ? task->rows : task->ctm->rows;
}

bb_index bb_residual_task_shared(const bb_residual_task *tasks, bb_index count)
{
    bb_index shared = 0;
    while (shared < count && tasks[shared].rows > 0 && tasks[shared].r == tasks[0].r) {
        ++shared;
    }
    return shared;
}

bb_status bb_residual_task_check(const bb_residual_task *task, bb_index n)
{
    bb_status status = BB_OK;
    const bb_index size = bb_residual_task_size(task);
    const bb_index truths = task->truth_weights != NULL ? task->ctm->rows : size;
    const bb_index rows = task->weights != NULL ? bb_residual_task_rows(task) : size;
    BB_REQUIRE(task->ctm->columns == n && task->ctm->rows == truths, BB_INVALID,
               "estimate: %s is %td x %td, expected %td x %td", task->ctm->name, task->ctm->rows,
               task->ctm->columns, truths, n);
    BB_REQUIRE(bb_residual_task_rows(task) == rows &&
                   (task->rows > 0 || (task->weights == NULL && task->truth_weights == NULL)),
               BB_INVALID, "estimate: %td rows of %s, expected %td where it is weighed", task->rows,
               task->ctm->name, rows);
done:
    return status;
}

// R Ctm^T [rows][m].
typedef struct crossing {
    const bb_residual_task *task;
    double *out;
} crossing;

// Columns of it, those of some truths.
static bb_status cross_truths(void *context, bb_index begin, bb_index end)
{
    bb_status status = BB_OK;
    const crossing *work = context;
    const bb_residual_task *task = work->task;
    const bb_index n = task->ctm->columns;
    const bb_index m = task->ctm->rows;
    double *block = NULL; // [truths][COLUMNS]
    BB_TRY(BB_ALLOCATE((end - begin) * shorter(n, COLUMNS), &block));
    for (bb_index column = 0; column < n; column += COLUMNS) {
        const bb_index width = shorter(n - column, COLUMNS);
        BB_TRY(bb_matrix_source_fill(task->ctm, begin, column,
                                     bb_view_matrix(block, end - begin, width)));
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)bb_residual_task_rows(task),
                    (int)(end - begin), (int)width, 1.0, task->r + column, (int)n, block,
                    (int)width, column == 0 ? 0.0 : 1.0, work->out + begin, (int)m);
    }
done:
    BB_RELEASE(&block);
    return status;
}

// out [rows][q] <- R Ctm^T B^T.
static bb_status make_cross(const bb_residual_task *task, double **out)
{
    bb_status status = BB_OK;
    const bb_index rows = bb_residual_task_rows(task);
    const bb_index m = task->ctm->rows;
    const bb_index size = bb_residual_task_size(task);
    double *cross = NULL; // [rows][m]
    BB_TRY(BB_ALLOCATE(rows * m, &cross));
    crossing work = {task, cross};
    BB_TRY(bb_thread_ranges(m, TRUTHS, cross_truths, &work));
    if (task->truth_weights != NULL) {
        BB_TRY(BB_ALLOCATE(rows * size, out));
        const bb_row_product weighing = {size, m, 1.0, cross, task->truth_weights, true, 0.0, *out};
        BB_TRY(bb_row_product_run(&weighing, rows, ROWS));
    } else {
        *out = cross;
        cross = NULL;
    }
done:
    BB_RELEASE(&cross);
    return status;
}

// cee <- A C A^T + beta cee.
static bb_status add_congruence(const bb_residual_task *task, const double *symmetric, double beta)
{
    bb_status status = BB_OK;
    const bb_index rows = task->rows;
    const bb_index size = bb_residual_task_size(task);
    double *half = NULL; // [q][rows]
    BB_TRY(BB_ALLOCATE(size * rows, &half));
    const bb_row_product first = {rows, rows, 1.0, task->weights, symmetric, false, 0.0, half};
    const bb_row_product second = {size, rows, 1.0, half, task->weights, true, beta, task->cee};
    BB_TRY(bb_row_product_run(&first, size, ROWS));
    BB_TRY(bb_row_product_run(&second, size, ROWS));
done:
    BB_RELEASE(&half);
    return status;
}

// Entries of a row [q] of C <- C + alpha D.
typedef struct summing {
    bb_index size;
    const double *added;
    double alpha;
    double *out;
} summing;

static bb_status sum_rows(void *context, bb_index begin, bb_index end)
{
    const summing *work = context;
    for (bb_index k = begin * work->size; k < end * work->size; ++k) {
        work->out[k] += work->alpha * work->added[k];
    }
    return BB_OK;
}

bb_status bb_residual_task_add(const bb_residual_task *task, const double *added)
{
    const bb_index size = bb_residual_task_size(task);
    summing work = {size, added, 1.0, task->cee};
    return task->weights != NULL ? add_congruence(task, added, 1.0)
                                 : bb_thread_ranges(size, ROWS, sum_rows, &work);
}

bb_status bb_residual_task_weigh(const bb_residual_task *task, const double *product)
{
    bb_status status = BB_OK;
    const bb_index size = bb_residual_task_size(task);
    double *cross = NULL; // [rows][q]
    BB_TRY(make_cross(task, &cross));
    if (task->weights != NULL) {
        BB_TRY(add_congruence(task, product, 0.0));
        const bb_row_product last = {size,  task->rows, -2.0, task->weights,
                                     cross, false,      1.0,  task->cee};
        BB_TRY(bb_row_product_run(&last, size, ROWS));
    } else {
        memcpy(task->cee, product, (size_t)(size * size) * sizeof *product);
        summing last = {size, cross, -2.0, task->cee};
        BB_TRY(bb_thread_ranges(size, ROWS, sum_rows, &last));
    }
done:
    BB_RELEASE(&cross);
    return status;
}

// A block of the lower triangle and its mirror image, with its part of Ctt.
static bb_status close_block(void *context, bb_index index)
{
    bb_status status = BB_OK;
    const bb_residual_task *task = context;
    const bb_index m = bb_residual_task_size(task);
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

bb_status bb_residual_task_close(const bb_residual_task *task)
{
    const bb_index down = (bb_residual_task_size(task) + BLOCK - 1) / BLOCK;
    bb_residual_task closing = *task;
    return bb_thread_for(down * (down + 1) / 2, close_block, &closing);
}
