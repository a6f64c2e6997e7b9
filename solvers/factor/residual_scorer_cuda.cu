// SPDX-License-Identifier: Apache-2.0
#include "core/memory.h"
#include "solvers/factor/residual_scorer_cuda.h"

namespace
{

const bb_index panel_columns = 1024;
const bb_index value_rows = 512; // of B in work
const size_t word = sizeof(double);

// R Cmm R^T, or of one estimate (R Cmm - 2 Ctm) R^T.
struct projecting {
    const bb_residual_scorer *scorer;
    const bb_device_source *ctm; // of one estimate, or NULL
    bb_index rows;
    void *r;       // [rows][n]
    void *panel;   // [n][width] of Cmm
    void *g;       // [rows][width]
    void *product; // [rows][rows]
};

// What a task makes of the product that it shares.
struct weighing {
    const bb_residual_scorer *scorer;
    const bb_residual_task *task;
    bb_index rows, truths, size; // rows of R, m, q
    bb_device_source *ctm;
    void *block;         // [m][width] of Ctm
    void *cross;         // [rows][m] R Ctm^T
    void *crossed;       // [rows][q] of that, B^T
    void *weights;       // A [q][rows]
    void *truth_weights; // B [q][m]
    void *half;          // [q][rows] A R Cmm R^T
    void *cee;           // [q][q]
};

double *doubles(void *memory, bb_index item)
{
    return static_cast<double *>(memory) + item;
}

// C [rows][columns] <- alpha A [rows][depth] op(B) + beta C; without gaps but for what is set
// after.
bb_dense_product_cuda product_of(void *a, void *b, void *c, bb_index rows, bb_index columns,
                                 bb_index depth, bool transposed)
{
    bb_dense_product_cuda p = {};
    p.a = doubles(a, 0);
    p.b = doubles(b, 0);
    p.c = doubles(c, 0);
    p.a_stride = p.depth = depth;
    p.b_stride = transposed ? depth : columns;
    p.c_stride = p.columns = columns;
    p.rows = rows;
    p.transposed = transposed;
    p.alpha = 1.0;
    return p;
}

bb_status multiply(const bb_residual_scorer *s, const bb_dense_product_cuda &p)
{
    return bb_dense_library_product(s->library, s->handle, &p);
}

bb_status clear(const bb_residual_scorer *s, void *memory, bb_index items)
{
    BB_CUDA_TRY(cudaMemsetAsync(memory, 0, static_cast<size_t>(items) * word, s->stream));
    return BB_OK;
}

bb_index width_at(const bb_residual_scorer *s, bb_index begin)
{
    return s->n - begin < s->width ? s->n - begin : s->width;
}

// Whether there is room for a first task and what shares its r.
bb_status check_room(const bb_residual_scorer *s, bb_index rows, bb_index truths, bb_index size)
{
    bb_device_report report;
    const double needed = bb_residual_covariance_device_need(s->n, rows, truths, size).device_bytes;
    BB_RETURN_IF_FAILED(bb_device_describe(s->device, &report));
    if (needed > static_cast<double>(report.free_memory_bytes)) {
        return bb_status_set(BB_MEMORY, __FILE__, __LINE__,
                             "GPU memory: the score of %td x %td needs %.0f bytes, %.0f are free",
                             rows, s->n, needed, static_cast<double>(report.free_memory_bytes));
    }
    return BB_OK;
}

bb_status open_projection(const bb_residual_scorer *s, const double *r, projecting *work)
{
    BB_RETURN_IF_FAILED(bb_residual_scorer_put(s, r, work->rows * s->n, &work->r));
    BB_RETURN_IF_FAILED(bb_residual_scorer_put(s, nullptr, s->n * s->width, &work->panel));
    BB_RETURN_IF_FAILED(bb_residual_scorer_put(s, nullptr, work->rows * s->width, &work->g));
    BB_RETURN_IF_FAILED(
        bb_residual_scorer_put(s, nullptr, work->rows * work->rows, &work->product));
    return clear(s, work->product, work->rows * work->rows);
}

void close_projection(projecting *work)
{
    for (void **block : {&work->r, &work->panel, &work->g, &work->product}) {
        bb_device_release(work->scorer->device, block);
    }
}

// G = alpha R C + beta G for the panel's columns and its rows from `begin` on.
bb_status add_rows(const projecting *work, bb_index begin, bb_index rows, bb_index width,
                   double alpha, double beta)
{
    const bb_residual_scorer *s = work->scorer;
    bb_dense_product_cuda p =
        product_of(work->r, work->panel, work->g, work->rows, width, rows, false);
    p.a += begin;
    p.b += begin * s->width;
    p.a_stride = s->n;
    p.b_stride = s->width;
    p.alpha = alpha;
    p.beta = beta;
    return multiply(s, p);
}

// Of the columns from `begin` on: rows of Cmm below their block twice, those above it not, which
// has the same symmetric part of G R^T.
bb_status project_panel(const projecting *work, bb_index begin)
{
    const bb_residual_scorer *s = work->scorer;
    const bb_index width = width_at(s, begin);
    const bb_index end = begin + width;
    bb_queue *queue = bb_stream_queue(s->stream);
    BB_RETURN_IF_FAILED(
        bb_device_source_fill(s->cmm, queue, begin, begin,
                              bb_device_matrix(doubles(work->panel, begin * s->width), BB_F64,
                                               s->n - begin, width, s->width)));
    if (work->ctm != nullptr) {
        BB_RETURN_IF_FAILED(
            bb_device_source_fill(work->ctm, queue, 0, begin,
                                  bb_device_matrix(work->g, BB_F64, work->rows, width, width)));
    }
    BB_RETURN_IF_FAILED(
        add_rows(work, begin, width, width, 1.0, work->ctm != nullptr ? -2.0 : 0.0));
    if (end < s->n) {
        BB_RETURN_IF_FAILED(add_rows(work, end, s->n - end, width, 2.0, 1.0));
    }
    bb_dense_product_cuda p =
        product_of(work->g, work->r, work->product, work->rows, work->rows, width, true);
    p.b += begin;
    p.b_stride = s->n;
    p.beta = 1.0;
    return multiply(s, p);
}

bb_status project(const double *r, projecting *work)
{
    BB_RETURN_IF_FAILED(open_projection(work->scorer, r, work));
    for (bb_index begin = 0; begin < work->scorer->n; begin += work->scorer->width) {
        BB_RETURN_IF_FAILED(project_panel(work, begin));
    }
    return BB_OK;
}

bb_status score_one(const bb_residual_scorer *s, const bb_residual_task *task)
{
    projecting work = {};
    bb_device_source *ctm = nullptr;
    work.scorer = s;
    work.rows = bb_residual_task_rows(task);
    bb_status status = check_room(s, work.rows, 0, 0);
    status = status == BB_OK ? bb_device_source_create(task->ctm, s->device, &ctm) : status;
    work.ctm = ctm;
    status = status == BB_OK ? project(task->r, &work) : status;
    status = status == BB_OK
                 ? bb_residual_scorer_fetch(s, work.product, work.rows * work.rows, task->cee)
                 : status;
    close_projection(&work);
    bb_device_source_destroy(&ctm);
    return status == BB_OK ? bb_residual_task_close(task) : status;
}

// Where no weights come between, R Ctm^T goes to P as it is made.
bool is_bare(const bb_residual_task *task)
{
    return task->weights == nullptr && task->truth_weights == nullptr;
}

bb_status open_weighing(weighing *work)
{
    const bb_residual_scorer *s = work->scorer;
    const bb_residual_task *task = work->task;
    BB_RETURN_IF_FAILED(bb_device_source_create(task->ctm, s->device, &work->ctm));
    BB_RETURN_IF_FAILED(bb_residual_scorer_put(s, nullptr, work->truths * s->width, &work->block));
    BB_RETURN_IF_FAILED(bb_residual_scorer_put(s, nullptr, work->size * work->size, &work->cee));
    if (!is_bare(task)) {
        BB_RETURN_IF_FAILED(
            bb_residual_scorer_put(s, nullptr, work->rows * work->truths, &work->cross));
        BB_RETURN_IF_FAILED(clear(s, work->cross, work->rows * work->truths));
    }
    if (task->truth_weights != nullptr) {
        BB_RETURN_IF_FAILED(bb_residual_scorer_put(
            s, task->truth_weights, work->size * work->truths, &work->truth_weights));
        BB_RETURN_IF_FAILED(
            bb_residual_scorer_put(s, nullptr, work->rows * work->size, &work->crossed));
    }
    if (task->weights != nullptr) {
        BB_RETURN_IF_FAILED(
            bb_residual_scorer_put(s, task->weights, work->size * work->rows, &work->weights));
        BB_RETURN_IF_FAILED(
            bb_residual_scorer_put(s, nullptr, work->size * work->rows, &work->half));
    }
    return BB_OK;
}

void close_weighing(weighing *work)
{
    for (void **block : {&work->block, &work->cross, &work->crossed, &work->weights,
                         &work->truth_weights, &work->half, &work->cee}) {
        bb_device_release(work->scorer->device, block);
    }
    bb_device_source_destroy(&work->ctm);
}

// out [rows][m] += alpha R Ctm^T.
bb_status add_cross(const weighing *work, void *r, double alpha, void *out)
{
    const bb_residual_scorer *s = work->scorer;
    for (bb_index begin = 0; begin < s->n; begin += s->width) {
        const bb_index width = width_at(s, begin);
        BB_RETURN_IF_FAILED(bb_device_source_fill(
            work->ctm, bb_stream_queue(s->stream), 0, begin,
            bb_device_matrix(work->block, BB_F64, work->truths, width, width)));
        bb_dense_product_cuda p =
            product_of(r, work->block, out, work->rows, work->truths, width, true);
        p.a += begin;
        p.a_stride = s->n;
        p.alpha = alpha;
        p.beta = 1.0;
        BB_RETURN_IF_FAILED(multiply(s, p));
    }
    return BB_OK;
}

// P: what the product is weighed with, less twice the cross part.
bb_status weigh(const weighing *work, void *r, void *product)
{
    const bb_residual_scorer *s = work->scorer;
    void *crossed = work->cross;
    if (work->weights != nullptr) {
        BB_RETURN_IF_FAILED(multiply(s, product_of(work->weights, product, work->half, work->size,
                                                   work->rows, work->rows, false)));
        BB_RETURN_IF_FAILED(multiply(s, product_of(work->half, work->weights, work->cee, work->size,
                                                   work->size, work->rows, true)));
    } else {
        BB_CUDA_TRY(cudaMemcpyAsync(work->cee, product,
                                    static_cast<size_t>(work->size * work->size) * word,
                                    cudaMemcpyDeviceToDevice, s->stream));
    }
    if (is_bare(work->task)) {
        return add_cross(work, r, -2.0, work->cee);
    }
    BB_RETURN_IF_FAILED(add_cross(work, r, 1.0, work->cross));
    bb_dense_product_cuda last = {};
    if (work->truth_weights != nullptr && work->weights != nullptr) {
        BB_RETURN_IF_FAILED(multiply(s, product_of(work->cross, work->truth_weights, work->crossed,
                                                   work->rows, work->size, work->truths, true)));
        crossed = work->crossed;
    }
    last = work->weights != nullptr ? product_of(work->weights, crossed, work->cee, work->size,
                                                 work->size, work->rows, false)
                                    : product_of(work->cross, work->truth_weights, work->cee,
                                                 work->rows, work->size, work->truths, true);
    last.alpha = -2.0;
    last.beta = 1.0;
    return multiply(s, last);
}

bb_status score_weighed(const bb_residual_scorer *s, const bb_residual_task *task,
                        const projecting *shared)
{
    weighing work = {};
    work.scorer = s;
    work.task = task;
    work.rows = shared->rows;
    work.truths = task->ctm->rows;
    work.size = bb_residual_task_size(task);
    bb_status status = open_weighing(&work);
    status = status == BB_OK ? weigh(&work, shared->r, shared->product) : status;
    status = status == BB_OK
                 ? bb_residual_scorer_fetch(s, work.cee, work.size * work.size, task->cee)
                 : status;
    close_weighing(&work);
    return status == BB_OK ? bb_residual_task_close(task) : status;
}

bb_status score_shared(const bb_residual_scorer *s, bb_index count, const bb_residual_task *tasks)
{
    projecting work = {};
    bb_index truths = 0;
    bb_index size = 0;
    work.scorer = s;
    work.rows = bb_residual_task_rows(tasks);
    for (bb_index t = 0; t < count; ++t) {
        const bb_index q = bb_residual_task_size(&tasks[t]);
        truths = truths < tasks[t].ctm->rows ? tasks[t].ctm->rows : truths;
        size = size < q ? q : size;
    }
    bb_status status = check_room(s, work.rows, truths, size);
    status = status == BB_OK ? project(tasks[0].r, &work) : status;
    for (bb_index t = 0; t < count && status == BB_OK; ++t) {
        status = score_weighed(s, &tasks[t], &work);
    }
    close_projection(&work);
    return status;
}

bb_status open_scorer(const bb_matrix_source *cmm, bb_residual_scorer *scorer)
{
    BB_RETURN_IF_FAILED(bb_residual_scorer_use(scorer));
    BB_RETURN_IF_FAILED(bb_dense_library_open(&scorer->library));
    BB_CUDA_TRY(cudaStreamCreateWithFlags(&scorer->stream, cudaStreamNonBlocking));
    BB_CUBLAS_TRY(scorer->library->create(&scorer->handle));
    BB_CUBLAS_TRY(scorer->library->set_stream(scorer->handle, scorer->stream));
    BB_RETURN_IF_FAILED(bb_transfer_create(scorer->device, 0, &scorer->transfer));
    return bb_device_source_create(cmm, scorer->device, &scorer->cmm);
}

// A C A^T, by half of it, or A B.
struct multiplying {
    void *weights, *values, *half, *out;
};

void close_products(const bb_residual_scorer *s, multiplying *work)
{
    for (void **block : {&work->weights, &work->values, &work->half, &work->out}) {
        bb_device_release(s->device, block);
    }
}

bb_status make_congruence(const bb_residual_scorer *s, bb_index rows, bb_index columns,
                          const double *weights, const double *symmetric, multiplying *work)
{
    BB_RETURN_IF_FAILED(bb_residual_scorer_use(s));
    BB_RETURN_IF_FAILED(bb_residual_scorer_put(s, weights, rows * columns, &work->weights));
    BB_RETURN_IF_FAILED(bb_residual_scorer_put(s, symmetric, columns * columns, &work->values));
    BB_RETURN_IF_FAILED(bb_residual_scorer_put(s, nullptr, rows * columns, &work->half));
    BB_RETURN_IF_FAILED(bb_residual_scorer_put(s, nullptr, rows * rows, &work->out));
    BB_RETURN_IF_FAILED(multiply(
        s, product_of(work->weights, work->values, work->half, rows, columns, columns, false)));
    return multiply(s, product_of(work->half, work->weights, work->out, rows, rows, columns, true));
}

// By some rows of B at a time, which stand one behind another in the host's memory.
bb_status make_product(const bb_residual_scorer *s, bb_index rows, bb_index columns,
                       const double *weights, bb_index n, const double *values, multiplying *work)
{
    const bb_index height = columns < value_rows ? columns : value_rows;
    BB_RETURN_IF_FAILED(bb_residual_scorer_use(s));
    BB_RETURN_IF_FAILED(bb_residual_scorer_put(s, weights, rows * columns, &work->weights));
    BB_RETURN_IF_FAILED(bb_residual_scorer_put(s, nullptr, height * n, &work->values));
    BB_RETURN_IF_FAILED(bb_residual_scorer_put(s, nullptr, rows * n, &work->out));
    BB_RETURN_IF_FAILED(clear(s, work->out, rows * n));
    for (bb_index begin = 0; begin < columns; begin += height) {
        const bb_index depth = columns - begin < height ? columns - begin : height;
        BB_CUDA_TRY(cudaStreamSynchronize(s->stream)); // the rows before are multiplied
        BB_RETURN_IF_FAILED(bb_transfer_upload(s->transfer, work->values, values + begin * n,
                                               static_cast<size_t>(depth * n) * word));
        bb_dense_product_cuda p =
            product_of(work->weights, work->values, work->out, rows, n, depth, false);
        p.a += begin;
        p.a_stride = columns;
        p.beta = 1.0;
        BB_RETURN_IF_FAILED(multiply(s, p));
    }
    return BB_OK;
}

} // namespace

