// SPDX-License-Identifier: Apache-2.0
#include "solvers/operator/device_matrix.h"

#include "core/memory.h"
#include "precision/codecs/low_rank.h"
#include "solvers/operator/low_rank_stream.h"
#include "solvers/operator/transform_stream.h"
#include "solvers/operator/zfp_panels.h"

#include <math.h>

static const bb_kernel stream_kernel = {.name = "coded_stream_product",
                                        .grain = 1,
                                        .run[BB_DEVICE_CUDA] =
                                            BB_CUDA_TWIN(bb_coded_stream_multiply_cuda)};
static const bb_kernel low_rank_kernel = {.name = "low_rank_product",
                                          .grain = 1,
                                          .run[BB_DEVICE_CUDA] =
                                              BB_CUDA_TWIN(bb_low_rank_stream_multiply_cuda)};
static const bb_kernel transform_kernel = {.name = "transform_product",
                                           .grain = 1,
                                           .run[BB_DEVICE_CUDA] =
                                               BB_CUDA_TWIN(bb_transform_stream_multiply_cuda)};
static const bb_kernel zfp_kernel = {.name = "zfp_product",
                                     .grain = 1,
                                     .run[BB_DEVICE_CUDA] =
                                         BB_CUDA_TWIN(bb_zfp_panels_multiply_cuda)};

static bb_status queue_items(const bb_kernel *kernel, bb_queue *queue, bb_index items, void *task)
{
    return kernel->run[BB_DEVICE_CUDA](queue, 0, items, task);
}

typedef struct form form;

struct bb_device_matrix {
    const form *form;
    bb_index first, rows;         // range of the matrix's rows
    double share;                 // if a form copies whole matrices
    bb_device_matrix_shape shape; // for an operator of the matrix
    bb_coded_stream *stream;
    bb_low_rank_stream *tiles;
    bb_transform_stream *blocks;
    bb_zfp_panels *panels;
};

struct form {
    bb_status (*create)(bb_device *device, const bb_coded_matrix *matrix, bb_device_matrix *out);
    size_t (*bytes)(const bb_device_matrix *matrix, bb_stream_sums sums);
    bool (*alike)(const bb_device_matrix *one, const bb_device_matrix *other);
    bb_status (*multiply)(bb_queue *queue, bb_index rows, const bb_device_product *product);
    double (*index_bits)(const bb_codec_config *storage); // additional bits per value; NULL: none
};

static bb_status create_stream(bb_device *device, const bb_coded_matrix *matrix,
                               bb_device_matrix *out)
{
    return bb_coded_stream_create(device, matrix, out->first, out->rows, &out->stream);
}

static size_t stream_bytes(const bb_device_matrix *matrix, bb_stream_sums sums)
{
    return bb_coded_stream_bytes(matrix->stream, sums);
}

static bool streams_alike(const bb_device_matrix *one, const bb_device_matrix *other)
{
    return bb_coded_stream_alike(one->stream, other->stream);
}

// Number of matrices from `first` on that one launch multiplies; in limbs only matrices that share
// the limbs.
static int count_together(const bb_device_product *product, int first)
{
    int count = 1;
    while (first + count < product->count &&
           (product->sums != BB_STREAM_LIMBS ||
            bb_coded_stream_shares_limbs(product->matrices[first]->stream,
                                         product->matrices[first + count]->stream))) {
        ++count;
    }
    return count;
}

static bb_status multiply_streams(bb_queue *queue, bb_index rows, const bb_device_product *product)
{
    for (int first = 0, count = 0; first < product->count; first += count) {
        bb_device_matrix *const *matrices = product->matrices + first;
        bb_stream_task task = bb_coded_stream_task(matrices[0]->stream, product->sums);
        count = count_together(product, first);
        task.row = product->row;
        task.rows = rows;
        task.row_at = product->row_at;
        task.run = (int)product->run;
        task.x = product->x;
        task.operands = count;
        for (int i = 0; i < count; ++i) {
            task.operand[i] = bb_coded_stream_task(matrices[i]->stream, product->sums).operand[0];
            task.operand[i].y = product->y[first + i];
        }
        BB_RETURN_IF_FAILED(queue_items(&stream_kernel, queue, rows, &task));
    }
    return BB_OK;
}

static bb_status create_tiles(bb_device *device, const bb_coded_matrix *matrix,
                              bb_device_matrix *out)
{
    return bb_low_rank_stream_create(device, matrix, &out->tiles);
}

static size_t tile_bytes(const bb_device_matrix *matrix, bb_stream_sums sums)
{
    (void)sums;
    return bb_low_rank_stream_bytes(matrix->tiles);
}

