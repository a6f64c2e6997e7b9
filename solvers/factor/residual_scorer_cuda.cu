// SPDX-License-Identifier: Apache-2.0
#include "core/memory.h"
#include "solvers/factor/residual_scorer_cuda.h"
#include "solvers/gpu/peer_memory_cuda.h"

#include <cmath>

namespace
{

const bb_index panel_columns = 1024;
const bb_index slab_values = bb_index{1} << 26; // size of the current A and of the current C
const size_t word = sizeof(double);

// Queues a product on the first GPU.
bb_status multiply(const bb_residual_scorer *s, const bb_dense_product_cuda &p)
{
    return bb_residual_scorer_queue(s, &s->gpus[0], &p);
}

bb_status open_gpu(const bb_matrix_source *cmm, const bb_residual_scorer *scorer,
                   bb_residual_gpu *gpu)
{
    bb_device_report report;
    BB_RETURN_IF_FAILED(bb_device_describe(gpu->device, &report)); // makes it current
    BB_CUDA_TRY(cudaGetDevice(&gpu->ordinal));
    BB_CUDA_TRY(cudaStreamCreateWithFlags(&gpu->stream, cudaStreamNonBlocking));
    BB_CUBLAS_TRY(scorer->library->create(&gpu->handle));
    BB_CUBLAS_TRY(scorer->library->set_stream(gpu->handle, gpu->stream));
    BB_CUDA_TRY(cudaEventCreateWithFlags(&gpu->made, cudaEventDisableTiming));
    BB_RETURN_IF_FAILED(bb_transfer_create(gpu->device, 0, &gpu->transfer));
    return bb_device_source_create(cmm, gpu->device, &gpu->cmm);
}

bb_status open_scorer(const bb_matrix_source *cmm, bb_residual_scorer *scorer)
{
    int ordinals[BB_RESIDUAL_GPUS];
    BB_RETURN_IF_FAILED(bb_dense_library_open(&scorer->library));
    for (bb_index g = 0; g < scorer->count; ++g) {
        BB_RETURN_IF_FAILED(open_gpu(cmm, scorer, &scorer->gpus[g]));
        ordinals[g] = scorer->gpus[g].ordinal;
    }
    BB_RETURN_IF_FAILED(bb_peer_memory_join(scorer->count, ordinals));
    BB_RETURN_IF_FAILED(bb_residual_scorer_use(&scorer->gpus[0]));
    for (bb_index g = 0; g < scorer->count; ++g) {
        BB_CUDA_TRY(cudaEventCreateWithFlags(&scorer->gpus[g].read, cudaEventDisableTiming));
    }
    return BB_OK;
}

void close_gpu(const bb_residual_scorer *s, bb_residual_gpu *gpu)
{
    (void)cudaSetDevice(gpu->ordinal);
    bb_device_source_destroy(&gpu->cmm);
    bb_transfer_destroy(&gpu->transfer);
    if (gpu->handle != nullptr) {
        (void)s->library->destroy(gpu->handle);
    }
    for (cudaEvent_t event : {gpu->made, gpu->read}) {
        if (event != nullptr) {
            (void)cudaEventDestroy(event);
        }
    }
    if (gpu->stream != nullptr) {
        (void)cudaStreamDestroy(gpu->stream);
    }
}

bb_status check_devices(bb_index gpus, bb_device *const *devices)
{
    if (gpus < 1 || gpus > BB_RESIDUAL_GPUS) {
        return bb_status_set(BB_INVALID, __FILE__, __LINE__, "%td GPUs, expected 1 to %d", gpus,
                             static_cast<int>(BB_RESIDUAL_GPUS));
    }
    for (bb_index g = 0; g < gpus; ++g) {
        if (bb_device_kind_of(devices[g]) != BB_DEVICE_CUDA) {
            return bb_status_set(BB_UNSUPPORTED, __FILE__, __LINE__,
                                 "scoring on a device needs a cuda device");
        }
    }
    return BB_OK;
}

// Arrays of a product A C A^T, with A C in `half`, or of A B; on the first GPU only, because they
// take 0.1 s and 0.3 s for mosaic-100368, a few times per study.
struct multiplying {
    void *weights, *values, *half, *out;
};

void close_products(const bb_residual_scorer *s, multiplying *work)
{
    for (void **block : {&work->weights, &work->values, &work->half, &work->out}) {
        bb_device_release(s->gpus[0].device, block);
    }
}

bb_status queue_congruence(const bb_residual_scorer *s, bb_index rows, bb_index columns,
                           void *weights, void *values, multiplying *work)
{
    BB_RETURN_IF_FAILED(
        bb_residual_scorer_upload(&s->gpus[0], nullptr, rows * columns, &work->half));
    BB_RETURN_IF_FAILED(bb_residual_scorer_upload(&s->gpus[0], nullptr, rows * rows, &work->out));
    BB_RETURN_IF_FAILED(multiply(
        s, bb_residual_scorer_product(weights, values, work->half, rows, columns, columns, false)));
    return multiply(
        s, bb_residual_scorer_product(work->half, weights, work->out, rows, rows, columns, true));
}

bb_status compute_congruence(const bb_residual_scorer *s, bb_index rows, bb_index columns,
                             const double *weights, const double *symmetric, multiplying *work)
{
    BB_RETURN_IF_FAILED(bb_residual_scorer_use(&s->gpus[0]));
    BB_RETURN_IF_FAILED(
        bb_residual_scorer_upload(&s->gpus[0], weights, rows * columns, &work->weights));
    BB_RETURN_IF_FAILED(
        bb_residual_scorer_upload(&s->gpus[0], symmetric, columns * columns, &work->values));
    return queue_congruence(s, rows, columns, work->weights, work->values, work);
}

bb_status fetch_diagonal(const bb_residual_scorer *s, const void *square, bb_index rows,
                         double *out)
{
    BB_CUDA_TRY(cudaMemcpy2DAsync(out, word, square, static_cast<size_t>(rows + 1) * word, word,
                                  static_cast<size_t>(rows), cudaMemcpyDeviceToHost,
                                  s->gpus[0].stream));
    return BB_OK;
}

// C <- alpha A op(B) + beta C for A in host memory.
struct slabs {
    bb_row_product product;
    bb_index rows;
    const void *resident; // device copy of product.b; NULL: on the host
    multiplying blocks;
};

// Multiplies some rows of A at a time by all of B.
bb_status compute_product(const bb_residual_scorer *s, slabs *work)
{
    const bb_residual_gpu *gpu = s->gpus;
    const bb_row_product *product = &work->product;
    const bb_index depth = product->depth;
    const bb_index columns = product->columns;
    const bb_index fitting = slab_values / (depth > columns ? depth : columns);
    const bb_index most = fitting > 0 ? fitting : 1;
    const bb_index height = work->rows < most ? work->rows : most;
    multiplying *blocks = &work->blocks;
    BB_RETURN_IF_FAILED(bb_residual_scorer_use(gpu));
    if (work->resident == nullptr) {
        BB_RETURN_IF_FAILED(
            bb_residual_scorer_upload(gpu, product->b, depth * columns, &blocks->values));
    }
    void *right = work->resident == nullptr ? blocks->values : const_cast<void *>(work->resident);
    BB_RETURN_IF_FAILED(bb_residual_scorer_upload(gpu, nullptr, height * depth, &blocks->weights));
    BB_RETURN_IF_FAILED(bb_residual_scorer_upload(gpu, nullptr, height * columns, &blocks->out));
    for (bb_index begin = 0; begin < work->rows; begin += height) {
        const bb_index count = work->rows - begin < height ? work->rows - begin : height;
        double *c = product->c + begin * columns;
        BB_RETURN_IF_FAILED(bb_transfer_upload(gpu->transfer, blocks->weights,
                                               product->a + begin * depth,
                                               static_cast<size_t>(count * depth) * word));
        if (product->beta != 0.0) {
            BB_RETURN_IF_FAILED(bb_transfer_upload(gpu->transfer, blocks->out, c,
                                                   static_cast<size_t>(count * columns) * word));
        }
        bb_dense_product_cuda p = bb_residual_scorer_product(
            blocks->weights, right, blocks->out, count, columns, depth, product->transposed);
        p.alpha = product->alpha;
        p.beta = product->beta;
        BB_RETURN_IF_FAILED(multiply(s, p));
        BB_RETURN_IF_FAILED(bb_residual_scorer_fetch(s, blocks->out, count * columns, c));
    }
    return BB_OK;
}

} // namespace

