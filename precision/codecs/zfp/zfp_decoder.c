// SPDX-License-Identifier: Apache-2.0
#include "precision/codecs/zfp/zfp_decoder.h"

#include "core/memory.h"

#include <string.h>

// The cpu version: groups one after the other, run by run.
static bool decode_run(const bb_zfp_decoding *task, bb_index array, bb_index run, uint64_t begin,
                       uint64_t bits)
{
    const bb_index first = run * task->run_blocks;
    const bb_index rest = task->blocks - first;
    const bb_index count = rest < task->run_blocks ? rest : task->run_blocks;
    unsigned char *out =
        (unsigned char *)task->out + (size_t)(array * task->values) * bb_type_bytes(task->type);
    bb_zfp_reader reader = bb_zfp_reader_open(&task->words, begin);
    bb_zfp_corner corner = bb_zfp_corner_of(&task->shape, first);
    const uint32_t start = bb_zfp_reader_position(&reader);
    for (bb_index i = 0; i < count; ++i) {
        bb_zfp_stream_decode_at(&reader, task->type, &task->settings, &task->shape, &corner, out);
        bb_zfp_corner_step(&task->shape, &corner);
    }
    return begin + bits <= task->places[2 * array + 1] &&
           bb_zfp_reader_position(&reader) - start == bits;
}

static void record_broken(uint64_t *broken, uint64_t run)
{
    uint64_t now = __atomic_load_n(broken, __ATOMIC_RELAXED);
    while (run < now && !__atomic_compare_exchange_n(broken, &now, run, true, __ATOMIC_RELAXED,
                                                     __ATOMIC_RELAXED)) {
    }
}

static bb_status decode_groups(bb_queue *queue, bb_index begin, bb_index end, void *arguments)
{
    (void)queue;
    const bb_zfp_decoding *task = arguments;
    for (bb_index group = begin; group < end; ++group) {
        const bb_index array = group / task->groups;
        const bb_index first = group % task->groups * BB_ZFP_GROUP_RUNS;
        const bb_index last = first + BB_ZFP_GROUP_RUNS;
        uint64_t bit = task->places[2 * array];
        bit += task->lengths != NULL
                   ? task->bases[group]
                   : (uint64_t)(first * task->run_blocks) * task->settings.maximum_bits;
        for (bb_index run = first; run < last && run < task->runs; ++run) {
            const bb_index rest = task->blocks - run * task->run_blocks;
            const bb_index count = rest < task->run_blocks ? rest : task->run_blocks;
            const uint64_t bits = task->lengths != NULL
                                      ? task->lengths[group * BB_ZFP_GROUP_RUNS + run - first]
                                      : (uint64_t)count * task->settings.maximum_bits;
            if (!decode_run(task, array, run, bit, bits)) {
                record_broken(task->broken, (uint64_t)(array * task->runs + run));
            }
            bit += bits;
        }
    }
    return BB_OK;
}

static const bb_kernel kernel = {.name = "zfp_decoder",
                                 .grain = 8,
                                 .run[BB_DEVICE_CPU] = decode_groups,
                                 .run[BB_DEVICE_CUDA] = BB_CUDA_TWIN(bb_zfp_decoding_cuda)};

struct bb_zfp_decoder {
    bb_device *device;
    bb_zfp_decoding task; // arrays in device memory
    void *stream, *places, *bases, *lengths, *broken;
};

void bb_zfp_decoder_destroy(bb_zfp_decoder **decoder)
{
    bb_zfp_decoder *zfp_decoder = *decoder;
    if (zfp_decoder != NULL) {
        bb_device_release(zfp_decoder->device, &zfp_decoder->stream);
        bb_device_release(zfp_decoder->device, &zfp_decoder->places);
        bb_device_release(zfp_decoder->device, &zfp_decoder->bases);
        bb_device_release(zfp_decoder->device, &zfp_decoder->lengths);
        bb_device_release(zfp_decoder->device, &zfp_decoder->broken);
        BB_RELEASE(decoder);
    }
}

