// SPDX-License-Identifier: Apache-2.0
#include "solvers/operator/transform_encoder.h"

#include "core/memory.h"
#include "core/thread.h"
#include "solvers/operator/device_coding.h"

#include <math.h>
#include <string.h>

static const bb_kernel kernel = {.name = "transform_encoder",
                                 .grain = 1,
                                 .run[BB_DEVICE_CUDA] =
                                     BB_CUDA_TWIN(bb_transform_encoder_encode_cuda)};

bool bb_transform_encoder_available(const bb_codec_config *storage)
{
    return kernel.run[BB_DEVICE_CUDA] != NULL &&
           bb_codec_form_of(storage).kind == BB_FORM_COEFFICIENTS;
}

// Device blocks, and results copied to the host.
typedef struct encoding {
    bb_device *device;
    const bb_device_coding *coding;
    bb_coded_matrix *matrix;
    const bb_transform_plan *plan;
    bb_transform_encoding task;
    bb_stream_tally tally;
    uint32_t *words;              // words of all blocks, in any order
    bb_transform_record *records; // [bands][blocks per band]
    bb_row_certificate *certificates;
    bb_transform_path *paths; // [rows][strips], for certificates
    uint64_t *sums;           // [blocks of rows][frequencies]
    uint32_t *counts;         // [blocks of rows][lines of blocks][frequencies]
    void *factors, *bases, *orders, *there, *used, *places, *errors, *totals, *tally_there;
    void *paths_there, *sums_there, *counts_there;
} encoding;

static void release(encoding *work)
{
    void **blocks[] = {&work->factors,     &work->bases,      &work->orders,
                       &work->there,       &work->used,       &work->places,
                       &work->errors,      &work->totals,     &work->tally_there,
                       &work->paths_there, &work->sums_there, &work->counts_there};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; ++i) {
        bb_device_release(work->device, blocks[i]);
    }
    bb_coded_matrix_destroy(&work->matrix);
    BB_RELEASE(&work->words);
    BB_RELEASE(&work->records);
    BB_RELEASE(&work->paths);
    BB_RELEASE(&work->sums);
    BB_RELEASE(&work->counts);
}

static bb_status place_bases(encoding *work)
{
    bb_status status = BB_OK;
    double *values = NULL;
    bb_index count = 0;
    for (int axis = 0; axis < BB_TRANSFORM_AXES; ++axis) {
        for (int rest = 0; rest < 2; ++rest) {
            count += 2 * work->plan->basis[axis][rest].n * work->plan->basis[axis][rest].pitch;
        }
    }
    BB_TRY(BB_ALLOCATE(count, &values));
    count = 0;
    for (int i = 0; i < 4 * BB_TRANSFORM_AXES; ++i) {
        const bb_transform_basis *basis = &work->plan->basis[i / 4][i / 2 % 2];
        const bb_index here = basis->n * basis->pitch;
        work->task.basis[i / 4][i / 2 % 2][i % 2] = (uint32_t)count;
        if (here > 0) {
            memcpy(values + count, i % 2 == 0 ? basis->forward : basis->inverse,
                   (size_t)here * sizeof *values);
        }
        count += here;
    }
    BB_TRY(bb_stream_encoder_place(work->device, values, (size_t)count * sizeof *values,
                                   &work->bases));
    work->task.bases = work->bases;
done:
    BB_RELEASE(&values);
    return status;
}

// Positions of the coefficients of a kind of block; returns their number.
static bb_index order_of(const bb_transform_plan *plan, unsigned kind, uint16_t *out)
{
    bb_index size[BB_TRANSFORM_AXES];
    for (int axis = 0; axis < BB_TRANSFORM_AXES; ++axis) {
        size[axis] = plan->basis[axis][kind >> axis & 1U].n;
    }
    const bb_transform_place *order = plan->order[kind];
    const bb_index count = order == NULL ? 0 : size[0] * size[1] * size[2] * size[3];
    const bb_index pitch = size[3] | 1;
    for (bb_index i = 0; out != NULL && i < count; ++i) {
        const bb_index line = order[i].row * size[2] + order[i].cell / size[3];
        out[i] = (uint16_t)(line * pitch + order[i].cell % size[3]);
    }
    return count;
}

