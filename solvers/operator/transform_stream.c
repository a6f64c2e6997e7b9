// SPDX-License-Identifier: Apache-2.0
#include "solvers/operator/transform_stream.h"

#include "core/memory.h"
#include "core/thread.h"

#include <string.h>

enum { LANES = BB_TRANSFORM_LANES, PART = BB_TRANSFORM_PART_PANELS };

struct bb_transform_stream {
    bb_device *device;
    bb_transform_shape shape;
    bb_transform_bases bases;
    bb_index rows, band_rows;
    double step;
    size_t bytes;
    uint32_t *panel_slices;                                 // [bands][panels + 1], on the host
    void *chunks, *slices, *lanes, *firsts, *basis, *parts; // arrays on the device
};

// Parts of a matrix in storage order.
typedef struct building {
    bb_transform_stream *stream;
    const bb_coded_matrix *matrix;
    bb_transform_part *parts; // [bands][parts per band]
    bb_index part_count;
} building;

static bb_index fill_up(bb_index count, bb_index step)
{
    return (count + step - 1) / step * step;
}

static bb_status copy(bb_transform_stream *stream, const void *source, size_t bytes, void **target)
{
    bb_status status = BB_OK;
    BB_TRY(bb_device_allocate(stream->device, bytes + 16, target)); // allocations must not be empty
    if (bytes > 0) {
        BB_TRY(bb_device_upload(stream->device, *target, source, bytes));
        BB_TRY(bb_device_wait(stream->device));
    }
done:
    return status;
}

// Matrix of a forward transform of cells, and of an inverse one of rows.
static const double *basis_of(const bb_transform_plan *plan, int axis, int rest)
{
    const bb_transform_basis *basis = &plan->basis[axis][rest];
    return axis < BB_TRANSFORM_LINES ? basis->forward : basis->inverse;
}

static bb_status upload_bases(bb_transform_stream *stream, const bb_transform_plan *plan)
{
    bb_status status = BB_OK;
    double *values = NULL;
    bb_index count = 0;
    for (int pass = 0; pass < 2; ++pass) {
        count = 0;
        for (int i = 0; i < 2 * BB_TRANSFORM_AXES; ++i) {
            const bb_transform_basis *basis = &plan->basis[i / 2][i % 2];
            bb_index here = basis->n * basis->pitch;
            stream->bases.first[i / 2][i % 2] = (uint32_t)count;
            stream->bases.pitch[i / 2][i % 2] = (uint32_t)basis->pitch;
            if (pass == 1 && here > 0) {
                memcpy(values + count, basis_of(plan, i / 2, i % 2), (size_t)here * sizeof *values);
            }
            count += here;
        }
        if (pass == 0) {
            BB_TRY(BB_ALLOCATE(count, &values));
        }
    }
    stream->bases.values = (uint32_t)count;
    BB_TRY(copy(stream, values, (size_t)count * sizeof *values, &stream->basis));
done:
    BB_RELEASE(&values);
    return status;
}

// Adds the chunks and slices of a part to the matrix's counts, and records where its panels start.
static bb_status shift_part(const building *all, bb_index index, bb_index chunks, bb_index slices)
{
    bb_status status = BB_OK;
    const bb_transform_part *part = &all->parts[index];
    const bb_index panels = all->stream->shape.panels;
    const bb_index begin = index % all->part_count * PART;
    uint32_t *firsts = all->stream->panel_slices + index / all->part_count * (panels + 1) + begin;
    bb_transform_slice *slice = part->slices.items;
    BB_REQUIRE(chunks + part->chunks.count < UINT32_MAX &&
                   slices + part->slices.count < UINT32_MAX / LANES,
               BB_UNSUPPORTED, "transform matrix on a GPU: %td chunks, expected at most 2^32",
               chunks + part->chunks.count);
    for (bb_index i = 0; i < part->slices.count; ++i) {
        slice[i].chunk += (uint32_t)chunks;
    }
    for (bb_index p = 0; p <= PART && begin + p <= panels; ++p) {
        firsts[p] = (uint32_t)slices + part->firsts[p];
    }
done:
    return status;
}

// One list of all parts for the upload; `list_of` selects it in a part.
typedef struct packing {
    const building *all;
    size_t list_of;
    unsigned char *items;
    size_t *begin; // [parts] byte offset of each part
} packing;

static const bb_transform_list *list_at(const packing *work, bb_index part)
{
    return (const bb_transform_list *)(const void *)((const char *)&work->all->parts[part] +
                                                     work->list_of);
}

static bb_status pack_part(void *context, bb_index part)
{
    const packing *work = context;
    const bb_transform_list *items = list_at(work, part);
    if (items->count > 0) {
        memcpy(work->items + work->begin[part], items->items, (size_t)items->count * items->item);
    }
    return BB_OK;
}

