// SPDX-License-Identifier: Apache-2.0
#include "solvers/factor/residual_covariance.h"

#include "core/log.h"
#include "core/memory.h"
#include "core/row_product.h"
#include "core/team.h"
#include "core/thread.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

// Block sizes of the loops; fixed, so that the bits do not depend on the threads.
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

bool bb_residual_task_sees_plain(const bb_residual_task *task)
{
    return task->rows == 0 && task->truth_weights != NULL;
}

bool bb_residual_task_in_commands(const bb_residual_task *task)
{
    return bb_residual_task_sees_plain(task) && task->diagonal == NULL;
}

bb_index bb_residual_task_shared(const bb_residual_task *tasks, bb_index count)
{
    bb_index shared = 0;
    while (shared < count && tasks[shared].rows > 0 && tasks[shared].r == tasks[0].r &&
           tasks[shared].device_r == tasks[0].device_r) {
        ++shared;
    }
    return shared;
}

bb_status bb_residual_task_check(const bb_residual_task *task, bb_index n)
{
    bb_status status = BB_OK;
    const bb_index size = bb_residual_task_size(task);
    const bb_index truths = task->truth_weights != NULL ? task->ctm->rows : size;
    const bool weighed = task->weights != NULL || bb_residual_task_sees_plain(task);
    const bb_index rows = weighed ? bb_residual_task_rows(task) : size;
    BB_REQUIRE(task->ctm->columns == n && task->ctm->rows == truths, BB_INVALID,
               "estimate: %s is %td x %td, expected %td x %td", task->ctm->name, task->ctm->rows,
               task->ctm->columns, truths, n);
    BB_REQUIRE(bb_residual_task_rows(task) == rows && (task->rows > 0 || task->weights == NULL),
               BB_INVALID, "estimate: %td rows of %s do not fit its weights, expected %td",
               task->rows, task->ctm->name, rows);
done:
    return status;
}

// Task, and its product R Ctm^T [rows][m].
typedef struct crossing {
    const bb_residual_task *task;
    double *out;
} crossing;

// Computes the columns of R Ctm^T for some of the truths.
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
static bb_status compute_cross(const bb_residual_task *task, double **out)
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

// cee <- A C A^T + beta cee; for a plain task with truth weights B C B^T.
static bb_status add_congruence(const bb_residual_task *task, const double *symmetric, double beta)
{
    bb_status status = BB_OK;
    const bool plain = bb_residual_task_sees_plain(task);
    const double *weights = plain ? task->truth_weights : task->weights;
    const bb_index rows = bb_residual_task_rows(task);
    const bb_index size = bb_residual_task_size(task);
    double *half = NULL; // [q][rows]
    BB_TRY(BB_ALLOCATE(size * rows, &half));
    const bb_row_product first = {rows, rows, 1.0, weights, symmetric, false, 0.0, half};
    const bb_row_product second = {size, rows, 1.0, half, weights, true, beta, task->cee};
    BB_TRY(bb_row_product_run(&first, size, ROWS));
    BB_TRY(bb_row_product_run(&second, size, ROWS));
done:
    BB_RELEASE(&half);
    return status;
}

// A row [q] of C <- C + alpha D.
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

bb_status bb_residual_task_assemble(const bb_residual_task *task, const double *product)
{
    bb_status status = BB_OK;
    const bb_index size = bb_residual_task_size(task);
    double *cross = NULL; // [rows][q]
    BB_TRY(compute_cross(task, &cross));
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

// Computes a block of the lower triangle with its mirror image, including its part of Ctt.
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

// Columns of Cmm per panel, and block sizes of the loops. All are fixed, so that neither the bits
// nor the memory depend on the threads.
enum { PANEL = 1024, FILLED_ROWS = 256, PROJECTED_ROWS = 64 };

// Left factor of a product with Cmm: the r of one task, or an r shared by several.
typedef struct product {
    const double *r; // [rows][n]
    bb_index rows;
    bb_index shared_count;          // number of tasks that share r
    const bb_residual_task *shared; // first of these tasks; NULL for a single plain task
    const bb_residual_task *seen;   // that single task, if it has truth weights
    const bb_matrix_source *ctm;    // Ctm of a single plain task
    double *g;                      // [rows][width]: R Cmm, minus 2 Ctm for a plain task
    double *p;                      // [rows][rows]: G R^T; for a plain task its cee
} product;

typedef struct scoring {
    const bb_matrix_source *cmm;
    bb_index count;
    product *products;     // [count]
    bb_index most_rows;    // largest number of rows
    bb_index begin, width; // columns of the panel
    double *panel;         // [n][width] of Cmm
} scoring;

static bb_index parts(bb_index count, bb_index size)
{
    return (count + size - 1) / size;
}

// True if this process owns item `index` of `count`.
static bool is_dealt(bb_index index, bb_index count)
{
    bb_index begin = 0;
    bb_index end = 0;
    bb_team_part(count, bb_team_joined()->rank, &begin, &end);
    return begin <= index && index < end;
}

static bb_status fill_rows(void *context, bb_index begin, bb_index end)
{
    const scoring *work = context;
    if (!is_dealt(begin / FILLED_ROWS, parts(work->cmm->rows, FILLED_ROWS))) {
        return BB_OK;
    }
    return bb_matrix_source_fill(
        work->cmm, begin, work->begin,
        bb_view_matrix(work->panel + begin * work->width, end - begin, work->width));
}

// One block of G = R Cmm - 2 Ctm, for which Cee = Ctt + sym(G R^T), or of R Cmm.
static bb_status multiply_block(void *context, bb_index index)
{
    const scoring *work = context;
    bb_index across = parts(work->width, BLOCK);
    bb_index down = parts(work->most_rows, BLOCK);
    const product *item = &work->products[index / (across * down)];
    bb_index row = index / across % down * BLOCK;
    bb_index column = index % across * BLOCK;
    bb_index n = work->cmm->rows;
    if (row >= item->rows || !is_dealt(row / BLOCK, parts(item->rows, BLOCK))) {
        return BB_OK; // beyond the rows of this product, or owned by another process
    }
    bb_index rows = shorter(item->rows - row, BLOCK);
    bb_index columns = shorter(work->width - column, BLOCK);
    bb_view view = bb_view_matrix(item->g, item->rows, work->width);
    bb_view block = bb_view_block(view, row, rows, column, columns);
    if (item->ctm != NULL) {
        BB_RETURN_IF_FAILED(bb_matrix_source_fill(item->ctm, row, work->begin + column, block));
    }
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)rows, (int)columns, (int)n, 1.0,
                item->r + row * n, (int)n, work->panel + column, (int)work->width,
                item->ctm != NULL ? -2.0 : 0.0, block.data, (int)work->width);
    return BB_OK;
}

