// SPDX-License-Identifier: Apache-2.0
#include "core/memory.h"
#include "solvers/factor/panels/split_product_cuda.h"
#include "solvers/factor/residual_difference_cuda.h"

namespace
{

const bb_index panel_columns = 1024;
const size_t word = sizeof(double);

// One estimate in fp64.
struct scoring {
    const bb_residual_scorer *scorer;
    bb_device_source *ctm;
    bb_index m;
    void *r, *panel, *g, *cee;
    bb_residual_base *base; // kept, or NULL
};

bb_status allocate(const bb_residual_scorer *scorer, bb_index items, void **out)
{
    return bb_device_allocate(scorer->device, static_cast<size_t>(items) * word, out);
}

// Of a kept base R belongs to that.
void close(scoring *work)
{
    bb_device *device = work->scorer->device;
    if (work->base == nullptr) {
        bb_device_release(device, &work->r);
        bb_device_release(device, &work->cee);
    }
    bb_device_release(device, &work->panel);
    bb_device_release(device, &work->g);
    bb_device_source_destroy(&work->ctm);
}

bb_status open(const bb_residual_task *task, scoring *work)
{
    const bb_residual_scorer *s = work->scorer;
    double available = 0.0;
    BB_RETURN_IF_FAILED(bb_residual_scorer_free_bytes(s, &available));
    const double needed = bb_residual_covariance_device_need(s->n, work->m).device_bytes;
    if (needed > available) {
        return bb_status_set(BB_MEMORY, __FILE__, __LINE__,
                             "GPU memory: the score of %td x %td needs %.0f bytes, %.0f are free",
                             work->m, s->n, needed, available);
    }
    BB_RETURN_IF_FAILED(bb_device_source_create(task->ctm, s->device, &work->ctm));
    BB_RETURN_IF_FAILED(allocate(s, work->m * s->n, &work->r));
    BB_RETURN_IF_FAILED(allocate(s, s->n * s->width, &work->panel));
    BB_RETURN_IF_FAILED(allocate(s, work->m * s->width, &work->g));
    BB_RETURN_IF_FAILED(allocate(s, work->m * work->m, &work->cee));
    BB_RETURN_IF_FAILED(bb_transfer_upload(s->transfer, work->r, task->r,
                                           static_cast<size_t>(work->m * s->n) * word));
    BB_CUDA_TRY(
        cudaMemsetAsync(work->cee, 0, static_cast<size_t>(work->m * work->m) * word, s->stream));
    return BB_OK;
}

bb_status fill_ctm(const scoring *work, bb_index begin, bb_index width, bb_index stride, void *out)
{
    return bb_device_source_fill(work->ctm, bb_stream_queue(work->scorer->stream), 0, begin,
                                 bb_device_matrix(out, BB_F64, work->m, width, stride));
}

// G = alpha R C + beta G for the panel's columns and its rows from `begin` on.
bb_status add_rows(const scoring *work, bb_index begin, bb_index rows, bb_index width, double alpha,
                   double beta)
{
    const bb_residual_scorer *s = work->scorer;
    bb_dense_product_cuda p = {};
    p.a = static_cast<const double *>(work->r) + begin;
    p.b = static_cast<const double *>(work->panel) + begin * s->width;
    p.c = static_cast<double *>(work->g);
    p.a_stride = s->n;
    p.b_stride = s->width;
    p.c_stride = width;
    p.rows = work->m;
    p.columns = width;
    p.depth = rows;
    p.alpha = alpha;
    p.beta = beta;
    return bb_dense_library_product(s->library, s->handle, &p);
}

// P += G R^T.
bb_status project_panel(const scoring *work, bb_index begin, bb_index width)
{
    const bb_residual_scorer *s = work->scorer;
    bb_dense_product_cuda p = {};
    p.a = static_cast<const double *>(work->g);
    p.b = static_cast<const double *>(work->r) + begin;
    p.c = static_cast<double *>(work->cee);
    p.a_stride = width;
    p.b_stride = s->n;
    p.rows = p.c_stride = p.columns = work->m;
    p.depth = width;
    p.transposed = true;
    p.alpha = p.beta = 1.0;
    return bb_dense_library_product(s->library, s->handle, &p);
}

// For the columns from `begin` on G = R Cmm - 2 Ctm, of a base, whose G + Ctm stays; else what has
// the same symmetric part of G R^T: rows of Cmm below the panel's block twice, those above not.
bb_status add_panel(const scoring *work, bb_index begin)
{
    const bb_residual_scorer *s = work->scorer;
    const bb_index width = s->n - begin < s->width ? s->n - begin : s->width;
    const bool keeps = work->base != nullptr;
    const bb_index first = keeps ? 0 : begin;
    const bb_index end = begin + width;
    double *rows = static_cast<double *>(work->panel) + first * s->width;
    BB_RETURN_IF_FAILED(
        bb_device_source_fill(s->cmm, bb_stream_queue(s->stream), first, begin,
                              bb_device_matrix(rows, BB_F64, s->n - first, width, s->width)));
    BB_RETURN_IF_FAILED(fill_ctm(work, begin, width, width, work->g));
    BB_RETURN_IF_FAILED(add_rows(work, first, end - first, width, 1.0, -2.0));
    if (end < s->n) {
        BB_RETURN_IF_FAILED(add_rows(work, end, s->n - end, width, keeps ? 1.0 : 2.0, 1.0));
    }
    BB_RETURN_IF_FAILED(project_panel(work, begin, width));
    if (!keeps) {
        return BB_OK;
    }
    double *kept = static_cast<double *>(work->base->g) + work->m * begin;
    BB_RETURN_IF_FAILED(fill_ctm(work, begin, width, width, kept));
    return bb_residual_difference_add(s, static_cast<const double *>(work->g), work->m * width,
                                      kept);
}

void release_base(const bb_residual_scorer *scorer, bb_residual_base *base)
{
    bb_device_release(scorer->device, &base->r);
    bb_device_release(scorer->device, &base->g);
    bb_device_release(scorer->device, &base->cee);
}

// Room for a base, where it leaves enough; else NULL.
bb_status offer_base(bb_residual_scorer *scorer, const bb_residual_task *task,
                     bb_residual_base **out)
{
    const bb_index m = task->ctm->rows;
    const double items = static_cast<double>(m) * static_cast<double>(scorer->n);
    const double kept = static_cast<double>(word) * (2.0 * items + static_cast<double>(m * m));
    const double scored = bb_residual_covariance_device_need(scorer->n, m).device_bytes;
    const double compared = bb_residual_difference_bytes(scorer, m);
    double available = 0.0;
    *out = nullptr;
    BB_RETURN_IF_FAILED(bb_residual_scorer_free_bytes(scorer, &available));
    double beside = scored > compared ? scored : compared;
    beside = beside > scorer->spare_bytes ? beside : scorer->spare_bytes;
    if (!scorer->has_planes || scorer->base_count == BB_RESIDUAL_BASES ||
        kept + beside > available) {
        return BB_OK;
    }
    if (scorer->units == nullptr) {
        BB_RETURN_IF_FAILED(bb_residual_difference_units(scorer));
    }
    bb_residual_base *base = &scorer->bases[scorer->base_count];
    *base = {};
    base->ctm = task->ctm;
    base->m = m;
    if (allocate(scorer, m * scorer->n, &base->g) != BB_OK) {
        bb_status_clear(); // another program took it: without, then
        return BB_OK;
    }
    *out = base;
    return BB_OK;
}

// The closed Cee goes back to the device, for those that are added to it.
bb_status keep_base(bb_residual_scorer *scorer, const scoring *work, const double *cee)
{
    bb_residual_base *base = work->base;
    base->r = work->r;
    base->cee = work->cee;
    ++scorer->base_count;
    return bb_transfer_upload(scorer->transfer, base->cee, cee,
                              static_cast<size_t>(work->m * work->m) * word);
}

bb_status run(bb_residual_scorer *scorer, const bb_residual_task *task, scoring *work)
{
    BB_RETURN_IF_FAILED(open(task, work));
    for (bb_index begin = 0; begin < scorer->n; begin += scorer->width) {
        BB_RETURN_IF_FAILED(add_panel(work, begin));
    }
    BB_RETURN_IF_FAILED(bb_residual_scorer_fetch(scorer, work->cee, work->m * work->m, task->cee));
    return bb_residual_covariance_close(task);
}

bb_status score_whole(bb_residual_scorer *scorer, const bb_residual_task *task, bool keep)
{
    scoring work = {};
    work.scorer = scorer;
    work.m = task->ctm->rows;
    if (keep) {
        BB_RETURN_IF_FAILED(offer_base(scorer, task, &work.base));
    }
    bb_status status = run(scorer, task, &work);
    if (status == BB_OK && work.base != nullptr) {
        status = keep_base(scorer, &work, task->cee);
    } else if (work.base != nullptr) {
        release_base(scorer, work.base);
        work.base = nullptr;
    }
    close(&work);
    return status;
}

const bb_residual_base *find_base(const bb_residual_scorer *scorer, const bb_residual_task *task)
{
    for (int b = 0; b < scorer->base_count; ++b) {
        if (scorer->bases[b].ctm == task->ctm) {
            return &scorer->bases[b];
        }
    }
    return nullptr;
}

bb_status open_scorer(const bb_matrix_source *cmm, bb_residual_scorer *scorer)
{
    bb_device_report report;
    BB_RETURN_IF_FAILED(bb_device_describe(scorer->device, &report)); // makes it the current one
    BB_RETURN_IF_FAILED(bb_dense_library_open(&scorer->library));
    BB_CUDA_TRY(cudaStreamCreateWithFlags(&scorer->stream, cudaStreamNonBlocking));
    BB_CUBLAS_TRY(scorer->library->create(&scorer->handle));
    BB_CUBLAS_TRY(scorer->library->set_stream(scorer->handle, scorer->stream));
    BB_RETURN_IF_FAILED(bb_transfer_create(scorer->device, 0, &scorer->transfer));
    return bb_device_source_create(cmm, scorer->device, &scorer->cmm);
}

// A C A^T, by half of it.
struct projecting {
    void *weights, *symmetric, *half, *out;
};

bb_status project(const bb_residual_scorer *s, bb_index rows, bb_index columns,
                  const double *weights, const double *symmetric, projecting *work)
{
    BB_RETURN_IF_FAILED(allocate(s, rows * columns, &work->weights));
    BB_RETURN_IF_FAILED(allocate(s, columns * columns, &work->symmetric));
    BB_RETURN_IF_FAILED(allocate(s, rows * columns, &work->half));
    BB_RETURN_IF_FAILED(allocate(s, rows * rows, &work->out));
    BB_RETURN_IF_FAILED(bb_transfer_upload(s->transfer, work->weights, weights,
                                           static_cast<size_t>(rows * columns) * word));
    BB_RETURN_IF_FAILED(bb_transfer_upload(s->transfer, work->symmetric, symmetric,
                                           static_cast<size_t>(columns * columns) * word));
    bb_dense_product_cuda p = {};
    p.a = static_cast<const double *>(work->weights);
    p.b = static_cast<const double *>(work->symmetric);
    p.c = static_cast<double *>(work->half);
    p.a_stride = p.b_stride = p.c_stride = p.columns = p.depth = columns;
    p.rows = rows;
    p.alpha = 1.0;
    BB_RETURN_IF_FAILED(bb_dense_library_product(s->library, s->handle, &p));
    p.a = static_cast<const double *>(work->half);
    p.b = static_cast<const double *>(work->weights);
    p.c = static_cast<double *>(work->out);
    p.c_stride = p.columns = rows;
    p.transposed = true;
    return bb_dense_library_product(s->library, s->handle, &p);
}

} // namespace

