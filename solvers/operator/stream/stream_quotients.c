// SPDX-License-Identifier: Apache-2.0
#include "core/memory.h"
#include "core/thread.h"
#include "solvers/operator/stream/coded_stream_parts.h"

#include <string.h>

// Stored tiles in order: those of the matrix, the lower parts of its wide tiles, and the upper
// parts.
typedef struct laying {
    bb_coded_stream *stream;
    const bb_stream_quotients *source;
    bb_stream_laid *tiles;
    bb_stream_place *places; // [tiles][rows]
    bb_index first;          // first tile to level
} laying;

// A coded matrix on the host as a source of quotients.
typedef struct host_quotients {
    const bb_coded_matrix *matrix;
    const bb_coded_stream *stream;
    const bb_stream_laid *tiles; // from the current first tile on
    bb_stream_place *places;     // [tiles][rows]
    uint32_t unit;               // unit at which `out` starts
    unsigned char *out;          // zeroed
} host_quotients;

enum { QUARTER = BB_QUANTISER_RUN / BB_STREAM_QUARTERS };

static uint32_t width_of(const int32_t quotients[QUARTER])
{
    uint32_t magnitudes = 0;
    uint32_t any = 0;
    for (int i = 0; i < QUARTER; ++i) {
        magnitudes |= (uint32_t)(quotients[i] ^ quotients[i] >> 31);
        any |= (uint32_t)quotients[i];
    }
    return bb_coded_stream_quarter_width(magnitudes, any);
}

static uint32_t widths_of(const int32_t quotients[BB_QUANTISER_RUN])
{
    uint32_t widths = 0;
    for (int q = 0; q < BB_STREAM_QUARTERS; ++q) {
        const uint32_t width = width_of(quotients + (ptrdiff_t)q * QUARTER);
        if (width == BB_STREAM_QUOTIENTS) {
            return bb_coded_stream_all_quarters(width);
        }
        widths |= width << (8 * q);
    }
    return widths;
}

static bool is_in_planes(const bb_stream_place *place)
{
    return (place->widths & 255U) < BB_STREAM_QUOTIENTS;
}

// Raises the width of every quarter in a band's rows to the largest one, except for quarters of
// zeros.
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

// Reads the quotients of a row of a tile; returns false if they do not fit.
static bool read_quotients(const host_quotients *work, bb_stream_laid tile, bb_index row,
                           int32_t out[BB_QUANTISER_RUN])
{
    const bool held =
        bb_coded_matrix_quotients(work->matrix, work->stream->first_row + row, tile.source, out);
    for (int i = 0; held && tile.part != BB_STREAM_WHOLE && i < BB_QUANTISER_RUN; ++i) {
        out[i] = bb_coded_stream_part(out[i], tile.part);
    }
    return held;
}

static bb_status measure_tile(void *context, bb_index tile)
{
    const host_quotients *work = context;
    const bb_index rows = work->stream->rows;
    for (bb_index row = 0; row < rows; ++row) {
        int32_t quotients[BB_QUANTISER_RUN];
        work->places[tile * rows + row].widths =
            read_quotients(work, work->tiles[tile], row, quotients)
                ? widths_of(quotients)
                : bb_coded_stream_all_quarters(BB_STREAM_RAW);
    }
    return BB_OK;
}

static bb_status measure_host(void *context, const bb_stream_laid *tiles, bb_index count,
                              bb_stream_place *places)
{
    host_quotients *work = context;
    work->tiles = tiles;
    work->places = places;
    return bb_thread_for(count, measure_tile, work);
}

static bb_status level_tile(void *context, bb_index index)
{
    const laying *work = context;
    const bb_index rows = work->stream->rows;
    bb_stream_place *places = work->places + (work->first + index) * rows;
    for (bb_index row = 0; row < rows; row += BB_STREAM_BAND) {
        level_band(places + row, bb_coded_stream_least(BB_STREAM_BAND, rows - row));
    }
    return BB_OK;
}

// Measures stored tiles and levels their bands.
static bb_status measure(laying *work, bb_index first, bb_index count)
{
    bb_status status = BB_OK;
    const bb_stream_quotients *source = work->source;
    if (count > 0) {
        BB_TRY(source->measure(source->context, work->tiles + first, count,
                               work->places + first * work->stream->rows));
        work->first = first;
        BB_TRY(bb_thread_for(count, level_tile, work));
    }
done:
    return status;
}

// Writes quotients in planes, each quarter with its width.
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

// 32 words per lane, interleaved over the lanes.
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