static bb_status place_orders(encoding *work)
{
    bb_status status = BB_OK;
    uint16_t *places = NULL;
    bb_index count = 0;
    for (unsigned kind = 0; kind < BB_TRANSFORM_KINDS; ++kind) {
        count += order_of(work->plan, kind, NULL);
    }
    BB_TRY(BB_ALLOCATE(count, &places));
    count = 0;
    for (unsigned kind = 0; kind < BB_TRANSFORM_KINDS; ++kind) {
        work->task.order[kind] = (uint32_t)count;
        count += order_of(work->plan, kind, places + count);
    }
    BB_TRY(bb_stream_encoder_place(work->device, places, (size_t)count * sizeof *places,
                                   &work->orders));
    work->task.orders = work->orders;
done:
    BB_RELEASE(&places);
    return status;
}

static bb_index blocks_of_band(const bb_transform_plan *plan)
{
    return plan->count[BB_TRANSFORM_ROW_COLUMNS] * plan->count[BB_TRANSFORM_LINES] *
           plan->count[BB_TRANSFORM_COLUMNS];
}

static bb_index blocks_of(const bb_transform_plan *plan)
{
    return plan->count[BB_TRANSFORM_ROW_LINES] * blocks_of_band(plan);
}

static bb_status start(encoding *work)
{
    bb_status status = BB_OK;
    const bb_device_coding *coding = work->coding;
    const bb_matrix_layout *layout = coding->layout;
    bb_transform_encoding *task = &work->task;
    BB_TRY(bb_coded_matrix_create(coding->storage, coding->scale, layout, &work->matrix));
    work->plan = bb_coded_matrix_transform_plan(work->matrix);
    const bb_transform_plan *plan = work->plan;
    if (coding->factors != NULL) {
        BB_TRY(bb_stream_encoder_place(work->device, coding->factors,
                                       (size_t)layout->rows * sizeof(double), &work->factors));
    }
    task->source = (bb_stream_rows){coding->values, work->factors, layout->rows, layout->columns};
    for (int axis = 0; axis < BB_TRANSFORM_AXES; ++axis) {
        task->extent[axis] = (uint32_t)plan->extent[axis];
        task->length[axis] = (uint32_t)plan->length[axis];
        task->count[axis] = (uint32_t)plan->count[axis];
        task->has_room |= plan->length[axis] > BB_TRANSFORM_SHORT;
    }
    task->padded = task->length[0] * task->length[1] * task->length[2] * (task->length[3] | 1U);
    task->strips = (task->count[2] * task->count[3] + BB_TRANSFORM_STRIP - 1) / BB_TRANSFORM_STRIP;
    task->step = plan->step;
    BB_TRY(place_bases(work));
    BB_TRY(place_orders(work));
done:
    return status;
}

// Sizes of the arrays of paths.
typedef struct path_counts {
    size_t paths, sums, counts;
} path_counts;

static path_counts path_counts_of(const encoding *work)
{
    const bb_transform_encoding *task = &work->task;
    const size_t groups = (size_t)task->count[0] * task->count[1];
    const size_t rows = (size_t)task->length[0] * task->length[1];
    return (path_counts){(size_t)task->source.rows * task->strips, groups * rows,
                         groups * task->count[2] * rows};
}

static bb_status read_paths(encoding *work)
{
    bb_status status = BB_OK;
    bb_transform_encoding *task = &work->task;
    const path_counts count = path_counts_of(work);
    BB_TRY(BB_ALLOCATE((bb_index)count.paths, &work->paths));
    BB_TRY(BB_ALLOCATE((bb_index)count.sums, &work->sums));
    BB_TRY(BB_ALLOCATE((bb_index)count.counts, &work->counts));
    BB_TRY(bb_device_allocate(work->device, count.paths * sizeof *task->paths, &work->paths_there));
    BB_TRY(bb_device_allocate(work->device, count.sums * sizeof *task->sums, &work->sums_there));
    BB_TRY(
        bb_device_allocate(work->device, count.counts * sizeof *task->counts, &work->counts_there));
    task->paths = work->paths_there;
    task->sums = work->sums_there;
    task->counts = work->counts_there;
done:
    return status;
}

static bb_status zero_paths(encoding *work)
{
    bb_status status = BB_OK;
    const path_counts count = path_counts_of(work);
    if (work->paths != NULL) {
        BB_TRY(bb_device_zero(work->device, work->sums_there, count.sums * sizeof *work->sums));
        BB_TRY(
            bb_device_zero(work->device, work->counts_there, count.counts * sizeof *work->counts));
    }
done:
    return status;
}

static bb_status download_paths(encoding *work)
{
    bb_status status = BB_OK;
    const path_counts count = path_counts_of(work);
    if (work->paths != NULL) {
        BB_TRY(bb_device_download(work->device, work->paths, work->paths_there,
                                  count.paths * sizeof *work->paths));
        BB_TRY(bb_device_download(work->device, work->sums, work->sums_there,
                                  count.sums * sizeof *work->sums));
        BB_TRY(bb_device_download(work->device, work->counts, work->counts_there,
                                  count.counts * sizeof *work->counts));
    }
done:
    return status;
}

