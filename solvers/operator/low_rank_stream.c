// SPDX-License-Identifier: Apache-2.0
#include "solvers/operator/low_rank_stream.h"

#include "core/memory.h"

struct bb_low_rank_stream {
    bb_device *device;
    bb_index band_rows, bands, mesh_columns;
    int cells;
    size_t bytes;
    bb_low_rank_band_place *places;                      // [bands], on the host
    uint32_t *first_item;                                // [bands + 1], on the host
    void *v, *u_narrow, *u_wide, *scale, *items, *terms; // arrays on the device
};

static bb_index fill_up(bb_index count, bb_index step)
{
    return (count + step - 1) / step * step;
}

// Sums of part sizes over the preceding bands: the offsets of a band.
typedef struct totals {
    size_t v, u_narrow, u_wide, terms, items;
} totals;

static totals after(const totals *before, const bb_low_rank_band *band,
                    const bb_low_rank_mesh *mesh)
{
    return (totals){before->v + band->v_bytes,
                    before->u_narrow + (size_t)(band->rows * band->narrow),
                    before->u_wide + (size_t)(band->rows * band->wide),
                    before->terms + (size_t)fill_up(band->terms, 8),
                    before->items + (size_t)bb_low_rank_items(band, mesh, NULL)};
}

static bb_status allocate_memory(bb_low_rank_stream *stream, const totals *all)
{
    bb_status status = BB_OK;
    const size_t spare = 16; // allocations must not be empty
    bb_device *device = stream->device;
    BB_REQUIRE(
        all->v / 16 <= UINT32_MAX && all->terms <= UINT32_MAX, BB_UNSUPPORTED,
        "low_rank matrix on a GPU: %zu bytes of V and %zu terms, expected at most 2^36 and 2^32",
        all->v, all->terms);
    stream->bytes = all->v + 2 * all->u_narrow + 4 * all->u_wide + 4 * all->terms +
                    all->items * sizeof(bb_low_rank_item);
    BB_TRY(bb_device_allocate(device, all->v + spare, &stream->v));
    BB_TRY(bb_device_allocate(device, 2 * all->u_narrow + spare, &stream->u_narrow));
    BB_TRY(bb_device_allocate(device, 4 * all->u_wide + spare, &stream->u_wide));
    BB_TRY(bb_device_allocate(device, 4 * all->terms + spare, &stream->scale));
    BB_TRY(
        bb_device_allocate(device, all->items * sizeof(bb_low_rank_item) + spare, &stream->items));
    BB_TRY(bb_device_allocate(device, 8 * all->terms + spare, &stream->terms));
    // Padding of pitches is never written, but it is read and must not be NaN.
    BB_TRY(bb_device_zero(device, stream->terms, 8 * all->terms + spare));
done:
    return status;
}

static bb_status copy(bb_low_rank_stream *stream, void *target, size_t place, const void *source,
                      size_t bytes)
{
    return bytes == 0
               ? BB_OK
               : bb_device_upload(stream->device, (unsigned char *)target + place, source, bytes);
}

static bb_status upload_band(bb_low_rank_stream *stream, const bb_low_rank_band *band,
                             const bb_low_rank_mesh *mesh, const totals *sums)
{
    bb_status status = BB_OK;
    bb_low_rank_item *items = NULL;
    bb_index count = bb_low_rank_items(band, mesh, NULL);
    size_t halves = (size_t)(band->rows * band->narrow);
    size_t floats = (size_t)(band->rows * band->wide);
    BB_TRY(BB_ALLOCATE(count, &items));
    (void)bb_low_rank_items(band, mesh, items);
    for (bb_index i = 0; i < count; ++i) {
        items[i].v += (uint32_t)(sums->v / 16);
        items[i].term += (uint32_t)sums->terms;
    }
    BB_TRY(copy(stream, stream->items, sums->items * sizeof *items, items,
                (size_t)count * sizeof *items));
    BB_TRY(copy(stream, stream->v, sums->v, band->v, band->v_bytes));
    BB_TRY(copy(stream, stream->u_narrow, 2 * sums->u_narrow, band->u_narrow, 2 * halves));
    BB_TRY(copy(stream, stream->u_wide, 4 * sums->u_wide, band->u_wide, 4 * floats));
    BB_TRY(copy(stream, stream->scale, 4 * sums->terms, band->scale, 4 * (size_t)band->terms));
    BB_TRY(bb_device_wait(stream->device));
done:
    BB_RELEASE(&items);
    return status;
}