static bb_status check_index(const bb_zfp_stream *stream, const bb_zfp_index *index)
{
    bb_status status = BB_OK;
    const bb_index blocks = bb_zfp_stream_blocks(stream);
    const bool fixed = bb_zfp_stream_fixed(stream);
    BB_REQUIRE(index->run_blocks >= 1 &&
                   index->runs == (blocks + index->run_blocks - 1) / index->run_blocks,
               BB_INVALID, "zfp index: %td runs of %td blocks do not match an array of %td blocks",
               index->runs, index->run_blocks, blocks);
    BB_REQUIRE((index->lengths == NULL) == fixed && (index->bases == NULL) == fixed, BB_INVALID,
               "zfp index: %s lengths for a %s-rate stream", index->lengths == NULL ? "no" : "with",
               fixed ? "fixed" : "variable");
    BB_REQUIRE(index->run_blocks == 1 ||
                   bb_zfp_stream_block_bits(stream) <=
                       (uint64_t)BB_ZFP_RUN_BITS_END / (uint64_t)index->run_blocks,
               BB_INVALID, "zfp index: runs of %td blocks of up to %llu bits are too long",
               index->run_blocks, (unsigned long long)bb_zfp_stream_block_bits(stream));
done:
    return status;
}

static bool same_kind(const bb_zfp_stream *a, const bb_zfp_stream *b)
{
    return a->type == b->type && a->shape.dimensions == b->shape.dimensions &&
           a->shape.nx == b->shape.nx && a->shape.ny == b->shape.ny && a->shape.nz == b->shape.nz &&
           a->shape.nw == b->shape.nw && a->settings.minimum_bits == b->settings.minimum_bits &&
           a->settings.maximum_bits == b->settings.maximum_bits &&
           a->settings.maximum_precision == b->settings.maximum_precision &&
           a->settings.minimum_exponent == b->settings.minimum_exponent;
}

// Bytes of all streams, each aligned to 8 bytes, with trailing zeros.
static size_t room_of(const bb_zfp_stream *stream)
{
    return (stream->size + 7) / 8 * 8;
}

static bb_status check_all(const bb_zfp_stream *streams, const bb_zfp_index *indexes,
                           bb_index count, size_t *room)
{
    bb_status status = BB_OK;
    *room = 8;
    BB_REQUIRE(count >= 1, BB_INVALID, "zfp: %td streams, expected at least 1", count);
    for (bb_index i = 0; i < count; ++i) {
        BB_TRY(bb_zfp_stream_check(&streams[i]));
        BB_TRY(check_index(&streams[i], &indexes[i]));
        BB_REQUIRE(
            same_kind(&streams[0], &streams[i]) && indexes[i].run_blocks == indexes[0].run_blocks,
            BB_INVALID, "zfp: stream %td has another type, shape or run length than the first", i);
        *room += room_of(&streams[i]);
    }
done:
    return status;
}

static bb_status upload_streams(bb_zfp_decoder *decoder, const bb_zfp_stream *streams, size_t room)
{
    bb_status status = BB_OK;
    const bb_index count = decoder->task.arrays;
    uint64_t *places = NULL;
    size_t index = 0;
    BB_TRY(BB_ALLOCATE(2 * count, &places));
    BB_TRY(bb_device_allocate(decoder->device, room, &decoder->stream));
    BB_TRY(bb_device_zero(decoder->device, decoder->stream, room));
    for (bb_index i = 0; i < count; ++i) {
        BB_TRY(bb_device_upload(decoder->device, (unsigned char *)decoder->stream + index,
                                streams[i].bytes, streams[i].size));
        places[2 * i] = 8 * (uint64_t)index;
        places[2 * i + 1] = 8 * (uint64_t)index + streams[i].bits;
        index += room_of(&streams[i]);
    }
    const size_t bytes = 2 * (size_t)count * sizeof *places;
    BB_TRY(bb_device_allocate(decoder->device, bytes, &decoder->places));
    BB_TRY(bb_device_upload(decoder->device, decoder->places, places, bytes));
    BB_TRY(bb_device_wait(decoder->device));
done:
    BB_RELEASE(&places);
    return status;
}