bb_status bb_residual_scorer_use(const bb_residual_gpu *gpu)
{
    BB_CUDA_TRY(cudaSetDevice(gpu->ordinal));
    return BB_OK;
}

bb_status bb_residual_scorer_wait(const bb_residual_scorer *scorer)
{
    for (bb_index g = scorer->count - 1; g >= 0; --g) {
        BB_RETURN_IF_FAILED(bb_residual_scorer_use(&scorer->gpus[g]));
        BB_CUDA_TRY(cudaStreamSynchronize(scorer->gpus[g].stream));
    }
    return BB_OK;
}

bb_status bb_residual_scorer_upload(const bb_residual_gpu *gpu, const double *values,
                                    bb_index items, void **out)
{
    const size_t bytes = static_cast<size_t>(items) * word;
    BB_RETURN_IF_FAILED(bb_device_allocate(gpu->device, bytes, out));
    return values == nullptr ? BB_OK : bb_transfer_upload(gpu->transfer, *out, values, bytes);
}

bb_status bb_residual_scorer_fetch(const bb_residual_scorer *scorer, const void *source,
                                   bb_index items, double *out)
{
    const bb_residual_gpu *gpu = scorer->gpus;
    BB_RETURN_IF_FAILED(bb_residual_scorer_use(gpu));
    BB_CUDA_TRY(cudaStreamSynchronize(gpu->stream));
    return bb_transfer_download(gpu->transfer, out, source, static_cast<size_t>(items) * word);
}