static bb_status copy_lists(const building *all, size_t list_of, void **target)
{
    bb_status status = BB_OK;
    const bb_index parts = all->part_count * all->stream->shape.count[0];
    size_t bytes = 0;
    packing work = {.all = all, .list_of = list_of};
    BB_TRY(BB_ALLOCATE(parts, &work.begin));
    for (bb_index i = 0; i < parts; ++i) {
        const bb_transform_list *items = list_at(&work, i);
        work.begin[i] = bytes;
        bytes += (size_t)items->count * items->item;
    }
    BB_TRY(BB_ALLOCATE((bb_index)bytes + 1, &work.items));
    BB_TRY(bb_thread_for(parts, pack_part, &work));
    BB_TRY(copy(all->stream, work.items, bytes, target));
done:
    BB_RELEASE(&work.begin);
    BB_RELEASE(&work.items);
    return status;
}

static bb_status upload(const building *all, const bb_transform_plan *plan)
{
    bb_status status = BB_OK;
    bb_transform_stream *stream = all->stream;
    const bb_transform_shape *shape = &stream->shape;
    const bb_index limit = BB_TRANSFORM_JOB_BANDS * stream->band_rows;
    const size_t pitch = (size_t)fill_up(stream->rows < limit ? stream->rows : limit, 4);
    const bb_index firsts = shape->count[0] * ((bb_index)shape->panels + 1);
    bb_index chunks = 0;
    bb_index slices = 0;
    BB_TRY(BB_ZEROED(firsts, &stream->panel_slices));
    for (bb_index i = 0; i < all->part_count * shape->count[0]; ++i) {
        BB_TRY(shift_part(all, i, chunks, slices));
        chunks += all->parts[i].chunks.count;
        slices += all->parts[i].slices.count;
    }
    BB_TRY(copy_lists(all, offsetof(bb_transform_part, chunks), &stream->chunks));
    BB_TRY(copy_lists(all, offsetof(bb_transform_part, slices), &stream->slices));
    BB_TRY(copy_lists(all, offsetof(bb_transform_part, lanes), &stream->lanes));
    BB_TRY(copy(stream, stream->panel_slices, (size_t)firsts * sizeof *stream->panel_slices,
                &stream->firsts));
    BB_TRY(upload_bases(stream, plan));
    BB_TRY(bb_device_allocate(stream->device,
                              (shape->panels + BB_TRANSFORM_HELPERS) * pitch * sizeof(double),
                              &stream->parts));
    stream->bytes = (size_t)chunks * BB_TRANSFORM_CHUNK_WORDS * sizeof(uint32_t) +
                    (size_t)slices * (sizeof(bb_transform_slice) + LANES * sizeof(uint32_t)) +
                    (size_t)firsts * sizeof(uint32_t) + stream->bases.values * sizeof(double);
done:
    return status;
}

static bb_status build_part(void *context, bb_index index)
{
    const building *all = context;
    return bb_transform_part_build(all->matrix, &all->stream->shape, index / all->part_count,
                                   index % all->part_count * PART, &all->parts[index]);
}

static bb_status build(bb_transform_stream *stream, const bb_coded_matrix *matrix)
{
    bb_status status = BB_OK;
    building all = {
        .stream = stream, .matrix = matrix, .part_count = (stream->shape.panels + PART - 1) / PART};
    const bb_index parts = all.part_count * stream->shape.count[0];
    BB_TRY(BB_ZEROED(parts, &all.parts));
    BB_TRY(bb_thread_for(parts, build_part, &all));
    BB_TRY(upload(&all, bb_coded_matrix_transform_plan(matrix)));
done:
    for (bb_index i = 0; all.parts != NULL && i < parts; ++i) {
        bb_transform_part_release(&all.parts[i]);
    }
    BB_RELEASE(&all.parts);
    return status;
}

static void shape_of(const bb_transform_plan *plan, bb_transform_shape *out)
{
    for (int axis = 0; axis < BB_TRANSFORM_AXES; ++axis) {
        out->extent[axis] = (uint32_t)plan->extent[axis];
        out->length[axis] = (uint32_t)plan->length[axis];
        out->count[axis] = (uint32_t)plan->count[axis];
    }
    out->cells = out->length[BB_TRANSFORM_LINES] * out->length[BB_TRANSFORM_COLUMNS];
    out->block_rows = out->length[BB_TRANSFORM_ROW_LINES] * out->length[BB_TRANSFORM_ROW_COLUMNS];
    uint32_t blocks = out->count[BB_TRANSFORM_LINES] * out->count[BB_TRANSFORM_COLUMNS];
    uint32_t limit = BB_TRANSFORM_PANEL_CELLS / out->cells;
    out->panels = (blocks + limit - 1) / limit;
    out->panel_blocks = (blocks + out->panels - 1) / out->panels;
}

