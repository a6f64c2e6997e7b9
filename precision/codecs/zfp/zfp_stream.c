// SPDX-License-Identifier: Apache-2.0
#include "precision/codecs/zfp/zfp_stream.h"

#include "core/memory.h"

#include <string.h>

enum {
    MOST_BLOCK_BITS = 1 << 20, // largest minimum size of a block in the settings
    MOST_EXPONENT = 1 << 20,
    WORD_BITS = 64, // widest word that a writer pads to
    SIZE_BITS = 43, // of the number of values of an array: times MOST_BLOCK_BITS, below 2^64
};

static bool is_double(bb_type type)
{
    return type == BB_F64;
}

bool bb_zfp_stream_fixed(const bb_zfp_stream *stream)
{
    return stream->settings.minimum_bits == stream->settings.maximum_bits;
}

// Header, and two bits per value and plane.
uint64_t bb_zfp_stream_block_bits(const bb_zfp_stream *stream)
{
    uint64_t width = is_double(stream->type) ? 64 : 32;
    uint64_t limit = 19 + ((2 * width) << (2 * stream->shape.dimensions));
    limit = limit < stream->settings.maximum_bits ? limit : stream->settings.maximum_bits;
    return limit > stream->settings.minimum_bits ? limit : stream->settings.minimum_bits;
}

bb_index bb_zfp_stream_blocks(const bb_zfp_stream *stream)
{
    const bb_zfp_shape *shape = &stream->shape;
    return bb_zfp_stream_blocks_of(shape->nx) * bb_zfp_stream_blocks_of(shape->ny) *
           bb_zfp_stream_blocks_of(shape->nz) * bb_zfp_stream_blocks_of(shape->nw);
}

bb_index bb_zfp_stream_values(const bb_zfp_stream *stream)
{
    const bb_zfp_shape *shape = &stream->shape;
    return shape->nx * shape->ny * shape->nz * shape->nw;
}

static bb_status check_shape(const bb_zfp_shape *shape)
{
    bb_status status = BB_OK;
    const bb_index extents[4] = {shape->nx, shape->ny, shape->nz, shape->nw};
    bb_index values = 1;
    BB_REQUIRE(shape->dimensions >= 1 && shape->dimensions <= 4, BB_INVALID,
               "zfp: %d dimensions, expected 1 to 4", shape->dimensions);
    for (int axis = 0; axis < 4; ++axis) {
        BB_REQUIRE(extents[axis] >= 1 && (axis < shape->dimensions || extents[axis] == 1),
                   BB_INVALID, "zfp: invalid extent %td along axis %d in %d dimensions",
                   extents[axis], axis, shape->dimensions);
        BB_REQUIRE(extents[axis] <= ((bb_index)1 << SIZE_BITS) / values, BB_INVALID,
                   "zfp: more than 2^%d values", (int)SIZE_BITS);
        values *= extents[axis];
    }
done:
    return status;
}

bb_status bb_zfp_stream_check(const bb_zfp_stream *stream)
{
    bb_status status = BB_OK;
    const bb_zfp_settings *settings = &stream->settings;
    BB_REQUIRE(stream->type == BB_F32 || stream->type == BB_F64, BB_INVALID,
               "zfp: type %s, expected f32 or f64", bb_type_name(stream->type));
    BB_TRY(check_shape(&stream->shape));
    const unsigned head =
        1 + (is_double(stream->type) ? 11 : 8) +
        (bb_zfp_block_reversible(settings) ? 1 + (is_double(stream->type) ? 6 : 5) : 0);
    BB_REQUIRE(settings->minimum_bits <= settings->maximum_bits &&
                   settings->minimum_bits <= MOST_BLOCK_BITS && settings->maximum_bits >= head,
               BB_INVALID,
               "zfp: blocks of %u to %u bits, expected at least %u and a minimum of %d or less",
               settings->minimum_bits, settings->maximum_bits, head, (int)MOST_BLOCK_BITS);
    BB_REQUIRE(settings->maximum_precision >= 1 && settings->maximum_precision <= 64, BB_INVALID,
               "zfp: %u planes, expected 1 to 64", settings->maximum_precision);
    BB_REQUIRE(settings->minimum_exponent >= BB_ZFP_LEAST_EXPONENT - 1 &&
                   settings->minimum_exponent <= MOST_EXPONENT,
               BB_INVALID, "zfp: minimum exponent %d, expected %d to %d",
               settings->minimum_exponent, BB_ZFP_LEAST_EXPONENT - 1, (int)MOST_EXPONENT);
    BB_REQUIRE(stream->bytes != NULL && stream->bits <= 8 * (uint64_t)stream->size, BB_INVALID,
               "zfp: the stream has %llu bits, but its buffer only %zu bytes",
               (unsigned long long)stream->bits, stream->size);
    if (bb_zfp_stream_fixed(stream)) {
        uint64_t needed = (uint64_t)bb_zfp_stream_blocks(stream) * settings->maximum_bits;
        BB_REQUIRE(stream->bits >= needed, BB_INVALID,
                   "zfp: stream of %llu bits, fixed rate needs %llu",
                   (unsigned long long)stream->bits, (unsigned long long)needed);
    }
done:
    return status;
}