bb_dense_product_cuda bb_residual_scorer_product(void *a, void *b, void *c, bb_index rows,
                                                 bb_index columns, bb_index depth, bool transposed)
{
    bb_dense_product_cuda p = {};
    p.a = bb_residual_scorer_values(a, 0);
    p.b = bb_residual_scorer_values(b, 0);
    p.c = bb_residual_scorer_values(c, 0);
    p.a_stride = p.depth = depth;
    p.b_stride = transposed ? depth : columns;
    p.c_stride = p.columns = columns;
    p.rows = rows;
    p.transposed = transposed;
    p.alpha = 1.0;
    return p;
}

bb_status bb_residual_scorer_queue(const bb_residual_scorer *scorer, const bb_residual_gpu *gpu,
                                   const bb_dense_product_cuda *product)
{
    return bb_dense_library_product(scorer->library, gpu->handle, product);
}

bb_status bb_residual_scorer_create(bb_index gpus, bb_device *const *devices,
                                    const bb_matrix_source *cmm, bb_residual_scorer **out)
{
    void *block = nullptr;
    *out = nullptr;
    BB_RETURN_IF_FAILED(check_devices(gpus, devices));
    BB_RETURN_IF_FAILED(bb_memory_zeroed(1, sizeof(bb_residual_scorer), &block));
    bb_residual_scorer *scorer = static_cast<bb_residual_scorer *>(block);
    scorer->n = cmm->rows;
    scorer->width = cmm->rows < panel_columns ? cmm->rows : panel_columns;
    scorer->count = gpus;
    for (bb_index g = 0; g < gpus; ++g) {
        scorer->gpus[g].device = devices[g];
    }
    const bb_status status = open_scorer(cmm, scorer);
    if (status != BB_OK) {
        bb_residual_scorer_destroy(&scorer);
        return status;
    }
    *out = scorer;
    return BB_OK;
}