bb_status bb_transform_stream_create(bb_device *device, const bb_coded_matrix *matrix,
                                     bb_transform_stream **out)
{
    bb_status status = BB_OK;
    bb_transform_stream *stream = NULL;
    const bb_transform_plan *plan = bb_coded_matrix_transform_plan(matrix);
    *out = NULL;
    BB_REQUIRE(bb_coded_matrix_columns(matrix) < (bb_index)UINT32_MAX &&
                   bb_coded_matrix_rows(matrix) < (bb_index)UINT32_MAX,
               BB_UNSUPPORTED, "transform matrix on a GPU: %td x %td, expected less than 2^32 each",
               bb_coded_matrix_rows(matrix), bb_coded_matrix_columns(matrix));
    BB_TRY(BB_ZEROED(1, &stream));
    stream->device = device;
    stream->rows = bb_coded_matrix_rows(matrix);
    stream->band_rows = bb_coded_matrix_band(matrix);
    stream->step = plan->step;
    shape_of(plan, &stream->shape);
    BB_TRY(build(stream, matrix));
    *out = stream;
    stream = NULL;
done:
    bb_transform_stream_destroy(&stream);
    return status;
}

void bb_transform_stream_destroy(bb_transform_stream **stream)
{
    bb_transform_stream *transform_stream = *stream;
    if (transform_stream != NULL) {
        bb_device_release(transform_stream->device, &transform_stream->chunks);
        bb_device_release(transform_stream->device, &transform_stream->slices);
        bb_device_release(transform_stream->device, &transform_stream->lanes);
        bb_device_release(transform_stream->device, &transform_stream->firsts);
        bb_device_release(transform_stream->device, &transform_stream->basis);
        bb_device_release(transform_stream->device, &transform_stream->parts);
        BB_RELEASE(&transform_stream->panel_slices);
        BB_RELEASE(stream);
    }
}

size_t bb_transform_stream_bytes(const bb_transform_stream *stream)
{
    return stream->bytes;
}

bool bb_transform_stream_alike(const bb_transform_stream *one, const bb_transform_stream *other)
{
    return memcmp(&one->shape, &other->shape, sizeof one->shape) == 0;
}

// Number of slices of a panel over the matrices and bands of a task.
static uint32_t slices_of(const bb_transform_stream *const *streams, const bb_transform_task *task,
                          uint32_t panel)
{
    uint32_t count = 0;
    for (int j = 0; j < task->count; ++j) {
        for (uint32_t b = task->band; b < task->band + task->bands; ++b) {
            const uint32_t *first =
                streams[j]->panel_slices + (size_t)b * (task->shape.panels + 1) + panel;
            count += first[1] - first[0];
        }
    }
    return count;
}

// Panels with more slices than `most` get helper blocks; finds the smallest `most`, in steps, for
// which there are enough helpers.
static void add_helpers(const bb_transform_stream *const *streams, bb_transform_task *task)
{
    const uint32_t panels = task->shape.panels;
    bool fits = false;
    for (uint32_t limit = 2 * BB_TRANSFORM_WARPS; !fits; limit += limit / 4) {
        fits = true;
        task->blocks = panels;
        for (uint32_t panel = 0; fits && panel < panels; ++panel) {
            uint32_t slices = slices_of(streams, task, panel);
            for (uint32_t taken = limit; fits && taken < slices; taken += limit) {
                fits = task->blocks < panels + BB_TRANSFORM_HELPERS;
                if (fits) {
                    task->helps[task->blocks++ - panels] = panel;
                }
            }
        }
    }
}

bb_index bb_transform_stream_task(const bb_transform_stream *const *streams, int count,
                                  bb_index row, bb_index rows, bb_transform_task *out)
{
    const bb_transform_stream *first = streams[0];
    bb_index band = row / first->band_rows;
    bb_index past = (row + rows + first->band_rows - 1) / first->band_rows;
    if (past > band + BB_TRANSFORM_JOB_BANDS) {
        past = band + BB_TRANSFORM_JOB_BANDS;
        rows = past * first->band_rows - row;
    }
    *out = (bb_transform_task){.count = count,
                               .shape = first->shape,
                               .bases = first->bases,
                               .basis = first->basis,
                               .row = (uint64_t)row,
                               .rows = (uint32_t)rows,
                               .band = (uint32_t)band,
                               .bands = (uint32_t)(past - band),
                               .part_pitch = (uint32_t)fill_up(rows, 4)};
    for (int j = 0; j < count; ++j) {
        const bb_transform_stream *stream = streams[j];
        out->jobs[j] = (bb_transform_job){.chunks = stream->chunks,
                                          .slices = stream->slices,
                                          .lanes = stream->lanes,
                                          .firsts = (const uint32_t *)stream->firsts +
                                                    (size_t)band * (stream->shape.panels + 1),
                                          .parts = stream->parts,
                                          .step = stream->step};
    }
    add_helpers(streams, out);
    return rows;
}