static bb_zfp_words words_of(const bb_zfp_stream *stream)
{
    const unsigned char *bytes = stream->bytes;
    bb_zfp_words words = {.bytes = bytes, .word_count = stream->size / 4};
    for (size_t i = 4 * (size_t)words.word_count; i < stream->size; ++i) {
        words.tail |= (uint32_t)bytes[i] << (8 * (i % 4));
    }
    return words;
}

typedef float item_f32;
typedef double item_f64;

// decode_f32, decode_f64: one version per number of dimensions, with loops of constant length.
#define DECODE(kind)                                                                               \
    static void decode_##kind(bb_zfp_reader *reader, const bb_zfp_settings *settings,              \
                              int dimensions, item_##kind *out)                                    \
    {                                                                                              \
        const int reversible = bb_zfp_block_reversible(settings);                                  \
        switch (dimensions) {                                                                      \
        case 1:                                                                                    \
            bb_zfp_decode_block_##kind(reader, settings, 1, reversible, out);                      \
            break;                                                                                 \
        case 2:                                                                                    \
            bb_zfp_decode_block_##kind(reader, settings, 2, reversible, out);                      \
            break;                                                                                 \
        case 3:                                                                                    \
            bb_zfp_decode_block_##kind(reader, settings, 3, reversible, out);                      \
            break;                                                                                 \
        default:                                                                                   \
            bb_zfp_decode_block_##kind(reader, settings, 4, reversible, out);                      \
        }                                                                                          \
    }
DECODE(f32)
DECODE(f64)
#undef DECODE

// Stores the part of a block that lies in the array.
static void put_block(const bb_zfp_shape *shape, const bb_zfp_corner *corner, size_t item,
                      const unsigned char *block, unsigned char *out)
{
    bb_index nx = shape->nx - corner->x < 4 ? shape->nx - corner->x : 4;
    bb_index ny = shape->ny - corner->y < 4 ? shape->ny - corner->y : 4;
    bb_index nz = shape->nz - corner->z < 4 ? shape->nz - corner->z : 4;
    bb_index nw = shape->nw - corner->w < 4 ? shape->nw - corner->w : 4;
    for (bb_index w = 0; w < nw; ++w) {
        for (bb_index z = 0; z < nz; ++z) {
            for (bb_index y = 0; y < ny; ++y) {
                bb_index line =
                    ((corner->w + w) * shape->nz + corner->z + z) * shape->ny + corner->y + y;
                memcpy(out + (size_t)(line * shape->nx + corner->x) * item,
                       block + (size_t)(64 * w + 16 * z + 4 * y) * item, (size_t)nx * item);
            }
        }
    }
}

void bb_zfp_stream_decode_at(bb_zfp_reader *reader, bb_type type, const bb_zfp_settings *settings,
                             const bb_zfp_shape *shape, const bb_zfp_corner *corner, void *out)
{
    union {
        float f32[BB_ZFP_BLOCK_MOST];
        double f64[BB_ZFP_BLOCK_MOST];
        unsigned char bytes[BB_ZFP_BLOCK_MOST * sizeof(double)];
    } block;
    if (is_double(type)) {
        decode_f64(reader, settings, shape->dimensions, block.f64);
    } else {
        decode_f32(reader, settings, shape->dimensions, block.f32);
    }
    put_block(shape, corner, bb_type_bytes(type), block.bytes, out);
}

// Checks that the block ending there can be the stream's last.
static bb_status check_end(const bb_zfp_stream *stream, uint64_t end)
{
    bb_status status = BB_OK;
    BB_REQUIRE(end <= stream->bits, BB_INVALID, "zfp: blocks end at bit %llu of a stream of %llu",
               (unsigned long long)end, (unsigned long long)stream->bits);
    BB_REQUIRE(stream->bits - end < WORD_BITS, BB_INVALID,
               "zfp: %llu bits remain after the last block of a stream of %llu",
               (unsigned long long)(stream->bits - end), (unsigned long long)stream->bits);
done:
    return status;
}