static bb_status allocate_workspace(encoding *work)
{
    bb_status status = BB_OK;
    bb_transform_encoding *task = &work->task;
    const size_t rows = (size_t)task->source.rows;
    BB_TRY(bb_device_allocate(work->device, rows * task->strips * sizeof *task->errors,
                              &work->errors));
    BB_TRY(bb_device_allocate(work->device, rows * sizeof *task->totals, &work->totals));
    BB_TRY(bb_device_allocate(work->device, (size_t)blocks_of(work->plan) * sizeof *task->records,
                              &work->places));
    BB_TRY(bb_device_allocate(work->device, sizeof *task->used, &work->used));
    BB_TRY(bb_device_allocate(work->device, sizeof *task->tally, &work->tally_there));
    task->errors = work->errors;
    task->totals = work->totals;
    task->records = work->places;
    task->used = work->used;
    if (work->certificates != NULL) {
        BB_TRY(read_paths(work));
    }
    task->tally = work->tally_there;
done:
    return status;
}

// Encodes all blocks into a buffer of `capacity` words; `used` is the required number.
static bb_status encode_into(encoding *work, uint64_t capacity, uint64_t *used)
{
    bb_status status = BB_OK;
    bb_transform_encoding *task = &work->task;
    bb_device_release(work->device, &work->there);
    BB_TRY(bb_device_allocate(work->device, capacity * sizeof *task->words, &work->there));
    task->words = work->there;
    task->capacity = capacity;
    BB_TRY(bb_device_zero(work->device, work->used, sizeof *task->used));
    BB_TRY(bb_device_zero(work->device, work->tally_there, sizeof *task->tally));
    BB_TRY(zero_paths(work));
    BB_TRY(bb_device_launch(work->device, &kernel, task->source.rows, task));
    BB_TRY(bb_device_download(work->device, used, work->used, sizeof *used));
done:
    return status;
}

// Capacity of the first attempt: two bits per value.
static double words_at_first(double rows, double columns)
{
    return ceil(rows * columns / 16.0) + 4096.0;
}

static bb_status encode_blocks(encoding *work)
{
    bb_status status = BB_OK;
    const bb_stream_rows *source = &work->task.source;
    const uint64_t first = (uint64_t)words_at_first((double)source->rows, (double)source->columns);
    const bb_index blocks = blocks_of(work->plan);
    uint64_t used = 0;
    BB_TRY(encode_into(work, first, &used));
    if (used > first) {
        BB_TRY(encode_into(work, used, &used));
    }
    BB_TRY(BB_ALLOCATE((bb_index)used + 1, &work->words));
    BB_TRY(BB_ALLOCATE(blocks, &work->records));
    BB_TRY(bb_device_download(work->device, work->words, work->there, used * sizeof *work->words));
    BB_TRY(bb_device_download(work->device, work->records, work->places,
                              (size_t)blocks * sizeof *work->records));
    BB_TRY(download_paths(work));
    BB_TRY(bb_device_download(work->device, &work->tally, work->tally_there, sizeof work->tally));
done:
    return status;
}

// Integers counted by the device for a block of rows.
static bb_transform_spectrum spectrum_of(const encoding *work, bb_index number, bb_index across,
                                         bb_index rows)
{
    const bb_transform_plan *plan = work->plan;
    const bb_index pitch = plan->length[0] * plan->length[1];
    const bb_index lines = plan->count[BB_TRANSFORM_LINES];
    const bb_index mesh = lines * plan->count[BB_TRANSFORM_COLUMNS];
    const bb_index group = number * plan->count[1] + across;
    bb_transform_spectrum out = {.longest = 0.0};
    for (bb_index k = 0; k < rows; ++k) {
        out.all[k] = (double)work->sums[group * pitch + k];
        for (bb_index line = 0; line < lines; ++line) {
            const double count = (double)work->counts[(group * lines + line) * pitch + k];
            out.count[k] += count;
            out.longest = fmax(out.longest, count);
        }
    }
    for (bb_index m = 0; m < mesh; ++m) {
        out.poisoned |= work->records[group * mesh + m].words == 1;
    }
    return out;
}

