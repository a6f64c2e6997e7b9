// SPDX-License-Identifier: Apache-2.0
#include "core/memory.h"
#include "core/thread.h"
#include "precision/codecs/bfp_core.h"
#include "precision/codecs/plane.h"
#include "solvers/operator/stream/coded_stream_parts.h"
#include "solvers/operator/stream/stream_partition_core.h"

#include <string.h>

enum { HALF_BLOCK = 16, WIDE_COLUMNS = 1024, WIDEST_ROW = 1024 };

bool bb_stream_layout_of(const bb_codec_config *config, bb_stream_layout *out)
{
    static const bb_stream_layout plain[BB_FORMAT_COUNT] = {
        [BB_FORMAT_FP64] = {BB_STREAM_FP64, 0, 128, 1024, 2},
        [BB_FORMAT_FP32] = {BB_STREAM_FP32, 0, 128, 512, 4},
        [BB_FORMAT_TF32] = {BB_STREAM_FP32, 0, 128, 512, 4},
        [BB_FORMAT_BF16] = {BB_STREAM_BF16, 0, 256, 512, 4},
        [BB_FORMAT_FP16] = {BB_STREAM_FP16, 0, 256, 512, 4},
        [BB_FORMAT_E4M3] = {BB_STREAM_E4M3, 0, 512, 512, 4},
        [BB_FORMAT_E5M2] = {BB_STREAM_E5M2, 0, 512, 512, 4},
    };
    const bb_codec_form form = bb_codec_form_of(config);
    const int bits = form.bits;
    switch (form.kind) {
    case BB_FORM_WORDS:
        *out = plain[form.format];
        return true;
    case BB_FORM_QUOTIENTS:
        *out = (bb_stream_layout){BB_STREAM_QUANTISER, 0, 1024, 0, 4};
        return true;
    case BB_FORM_INTEGERS:
        *out = (bb_stream_layout){BB_STREAM_BFP8, bits, 512, 528, 4};
        return true;
    case BB_FORM_BLOCKS:
        *out = bits == 4    ? (bb_stream_layout){BB_STREAM_BFP4, bits, 1024, 544, 4}
               : bits == 8  ? (bb_stream_layout){BB_STREAM_BFP8, bits, 512, 528, 4}
               : bits == 16 ? (bb_stream_layout){BB_STREAM_BFP16, bits, 256, 528, 4}
               : bits < 8   ? (bb_stream_layout){BB_STREAM_BFP_NARROW, bits, 1024,
                                                 BB_STREAM_LINE * bits + BB_BLOCK, 4}
                            : (bb_stream_layout){BB_STREAM_BFP, bits, 1024,
                                                 BB_STREAM_LINE * bits + BB_BLOCK, 2};
        return true;
    case BB_FORM_STEPS:
        *out =
            bits == 8 ? (bb_stream_layout){BB_STREAM_INTEGER8, bits, 512, 512, 4}
            : bits < 8
                ? (bb_stream_layout){BB_STREAM_INTEGER_NARROW, bits, 1024, BB_STREAM_LINE * bits, 4}
                : (bb_stream_layout){BB_STREAM_INTEGER, bits, 1024, BB_STREAM_LINE * bits, 2};
        return true;
    default:
        return false;
    }
}

bool bb_coded_stream_supports_limbs(bb_stream_storage storage)
{
    static const bool takes[BB_STREAM_STORAGES] = {
        [BB_STREAM_E4M3] = true,       [BB_STREAM_E5M2] = true,
        [BB_STREAM_BFP4] = true,       [BB_STREAM_BFP8] = true,
        [BB_STREAM_BFP_NARROW] = true, [BB_STREAM_INTEGER8] = true,
        [BB_STREAM_QUANTISER] = true,  [BB_STREAM_INTEGER_NARROW] = true,
    };
    return takes[storage];
}

void bb_coded_stream_order_chunks(int lane, int chunks, size_t word, const unsigned char *source,
                                  unsigned char *out)
{
    for (int c = 0; c < chunks; ++c) {
        memcpy(out + (size_t)c * 4 * word,
               source + (size_t)bb_coded_stream_chunk(chunks, lane, c) * 4 * word, 4 * word);
    }
}

void bb_coded_stream_order_block(const int32_t natural[BB_BLOCK], bb_index place, int lanes_of,
                                 int32_t out[BB_BLOCK])
{
    int values = BB_BLOCK / lanes_of;
    for (int part = 0; part < lanes_of; ++part) {
        bb_coded_stream_order_chunks((int)place * lanes_of + part, values / 4, sizeof *out,
                                     (const unsigned char *)(natural + part * values),
                                     (unsigned char *)(out + part * values));
    }
}