bb_status bb_residual_scorer_use(const bb_residual_scorer *scorer)
{
    bb_device_report report;
    return bb_device_describe(scorer->device, &report); // makes it the current one
}

bb_status bb_residual_scorer_put(const bb_residual_scorer *scorer, const double *values,
                                 bb_index items, void **out)
{
    const size_t bytes = static_cast<size_t>(items) * word;
    BB_RETURN_IF_FAILED(bb_device_allocate(scorer->device, bytes, out));
    return values == nullptr ? BB_OK : bb_transfer_upload(scorer->transfer, *out, values, bytes);
}

bb_status bb_residual_scorer_fetch(const bb_residual_scorer *scorer, const void *source,
                                   bb_index items, double *out)
{
    BB_CUDA_TRY(cudaStreamSynchronize(scorer->stream));
    return bb_transfer_download(scorer->transfer, out, source, static_cast<size_t>(items) * word);
}

bb_status bb_residual_scorer_create(bb_device *device, const bb_matrix_source *cmm,
                                    bb_residual_scorer **out)
{
    void *block = nullptr;
    *out = nullptr;
    if (bb_device_kind_of(device) != BB_DEVICE_CUDA) {
        return bb_status_set(BB_UNSUPPORTED, __FILE__, __LINE__,
                             "residuals on a device: expected a cuda device");
    }
    BB_RETURN_IF_FAILED(bb_memory_zeroed(1, sizeof(bb_residual_scorer), &block));
    bb_residual_scorer *scorer = static_cast<bb_residual_scorer *>(block);
    scorer->device = device;
    scorer->n = cmm->rows;
    scorer->width = cmm->rows < panel_columns ? cmm->rows : panel_columns;
    const bb_status status = open_scorer(cmm, scorer);
    if (status != BB_OK) {
        bb_residual_scorer_destroy(&scorer);
        return status;
    }
    *out = scorer;
    return BB_OK;
}

