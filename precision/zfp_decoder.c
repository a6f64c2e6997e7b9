// SPDX-License-Identifier: Apache-2.0
#include "precision/zfp_decoder.h"

#include "core/memory.h"

#include <stdbool.h>
#include <string.h>

enum {
    MOST_BLOCK_BITS = 1 << 20, // that settings may ask a block to be filled up to
    MOST_EXPONENT = 1 << 20,
    RUN_BITS_END = 1 << 16,
    WORD_BITS = 64, // of the widest word that a writer fills up
    SIZE_BITS = 43, // of the values of an array: times MOST_BLOCK_BITS, below 2^64
};

static const char *type_name(bb_type type)
{
    return bb_type_name(type);
}

static bool is_double(bb_type type)
{
    return type == BB_F64;
}

static bool fixed_rate(const bb_zfp_settings *settings)
{
    return settings->minimum_bits == settings->maximum_bits;
}

// Most bits of a block: its head, and two a value and plane.
static uint64_t most_bits(const bb_zfp_stream *stream)
{
    uint64_t width = is_double(stream->type) ? 64 : 32;
    uint64_t most = 19 + ((2 * width) << (2 * stream->shape.dimensions));
    most = most < stream->settings.maximum_bits ? most : stream->settings.maximum_bits;
    return most > stream->settings.minimum_bits ? most : stream->settings.minimum_bits;
}

bb_index bb_zfp_stream_blocks(const bb_zfp_stream *stream)
{
    const bb_zfp_shape *shape = &stream->shape;
    return bb_zfp_blocks_of(shape->nx) * bb_zfp_blocks_of(shape->ny) * bb_zfp_blocks_of(shape->nz) *
           bb_zfp_blocks_of(shape->nw);
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
                   BB_INVALID, "zfp: extent %td along axis %d of %d dimensions", extents[axis],
                   axis, shape->dimensions);
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
               "zfp: type %s, expected f32 or f64", type_name(stream->type));
    BB_TRY(check_shape(&stream->shape));
    const unsigned head = 1 + (is_double(stream->type) ? 11 : 8) +
                          (bb_zfp_reversible(settings) ? 1 + (is_double(stream->type) ? 6 : 5) : 0);
    BB_REQUIRE(settings->minimum_bits <= settings->maximum_bits &&
                   settings->minimum_bits <= MOST_BLOCK_BITS && settings->maximum_bits >= head,
               BB_INVALID, "zfp: blocks of %u to %u bits, expected at least %u and a least of %d",
               settings->minimum_bits, settings->maximum_bits, head, (int)MOST_BLOCK_BITS);
    BB_REQUIRE(settings->maximum_precision >= 1 && settings->maximum_precision <= 64, BB_INVALID,
               "zfp: %u planes, expected 1 to 64", settings->maximum_precision);
    BB_REQUIRE(settings->minimum_exponent >= BB_ZFP_LEAST_EXPONENT - 1 &&
                   settings->minimum_exponent <= MOST_EXPONENT,
               BB_INVALID, "zfp: least exponent %d, expected %d to %d", settings->minimum_exponent,
               BB_ZFP_LEAST_EXPONENT - 1, (int)MOST_EXPONENT);
    BB_REQUIRE(stream->bytes != NULL && stream->bits <= 8 * (uint64_t)stream->size, BB_INVALID,
               "zfp: %llu bits in %zu bytes", (unsigned long long)stream->bits, stream->size);
    if (fixed_rate(settings)) {
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
    bb_zfp_words words = {.bytes = bytes, .whole = stream->size / 4};
    for (size_t i = 4 * (size_t)words.whole; i < stream->size; ++i) {
        words.tail |= (uint32_t)bytes[i] << (8 * (i % 4));
    }
    return words;
}

// One version a number of dimensions: loops of constant length.
static void decode_f32(bb_zfp_reader *reader, const bb_zfp_settings *settings, int dimensions,
                       float *out)
{
    const int reversible = bb_zfp_reversible(settings);
    switch (dimensions) {
    case 1:
        bb_zfp_decode_block_f32(reader, settings, 1, reversible, out);
        break;
    case 2:
        bb_zfp_decode_block_f32(reader, settings, 2, reversible, out);
        break;
    case 3:
        bb_zfp_decode_block_f32(reader, settings, 3, reversible, out);
        break;
    default:
        bb_zfp_decode_block_f32(reader, settings, 4, reversible, out);
    }
}