void bb_coded_stream_pack_planes(const int32_t block[BB_BLOCK], int width, bb_index place,
                                 bb_index blocks, bb_index row, unsigned char *out)
{
    const bb_index turn = row % BB_STREAM_TURNS;
    int shift = width;
    for (int k = BB_BFP_WIDTHS - 1; k >= 0; --k) {
        const int plane = 1 << k;
        unsigned char bytes[4 * BB_BLOCK];
        if ((width >> k & 1) == 0) {
            continue;
        }
        shift -= plane;
        bb_plane_pack(block, shift, plane, bytes);
        if (plane == 8) {
            memcpy(out + HALF_BLOCK * ((2 * place) ^ turn), bytes, HALF_BLOCK);
            memcpy(out + HALF_BLOCK * ((2 * place + 1) ^ turn), bytes + HALF_BLOCK, HALF_BLOCK);
        } else {
            memcpy(out + 4 * plane * (place ^ turn), bytes, 4 * (size_t)plane);
        }
        out += 4 * plane * blocks;
    }
}

static void pack_plain(const bb_stream_packing *work, bb_index tile, bb_index row,
                       unsigned char *out)
{
    bb_index width = work->stream->layout.columns;
    bb_index count = bb_coded_stream_least(width, work->stream->columns - tile * width);
    size_t word = (size_t)bb_format_describe(bb_coded_matrix_format(work->matrix))->bytes;
    const unsigned char *words = bb_coded_matrix_words(work->matrix, work->stream->first_row + row);
    int values = (int)(width / BB_STREAM_LANES);
    unsigned char natural[WIDEST_ROW] = {0};
    memcpy(natural, words + (size_t)(tile * width) * word, (size_t)count * word);
    for (int lane = 0; lane < BB_STREAM_LANES; ++lane) {
        size_t index = (size_t)(lane * values) * word;
        bb_coded_stream_order_chunks(lane, values / 4, word, natural + index, out + index);
    }
}

static bool is_poisoned(const bb_bfp_layout *layout, const unsigned char *parts, bb_index block)
{
    return bb_plane_signed(parts[layout->exponents + (size_t)block], 8) == BB_BFP_POISONED;
}

// The mantissas of a block in the order of the chunks.
static void block_in_order(const bb_bfp_layout *layout, const unsigned char *parts, bb_index block,
                           bb_index place, int lanes_of, int32_t out[BB_BLOCK])
{
    int32_t natural[BB_BLOCK];
    for (int i = 0; i < BB_BLOCK; ++i) {
        natural[i] =
            is_poisoned(layout, parts, block) ? 0 : bb_bfp_mantissa(layout, parts, block, i);
    }
    bb_coded_stream_order_block(natural, place, lanes_of, out);
}

// Mantissas of 8 and 16 bits are stored with an offset, so that decoders need no sign extension.
static void bias(int bits, bb_index bytes, unsigned char *out)
{
    for (bb_index i = bits / 8 - 1; i < bytes; i += bits / 8) {
        out[i] ^= 0x80U;
    }
}

static void pack_bfp(const bb_stream_packing *work, const bb_bfp_layout *source, bb_index tile,
                     bb_index row, unsigned char *out)
{
    const unsigned char *parts =
        bb_coded_matrix_bfp_row(work->matrix, work->stream->first_row + row);
    const bb_stream_layout *layout = &work->stream->layout;
    bb_index blocks = layout->columns / BB_BLOCK;
    bb_index first = tile * blocks;
    bb_index count = bb_coded_stream_least(blocks, source->blocks - first);
    const bool in_planes = layout->columns == WIDE_COLUMNS && source->bits != 4;
    size_t block_bytes = 4 * (size_t)source->bits;
    for (bb_index b = 0; b < count; ++b) {
        int32_t block[BB_BLOCK] = {0};
        block_in_order(source, parts, first + b, b, (int)(BB_STREAM_LANES / blocks), block);
        if (in_planes) {
            bb_coded_stream_pack_planes(block, source->bits, b, blocks, row, out);
            continue;
        }
        unsigned char *target = out + (size_t)b * block_bytes;
        bb_plane_pack(block, 0, source->bits, target);
        if (source->bits >= 8) {
            bias(source->bits, (bb_index)block_bytes, target);
        }
    }
    for (bb_index b = 0; b < count; ++b) {
        // e + 127, the exponent field of 2^e; the field of infinity for a poisoned block.
        out[(size_t)blocks * block_bytes + (size_t)b] =
            is_poisoned(source, parts, first + b)
                ? 255
                : (unsigned char)(parts[source->exponents + (size_t)(first + b)] + 127);
    }
}