static bool tiles_alike(const bb_device_matrix *one, const bb_device_matrix *other)
{
    return bb_low_rank_stream_alike(one->tiles, other->tiles);
}

// A launch covers a bounded number of bands, more than a slit needs.
static bb_status multiply_tiles(bb_queue *queue, bb_index rows, const bb_device_product *product)
{
    const bb_index first = product->matrices[0]->first + product->row;
    bb_low_rank_task task = {.sums = product->sums, .count = product->count};
    for (bb_index done = 0, taken = 0; done < rows; done += taken) {
        for (int i = 0; i < product->count; ++i) {
            const bb_low_rank_stream *matrix = product->matrices[i]->tiles;
            bb_low_rank_job *job = &task.jobs[i];
            int cells = bb_low_rank_stream_cells(matrix);
            task.cells = cells > task.cells ? cells : task.cells;
            taken = bb_low_rank_stream_job(matrix, first + done, rows - done, job);
            job->x = task.sums == BB_STREAM_WIDE ? product->x : NULL;
            job->x_f32 = task.sums == BB_STREAM_WIDE ? NULL : product->x;
            job->y = product->y[i] + done;
        }
        BB_RETURN_IF_FAILED(queue_items(&low_rank_kernel, queue, taken, &task));
    }
    return BB_OK;
}

static bb_status create_blocks(bb_device *device, const bb_coded_matrix *matrix,
                               bb_device_matrix *out)
{
    return bb_transform_stream_create(device, matrix, &out->blocks);
}

static size_t block_bytes(const bb_device_matrix *matrix, bb_stream_sums sums)
{
    (void)sums;
    return bb_transform_stream_bytes(matrix->blocks);
}

static bool blocks_alike(const bb_device_matrix *one, const bb_device_matrix *other)
{
    return bb_transform_stream_alike(one->blocks, other->blocks);
}

static bb_status multiply_blocks(bb_queue *queue, bb_index rows, const bb_device_product *product)
{
    const bb_transform_stream *matrices[BB_TRANSFORM_JOBS];
    const bb_index first = product->matrices[0]->first + product->row;
    bb_transform_task task;
    for (int i = 0; i < product->count; ++i) {
        matrices[i] = product->matrices[i]->blocks;
    }
    for (bb_index done = 0, taken = 0; done < rows; done += taken) {
        taken =
            bb_transform_stream_task(matrices, product->count, first + done, rows - done, &task);
        task.sums = product->sums;
        task.x = task.sums == BB_STREAM_WIDE ? product->x : NULL;
        task.x_f32 = task.sums == BB_STREAM_WIDE ? NULL : product->x;
        for (int i = 0; i < product->count; ++i) {
            task.jobs[i].y = product->y[i] + done;
        }
        BB_RETURN_IF_FAILED(queue_items(&transform_kernel, queue, taken, &task));
    }
    return BB_OK;
}

static bb_status create_panels(bb_device *device, const bb_coded_matrix *matrix,
                               bb_device_matrix *out)
{
    return bb_zfp_panels_create(device, matrix, &out->panels);
}

static size_t panel_bytes(const bb_device_matrix *matrix, bb_stream_sums sums)
{
    (void)sums;
    return bb_zfp_panels_bytes(matrix->panels);
}

static bool panels_alike(const bb_device_matrix *one, const bb_device_matrix *other)
{
    return bb_zfp_panels_alike(one->panels, other->panels);
}

static bb_status multiply_panels(bb_queue *queue, bb_index rows, const bb_device_product *product)
{
    const bb_index first = product->matrices[0]->first + product->row;
    bb_zfp_task task = bb_zfp_panels_task(product->matrices[0]->panels, first, rows);
    task.sums = product->sums;
    task.x = product->x;
    task.operands = product->count;
    for (int i = 0; i < product->count; ++i) {
        const bb_zfp_panels *matrix = product->matrices[i]->panels;
        task.operand[i] = bb_zfp_panels_task(matrix, first, rows).operand[0];
        task.operand[i].y = product->y[i];
    }
    return queue_items(&zfp_kernel, queue, rows, &task);
}

// Streams of variable rate need an index.
static double panel_index_bits(const bb_codec_config *storage)
{
    bool varies = isnan(bb_codec_bits_per_value(storage));
    bb_index dimensions = storage->dimensions;
    return !varies ? 0.0
                   : bb_zfp_panels_index_bits(dimensions == BB_INTEGER_UNSET ? 2 : (int)dimensions);
}