static bb_status pack_tile(void *context, bb_index index)
{
    const host_quotients *work = context;
    const bb_index rows = work->stream->rows;
    const bb_stream_laid tile = work->tiles[index];
    const bb_index count = bb_coded_stream_least(
        BB_QUANTISER_RUN, work->stream->columns - tile.source * BB_QUANTISER_RUN);
    for (bb_index row = 0; row < rows; ++row) {
        bb_stream_place place = work->places[index * rows + row];
        unsigned char *out = work->out + (size_t)BB_STREAM_UNIT * (place.unit - work->unit);
        int32_t quotients[BB_QUANTISER_RUN] = {0};
        if (place.widths == bb_coded_stream_all_quarters(BB_STREAM_RAW)) {
            float values[BB_QUANTISER_RUN] = {0.0F};
            bb_coded_matrix_decode_f32(work->matrix, work->stream->first_row + row, tile.source,
                                       values);
            memset(values + count, 0, (size_t)(BB_QUANTISER_RUN - count) * sizeof *values);
            memcpy(quotients, values, sizeof quotients);
        } else {
            (void)read_quotients(work, tile, row, quotients);
        }
        if (is_in_planes(&place)) {
            pack_quarters(quotients, place.widths, row, out);
        } else {
            pack_words(quotients, out);
        }
    }
    return BB_OK;
}

static bb_status upload_words(void *context, const bb_stream_laid *laid, bb_index tiles,
                              bb_stream_place *places)
{
    bb_status status = BB_OK;
    host_quotients *work = context;
    const bb_coded_stream *stream = work->stream;
    const bb_index rows = stream->rows;
    // Size of the largest tile if every row has its greatest width.
    const bb_index tile_bytes = rows * BB_STREAM_LINE * BB_BLOCK;
    const bb_index limit = 1 + bb_coded_stream_least(tiles - 1, BB_STREAM_CHUNK_BYTES / tile_bytes);
    BB_TRY(BB_ZEROED(limit * tile_bytes, &work->out));
    for (bb_index first = 0; first < tiles; first += limit) {
        const bb_index count = bb_coded_stream_least(limit, tiles - first);
        const bb_stream_place *last = places + (first + count) * rows - 1;
        work->tiles = laid + first;
        work->places = places + first * rows;
        work->unit = work->places[0].unit;
        BB_TRY(bb_thread_for(count, pack_tile, work));
        BB_TRY(bb_device_upload(
            stream->device, (unsigned char *)stream->words + (size_t)BB_STREAM_UNIT * work->unit,
            work->out,
            (size_t)BB_STREAM_UNIT *
                (last->unit + bb_coded_stream_units(last->widths) - work->unit)));
        BB_TRY(bb_device_wait(stream->device));
    }
done:
    BB_RELEASE(&work->out);
    return status;
}

static bool has_width(const bb_stream_place *places, bb_index count, uint32_t width)
{
    for (bb_index i = 0; i < count; ++i) {
        if (places[i].widths == bb_coded_stream_all_quarters(width)) {
            return true;
        }
    }
    return false;
}

// Finds the wide tiles. Limbs use them in two parts, if there are at most `limit` and none is fp32.
static void find_wide_tiles(bb_coded_stream *stream, const bb_stream_place *places, bb_index limit)
{
    stream->uppers = 0;
    stream->beyond_fp32 = false;
    for (bb_index tile = 0; tile < stream->tiles; ++tile) {
        const bb_stream_place *tile_places = places + tile * stream->rows;
        const bool has_floats = has_width(tile_places, stream->rows, BB_STREAM_RAW);
        const bool is_wide =
            has_floats || has_width(tile_places, stream->rows, BB_STREAM_QUOTIENTS);
        stream->beyond_fp32 |= is_wide;
        stream->in_limbs &= !has_floats && (!is_wide || stream->uppers < limit);
        if (is_wide && stream->in_limbs) {
            stream->sources[stream->uppers++] = (int32_t)tile;
        }
    }
}

// Measures the parts of wide tiles. An upper part of 17 bits, of a quotient of 2^31 - 2^15 or more,
// does not fit into planes, so limbs are disabled.
static bb_status measure_parts(bb_coded_stream *stream, laying *work)
{
    bb_status status = BB_OK;
    const bb_index uppers = stream->in_limbs ? stream->uppers : 0;
    for (bb_index u = 0; u < uppers; ++u) {
        work->tiles[stream->tiles + u] = (bb_stream_laid){stream->sources[u], BB_STREAM_LOWER};
        work->tiles[stream->tiles + uppers + u] =
            (bb_stream_laid){stream->sources[u], BB_STREAM_UPPER};
    }
    BB_TRY(measure(work, stream->tiles, 2 * uppers));
    stream->in_limbs &= !has_width(work->places + stream->tiles * stream->rows,
                                   2 * uppers * stream->rows, BB_STREAM_QUOTIENTS);
    stream->uppers = stream->in_limbs ? uppers : 0;
done:
    return status;
}