static void decode_f64(bb_zfp_reader *reader, const bb_zfp_settings *settings, int dimensions,
                       double *out)
{
    const int reversible = bb_zfp_reversible(settings);
    switch (dimensions) {
    case 1:
        bb_zfp_decode_block_f64(reader, settings, 1, reversible, out);
        break;
    case 2:
        bb_zfp_decode_block_f64(reader, settings, 2, reversible, out);
        break;
    case 3:
        bb_zfp_decode_block_f64(reader, settings, 3, reversible, out);
        break;
    default:
        bb_zfp_decode_block_f64(reader, settings, 4, reversible, out);
    }
}

// The part of a block that lies in the array.
static void put_block(const bb_zfp_shape *shape, const bb_zfp_corner *at, size_t item,
                      const unsigned char *block, unsigned char *out)
{
    bb_index nx = shape->nx - at->x < 4 ? shape->nx - at->x : 4;
    bb_index ny = shape->ny - at->y < 4 ? shape->ny - at->y : 4;
    bb_index nz = shape->nz - at->z < 4 ? shape->nz - at->z : 4;
    bb_index nw = shape->nw - at->w < 4 ? shape->nw - at->w : 4;
    for (bb_index w = 0; w < nw; ++w) {
        for (bb_index z = 0; z < nz; ++z) {
            for (bb_index y = 0; y < ny; ++y) {
                bb_index line = ((at->w + w) * shape->nz + at->z + z) * shape->ny + at->y + y;
                memcpy(out + (size_t)(line * shape->nx + at->x) * item,
                       block + (size_t)(64 * w + 16 * z + 4 * y) * item, (size_t)nx * item);
            }
        }
    }
}

static void decode_block(bb_zfp_reader *reader, bb_type type, const bb_zfp_settings *settings,
                         const bb_zfp_shape *shape, const bb_zfp_corner *at, void *out)
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
    put_block(shape, at, bb_type_bytes(type), block.bytes, out);
}

// Whether the block that ended there can be the stream's last.
static bb_status check_end(const bb_zfp_stream *stream, uint64_t end)
{
    bb_status status = BB_OK;
    BB_REQUIRE(end <= stream->bits, BB_INVALID, "zfp: blocks end at bit %llu of a stream of %llu",
               (unsigned long long)end, (unsigned long long)stream->bits);
    BB_REQUIRE(stream->bits - end < WORD_BITS, BB_INVALID,
               "zfp: %llu bits are left behind the last block of a stream of %llu",
               (unsigned long long)(stream->bits - end), (unsigned long long)stream->bits);
done:
    return status;
}

// Decodes, or only passes where `out` is NULL; `note` gets the bit that every block begins at.
static bb_status walk(const bb_zfp_stream *stream, void *out, bb_zfp_index *note)
{
    bb_status status = BB_OK;
    const bb_zfp_words words = words_of(stream);
    const bb_index blocks = bb_zfp_stream_blocks(stream);
    const bb_index group = note == NULL ? 1 : note->run_blocks * BB_ZFP_GROUP_RUNS;
    const int reversible = bb_zfp_reversible(&stream->settings);
    bb_zfp_corner at = {0};
    uint64_t bit = 0;
    for (bb_index i = 0; i < blocks; ++i) {
        bb_zfp_reader reader = bb_zfp_reader_open(&words, bit);
        uint32_t begin = bb_zfp_position(&reader);
        if (out != NULL) {
            decode_block(&reader, stream->type, &stream->settings, &stream->shape, &at, out);
        } else if (is_double(stream->type)) {
            bb_zfp_pass_block_f64(&reader, &stream->settings, stream->shape.dimensions, reversible);
        } else {
            bb_zfp_pass_block_f32(&reader, &stream->settings, stream->shape.dimensions, reversible);
        }
        uint32_t used = bb_zfp_position(&reader) - begin;
        if (note != NULL) {
            note->bases[i / group] = i % group == 0 ? bit : note->bases[i / group];
            note->lengths[i / note->run_blocks] += (uint16_t)used;
        }
        bit += used;
        BB_REQUIRE(bit <= stream->bits, BB_INVALID,
                   "zfp: block %td of %td ends at bit %llu of a stream of %llu", i, blocks,
                   (unsigned long long)bit, (unsigned long long)stream->bits);
        bb_zfp_corner_step(&stream->shape, &at);
    }
    BB_TRY(check_end(stream, bit));
done:
    return status;
}

bb_status bb_zfp_decode(const bb_zfp_stream *stream, void *out)
{
    bb_status status = BB_OK;
    BB_TRY(bb_zfp_stream_check(stream));
    BB_TRY(walk(stream, out, NULL));
done:
    return status;
}

void bb_zfp_index_release(bb_zfp_index *index)
{
    BB_RELEASE(&index->bases);
    BB_RELEASE(&index->lengths);
    *index = (bb_zfp_index){0};
}