// Rows of P = G R^T, accumulated panel by panel.
static bb_status project_rows(void *context, bb_index index)
{
    const scoring *work = context;
    bb_index down = parts(work->most_rows, PROJECTED_ROWS);
    const product *item = &work->products[index / down];
    bb_index row = index % down * PROJECTED_ROWS;
    int n = (int)work->cmm->rows;
    int m = (int)item->rows;
    int width = (int)work->width;
    if (row < m && is_dealt(row / BLOCK, parts(m, BLOCK))) {
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)shorter(m - row, PROJECTED_ROWS),
                    m, width, 1.0, item->g + row * width, width, item->r + work->begin, n,
                    work->begin == 0 ? 0.0 : 1.0, item->p + row * m, m);
    }
    return BB_OK;
}

static bb_status list_products(scoring *work, bb_index count, const bb_residual_task *tasks)
{
    bb_status status = BB_OK;
    const bb_index widest = shorter(work->cmm->rows, PANEL);
    BB_TRY(BB_ZEROED(count, &work->products));
    for (bb_index t = 0; t < count; ++work->count) {
        const bb_residual_task *task = &tasks[t];
        product *item = &work->products[work->count];
        const bb_index shared = bb_residual_task_shared(task, count - t);
        *item = (product){.r = task->r, .rows = bb_residual_task_rows(task)};
        for (bb_index k = t; k < t + (shared > 0 ? shared : 1); ++k) {
            BB_TRY(bb_residual_task_check(&tasks[k], work->cmm->rows));
        }
        if (shared > 0) {
            item->shared = task;
            item->shared_count = shared;
            BB_TRY(BB_ALLOCATE(item->rows * item->rows, &item->p));
        } else {
            item->ctm = task->ctm;
            item->seen = bb_residual_task_sees_plain(task) ? task : NULL;
            item->p = task->cee;
        }
        if (item->seen != NULL) {
            BB_TRY(BB_ALLOCATE(item->rows * item->rows, &item->p));
        }
        work->most_rows = work->most_rows < item->rows ? item->rows : work->most_rows;
        BB_TRY(BB_ALLOCATE(item->rows * widest, &item->g));
        t += shared > 0 ? shared : 1;
    }
done:
    return status;
}

static void release_products(scoring *work, bb_index count)
{
    for (bb_index i = 0; work->products != NULL && i < count; ++i) {
        BB_RELEASE(&work->products[i].g);
        if (work->products[i].shared != NULL || work->products[i].seen != NULL) {
            BB_RELEASE(&work->products[i].p);
        }
    }
    BB_RELEASE(&work->products);
}

// Copies the diagonal of P if a plain task needs it, and applies the task's truth weights to P.
static bb_status apply_truth_weights(const bb_residual_task *task, const double *p)
{
    const bb_index m = task->ctm->rows;
    for (bb_index i = 0; task->diagonal != NULL && i < m; ++i) {
        task->diagonal[i] = p[i * m + i];
    }
    return add_congruence(task, p, 0.0);
}