bb_status bb_residual_scorer_free_bytes(const bb_residual_scorer *scorer, double *out)
{
    bb_device_report report;
    BB_RETURN_IF_FAILED(bb_device_describe(scorer->device, &report)); // makes it the current one
    *out = static_cast<double>(report.free_memory_bytes);
    return BB_OK;
}

bb_status bb_residual_scorer_fetch(const bb_residual_scorer *scorer, const void *source,
                                   bb_index items, double *out)
{
    BB_CUDA_TRY(cudaStreamSynchronize(scorer->stream));
    return bb_transfer_download(scorer->transfer, out, source, static_cast<size_t>(items) * word);
}

bb_status bb_residual_scorer_create(bb_device *device, const bb_matrix_source *cmm,
                                    double spare_bytes, bb_residual_scorer **out)
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
    scorer->source = cmm;
    scorer->n = cmm->rows;
    scorer->width = cmm->rows < panel_columns ? cmm->rows : panel_columns;
    scorer->spare_bytes = spare_bytes;
    const bb_status status = open_scorer(cmm, scorer);
    if (status != BB_OK) {
        bb_residual_scorer_destroy(&scorer);
        return status;
    }
    scorer->has_planes = bb_split_product_supported() == BB_OK;
    bb_status_clear(); // an older GPU scores in fp64
    *out = scorer;
    return BB_OK;
}