static bb_index groups_of(bb_index runs)
{
    return (runs + BB_ZFP_GROUP_RUNS - 1) / BB_ZFP_GROUP_RUNS;
}

size_t bb_zfp_index_bytes(const bb_zfp_index *index)
{
    return index->lengths == NULL ? 0
                                  : (size_t)index->runs * sizeof *index->lengths +
                                        (size_t)groups_of(index->runs) * sizeof *index->bases;
}

bb_status bb_zfp_index_create(const bb_zfp_stream *stream, bb_index run_blocks, bb_zfp_index *out)
{
    bb_status status = BB_OK;
    *out = (bb_zfp_index){0};
    BB_TRY(bb_zfp_stream_check(stream));
    BB_REQUIRE(run_blocks >= 1, BB_INVALID, "zfp: runs of %td blocks, expected at least 1",
               run_blocks);
    const bb_index blocks = bb_zfp_stream_blocks(stream);
    // Also of a fixed rate: a reader's positions have 32 bits.
    bb_index most = (bb_index)((RUN_BITS_END - 1) / most_bits(stream));
    most = most > 1 ? most : 1;
    out->run_blocks = run_blocks < most ? run_blocks : most;
    out->runs = (blocks + out->run_blocks - 1) / out->run_blocks;
    if (!fixed_rate(&stream->settings)) {
        BB_REQUIRE(most_bits(stream) < RUN_BITS_END, BB_INVALID,
                   "zfp: blocks of up to %llu bits, an index counts to %d",
                   (unsigned long long)most_bits(stream), (int)RUN_BITS_END - 1);
        BB_TRY(BB_ZEROED(groups_of(out->runs), &out->bases));
        BB_TRY(BB_ZEROED(out->runs, &out->lengths));
        BB_TRY(walk(stream, NULL, out));
    } else {
        BB_TRY(check_end(stream, (uint64_t)blocks * stream->settings.maximum_bits));
    }
done:
    if (status != BB_OK) {
        bb_zfp_index_release(out);
    }
    return status;
}

// The cpu twin: one group after the other, run by run.
static bool decode_run(const bb_zfp_decoding *task, bb_index run, uint64_t begin, uint64_t end)
{
    const bb_index first = run * task->run_blocks;
    const bb_index left = task->blocks - first;
    const bb_index count = left < task->run_blocks ? left : task->run_blocks;
    bb_zfp_reader reader = bb_zfp_reader_open(&task->words, begin);
    bb_zfp_corner at = bb_zfp_corner_of(&task->shape, first);
    const uint32_t start = bb_zfp_position(&reader);
    for (bb_index i = 0; i < count; ++i) {
        decode_block(&reader, task->type, &task->settings, &task->shape, &at, task->out);
        bb_zfp_corner_step(&task->shape, &at);
    }
    return end <= task->bits && bb_zfp_position(&reader) - start == end - begin;
}

static void note_broken(uint64_t *broken, uint64_t run)
{
    uint64_t now = __atomic_load_n(broken, __ATOMIC_RELAXED);
    while (run < now && !__atomic_compare_exchange_n(broken, &now, run, true, __ATOMIC_RELAXED,
                                                     __ATOMIC_RELAXED)) {
    }
}

static bb_status decode_groups(void *arguments, bb_index begin, bb_index end)
{
    const bb_zfp_decoding *task = arguments;
    for (bb_index group = begin; group < end; ++group) {
        uint64_t bit = task->lengths == NULL ? 0 : task->bases[group];
        for (bb_index i = 0; i < BB_ZFP_GROUP_RUNS; ++i) {
            bb_index run = group * BB_ZFP_GROUP_RUNS + i;
            if (run >= task->runs) {
                break;
            }
            uint64_t length;
            if (task->lengths == NULL) {
                bb_index left = task->blocks - run * task->run_blocks;
                bb_index count = left < task->run_blocks ? left : task->run_blocks;
                bit = (uint64_t)(run * task->run_blocks) * task->settings.maximum_bits;
                length = (uint64_t)count * task->settings.maximum_bits;
            } else {
                length = task->lengths[run];
            }
            if (!decode_run(task, run, bit, bit + length)) {
                note_broken(task->broken, (uint64_t)run);
            }
            bit += length;
        }
    }
    return BB_OK;
}

static const bb_kernel kernel = {.name = "zfp_decoder",
                                 .grain = 8,
                                 .cpu = decode_groups,
                                 .cuda = BB_CUDA_TWIN(bb_zfp_decoding_cuda)};

struct bb_zfp_decoder {
    bb_device *device;
    bb_zfp_decoding task; // arrays on the device
    void *stream, *bases, *lengths, *broken;
};

