// SPDX-License-Identifier: Apache-2.0
//
// Scores of estimates. The products with Cmm and Ctm are distributed over the GPUs by panels of
// columns (residual_scorer_cuda.h), and each GPU needs all of R. Every GPU gets some rows from the
// host and the other rows from its peers, so that nothing crosses the host link twice. Weighting of
// the sums, 1 to 3 % of the operations for mosaic-100368, runs on the first GPU.
#include "solvers/factor/residual_scorer_cuda.h"

namespace
{

const size_t word = sizeof(double);

// Computation of R Cmm R^T, or for a plain task of (R Cmm - 2 Ctm) R^T; in command space R is
// replaced by M = B R, and Ctm by B Ctm.
struct projecting {
    bb_residual_scorer *scorer;
    bb_index rows, truths;           // rows of R; truths of the tasks that share it, 0: plain
    bb_index slopes;                 // rows of R before B in command space, else 0
    void *weights[BB_RESIDUAL_GPUS]; // B [rows][slopes]; on the first GPU it belongs to the scorer
    void *block[BB_RESIDUAL_GPUS];   // [slopes][width] of Ctm in command space
    bb_device_source *ctm[BB_RESIDUAL_GPUS]; // Ctm for a plain task, or NULL
    void *r[BB_RESIDUAL_GPUS];     // R [rows][n]; on the first GPU that of the task, if it has one
    bool resident;                 // true if the first GPU uses the R of the task
    void *panel[BB_RESIDUAL_GPUS]; // [n][width] of Cmm
    void *g[BB_RESIDUAL_GPUS];     // [rows][width]
    bb_residual_partials partials;
    void *product; // [rows][rows] on the first GPU
    void *part;    // [rows][rank] of the low-rank part of Cmm, on the first GPU
};

// Arrays of a task after the shared product; on the first GPU unless stated otherwise.
struct weighing {
    const projecting *shared;
    const bb_residual_task *task;
    bb_index truths, size;                   // m, q
    bb_device_source *ctm[BB_RESIDUAL_GPUS]; // on each GPU
    void *block[BB_RESIDUAL_GPUS];           // [m][width] of Ctm, on each GPU
    void *cross;                             // [rows][m] R Ctm^T
    void *crossed;                           // [rows][q] R Ctm^T B^T
    void *weights;                           // A [q][rows]
    void *truth_weights;                     // B [q][m]
    void *half;                              // [q][rows] A R Cmm R^T
    void *cee;                               // [q][q]
};

// Queues a product on the first GPU.
bb_status multiply(const bb_residual_scorer *s, const bb_dense_product_cuda &p)
{
    return bb_residual_scorer_queue(s, &s->gpus[0], &p);
}

bb_status clear(const bb_residual_scorer *s, void *memory, bb_index items)
{
    BB_RETURN_IF_FAILED(bb_residual_scorer_use(&s->gpus[0]));
    BB_CUDA_TRY(cudaMemsetAsync(memory, 0, static_cast<size_t>(items) * word, s->gpus[0].stream));
    return BB_OK;
}

// Bytes of a task in command space on a GPU: M, R, B, and Ctm.
double need_in_commands(const bb_residual_scorer *s, const bb_residual_task *task)
{
    const double n = static_cast<double>(s->n);
    const double slopes = static_cast<double>(task->ctm->rows);
    const bb_index rows = bb_residual_task_size(task);
    const double uploaded = task->device_r != nullptr ? 0.0 : slopes * n;
    const double besides = slopes * static_cast<double>(rows + s->width) + uploaded;
    return bb_residual_covariance_device_need(s->count, s->n, rows, 0, 0).device_bytes +
           static_cast<double>(word) * besides;
}

// Checks that each GPU has room for a first task and the tasks that share its r, as often as it
// occurs.
bb_status check_room(const bb_residual_scorer *s, const bb_residual_task *first, bb_index truths,
                     bb_index size)
{
    const bool commands = bb_residual_task_in_commands(first);
    const bb_index rows = bb_residual_task_rows(first);
    const double there = first->device_r != nullptr && !commands
                             ? static_cast<double>(rows) * static_cast<double>(s->n * word)
                             : 0.0;
    const double needed =
        commands
            ? need_in_commands(s, first)
            : bb_residual_covariance_device_need(s->count, s->n, rows, truths, size).device_bytes;
    for (bb_index g = 0; g < s->count; ++g) {
        bb_device_report report;
        double parts = 0.0;
        for (bb_index other = 0; other < s->count; ++other) {
            parts += s->gpus[other].ordinal == s->gpus[g].ordinal ? 1.0 : 0.0;
        }
        BB_RETURN_IF_FAILED(bb_device_describe(s->gpus[g].device, &report));
        parts = parts * needed - (s->gpus[g].ordinal == s->gpus[0].ordinal ? there : 0.0);
        if (parts > static_cast<double>(report.free_memory_bytes)) {
            return bb_status_set(BB_MEMORY, __FILE__, __LINE__,
                                 "memory of GPU %d: the score of a %td x %td reconstructor needs "
                                 "%.0f bytes, but %.0f are free",
                                 s->gpus[g].ordinal, rows, s->n, parts,
                                 static_cast<double>(report.free_memory_bytes));
        }
    }
    return BB_OK;
}

bb_status create_sources(bb_residual_scorer *s, const bb_matrix_source *source,
                         bb_device_source **out)
{
    for (bb_index g = 0; g < s->count; ++g) {
        BB_RETURN_IF_FAILED(bb_residual_scorer_twin(s, source, false, s->gpus[g].device, &out[g]));
    }
    return BB_OK;
}

bb_index begin_of_part(const projecting *work, bb_index g)
{
    return work->rows * g / work->scorer->count * work->scorer->n;
}

// Copies the parts of R that other GPUs received, after the uploads.
bb_status fetch_parts(const projecting *work, bb_index g)
{
    const bb_residual_scorer *s = work->scorer;
    BB_RETURN_IF_FAILED(bb_residual_scorer_use(&s->gpus[g]));
    for (bb_index other = 0; other < s->count; ++other) {
        const bb_index begin = begin_of_part(work, other);
        const bb_index items = begin_of_part(work, other + 1) - begin;
        if (other != g && items > 0) {
            BB_CUDA_TRY(cudaMemcpyAsync(bb_residual_scorer_values(work->r[g], begin),
                                        bb_residual_scorer_values(work->r[other], begin),
                                        static_cast<size_t>(items) * word, cudaMemcpyDefault,
                                        s->gpus[g].stream));
        }
    }
    return BB_OK;
}

// Copies R of the first GPU to the others.
bb_status copy_rows(const projecting *work)
{
    const bb_residual_scorer *s = work->scorer;
    for (bb_index g = 1; g < s->count; ++g) {
        BB_RETURN_IF_FAILED(bb_residual_scorer_use(&s->gpus[g]));
        BB_CUDA_TRY(cudaMemcpyAsync(work->r[g], work->r[0],
                                    static_cast<size_t>(work->rows * s->n) * word,
                                    cudaMemcpyDefault, s->gpus[g].stream));
    }
    return BB_OK;
}

bb_status upload_rows(const double *r, const projecting *work)
{
    const bb_residual_scorer *s = work->scorer;
    bb_transfer_part parts[BB_RESIDUAL_GPUS];
    for (bb_index g = 0; g < s->count; ++g) {
        const bb_index begin = begin_of_part(work, g);
        parts[g].transfer = s->gpus[g].transfer;
        parts[g].target = bb_residual_scorer_values(work->r[g], begin);
        parts[g].from_host = r + begin;
        parts[g].bytes = static_cast<size_t>(begin_of_part(work, g + 1) - begin) * word;
    }
    BB_RETURN_IF_FAILED(bb_transfer_upload_parts(s->count, parts));
    for (bb_index g = 0; g < s->count; ++g) {
        BB_RETURN_IF_FAILED(fetch_parts(work, g));
    }
    return BB_OK;
}

bb_status open_projection(projecting *work)
{
    const bb_residual_scorer *s = work->scorer;
    const bb_index rows = work->rows;
    const bb_index columns = rows < work->truths ? work->truths : rows;
    for (bb_index g = 0; g < s->count; ++g) {
        const bb_residual_gpu *gpu = &s->gpus[g];
        if (g > 0 || !work->resident) {
            BB_RETURN_IF_FAILED(bb_residual_scorer_upload(gpu, nullptr, rows * s->n, &work->r[g]));
        }
        BB_RETURN_IF_FAILED(
            bb_residual_scorer_upload(gpu, nullptr, s->n * s->width, &work->panel[g]));
        BB_RETURN_IF_FAILED(bb_residual_scorer_upload(gpu, nullptr, rows * s->width, &work->g[g]));
    }
    BB_RETURN_IF_FAILED(bb_residual_partials_create(s, rows * columns, &work->partials));
    BB_RETURN_IF_FAILED(
        bb_residual_scorer_upload(&s->gpus[0], nullptr, rows * rows, &work->product));
    return clear(s, work->product, rows * rows);
}

// Also releases after a failed attempt; leaves the first GPU current.
void close_projection(projecting *work)
{
    const bb_residual_scorer *s = work->scorer;
    (void)bb_residual_scorer_wait(s);
    work->r[0] = work->resident ? nullptr : work->r[0];
    for (bb_index g = 0; g < s->count; ++g) {
        for (void **block : {&work->r[g], &work->panel[g], &work->g[g], &work->block[g]}) {
            bb_device_release(s->gpus[g].device, block);
        }
        if (g > 0) {
            bb_device_release(s->gpus[g].device, &work->weights[g]);
        }
        bb_device_source_destroy(&work->ctm[g]);
    }
    bb_residual_partials_release(&work->partials);
    bb_device_release(s->gpus[0].device, &work->product);
    bb_device_release(s->gpus[0].device, &work->part);
    (void)bb_residual_scorer_use(&s->gpus[0]);
}

// Returns the panel of columns from `begin` on, filled or cached.
bb_status get_panel(const projecting *work, bb_index gpu, bb_index begin, void **panel)
{
    bb_residual_scorer *s = work->scorer;
    const cudaStream_t stream = s->gpus[gpu].stream;
    *panel = nullptr;
    if (s->kept_count > 0) {
        BB_RETURN_IF_FAILED(bb_residual_kept_panel(s, &s->kept[0], gpu, begin, stream, panel));
    }
    if (*panel != nullptr) {
        return BB_OK;
    }
    *panel = work->panel[gpu];
    return bb_device_source_fill(s->gpus[gpu].cmm, bb_stream_queue(stream), begin, begin,
                                 bb_device_matrix(*panel, BB_F64, s->n - begin,
                                                  bb_residual_scorer_width(s, begin), s->width));
}

// Computes G = alpha R C + beta G for the panel's columns and rows from `row` on.
bb_status add_rows(const projecting *work, bb_index gpu, const double *panel, bb_index row,
                   bb_index rows, bb_index width, double alpha, double beta)
{
    const bb_residual_scorer *s = work->scorer;
    bb_dense_product_cuda p = bb_residual_scorer_product(
        work->r[gpu], work->panel[gpu], work->g[gpu], work->rows, width, rows, false);
    p.a += row;
    p.b = panel;
    p.a_stride = s->n;
    p.b_stride = s->width;
    p.alpha = alpha;
    p.beta = beta;
    return bb_residual_scorer_queue(s, &s->gpus[gpu], &p);
}

// Computes G = Ctm for the panel's columns, B Ctm in command space.
bb_status fill_truths(const projecting *work, bb_index gpu, bb_index begin, bb_index width)
{
    const bb_residual_scorer *s = work->scorer;
    const bb_residual_gpu *own = &s->gpus[gpu];
    const bb_index rows = work->slopes > 0 ? work->slopes : work->rows;
    void *target = work->slopes > 0 ? work->block[gpu] : work->g[gpu];
    BB_RETURN_IF_FAILED(
        bb_device_source_fill(work->ctm[gpu], bb_stream_queue(own->stream), 0, begin,
                              bb_device_matrix(target, BB_F64, rows, width, width)));
    if (work->slopes == 0) {
        return BB_OK;
    }
    const bb_dense_product_cuda p = bb_residual_scorer_product(
        work->weights[gpu], target, work->g[gpu], work->rows, width, rows, false);
    return bb_residual_scorer_queue(s, own, &p);
}

// Adds the product with the columns from `begin` on: rows of Cmm below the diagonal block count
// twice and rows above it are omitted, which gives the same symmetric part of G R^T.
bb_status project_panel(const void *context, bb_index gpu, bb_index begin, double beta,
                        void *target)
{
    const projecting *work = static_cast<const projecting *>(context);
    const bb_residual_scorer *s = work->scorer;
    const bb_index width = bb_residual_scorer_width(s, begin);
    const bb_index end = begin + width;
    const bb_device_source *ctm = work->ctm[gpu];
    void *panel = nullptr;
    BB_RETURN_IF_FAILED(get_panel(work, gpu, begin, &panel));
    if (ctm != nullptr) {
        BB_RETURN_IF_FAILED(fill_truths(work, gpu, begin, width));
    }
    const double *values = static_cast<const double *>(panel);
    BB_RETURN_IF_FAILED(
        add_rows(work, gpu, values, begin, width, width, 1.0, ctm != nullptr ? -2.0 : 0.0));
    if (end < s->n) {
        BB_RETURN_IF_FAILED(
            add_rows(work, gpu, values + width * s->width, end, s->n - end, width, 2.0, 1.0));
    }
    bb_dense_product_cuda p = bb_residual_scorer_product(work->g[gpu], work->r[gpu], target,
                                                         work->rows, work->rows, width, true);
    p.b += begin;
    p.b_stride = s->n;
    p.beta = beta;
    return bb_residual_scorer_queue(s, &s->gpus[gpu], &p);
}

// P += (R U C^(1/2)) (R U C^(1/2))^T for the low-rank part of Cmm.
bb_status add_part(projecting *work)
{
    const bb_residual_scorer *s = work->scorer;
    if (s->rank == 0) {
        return BB_OK;
    }
    BB_RETURN_IF_FAILED(
        bb_residual_scorer_upload(&s->gpus[0], nullptr, work->rows * s->rank, &work->part));
    BB_RETURN_IF_FAILED(multiply(s, bb_residual_scorer_product(work->r[0], s->vectors, work->part,
                                                               work->rows, s->rank, s->n, false)));
    bb_dense_product_cuda p = bb_residual_scorer_product(work->part, work->part, work->product,
                                                         work->rows, work->rows, s->rank, true);
    p.beta = 1.0;
    return multiply(s, p);
}

// Computes M = B R on the first GPU, from R there or on the host.
bb_status compute_commands(const bb_residual_task *task, const projecting *work)
{
    const bb_residual_scorer *s = work->scorer;
    void *uploaded = nullptr;
    if (task->device_r == nullptr) {
        BB_RETURN_IF_FAILED(
            bb_residual_scorer_upload(&s->gpus[0], task->r, work->slopes * s->n, &uploaded));
    }
    void *slopes = uploaded != nullptr ? uploaded : const_cast<void *>(task->device_r);
    bb_status status =
        multiply(s, bb_residual_scorer_product(work->weights[0], slopes, work->r[0], work->rows,
                                               s->n, work->slopes, false));
    status = status == BB_OK && uploaded != nullptr ? bb_residual_scorer_wait(s) : status;
    bb_device_release(s->gpus[0].device, &uploaded);
    return status;
}

// Uploads B and allocates Ctm on every GPU, and computes M on all of them.
bb_status open_commands(const bb_residual_task *task, projecting *work)
{
    bb_residual_scorer *s = work->scorer;
    const bb_index items = work->rows * work->slopes;
    BB_RETURN_IF_FAILED(bb_residual_scorer_keep_weights(s, task->truth_weights, items));
    work->weights[0] = s->weights;
    for (bb_index g = 0; g < s->count; ++g) {
        const bb_residual_gpu *gpu = &s->gpus[g];
        if (g > 0) {
            BB_RETURN_IF_FAILED(
                bb_residual_scorer_upload(gpu, task->truth_weights, items, &work->weights[g]));
        }
        BB_RETURN_IF_FAILED(
            bb_residual_scorer_upload(gpu, nullptr, work->slopes * s->width, &work->block[g]));
    }
    BB_RETURN_IF_FAILED(compute_commands(task, work));
    if (s->count > 1) { // M must be complete before the others copy it
        BB_RETURN_IF_FAILED(bb_residual_scorer_wait(s));
    }
    return copy_rows(work);
}

bb_status project(const bb_residual_task *task, projecting *work)
{
    work->resident = task->device_r != nullptr && work->slopes == 0;
    work->r[0] = work->resident ? const_cast<void *>(task->device_r) : nullptr;
    BB_RETURN_IF_FAILED(open_projection(work));
    BB_RETURN_IF_FAILED(work->slopes > 0 ? open_commands(task, work)
                        : work->resident ? copy_rows(work)
                                         : upload_rows(task->r, work));
    BB_RETURN_IF_FAILED(bb_residual_partials_add(&work->partials, work->rows * work->rows,
                                                 project_panel, work, work->product));
    return add_part(work);
}

bb_status score_one(bb_residual_scorer *s, const bb_residual_task *task)
{
    const bool commands = bb_residual_task_in_commands(task);
    const bool seen = bb_residual_task_sees_plain(task) && !commands;
    const bb_index size = bb_residual_task_size(task);
    projecting work = {};
    work.scorer = s;
    work.slopes = commands ? task->ctm->rows : 0;
    work.rows = commands ? size : bb_residual_task_rows(task);
    bb_status status = check_room(s, task, 0, seen || commands ? size : 0);
    status = status == BB_OK ? create_sources(s, task->ctm, work.ctm) : status;
    status = status == BB_OK ? project(task, &work) : status;
    if (status == BB_OK) {
        status = seen ? bb_residual_scorer_see(s, task, work.product)
                      : bb_residual_scorer_fetch(s, work.product, work.rows * work.rows, task->cee);
    }
    close_projection(&work);
    return status == BB_OK ? bb_residual_task_close(task) : status;
}

// Without weights R Ctm^T is written directly to P.
bool is_bare(const bb_residual_task *task)
{
    return task->weights == nullptr && task->truth_weights == nullptr;
}

bb_status open_weights(weighing *work)
{
    const bb_residual_gpu *gpu = work->shared->scorer->gpus;
    const bb_residual_task *task = work->task;
    const bb_index rows = work->shared->rows;
    const bb_index size = work->size;
    BB_RETURN_IF_FAILED(bb_residual_scorer_upload(gpu, nullptr, size * size, &work->cee));
    if (!is_bare(task)) {
        BB_RETURN_IF_FAILED(
            bb_residual_scorer_upload(gpu, nullptr, rows * work->truths, &work->cross));
        BB_RETURN_IF_FAILED(clear(work->shared->scorer, work->cross, rows * work->truths));
    }
    if (task->truth_weights != nullptr) {
        BB_RETURN_IF_FAILED(bb_residual_scorer_upload(gpu, task->truth_weights, size * work->truths,
                                                      &work->truth_weights));
        BB_RETURN_IF_FAILED(bb_residual_scorer_upload(gpu, nullptr, rows * size, &work->crossed));
    }
    if (task->weights != nullptr) {
        BB_RETURN_IF_FAILED(
            bb_residual_scorer_upload(gpu, task->weights, size * rows, &work->weights));
        BB_RETURN_IF_FAILED(bb_residual_scorer_upload(gpu, nullptr, size * rows, &work->half));
    }
    return BB_OK;
}

bb_status open_weighing(weighing *work)
{
    bb_residual_scorer *s = work->shared->scorer;
    BB_RETURN_IF_FAILED(create_sources(s, work->task->ctm, work->ctm));
    for (bb_index g = 0; g < s->count; ++g) {
        BB_RETURN_IF_FAILED(bb_residual_scorer_upload(&s->gpus[g], nullptr, work->truths * s->width,
                                                      &work->block[g]));
    }
    return open_weights(work);
}

void close_weighing(weighing *work)
{
    const bb_residual_scorer *s = work->shared->scorer;
    (void)bb_residual_scorer_wait(s);
    for (bb_index g = 0; g < s->count; ++g) {
        bb_device_release(s->gpus[g].device, &work->block[g]);
        bb_device_source_destroy(&work->ctm[g]);
    }
    for (void **block : {&work->cross, &work->crossed, &work->weights, &work->truth_weights,
                         &work->half, &work->cee}) {
        bb_device_release(s->gpus[0].device, block);
    }
}

// target [rows][m] <- R Ctm^T over the panel + beta target; if the target is P, minus twice that.
bb_status cross_panel(const void *context, bb_index gpu, bb_index begin, double beta, void *target)
{
    const weighing *work = static_cast<const weighing *>(context);
    const projecting *shared = work->shared;
    const bb_residual_scorer *s = shared->scorer;
    const bb_index width = bb_residual_scorer_width(s, begin);
    BB_RETURN_IF_FAILED(bb_device_source_fill(
        work->ctm[gpu], bb_stream_queue(s->gpus[gpu].stream), 0, begin,
        bb_device_matrix(work->block[gpu], BB_F64, work->truths, width, width)));
    bb_dense_product_cuda p = bb_residual_scorer_product(shared->r[gpu], work->block[gpu], target,
                                                         shared->rows, work->truths, width, true);
    p.a += begin;
    p.a_stride = s->n;
    p.alpha = is_bare(work->task) ? -2.0 : 1.0;
    p.beta = beta;
    return bb_residual_scorer_queue(s, &s->gpus[gpu], &p);
}

bb_status add_cross(const weighing *work, void *sum)
{
    return bb_residual_partials_add(&work->shared->partials, work->shared->rows * work->truths,
                                    cross_panel, work, sum);
}

// Applies the weights to the shared product.
bb_status apply_weights(const weighing *work)
{
    const bb_residual_scorer *s = work->shared->scorer;
    const bb_index rows = work->shared->rows;
    const bb_index size = work->size;
    if (work->weights == nullptr) {
        BB_CUDA_TRY(cudaMemcpyAsync(work->cee, work->shared->product,
                                    static_cast<size_t>(size * size) * word,
                                    cudaMemcpyDeviceToDevice, s->gpus[0].stream));
        return BB_OK;
    }
    BB_RETURN_IF_FAILED(
        multiply(s, bb_residual_scorer_product(work->weights, work->shared->product, work->half,
                                               size, rows, rows, false)));
    return multiply(s, bb_residual_scorer_product(work->half, work->weights, work->cee, size, size,
                                                  rows, true));
}

// Computes P: the weighted product minus twice the cross term.
bb_status assemble(const weighing *work)
{
    const bb_residual_scorer *s = work->shared->scorer;
    const bb_index rows = work->shared->rows;
    void *crossed = work->cross;
    BB_RETURN_IF_FAILED(bb_residual_scorer_use(&s->gpus[0]));
    BB_RETURN_IF_FAILED(apply_weights(work));
    if (is_bare(work->task)) {
        return add_cross(work, work->cee);
    }
    BB_RETURN_IF_FAILED(add_cross(work, work->cross));
    if (work->truth_weights != nullptr && work->weights != nullptr) {
        BB_RETURN_IF_FAILED(
            multiply(s, bb_residual_scorer_product(work->cross, work->truth_weights, work->crossed,
                                                   rows, work->size, work->truths, true)));
        crossed = work->crossed;
    }
    bb_dense_product_cuda last =
        work->weights != nullptr
            ? bb_residual_scorer_product(work->weights, crossed, work->cee, work->size, work->size,
                                         rows, false)
            : bb_residual_scorer_product(work->cross, work->truth_weights, work->cee, rows,
                                         work->size, work->truths, true);
    last.alpha = -2.0;
    last.beta = 1.0;
    return multiply(s, last);
}

bb_status score_weighted(const bb_residual_task *task, const projecting *shared)
{
    const bb_residual_scorer *s = shared->scorer;
    weighing work = {};
    work.shared = shared;
    work.task = task;
    work.truths = task->ctm->rows;
    work.size = bb_residual_task_size(task);
    bb_status status = open_weighing(&work);
    status = status == BB_OK ? assemble(&work) : status;
    status = status == BB_OK
                 ? bb_residual_scorer_fetch(s, work.cee, work.size * work.size, task->cee)
                 : status;
    close_weighing(&work);
    return status == BB_OK ? bb_residual_task_close(task) : status;
}

bb_status score_shared(bb_residual_scorer *s, bb_index count, const bb_residual_task *tasks)
{
    projecting work = {};
    bb_index size = 0;
    work.scorer = s;
    work.rows = bb_residual_task_rows(tasks);
    for (bb_index t = 0; t < count; ++t) {
        const bb_index q = bb_residual_task_size(&tasks[t]);
        work.truths = work.truths < tasks[t].ctm->rows ? tasks[t].ctm->rows : work.truths;
        size = size < q ? q : size;
    }
    bb_status status = check_room(s, tasks, work.truths, size);
    status = status == BB_OK ? project(tasks, &work) : status;
    for (bb_index t = 0; t < count && status == BB_OK; ++t) {
        status = score_weighted(&tasks[t], &work);
    }
    close_projection(&work);
    return status;
}

} // namespace

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