// Integers of eight bits times a power of two, like bfp8. A unit below the normal range of fp32 has
// no exponent field; a block of zeros needs none.
static bb_status pack_integers(const bb_stream_packing *work, bb_index tile, bb_index row,
                               unsigned char *out)
{
    bb_status status = BB_OK;
    const bb_index blocks = work->stream->layout.columns / BB_BLOCK;
    const bb_index first = tile * blocks;
    const bb_index count =
        bb_coded_stream_least(blocks, (work->stream->columns + BB_BLOCK - 1) / BB_BLOCK - first);
    for (bb_index b = 0; b < count; ++b) {
        int32_t natural[BB_BLOCK];
        int32_t block[BB_BLOCK] = {0};
        int32_t any = 0;
        int exponent = 0;
        bool held = bb_coded_matrix_integers(work->matrix, work->stream->first_row + row, first + b,
                                             natural, &exponent);
        for (int i = 0; i < BB_BLOCK; ++i) {
            any |= natural[i];
        }
        BB_REQUIRE(any == 0 || exponent >= BB_BFP_LEAST_EXPONENT, BB_UNSUPPORTED,
                   "int8 unit of 2^%d in row %td: products on a GPU need 2^%d or more; scale the "
                   "rows or set device: cpu",
                   exponent, work->stream->first_row + row, (int)BB_BFP_LEAST_EXPONENT);
        exponent = any == 0 ? 0 : exponent;
        bb_coded_stream_order_block(natural, b, (int)(BB_STREAM_LANES / blocks), block);
        bb_plane_pack(block, 0, 8, out + b * BB_BLOCK);
        bias(8, BB_BLOCK, out + b * BB_BLOCK);
        out[blocks * BB_BLOCK + b] = held ? (unsigned char)(exponent + 127) : 255;
    }
done:
    return status;
}

// Integers of a row, in units of its step.
static void pack_steps(const bb_stream_packing *work, bb_index tile, bb_index row,
                       unsigned char *out)
{
    const bb_stream_layout *layout = &work->stream->layout;
    const bb_index blocks = layout->columns / BB_BLOCK;
    const bb_index first = tile * blocks;
    const bb_index count =
        bb_coded_stream_least(blocks, (work->stream->columns + BB_BLOCK - 1) / BB_BLOCK - first);
    for (bb_index b = 0; b < blocks; ++b) {
        int32_t natural[BB_BLOCK] = {0};
        int32_t block[BB_BLOCK] = {0};
        if (b < count) {
            bb_coded_matrix_whole_steps(work->matrix, work->stream->first_row + row, first + b,
                                        natural);
        }
        bb_coded_stream_order_block(natural, b, (int)(BB_STREAM_LANES / blocks), block);
        bb_coded_stream_pack_planes(block, layout->bits, b, blocks, row, out);
    }
    if (layout->storage == BB_STREAM_INTEGER8) {
        bias(8, layout->row_bytes, out);
    }
}

static bb_status pack_tile(void *context, bb_index index)
{
    bb_status status = BB_OK;
    const bb_stream_packing *work = context;
    const bb_coded_stream *stream = work->stream;
    const bb_codec_form_kind kind = bb_codec_form_of(bb_coded_matrix_config(work->matrix)).kind;
    bb_index tile = work->first + index;
    const bb_bfp_layout layout = bb_bfp_layout_of(stream->layout.bits, stream->columns);
    for (bb_index row = 0; row < stream->rows; ++row) {
        unsigned char *out = work->out + (index * stream->rows + row) * stream->layout.row_bytes;
        switch (kind) {
        case BB_FORM_WORDS:
            pack_plain(work, tile, row, out);
            break;
        case BB_FORM_INTEGERS:
            BB_TRY(pack_integers(work, tile, row, out));
            break;
        case BB_FORM_STEPS:
            pack_steps(work, tile, row, out);
            break;
        default:
            pack_bfp(work, &layout, tile, row, out);
        }
    }
done:
    return status;
}