void bb_zfp_decoder_destroy(bb_zfp_decoder **decoder)
{
    bb_zfp_decoder *of = *decoder;
    if (of != NULL) {
        bb_device_release(of->device, &of->stream);
        bb_device_release(of->device, &of->bases);
        bb_device_release(of->device, &of->lengths);
        bb_device_release(of->device, &of->broken);
        BB_RELEASE(decoder);
    }
}

static bb_status upload(bb_device *device, const void *from, size_t bytes, size_t room, void **out)
{
    bb_status status = BB_OK;
    BB_TRY(bb_device_allocate(device, room, out));
    BB_TRY(bb_device_zero(device, *out, room));
    BB_TRY(bb_device_upload(device, *out, from, bytes));
done:
    return status;
}

static bb_status check_index(const bb_zfp_stream *stream, const bb_zfp_index *index)
{
    bb_status status = BB_OK;
    const bb_index blocks = bb_zfp_stream_blocks(stream);
    BB_REQUIRE(index->run_blocks >= 1 &&
                   index->runs == (blocks + index->run_blocks - 1) / index->run_blocks,
               BB_INVALID, "zfp index: %td runs of %td blocks for an array of %td blocks",
               index->runs, index->run_blocks, blocks);
    BB_REQUIRE((index->lengths == NULL) == fixed_rate(&stream->settings) &&
                   (index->lengths == NULL) == (index->bases == NULL),
               BB_INVALID, "zfp index: %s lengths for a stream of %s rate",
               index->lengths == NULL ? "no" : "with",
               fixed_rate(&stream->settings) ? "fixed" : "variable");
    BB_REQUIRE(index->run_blocks == 1 ||
                   most_bits(stream) < (uint64_t)RUN_BITS_END / (uint64_t)index->run_blocks + 1,
               BB_INVALID, "zfp index: runs of %td blocks of up to %llu bits", index->run_blocks,
               (unsigned long long)most_bits(stream));
done:
    return status;
}

bb_status bb_zfp_decoder_create(bb_device *device, const bb_zfp_stream *stream,
                                const bb_zfp_index *index, bb_zfp_decoder **out)
{
    bb_status status = BB_OK;
    bb_zfp_decoder *of = NULL;
    *out = NULL;
    BB_TRY(bb_zfp_stream_check(stream));
    BB_TRY(check_index(stream, index));
    BB_TRY(BB_ZEROED(1, &of));
    of->device = device;
    const size_t room = (stream->size + 3) / 4 * 4 + 4;
    BB_TRY(upload(device, stream->bytes, stream->size, room, &of->stream));
    BB_TRY(bb_device_allocate(device, sizeof *of->task.broken, &of->broken));
    if (index->lengths != NULL) {
        const size_t groups = (size_t)groups_of(index->runs) * sizeof *index->bases;
        const size_t runs = (size_t)index->runs * sizeof *index->lengths;
        BB_TRY(upload(device, index->bases, groups, groups, &of->bases));
        BB_TRY(upload(device, index->lengths, runs, runs, &of->lengths));
    }
    BB_TRY(bb_device_wait(device));
    of->task = (bb_zfp_decoding){
        .words = {.bytes = of->stream, .whole = room / 4 - 1},
        .bits = stream->bits,
        .type = stream->type,
        .shape = stream->shape,
        .settings = stream->settings,
        .blocks = bb_zfp_stream_blocks(stream),
        .run_blocks = index->run_blocks,
        .runs = index->runs,
        .bases = of->bases,
        .lengths = of->lengths,
        .broken = of->broken
    };
    *out = of;
    of = NULL;
done:
    bb_zfp_decoder_destroy(&of);
    return status;
}

bb_status bb_zfp_decoder_run(bb_zfp_decoder *decoder, void *out, double *seconds)
{
    bb_status status = BB_OK;
    uint64_t broken = UINT64_MAX;
    double elapsed = 0.0;
    decoder->task.out = out;
    BB_TRY(bb_device_upload(decoder->device, decoder->broken, &broken, sizeof broken));
    BB_TRY(bb_device_timer_start(decoder->device));
    BB_TRY(
        bb_device_launch(decoder->device, &kernel, groups_of(decoder->task.runs), &decoder->task));
    BB_TRY(bb_device_timer_stop(decoder->device, &elapsed));
    BB_TRY(bb_device_download(decoder->device, &broken, decoder->broken, sizeof broken));
    BB_REQUIRE(broken == UINT64_MAX, BB_INVALID,
               "zfp: run %llu of %td does not end where the index says", (unsigned long long)broken,
               decoder->task.runs);
    if (seconds != NULL) {
        *seconds = elapsed;
    }
done:
    return status;
}