static bb_status upload_indexes(bb_zfp_decoder *decoder, const bb_zfp_index *indexes)
{
    bb_status status = BB_OK;
    const bb_index count = decoder->task.arrays;
    const bb_index groups = decoder->task.groups;
    uint64_t *bases = NULL;
    uint16_t *lengths = NULL;
    if (indexes[0].lengths != NULL) {
        BB_TRY(BB_ALLOCATE(count * groups, &bases));
        BB_TRY(BB_ZEROED(count * groups * BB_ZFP_GROUP_RUNS, &lengths));
        for (bb_index i = 0; i < count; ++i) {
            memcpy(bases + i * groups, indexes[i].bases, (size_t)groups * sizeof *bases);
            memcpy(lengths + i * groups * BB_ZFP_GROUP_RUNS, indexes[i].lengths,
                   (size_t)decoder->task.runs * sizeof *lengths);
        }
        const size_t base_bytes = (size_t)(count * groups) * sizeof *bases;
        const size_t length_bytes = (size_t)(count * groups) * BB_ZFP_GROUP_RUNS * sizeof *lengths;
        BB_TRY(bb_device_allocate(decoder->device, base_bytes, &decoder->bases));
        BB_TRY(bb_device_allocate(decoder->device, length_bytes, &decoder->lengths));
        BB_TRY(bb_device_upload(decoder->device, decoder->bases, bases, base_bytes));
        BB_TRY(bb_device_upload(decoder->device, decoder->lengths, lengths, length_bytes));
        BB_TRY(bb_device_wait(decoder->device));
    }
done:
    BB_RELEASE(&bases);
    BB_RELEASE(&lengths);
    return status;
}

bb_status bb_zfp_decoder_create(bb_device *device, const bb_zfp_stream *streams,
                                const bb_zfp_index *indexes, bb_index count, bb_zfp_decoder **out)
{
    bb_status status = BB_OK;
    bb_zfp_decoder *decoder = NULL;
    size_t room = 0;
    *out = NULL;
    BB_TRY(check_all(streams, indexes, count, &room));
    BB_TRY(BB_ZEROED(1, &decoder));
    decoder->device = device;
    decoder->task = (bb_zfp_decoding){.type = streams[0].type,
                                      .shape = streams[0].shape,
                                      .settings = streams[0].settings,
                                      .arrays = count,
                                      .values = bb_zfp_stream_values(&streams[0]),
                                      .blocks = bb_zfp_stream_blocks(&streams[0]),
                                      .run_blocks = indexes[0].run_blocks,
                                      .runs = indexes[0].runs,
                                      .groups = bb_zfp_stream_run_groups(indexes[0].runs)};
    BB_TRY(upload_streams(decoder, streams, room));
    BB_TRY(upload_indexes(decoder, indexes));
    BB_TRY(bb_device_allocate(device, sizeof *decoder->task.broken, &decoder->broken));
    decoder->task.words = (bb_zfp_words){.bytes = decoder->stream, .word_count = room / 4 - 1};
    decoder->task.places = decoder->places;
    decoder->task.bases = decoder->bases;
    decoder->task.lengths = decoder->lengths;
    decoder->task.broken = decoder->broken;
    *out = decoder;
    decoder = NULL;
done:
    bb_zfp_decoder_destroy(&decoder);
    return status;
}

const bb_zfp_decoding *bb_zfp_decoder_decoding(const bb_zfp_decoder *decoder)
{
    return &decoder->task;
}

bb_status bb_zfp_decoder_run(bb_zfp_decoder *decoder, void *out, double *seconds)
{
    bb_status status = BB_OK;
    const bb_zfp_decoding *task = &decoder->task;
    uint64_t broken = UINT64_MAX;
    double elapsed = 0.0;
    decoder->task.out = out;
    BB_TRY(bb_device_upload(decoder->device, decoder->broken, &broken, sizeof broken));
    BB_TRY(bb_device_timer_start(decoder->device));
    BB_TRY(bb_device_launch(decoder->device, &kernel, task->arrays * task->groups, &decoder->task));
    BB_TRY(bb_device_timer_stop(decoder->device, &elapsed));
    BB_TRY(bb_device_download(decoder->device, &broken, decoder->broken, sizeof broken));
    BB_REQUIRE(broken == UINT64_MAX, BB_INVALID,
               "zfp: run %llu of array %llu does not end at the index's offset",
               (unsigned long long)(broken % (uint64_t)task->runs),
               (unsigned long long)(broken / (uint64_t)task->runs));
    if (seconds != NULL) {
        *seconds = elapsed;
    }
done:
    return status;
}