static bb_status upload(bb_low_rank_stream *stream, const bb_coded_matrix *matrix)
{
    bb_status status = BB_OK;
    const bb_low_rank_mesh *mesh = bb_coded_matrix_low_rank_mesh(matrix);
    totals sums = {0};
    for (bb_index b = 0; b < stream->bands; ++b) {
        const bb_low_rank_band *band = bb_coded_matrix_low_rank_band(matrix, b);
        stream->places[b] = (bb_low_rank_band_place){.u_narrow = sums.u_narrow,
                                                     .u_wide = sums.u_wide,
                                                     .term = (uint32_t)sums.terms,
                                                     .narrow = (uint32_t)band->narrow,
                                                     .wide = (uint32_t)band->wide,
                                                     .dense_tiles = (uint32_t)band->dense_tiles,
                                                     .rows = (uint32_t)band->rows};
        stream->first_item[b] = (uint32_t)sums.items;
        sums = after(&sums, band, mesh);
    }
    stream->first_item[stream->bands] = (uint32_t)sums.items;
    BB_TRY(allocate_memory(stream, &sums));
    sums = (totals){0};
    for (bb_index b = 0; b < stream->bands; ++b) {
        const bb_low_rank_band *band = bb_coded_matrix_low_rank_band(matrix, b);
        BB_TRY(upload_band(stream, band, mesh, &sums));
        sums = after(&sums, band, mesh);
    }
done:
    return status;
}

bb_status bb_low_rank_stream_create(bb_device *device, const bb_coded_matrix *matrix,
                                    bb_low_rank_stream **out)
{
    bb_status status = BB_OK;
    bb_low_rank_stream *stream = NULL;
    const bb_low_rank_mesh *mesh = bb_coded_matrix_low_rank_mesh(matrix);
    *out = NULL;
    BB_TRY(BB_ZEROED(1, &stream));
    stream->device = device;
    stream->band_rows = bb_coded_matrix_band(matrix);
    stream->bands = bb_coded_matrix_low_rank_bands(matrix);
    stream->mesh_columns = mesh->columns;
    stream->cells = (int)(fill_up(mesh->tile_columns, 8) * mesh->tile_lines);
    BB_TRY(BB_ZEROED(stream->bands, &stream->places));
    BB_TRY(BB_ZEROED(stream->bands + 1, &stream->first_item));
    BB_TRY(upload(stream, matrix));
    *out = stream;
    stream = NULL;
done:
    bb_low_rank_stream_destroy(&stream);
    return status;
}

void bb_low_rank_stream_destroy(bb_low_rank_stream **stream)
{
    bb_low_rank_stream *rank_stream = *stream;
    if (rank_stream != NULL) {
        bb_device_release(rank_stream->device, &rank_stream->v);
        bb_device_release(rank_stream->device, &rank_stream->u_narrow);
        bb_device_release(rank_stream->device, &rank_stream->u_wide);
        bb_device_release(rank_stream->device, &rank_stream->scale);
        bb_device_release(rank_stream->device, &rank_stream->items);
        bb_device_release(rank_stream->device, &rank_stream->terms);
        BB_RELEASE(&rank_stream->places);
        BB_RELEASE(&rank_stream->first_item);
        BB_RELEASE(stream);
    }
}

bool bb_low_rank_stream_alike(const bb_low_rank_stream *one, const bb_low_rank_stream *other)
{
    return one->band_rows == other->band_rows;
}

size_t bb_low_rank_stream_bytes(const bb_low_rank_stream *stream)
{
    return stream->bytes;
}

int bb_low_rank_stream_cells(const bb_low_rank_stream *stream)
{
    return stream->cells;
}

bb_index bb_low_rank_stream_job(const bb_low_rank_stream *stream, bb_index row, bb_index rows,
                                bb_low_rank_job *out)
{
    bb_index first = row / stream->band_rows;
    bb_index past = (row + rows + stream->band_rows - 1) / stream->band_rows;
    if (past > first + BB_LOW_RANK_JOB_BANDS) {
        past = first + BB_LOW_RANK_JOB_BANDS;
        rows = past * stream->band_rows - row;
    }
    *out = (bb_low_rank_job){.v = stream->v,
                             .u_narrow = stream->u_narrow,
                             .u_wide = stream->u_wide,
                             .scale = stream->scale,
                             .items = (const bb_low_rank_item *)stream->items +
                                      stream->first_item[first],
                             .terms = stream->terms,
                             .mesh_columns = (uint32_t)stream->mesh_columns,
                             .item_count = stream->first_item[past] - stream->first_item[first],
                             .row = (uint32_t)(row - first * stream->band_rows),
                             .rows = (uint32_t)rows,
                             .band_rows = (uint32_t)stream->band_rows};
    for (bb_index b = first; b < past; ++b) {
        out->bands[b - first] = stream->places[b];
    }
    return rows;
}