// Assigns consecutive locations to the rows.
static bb_status place_rows(bb_index count, bb_stream_place *places, size_t *units)
{
    bb_status status = BB_OK;
    for (bb_index i = 0; i < count; ++i) {
        BB_REQUIRE(*units <= UINT32_MAX, BB_UNSUPPORTED,
                   "quantiser on a GPU: more than 2^32 units of %d bytes", (int)BB_STREAM_UNIT);
        places[i].unit = (uint32_t)*units;
        *units += bb_coded_stream_units(places[i].widths);
    }
done:
    return status;
}

// Bytes of `count` rows of tiles, including their places.
static size_t bytes_of(const bb_stream_place *places, bb_index count)
{
    size_t units = 0;
    for (bb_index i = 0; i < count; ++i) {
        units += bb_coded_stream_units(places[i].widths);
    }
    return BB_STREAM_UNIT * units + (size_t)count * sizeof *places;
}

// Kernels copy two places at once, so one beyond the last is read, too.
static bb_status upload_places(bb_device *device, const bb_stream_place *places, bb_index count,
                               void **out)
{
    bb_status status = BB_OK;
    const size_t bytes = (size_t)(count + 1) * sizeof *places;
    BB_TRY(bb_device_allocate(device, bytes, out));
    BB_TRY(bb_device_upload(device, *out, places, bytes));
    BB_TRY(bb_device_wait(device));
done:
    return status;
}

// Places for limbs: lower parts instead of wide tiles, and the upper parts.
static bb_status upload_limb_places(bb_coded_stream *stream, const bb_stream_place *places)
{
    bb_status status = BB_OK;
    bb_stream_place *table = NULL;
    const bb_index rows = stream->rows;
    const bb_index count = (stream->tiles + stream->uppers) * rows;
    const size_t tile_bytes = (size_t)rows * sizeof *table;
    const bb_stream_place *lower = places + stream->tiles * rows;
    const size_t source_bytes = (size_t)stream->uppers * sizeof *stream->sources;
    BB_TRY(BB_ZEROED(count + 1, &table));
    memcpy(table, places, (size_t)stream->tiles * tile_bytes);
    for (bb_index u = 0; u < stream->uppers; ++u) {
        memcpy(table + stream->sources[u] * rows, lower + u * rows, tile_bytes);
    }
    memcpy(table + stream->tiles * rows, lower + stream->uppers * rows,
           (size_t)stream->uppers * tile_bytes);
    stream->limb_bytes = bytes_of(table, count);
    BB_TRY(upload_places(stream->device, table, count, &stream->limb_places));
    BB_TRY(bb_device_allocate(stream->device, source_bytes, &stream->device_sources));
    BB_TRY(bb_device_upload(stream->device, stream->device_sources, stream->sources, source_bytes));
    BB_TRY(bb_device_wait(stream->device));
done:
    BB_RELEASE(&table);
    return status;
}

bb_status bb_coded_stream_lay_quotients(bb_coded_stream *stream, const bb_stream_quotients *source)
{
    bb_status status = BB_OK;
    const bb_index limit = stream->columns / (BB_QUANTISER_RUN * BB_STREAM_UPPER_SHARE);
    const bb_index most_tiles = stream->tiles + 2 * limit;
    const bb_index count = stream->tiles * stream->rows;
    bb_index laid_tiles = 0;
    size_t units = 0;
    laying work = {.stream = stream, .source = source};
    BB_TRY(BB_ZEROED(most_tiles, &work.tiles));
    BB_TRY(BB_ZEROED(most_tiles * stream->rows + 1, &work.places));
    BB_TRY(BB_ZEROED(1 + limit, &stream->sources));
    for (bb_index tile = 0; tile < stream->tiles; ++tile) {
        work.tiles[tile] = (bb_stream_laid){tile, BB_STREAM_WHOLE};
    }
    BB_TRY(measure(&work, 0, stream->tiles));
    find_wide_tiles(stream, work.places, limit);
    BB_TRY(measure_parts(stream, &work));
    laid_tiles = stream->tiles + 2 * stream->uppers;
    BB_TRY(place_rows(laid_tiles * stream->rows, work.places, &units));
    stream->step = source->step;
    stream->bytes = bytes_of(work.places, count);
    BB_TRY(bb_device_allocate(stream->device, BB_STREAM_UNIT * units + BB_STREAM_LINE,
                              &stream->words));
    BB_TRY(upload_places(stream->device, work.places, count, &stream->places));
    if (stream->uppers > 0) {
        BB_TRY(upload_limb_places(stream, work.places));
    }
    BB_TRY(source->write(source->context, work.tiles, laid_tiles, work.places));
done:
    BB_RELEASE(&work.tiles);
    BB_RELEASE(&work.places);
    return status;
}

bb_status bb_coded_stream_upload_quotients(bb_coded_stream *stream, const bb_coded_matrix *matrix)
{
    host_quotients work = {.matrix = matrix, .stream = stream};
    const bb_stream_quotients source = {&work, bb_coded_matrix_step(matrix), measure_host,
                                        upload_words};
    return bb_coded_stream_lay_quotients(stream, &source);
}