void bb_residual_scorer_destroy(bb_residual_scorer **scorer)
{
    bb_residual_scorer *s = *scorer;
    if (s == nullptr) {
        return;
    }
    for (int b = 0; b < s->base_count; ++b) {
        release_base(s, &s->bases[b]);
    }
    bb_device_release(s->device, &s->units);
    bb_device_release(s->device, &s->planes[0]);
    bb_device_release(s->device, &s->planes[1]);
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

bb_status bb_residual_scorer_score(bb_residual_scorer *scorer, const bb_residual_task *task,
                                   bb_residual_role role)
{
    const bb_matrix_source *ctm = task->ctm;
    if (ctm->columns != scorer->n || task->ctt->rows != ctm->rows) {
        return bb_status_set(BB_INVALID, __FILE__, __LINE__,
                             "estimate: %s is %td x %td, expected %td columns", ctm->name,
                             ctm->rows, ctm->columns, scorer->n);
    }
    const bb_residual_base *base = role == BB_RESIDUAL_OTHER ? find_base(scorer, task) : nullptr;
    double available = 0.0;
    BB_RETURN_IF_FAILED(bb_residual_scorer_free_bytes(scorer, &available));
    if (base == nullptr || bb_residual_difference_bytes(scorer, base->m) > available) {
        return score_whole(scorer, task, role == BB_RESIDUAL_BASE);
    }
    BB_RETURN_IF_FAILED(bb_residual_difference_score(scorer, base, task));
    ++scorer->differences;
    return BB_OK;
}

bb_index bb_residual_scorer_differences(const bb_residual_scorer *scorer)
{
    return scorer->differences;
}

bb_status bb_residual_scorer_project(bb_residual_scorer *scorer, bb_index rows, bb_index columns,
                                     const double *weights, const double *symmetric, double *out)
{
    projecting work = {};
    bb_status status = project(scorer, rows, columns, weights, symmetric, &work);
    status =
        status == BB_OK ? bb_residual_scorer_fetch(scorer, work.out, rows * rows, out) : status;
    bb_device_release(scorer->device, &work.weights);
    bb_device_release(scorer->device, &work.symmetric);
    bb_device_release(scorer->device, &work.half);
    bb_device_release(scorer->device, &work.out);
    return status;
}

bb_status bb_residual_covariance_device(bb_device *device, const bb_matrix_source *cmm,
                                        bb_index count, const bb_residual_task *tasks)
{
    bb_residual_scorer *scorer = nullptr;
    if (count == 0) {
        return BB_OK;
    }
    bb_status status = bb_residual_scorer_create(device, cmm, 0.0, &scorer);
    for (bb_index t = 0; t < count && status == BB_OK; ++t) {
        status = bb_residual_scorer_score(scorer, &tasks[t], BB_RESIDUAL_ALONE);
    }
    bb_residual_scorer_destroy(&scorer);
    return status;
}