static bb_status finish_paths(const encoding *work, bb_index number, bb_index rows)
{
    bb_status status = BB_OK;
    const bb_transform_plan *plan = work->plan;
    const bb_index first = number * bb_coded_matrix_band(work->matrix);
    const bb_index strips = work->task.strips;
    bb_row_rounding *paths = NULL; // [rows]
    BB_TRY(BB_ZEROED(rows, &paths));
    for (bb_index i = 0; i < rows * strips; ++i) {
        const bb_transform_path *path = &work->paths[first * strips + i];
        bb_row_rounding *out = &paths[i / strips];
        out->norm_1 += path->norm_1;
        out->norm_2 += path->norm_2;
        out->largest = fmax(out->largest, path->largest);
    }
    for (bb_index across = 0; across < plan->count[BB_TRANSFORM_ROW_COLUMNS]; ++across) {
        const bb_transform_block block = bb_transform_block_of(plan, number, across, 0);
        const bb_transform_spectrum spectrum = spectrum_of(work, number, across, block.rows);
        bb_row_roundings_of_blocks(plan, &block, &spectrum, paths);
    }
    for (bb_index i = 0; i < rows; ++i) {
        work->certificates[first + i].path = paths[i];
    }
done:
    BB_RELEASE(&paths);
    return status;
}

// Copies the words of a band in order, and the paths of its rows.
static bb_status finish_band(void *context, bb_index number)
{
    bb_status status = BB_OK;
    const encoding *work = context;
    const bb_index blocks = blocks_of_band(work->plan);
    const bb_transform_record *records = work->records + number * blocks;
    const bb_index step = bb_coded_matrix_band(work->matrix);
    const bb_index rest = bb_coded_matrix_rows(work->matrix) - number * step;
    bb_transform_band band = {.row = number * step, .rows = rest < step ? rest : step};
    BB_TRY(BB_ZEROED(blocks + 1, &band.first));
    for (bb_index b = 0; b < blocks; ++b) {
        band.first[b + 1] = band.first[b] + records[b].words;
    }
    BB_TRY(BB_ALLOCATE((bb_index)band.first[blocks], &band.words));
    for (bb_index b = 0; b < blocks; ++b) {
        if (records[b].words > 0) {
            memcpy(band.words + band.first[b], work->words + records[b].first,
                   records[b].words * sizeof *band.words);
        }
    }
    bb_coded_matrix_transform_adopt(work->matrix, number, &band);
    if (work->certificates != NULL) {
        BB_TRY(finish_paths(work, number, band.rows));
    }
done:
    BB_RELEASE(&band.words);
    BB_RELEASE(&band.first);
    return status;
}

bb_status bb_transform_encoder_encode(bb_device *device, const bb_device_coding *coding,
                                      bb_coding_loss *loss, bb_row_certificate *certificates,
                                      bb_coded_matrix **out)
{
    bb_status status = BB_OK;
    encoding work = {.device = device, .coding = coding, .certificates = certificates};
    *out = NULL;
    BB_TRY(start(&work));
    BB_TRY(allocate_workspace(&work));
    BB_TRY(encode_blocks(&work));
    *loss = (bb_coding_loss){.non_finite = (double)work.tally.non_finite};
    BB_TRY(bb_stream_encoder_collect(device, work.totals, coding->layout->rows, &loss->norms,
                                     certificates));
    BB_TRY(bb_thread_for(work.plan->count[BB_TRANSFORM_ROW_LINES], finish_band, &work));
    loss->bytes = (double)bb_coded_matrix_bytes(work.matrix);
    *out = work.matrix;
    work.matrix = NULL;
done:
    release(&work);
    return status;
}

// Words of `blocks` blocks at 4 bits per value, with a map and codes: four times the words that
// scattered burls need at 5e-13. More is allocated once the actual number is known.
static double words_planned(double rows, double columns, double blocks)
{
    static const double bits = 4.0;
    const double groups = rows * columns / BB_TRANSFORM_GROUP + blocks;
    return rows * columns * bits / 32.0 + groups * (1.0 / 32.0 + 1.0 / 8.0) + 2.0 * blocks;
}

// Smallest number of values of a block; strips are rounded up.
bb_need bb_transform_encoder_need(double rows, double columns)
{
    static const double least_cells = 8.0;
    const double blocks = rows * columns / least_cells / 16.0;
    const double words = fmax(words_at_first(rows, columns), words_planned(rows, columns, blocks)) *
                         sizeof(uint32_t);
    return (bb_need){.host_bytes = 2.0 * words + blocks * sizeof(bb_transform_record) +
                                   rows * sizeof(bb_stream_errors),
                     .device_bytes = words + blocks * sizeof(bb_transform_record) +
                                     rows * (sizeof(bb_stream_errors) + sizeof(bb_transform_path)) *
                                         (2.0 + columns / least_cells / BB_TRANSFORM_STRIP)};
}