bb_status bb_residual_scorer_add_part(bb_residual_scorer *scorer, const bb_low_rank *part)
{
    void *values = nullptr;
    const bb_index items = scorer->n * part->count;
    BB_RETURN_IF_FAILED(bb_memory_allocate(items, sizeof(double), &values));
    double *scaled = static_cast<double *>(values);
    for (bb_index i = 0; i < items; ++i) {
        scaled[i] = std::sqrt(part->variances[i % part->count]) * part->vectors[i];
    }
    const bb_status status =
        bb_residual_scorer_upload(&scorer->gpus[0], scaled, items, &scorer->vectors);
    scorer->rank = status == BB_OK ? part->count : 0;
    bb_memory_release(&values);
    return status;
}

void bb_residual_scorer_destroy(bb_residual_scorer **scorer)
{
    bb_residual_scorer *s = *scorer;
    if (s == nullptr) {
        return;
    }
    bb_residual_kept_drop(s);
    bb_device_release(s->gpus[0].device, &s->vectors);
    bb_device_release(s->gpus[0].device, &s->weights);
    for (bb_index g = s->count - 1; g >= 0; --g) { // leaves the first GPU current
        close_gpu(s, &s->gpus[g]);
    }
    void *block = s;
    bb_memory_release(&block);
    *scorer = nullptr;
}

bb_status bb_residual_scorer_congruence(bb_residual_scorer *scorer, bb_index rows, bb_index columns,
                                        const double *weights, const double *symmetric, double *out)
{
    multiplying work = {};
    bb_status status = compute_congruence(scorer, rows, columns, weights, symmetric, &work);
    status =
        status == BB_OK ? bb_residual_scorer_fetch(scorer, work.out, rows * rows, out) : status;
    close_products(scorer, &work);
    return status;
}

bb_status bb_residual_scorer_keep_weights(bb_residual_scorer *s, const double *weights,
                                          bb_index items)
{
    if (s->seen_by == weights) {
        return BB_OK;
    }
    bb_device_release(s->gpus[0].device, &s->weights);
    s->seen_by = nullptr;
    BB_RETURN_IF_FAILED(bb_residual_scorer_upload(&s->gpus[0], weights, items, &s->weights));
    s->seen_by = weights;
    return BB_OK;
}

bb_status bb_residual_scorer_see(bb_residual_scorer *scorer, const bb_residual_task *task,
                                 void *product)
{
    const bb_index rows = bb_residual_task_size(task);
    const bb_index columns = task->ctm->rows;
    multiplying work = {};
    bb_status status = bb_residual_scorer_use(&scorer->gpus[0]);
    status = status == BB_OK
                 ? bb_residual_scorer_keep_weights(scorer, task->truth_weights, rows * columns)
                 : status;
    status = status == BB_OK ? fetch_diagonal(scorer, product, columns, task->diagonal) : status;
    status = status == BB_OK
                 ? queue_congruence(scorer, rows, columns, scorer->weights, product, &work)
                 : status;
    status = status == BB_OK ? bb_residual_scorer_fetch(scorer, work.out, rows * rows, task->cee)
                             : status;
    close_products(scorer, &work);
    return status;
}

bb_status bb_residual_scorer_multiply(bb_residual_scorer *scorer, bb_index rows,
                                      const bb_row_product *product, const void *resident)
{
    slabs work = {*product, rows, resident, {}};
    const bb_status status = compute_product(scorer, &work);
    close_products(scorer, &work.blocks);
    return status;
}

bb_status bb_residual_covariance_device(bb_index gpus, bb_device *const *devices,
                                        const bb_matrix_source *cmm, bb_index count,
                                        const bb_residual_task *tasks)
{
    bb_residual_scorer *scorer = nullptr;
    if (count == 0) {
        return BB_OK;
    }
    bb_status status = bb_residual_scorer_create(gpus, devices, cmm, &scorer);
    status = status == BB_OK ? bb_residual_scorer_score(scorer, count, tasks) : status;
    bb_residual_scorer_destroy(&scorer);
    return status;
}