static bb_status upload_fixed(bb_coded_stream *stream, const bb_coded_matrix *matrix)
{
    bb_status status = BB_OK;
    bb_stream_packing work = {.stream = stream, .matrix = matrix};
    bb_index tile_bytes = stream->rows * stream->layout.row_bytes;
    bb_index limit =
        1 + bb_coded_stream_least(stream->tiles - 1, BB_STREAM_CHUNK_BYTES / tile_bytes);
    stream->bytes = (size_t)(stream->tiles * tile_bytes);
    BB_TRY(bb_device_allocate(stream->device, stream->bytes, &stream->words));
    BB_TRY(BB_ZEROED(limit * tile_bytes, &work.out));
    for (work.first = 0; work.first < stream->tiles; work.first += limit) {
        bb_index count = bb_coded_stream_least(limit, stream->tiles - work.first);
        memset(work.out, 0, (size_t)(count * tile_bytes));
        BB_TRY(bb_thread_for(count, pack_tile, &work));
        BB_TRY(bb_device_upload(stream->device,
                                (unsigned char *)stream->words + work.first * tile_bytes, work.out,
                                (size_t)(count * tile_bytes)));
        BB_TRY(bb_device_wait(stream->device));
    }
done:
    BB_RELEASE(&work.out);
    return status;
}

// Steps of the integers.
static bb_status upload_steps(bb_coded_stream *stream, const bb_coded_matrix *matrix)
{
    bb_status status = BB_OK;
    float *steps = NULL;
    const size_t bytes = (size_t)stream->rows * sizeof *steps;
    BB_TRY(BB_ALLOCATE(stream->rows, &steps));
    for (bb_index row = 0; row < stream->rows; ++row) {
        steps[row] = bb_coded_matrix_row_step(matrix, stream->first_row + row);
    }
    BB_TRY(bb_device_allocate(stream->device, bytes, &stream->steps));
    BB_TRY(bb_device_upload(stream->device, stream->steps, steps, bytes));
    BB_TRY(bb_device_wait(stream->device));
done:
    BB_RELEASE(&steps);
    return status;
}

static bb_status upload_scales(bb_coded_stream *stream, const bb_coded_matrix *matrix)
{
    bb_status status = BB_OK;
    double *scales = NULL;
    size_t bytes = (size_t)stream->rows * sizeof *scales;
    BB_TRY(BB_ALLOCATE(stream->rows, &scales));
    for (bb_index row = 0; row < stream->rows; ++row) {
        scales[row] = bb_coded_matrix_row_scale(matrix, stream->first_row + row);
    }
    BB_TRY(bb_device_allocate(stream->device, bytes, &stream->scales));
    BB_TRY(bb_device_upload(stream->device, stream->scales, scales, bytes));
    BB_TRY(bb_device_wait(stream->device));
done:
    BB_RELEASE(&scales);
    return status;
}

// Largest number of places of products with `tiles` tiles, for any number of groups.
static bb_index most_places(const bb_coded_stream *stream, bb_index groups, bb_index tiles)
{
    bb_index bound = 0;
    for (bb_index g = 1; g <= groups * BB_STREAM_OPERANDS; ++g) {
        const bb_stream_partition parts = bb_stream_partition_of(g, tiles, stream->blocks);
        const bb_index places = g * parts.most_places;
        bound = places > bound ? places : bound;
    }
    return bound;
}

bb_status bb_coded_stream_acquire_workspace(bb_coded_stream *stream)
{
    bb_status status = BB_OK;
    bb_device_report report;
    const bb_index group_rows = BB_STREAM_WARPS * stream->layout.warp_rows;
    const bb_index groups = (stream->rows + group_rows - 1) / group_rows;
    const bb_index limb_tiles = stream->tiles + stream->uppers;
    BB_TRY(bb_device_describe(stream->device, &report));
    stream->blocks = (int)report.units;
    const bb_index plain = most_places(stream, groups, stream->tiles);
    const bb_index in_limbs = most_places(stream, groups, limb_tiles);
    const size_t bytes =
        (size_t)((plain > in_limbs ? plain : in_limbs) * group_rows) * sizeof(double);
    BB_TRY(bb_device_allocate(stream->device, bytes, &stream->sums));
    // The memory is zeroed once here, so that the instructions for it are loaded before they are
    // timed.
    BB_TRY(bb_device_zero(stream->device, stream->sums, bytes));
    if (stream->in_limbs) {
        BB_TRY(bb_device_allocate(stream->device, (size_t)limb_tiles * BB_STREAM_CUT_BYTES,
                                  &stream->limbs));
    }
    BB_TRY(bb_device_allocate(stream->device, sizeof(bb_stream_counts), &stream->counts));
    BB_TRY(bb_device_zero(stream->device, stream->counts, sizeof(bb_stream_counts)));
done:
    return status;
}