void bb_residual_scorer_destroy(bb_residual_scorer **scorer)
{
    bb_residual_scorer *s = *scorer;
    if (s == nullptr) {
        return;
    }
    bb_device_source_destroy(&s->cmm);
    bb_transfer_destroy(&s->transfer);
    if (s->handle != nullptr) {
        (void)s->library->destroy(s->handle);
    }
    if (s->stream != nullptr) {
        (void)cudaStreamDestroy(s->stream);
    }
    void *block = s;
    bb_memory_release(&block);
    *scorer = nullptr;
}

bb_status bb_residual_scorer_score(bb_residual_scorer *scorer, bb_index count,
                                   const bb_residual_task *tasks)
{
    for (bb_index t = 0; t < count; ++t) {
        BB_RETURN_IF_FAILED(bb_residual_task_check(&tasks[t], scorer->n));
    }
    for (bb_index t = 0; t < count;) {
        const bb_index shared = bb_residual_task_shared(&tasks[t], count - t);
        BB_RETURN_IF_FAILED(shared > 0 ? score_shared(scorer, shared, &tasks[t])
                                       : score_one(scorer, &tasks[t]));
        t += shared > 0 ? shared : 1;
    }
    return BB_OK;
}

bb_status bb_residual_scorer_congruence(bb_residual_scorer *scorer, bb_index rows, bb_index columns,
                                        const double *weights, const double *symmetric, double *out)
{
    multiplying work = {};
    bb_status status = make_congruence(scorer, rows, columns, weights, symmetric, &work);
    status =
        status == BB_OK ? bb_residual_scorer_fetch(scorer, work.out, rows * rows, out) : status;
    close_products(scorer, &work);
    return status;
}

bb_status bb_residual_scorer_multiply(bb_residual_scorer *scorer, bb_index rows, bb_index columns,
                                      const double *weights, bb_index n, const double *values,
                                      double *out)
{
    multiplying work = {};
    bb_status status = make_product(scorer, rows, columns, weights, n, values, &work);
    status = status == BB_OK ? bb_residual_scorer_fetch(scorer, work.out, rows * n, out) : status;
    close_products(scorer, &work);
    return status;
}

bb_status bb_residual_covariance_device(bb_device *device, const bb_matrix_source *cmm,
                                        bb_index count, const bb_residual_task *tasks)
{
    bb_residual_scorer *scorer = nullptr;
    if (count == 0) {
        return BB_OK;
    }
    bb_status status = bb_residual_scorer_create(device, cmm, &scorer);
    status = status == BB_OK ? bb_residual_scorer_score(scorer, count, tasks) : status;
    bb_residual_scorer_destroy(&scorer);
    return status;
}
