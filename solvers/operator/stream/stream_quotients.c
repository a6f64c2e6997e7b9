// SPDX-License-Identifier: Apache-2.0
#include "core/memory.h"
#include "core/thread.h"
#include "solvers/operator/stream/coded_stream_parts.h"

#include <string.h>

// Widths of a tile's rows.
typedef struct measuring {
    const bb_coded_matrix *matrix;
    bb_index first_row, rows;
    bb_stream_place *places; // [tiles][rows]
} measuring;

enum { QUARTER = BB_QUANTISER_RUN / BB_STREAM_QUARTERS };

// Of the quotients of a quarter; BB_STREAM_QUOTIENTS: too wide for planes.
static uint32_t width_of(const int32_t quotients[QUARTER])
{
    uint32_t magnitudes = 0;
    uint32_t any = 0;
    for (int i = 0; i < QUARTER; ++i) {
        magnitudes |= (uint32_t)(quotients[i] ^ quotients[i] >> 31);
        any |= (uint32_t)quotients[i];
    }
    uint32_t width = any != 0;
    while (magnitudes >> (width == 0 ? 0 : width - 1) != 0) {
        ++width;
    }
    if (width > BB_STREAM_MOST_PLANES) {
        return BB_STREAM_QUOTIENTS;
    }
    // Decoding takes time by the plane: a bit more a value is cheaper than one more of them.
    return width >= 13 ? 16 : width % 4 == 3 ? width + 1 : width;
}

static uint32_t all_quarters(uint32_t width)
{
    return width * 0x01010101U;
}

static uint32_t widths_of(const int32_t quotients[BB_QUANTISER_RUN])
{
    uint32_t widths = 0;
    for (int q = 0; q < BB_STREAM_QUARTERS; ++q) {
        const uint32_t width = width_of(quotients + (ptrdiff_t)q * QUARTER);
        if (width == BB_STREAM_QUOTIENTS) {
            return all_quarters(width);
        }
        widths |= width << (8 * q);
    }
    return widths;
}

static bool is_in_planes(const bb_stream_place *place)
{
    return (place->widths & 255U) < BB_STREAM_QUOTIENTS;
}

// Quarters of a band's rows get the width of the widest, but for those of zeros.
static void level_band(bb_stream_place *places, bb_index rows)
{
    for (int q = 0; q < BB_STREAM_QUARTERS; ++q) {
        uint32_t widest = 0;
        for (bb_index row = 0; row < rows; ++row) {
            const uint32_t width = bb_coded_stream_width(places[row].widths, q);
            widest = is_in_planes(&places[row]) && width > widest ? width : widest;
        }
        for (bb_index row = 0; row < rows; ++row) {
            const uint32_t width = bb_coded_stream_width(places[row].widths, q);
            if (is_in_planes(&places[row]) && width > 0) {
                places[row].widths += (widest - width) << (8 * q);
            }
        }
    }
}

static bb_status measure_tile(void *context, bb_index tile)
{
    const measuring *work = context;
    bb_stream_place *places = work->places + tile * work->rows;
    for (bb_index row = 0; row < work->rows; ++row) {
        int32_t quotients[BB_QUANTISER_RUN];
        places[row].widths =
            bb_coded_matrix_quotients(work->matrix, work->first_row + row, tile, quotients)
                ? widths_of(quotients)
                : all_quarters(BB_STREAM_RAW);
    }
    for (bb_index row = 0; row < work->rows; row += BB_STREAM_BAND) {
        level_band(places + row, bb_coded_stream_least(BB_STREAM_BAND, work->rows - row));
    }
    return BB_OK;
}

// Quotients in planes, each quarter its own.
static void pack_quarters(const int32_t *quotients, uint32_t widths, bb_index row,
                          unsigned char *out)
{
    enum { BLOCKS = QUARTER / BB_BLOCK };
    for (int b = 0; b < BB_STREAM_LANES; ++b) {
        int32_t block[BB_BLOCK] = {0};
        const int quarter = b / BLOCKS;
        bb_coded_stream_order_block(quotients + (ptrdiff_t)b * BB_BLOCK, b, 1, block);
        bb_coded_stream_pack_planes(
            block, (int)bb_coded_stream_width(widths, quarter), b % BLOCKS, BLOCKS, row,
            out + (size_t)BB_STREAM_UNIT * bb_coded_stream_units_before(widths, quarter));
    }
}

// 32 words of a lane, those of all lanes side by side.
static void pack_words(const int32_t *words, unsigned char *out)
{
    for (int b = 0; b < BB_STREAM_LANES; ++b) {
        int32_t block[BB_BLOCK] = {0};
        bb_coded_stream_order_block(words + (ptrdiff_t)b * BB_BLOCK, b, 1, block);
        for (int i = 0; i < BB_BLOCK; ++i) {
            memcpy(out + (ptrdiff_t)BB_STREAM_LINE * i + 4 * (ptrdiff_t)b, block + i, 4);
        }
    }
}