bb_status bb_coded_stream_start(bb_device *device, const bb_codec_config *storage, bb_index rows,
                                bb_index columns, bb_coded_stream **out)
{
    bb_status status = BB_OK;
    bb_coded_stream *stream = NULL;
    *out = NULL;
    BB_TRY(BB_ZEROED(1, &stream));
    stream->device = device;
    stream->rows = rows;
    stream->columns = columns;
    BB_REQUIRE(bb_stream_layout_of(storage, &stream->layout), BB_UNSUPPORTED,
               "storage %s: streamed products on a GPU are not supported; choose device: cpu",
               bb_codec_name(storage->codec));
    stream->tiles = (columns + stream->layout.columns - 1) / stream->layout.columns;
    stream->in_limbs = bb_coded_stream_supports_limbs(stream->layout.storage);
    *out = stream;
    stream = NULL;
done:
    bb_coded_stream_destroy(&stream);
    return status;
}

bb_status bb_coded_stream_create(bb_device *device, const bb_coded_matrix *matrix, bb_index first,
                                 bb_index rows, bb_coded_stream **out)
{
    bb_status status = BB_OK;
    bb_coded_stream *stream = NULL;
    const bb_codec_config *config = bb_coded_matrix_config(matrix);
    *out = NULL;
    BB_TRY(bb_coded_stream_start(device, config, rows, bb_coded_matrix_columns(matrix), &stream));
    stream->first_row = first;
    BB_TRY(upload_scales(stream, matrix));
    if (bb_codec_form_of(config).kind == BB_FORM_STEPS) {
        BB_TRY(upload_steps(stream, matrix));
    }
    BB_TRY(stream->layout.row_bytes > 0 ? upload_fixed(stream, matrix)
                                        : bb_coded_stream_upload_quotients(stream, matrix));
    BB_TRY(bb_coded_stream_acquire_workspace(stream));
    *out = stream;
    stream = NULL;
done:
    bb_coded_stream_destroy(&stream);
    return status;
}

void bb_coded_stream_destroy(bb_coded_stream **stream)
{
    bb_coded_stream *coded_stream = *stream;
    if (coded_stream != NULL) {
        bb_device_release(coded_stream->device, &coded_stream->words);
        bb_device_release(coded_stream->device, &coded_stream->places);
        bb_device_release(coded_stream->device, &coded_stream->scales);
        bb_device_release(coded_stream->device, &coded_stream->steps);
        bb_device_release(coded_stream->device, &coded_stream->limbs);
        bb_device_release(coded_stream->device, &coded_stream->sums);
        bb_device_release(coded_stream->device, &coded_stream->counts);
        bb_device_release(coded_stream->device, &coded_stream->limb_places);
        bb_device_release(coded_stream->device, &coded_stream->device_sources);
        BB_RELEASE(&coded_stream->sources);
        BB_RELEASE(stream);
    }
}

bb_stream_task bb_coded_stream_task(const bb_coded_stream *stream, bb_stream_sums sums)
{
    const bool takes_uppers = sums == BB_STREAM_LIMBS && stream->uppers > 0;
    return (bb_stream_task){
        .layout = stream->layout,
        .sums = sums,
        .blocks = stream->blocks,
        .matrix_rows = stream->rows,
        .columns = stream->columns,
        .tiles = stream->tiles + (takes_uppers ? stream->uppers : 0),
        .sources = takes_uppers ? stream->device_sources : NULL,
        .rows = stream->rows,
        .operands = 1,
        .operand = {{.words = stream->words,
                     .lies = takes_uppers ? stream->limb_places : stream->places,
                     .scales = stream->scales,
                     .steps = stream->steps,
                     .step = stream->step}},
        .limbs = stream->limbs,
        .places = stream->sums,
        .counts = stream->counts};
}

bool bb_coded_stream_alike(const bb_coded_stream *one, const bb_coded_stream *other)
{
    return one->layout.storage == other->layout.storage && one->layout.bits == other->layout.bits;
}

bool bb_coded_stream_shares_limbs(const bb_coded_stream *one, const bb_coded_stream *other)
{
    return one->uppers == other->uppers &&
           (one->uppers == 0 ||
            memcmp(one->sources, other->sources, (size_t)one->uppers * sizeof *one->sources) == 0);
}

bool bb_coded_stream_sums_in_limbs(const bb_coded_stream *stream)
{
    return stream->in_limbs;
}

bool bb_coded_stream_fits_fp32(const bb_coded_stream *stream)
{
    return !stream->beyond_fp32;
}

size_t bb_coded_stream_bytes(const bb_coded_stream *stream, bb_stream_sums sums)
{
    return sums == BB_STREAM_LIMBS && stream->uppers > 0 ? stream->limb_bytes : stream->bytes;
}