// Decodes, or only skips if `out` is NULL; `note` receives the positions of the runs.
static bb_status decode_blocks(const bb_zfp_stream *stream, void *out, bb_zfp_index *note)
{
    bb_status status = BB_OK;
    const bb_zfp_words words = words_of(stream);
    const bb_index blocks = bb_zfp_stream_blocks(stream);
    const bb_index group = note == NULL ? 1 : note->run_blocks * BB_ZFP_GROUP_RUNS;
    const int reversible = bb_zfp_block_reversible(&stream->settings);
    bb_zfp_corner corner = {0};
    uint64_t bit = 0;
    for (bb_index i = 0; i < blocks; ++i) {
        bb_zfp_reader reader = bb_zfp_reader_open(&words, bit);
        uint32_t begin = bb_zfp_reader_position(&reader);
        if (out != NULL) {
            bb_zfp_stream_decode_at(&reader, stream->type, &stream->settings, &stream->shape,
                                    &corner, out);
        } else if (is_double(stream->type)) {
            bb_zfp_pass_block_f64(&reader, &stream->settings, stream->shape.dimensions, reversible);
        } else {
            bb_zfp_pass_block_f32(&reader, &stream->settings, stream->shape.dimensions, reversible);
        }
        uint32_t used = bb_zfp_reader_position(&reader) - begin;
        if (note != NULL) {
            note->bases[i / group] = i % group == 0 ? bit : note->bases[i / group];
            note->lengths[i / note->run_blocks] += (uint16_t)used;
        }
        bit += used;
        BB_REQUIRE(bit <= stream->bits, BB_INVALID,
                   "zfp: block %td of %td ends at bit %llu of a stream of %llu", i, blocks,
                   (unsigned long long)bit, (unsigned long long)stream->bits);
        bb_zfp_corner_step(&stream->shape, &corner);
    }
    BB_TRY(check_end(stream, bit));
done:
    return status;
}

bb_status bb_zfp_stream_decode(const bb_zfp_stream *stream, void *out)
{
    bb_status status = BB_OK;
    BB_TRY(bb_zfp_stream_check(stream));
    BB_TRY(decode_blocks(stream, out, NULL));
done:
    return status;
}

void bb_zfp_index_release(bb_zfp_index *index)
{
    BB_RELEASE(&index->bases);
    BB_RELEASE(&index->lengths);
    *index = (bb_zfp_index){0};
}

bb_index bb_zfp_stream_run_groups(bb_index runs)
{
    return (runs + BB_ZFP_GROUP_RUNS - 1) / BB_ZFP_GROUP_RUNS;
}

size_t bb_zfp_index_bytes(const bb_zfp_index *index)
{
    return index->lengths == NULL
               ? 0
               : (size_t)index->runs * sizeof *index->lengths +
                     (size_t)bb_zfp_stream_run_groups(index->runs) * sizeof *index->bases;
}

bb_status bb_zfp_index_create(const bb_zfp_stream *stream, bb_index run_blocks, bb_zfp_index *out)
{
    bb_status status = BB_OK;
    *out = (bb_zfp_index){0};
    BB_TRY(bb_zfp_stream_check(stream));
    BB_REQUIRE(run_blocks >= 1, BB_INVALID, "zfp: runs of %td blocks, expected at least 1",
               run_blocks);
    const bb_index blocks = bb_zfp_stream_blocks(stream);
    // Also for fixed rate: a reader's positions have 32 bits.
    bb_index limit = (bb_index)((BB_ZFP_RUN_BITS_END - 1) / bb_zfp_stream_block_bits(stream));
    limit = limit > 1 ? limit : 1;
    out->run_blocks = run_blocks < limit ? run_blocks : limit;
    out->runs = (blocks + out->run_blocks - 1) / out->run_blocks;
    if (!bb_zfp_stream_fixed(stream)) {
        BB_REQUIRE(bb_zfp_stream_block_bits(stream) < BB_ZFP_RUN_BITS_END, BB_INVALID,
                   "zfp: blocks of up to %llu bits; an index counts up to %d",
                   (unsigned long long)bb_zfp_stream_block_bits(stream),
                   (int)BB_ZFP_RUN_BITS_END - 1);
        BB_TRY(BB_ZEROED(bb_zfp_stream_run_groups(out->runs), &out->bases));
        BB_TRY(BB_ZEROED(out->runs, &out->lengths));
        BB_TRY(decode_blocks(stream, NULL, out));
    } else {
        BB_TRY(check_end(stream, (uint64_t)blocks * stream->settings.maximum_bits));
    }
done:
    if (status != BB_OK) {
        bb_zfp_index_release(out);
    }
    return status;
}