static bb_status pack_quotients(void *context, bb_index index)
{
    const bb_stream_packing *work = context;
    bb_index rows = work->stream->rows;
    bb_index tile = work->first + index;
    bb_index count =
        bb_coded_stream_least(BB_QUANTISER_RUN, work->stream->columns - tile * BB_QUANTISER_RUN);
    for (bb_index row = 0; row < rows; ++row) {
        bb_stream_place place = work->places[tile * rows + row];
        unsigned char *out = work->out + (size_t)BB_STREAM_UNIT * (place.unit - work->unit);
        int32_t quotients[BB_QUANTISER_RUN] = {0};
        if (place.widths == all_quarters(BB_STREAM_RAW)) {
            float values[BB_QUANTISER_RUN] = {0.0F};
            bb_coded_matrix_decode_f32(work->matrix, work->stream->first_row + row, tile, values);
            memset(values + count, 0, (size_t)(BB_QUANTISER_RUN - count) * sizeof *values);
            memcpy(quotients, values, sizeof quotients);
        } else {
            (void)bb_coded_matrix_quotients(work->matrix, work->stream->first_row + row, tile,
                                            quotients);
        }
        if (is_in_planes(&place)) {
            pack_quarters(quotients, place.widths, row, out);
        } else {
            pack_words(quotients, out);
        }
    }
    return BB_OK;
}

static bb_status upload_quotients(bb_coded_stream *stream, const bb_coded_matrix *matrix,
                                  bb_stream_place *places)
{
    bb_status status = BB_OK;
    bb_stream_packing work = {.stream = stream, .matrix = matrix, .places = places};
    bb_index rows = stream->rows;
    // A tile with every row at its widest.
    bb_index limit =
        1 + bb_coded_stream_least(stream->tiles - 1,
                                  BB_STREAM_CHUNK_BYTES / (rows * BB_STREAM_LINE * BB_BLOCK));
    BB_TRY(BB_ZEROED(limit * rows * BB_STREAM_LINE * BB_BLOCK, &work.out));
    for (work.first = 0; work.first < stream->tiles; work.first += limit) {
        bb_index count = bb_coded_stream_least(limit, stream->tiles - work.first);
        const bb_stream_place *last = places + (work.first + count) * rows - 1;
        work.unit = places[work.first * rows].unit;
        BB_TRY(bb_thread_for(count, pack_quotients, &work));
        BB_TRY(bb_device_upload(
            stream->device, (unsigned char *)stream->words + (size_t)BB_STREAM_UNIT * work.unit,
            work.out,
            (size_t)BB_STREAM_UNIT *
                (last->unit + bb_coded_stream_units(last->widths) - work.unit)));
        BB_TRY(bb_device_wait(stream->device));
    }
done:
    BB_RELEASE(&work.out);
    return status;
}

// Where rows lie, one after the other, and whether all of them are in planes.
static bb_status place_rows(bb_coded_stream *stream, bb_index count, bb_stream_place *places,
                            size_t *units)
{
    bb_status status = BB_OK;
    for (bb_index i = 0; i < count; ++i) {
        BB_REQUIRE(*units <= UINT32_MAX, BB_UNSUPPORTED,
                   "quantiser of more than 2^32 units of %d bytes on a GPU", (int)BB_STREAM_UNIT);
        places[i].unit = (uint32_t)*units;
        stream->beyond_fp32 |= !is_in_planes(&places[i]);
        *units += bb_coded_stream_units(places[i].widths);
    }
    stream->in_limbs &= !stream->beyond_fp32;
done:
    return status;
}

bb_status bb_coded_stream_upload_quotients(bb_coded_stream *stream, const bb_coded_matrix *matrix)
{
    bb_status status = BB_OK;
    bb_index count = stream->tiles * stream->rows;
    size_t units = 0;
    measuring work = {.matrix = matrix, .first_row = stream->first_row, .rows = stream->rows};
    // Kernels copy two places at once: one behind the last is read, too.
    BB_TRY(BB_ZEROED(count + 1, &work.places));
    BB_TRY(bb_thread_for(stream->tiles, measure_tile, &work));
    BB_TRY(place_rows(stream, count, work.places, &units));
    stream->step = bb_coded_matrix_step(matrix);
    stream->bytes = BB_STREAM_UNIT * units + (size_t)count * sizeof *work.places;
    BB_TRY(bb_device_allocate(stream->device, BB_STREAM_UNIT * units + BB_STREAM_LINE,
                              &stream->words));
    BB_TRY(bb_device_allocate(stream->device, (size_t)(count + 1) * sizeof *work.places,
                              &stream->places));
    BB_TRY(bb_device_upload(stream->device, stream->places, work.places,
                            (size_t)(count + 1) * sizeof *work.places));
    BB_TRY(upload_quotients(stream, matrix, work.places));
done:
    BB_RELEASE(&work.places);
    return status;
}