// Forms on a GPU; those without an entry are decoded on the cpu only.
static const form of_rows = {create_stream, stream_bytes, streams_alike, multiply_streams, NULL};
static const form of_tiles = {create_tiles, tile_bytes, tiles_alike, multiply_tiles, NULL};
static const form of_blocks = {create_blocks, block_bytes, blocks_alike, multiply_blocks, NULL};
static const form of_panels = {create_panels, panel_bytes, panels_alike, multiply_panels,
                               panel_index_bits};
static const form *const forms[BB_FORM_KINDS] = {
    [BB_FORM_INTEGERS] = &of_rows,       [BB_FORM_STEPS] = &of_rows,
    [BB_FORM_WORDS] = &of_rows,          [BB_FORM_BLOCKS] = &of_rows,
    [BB_FORM_QUOTIENTS] = &of_rows,      [BB_FORM_TILES] = &of_tiles,
    [BB_FORM_COEFFICIENTS] = &of_blocks, [BB_FORM_STREAMS] = &of_panels,
};

double bb_device_matrix_index_bits(const bb_codec_config *storage)
{
    const form *found = forms[bb_codec_form_of(storage).kind];
    return found == NULL || found->index_bits == NULL ? 0.0 : found->index_bits(storage);
}

bb_status bb_device_matrix_create(bb_device *device, const bb_coded_matrix *matrix, bb_index first,
                                  bb_index rows, bb_device_matrix **out)
{
    bb_status status = BB_OK;
    bb_device_matrix *made = NULL;
    const bb_codec_config *storage = bb_coded_matrix_config(matrix);
    const char *absent = bb_codec_absent(storage, BB_DEVICE_CUDA);
    *out = NULL;
    BB_TRY(BB_ZEROED(1, &made));
    made->form = forms[bb_codec_form_of(storage).kind];
    made->first = first;
    made->rows = rows;
    made->share = (double)rows / (double)bb_coded_matrix_rows(matrix);
    made->shape = (bb_device_matrix_shape){
        .storage = *storage, .rows = rows, .columns = bb_coded_matrix_columns(matrix)};
    BB_REQUIRE(made->form != NULL && absent == NULL, BB_UNSUPPORTED, "storage %s: %s",
               bb_codec_name(storage->codec),
               absent != NULL ? absent : "products on a GPU are not supported; choose device: cpu");
    BB_TRY(made->form->create(device, matrix, made));
    *out = made;
    made = NULL;
done:
    bb_device_matrix_destroy(&made);
    return status;
}

bb_status bb_device_matrix_of_stream(bb_coded_stream **stream, const bb_device_matrix_shape *shape,
                                     bb_device_matrix **out)
{
    bb_status status = BB_OK;
    bb_device_matrix *made = NULL;
    *out = NULL;
    BB_TRY(BB_ZEROED(1, &made));
    made->form = &of_rows;
    made->rows = shape->rows;
    made->share = 1.0;
    made->shape = *shape;
    made->stream = *stream;
    *stream = NULL;
    *out = made;
done:
    bb_coded_stream_destroy(stream);
    return status;
}

const bb_device_matrix_shape *bb_device_matrix_shape_of(const bb_device_matrix *matrix)
{
    return &matrix->shape;
}

void bb_device_matrix_destroy(bb_device_matrix **matrix)
{
    bb_device_matrix *device_matrix = *matrix;
    if (device_matrix != NULL) {
        bb_coded_stream_destroy(&device_matrix->stream);
        bb_low_rank_stream_destroy(&device_matrix->tiles);
        bb_transform_stream_destroy(&device_matrix->blocks);
        bb_zfp_panels_destroy(&device_matrix->panels);
        BB_RELEASE(matrix);
    }
}

size_t bb_device_matrix_bytes(const bb_device_matrix *matrix, bb_stream_sums sums)
{
    const double share = matrix->stream != NULL ? 1.0 : matrix->share;
    return (size_t)llround(share * (double)matrix->form->bytes(matrix, sums));
}

bool bb_device_matrix_alike(const bb_device_matrix *one, const bb_device_matrix *other)
{
    // Forms that copy whole matrices must start at the same row.
    const bool rows = one->stream != NULL || one->first == other->first;
    return one->form == other->form && rows && one->form->alike(one, other);
}

const bb_coded_stream *bb_device_matrix_stream(const bb_device_matrix *matrix)
{
    return matrix->stream;
}

bb_status bb_device_matrix_multiply(bb_queue *queue, bb_index begin, bb_index rows, void *product)
{
    const bb_device_product *device_product = product;
    (void)begin;
    return device_product->matrices[0]->form->multiply(queue, rows, device_product);
}

bool bb_device_matrix_available(void)
{
    return stream_kernel.run[BB_DEVICE_CUDA] != NULL;
}