// Computes Cee of every task from P of every product.
static bb_status finish(const scoring *work, bb_index count, const bb_residual_task *tasks)
{
    bb_status status = BB_OK;
    for (bb_index i = 0; i < work->count; ++i) {
        const product *item = &work->products[i];
        BB_TRY(bb_team_gather(item->rows, BLOCK, (size_t)item->rows * sizeof *item->p, item->p));
        for (bb_index k = 0; k < item->shared_count; ++k) {
            BB_TRY(bb_residual_task_assemble(&item->shared[k], item->p));
        }
        if (item->seen != NULL) {
            BB_TRY(apply_truth_weights(item->seen, item->p));
        }
    }
    for (bb_index t = 0; t < count; ++t) {
        BB_TRY(bb_residual_task_close(&tasks[t]));
    }
done:
    return status;
}

bb_status bb_residual_covariance(const bb_matrix_source *cmm, bb_index count,
                                 const bb_residual_task *tasks)
{
    bb_status status = BB_OK;
    scoring work = {.cmm = cmm};
    if (count == 0) {
        goto done;
    }
    BB_TRY(BB_ALLOCATE(cmm->rows * shorter(cmm->rows, PANEL), &work.panel));
    BB_TRY(list_products(&work, count, tasks));
    for (work.begin = 0; work.begin < cmm->rows; work.begin += PANEL) {
        work.width = shorter(cmm->rows - work.begin, PANEL);
        bb_log_progress_within(work.begin, cmm->rows);
        BB_TRY(bb_thread_ranges(cmm->rows, FILLED_ROWS, fill_rows, &work));
        BB_TRY(bb_team_gather(cmm->rows, FILLED_ROWS, (size_t)work.width * sizeof *work.panel,
                              work.panel));
        BB_TRY(bb_thread_for(work.count * parts(work.most_rows, BLOCK) * parts(work.width, BLOCK),
                             multiply_block, &work));
        BB_TRY(
            bb_thread_for(work.count * parts(work.most_rows, PROJECTED_ROWS), project_rows, &work));
    }
    BB_TRY(finish(&work, count, tasks));
done:
    release_products(&work, count);
    BB_RELEASE(&work.panel);
    return status;
}

// Memory: a panel of Cmm and the products of all rows with it; at the end blocks of Ctt of one
// task. Products of shared r are kept until all of them have been weighted.
bb_need bb_residual_covariance_need(const bb_residual_extent *extent, double threads)
{
    const double n = (double)extent->n;
    const double width = (double)shorter(extent->n, PANEL);
    const double shared = extent->shared;
    const double rows = extent->shared_rows;
    const double longest = fmax(rows, extent->most_rows);
    const double edge = fmin(extent->most_rows, BLOCK);
    const double list = extent->rows / fmax(1.0, extent->most_rows) * sizeof(product);
    const double closed = fmin(threads * edge, extent->most_rows) * edge;
    double flops = 2.0 * n * (n * extent->rows + extent->squared_rows);
    double values = width * (n + extent->rows) + closed;
    if (shared > 0.0) {
        flops = 2.0 * n * rows * (shared * (n + rows) + extent->rows);
        values = width * (n + shared * rows) + shared * rows * rows +
                 fmax(closed, 3.0 * rows * longest + fmin(threads, 64.0) * 64.0 * width);
    }
    return (bb_need){.host_bytes = sizeof(double) * values + ceil(list),
                     .seconds = flops / (BB_NEED_FP64_RATE * threads)};
}

// Memory of a GPU: R, a panel of Cmm and its product with R; the sum and a partial sum, whose
// memory is also used for R Ctm^T. GPUs other than the first have only the partial sum.
bb_need bb_residual_covariance_device_need(bb_index gpus, bb_index n, bb_index rows,
                                           bb_index truths, bb_index size)
{
    const double width = (double)shorter(n, PANEL);
    const double r = (double)rows;
    const double m = (double)truths;
    const double q = (double)size;
    const double shared = (double)parts(BB_RESIDUAL_PARTIALS, gpus) / BB_RESIDUAL_PARTIALS;
    const double projecting = width * (double)n + r * ((double)n + width + r + fmax(r, m));
    const double weighing = m * (width + r + q) + q * (q + 3.0 * r);
    const double dealt = 2.0 * (double)n * r * ((double)n + r + m);
    const double flops = shared * dealt + 2.0 * r * q * (r + m + q);
    return (bb_need){.device_bytes = sizeof(double) * (projecting + weighing),
                     .seconds = flops / BB_NEED_DEVICE_RATE};
}

// Memory of the sums over pairs: F and z, plus W, M, a slab of G and one of S.
bb_need bb_residual_pairs_device_need(double points, double actuators, double columns)
{
    // Slab size in residual_scorer_cuda.cu and residual_pairs_cuda.cu.
    static const double slab = 67108864.0;
    const double sides = actuators * (actuators + columns);
    const double flops = 2.0 * actuators * points * (points + columns + 2.0 * actuators);
    return (bb_need){.device_bytes =
                         sizeof(double) * (2.0 * points * actuators + sides + 2.0 * slab),
                     .seconds = flops / BB_NEED_DEVICE_RATE};
}
