// SPDX-License-Identifier: Apache-2.0
//
// The cuda version against libzfp by memcmp: 10,000 arrays per mode and dimension, floats and
// doubles; and against the cpu's for corrupt streams and indexes. Optional arguments: arrays per
// mode and dimension, and a seed; or "few", for slow tools.
#include "tests/device_pair.h"
#include "tests/precision/codecs/zfp/zfp_arrays.h"

enum { MOST_TOGETHER = 7, GUARD_BYTES = 64 };

static bb_index arrays = 10000; // per mode and dimension
static bb_index flips = 600;
static uint64_t seed = 7;
static coded_array coded;
static double on_host[MOST_VALUES], on_gpu[MOST_VALUES + 1];

// The status, the run in the message, and the values of one device.
static bb_status decode_on(bb_device *device, const bb_zfp_stream *stream,
                           const bb_zfp_index *index, size_t bytes, void *out)
{
    const size_t guarded = bytes + 8;
    void *values = allocate_on(device, guarded);
    check_ok(bb_device_zero(device, values, guarded));
    bb_zfp_decoder *decoder = new_object(bb_zfp_decoder, device, stream, index, 1);
    bb_status status = bb_zfp_decoder_run(decoder, values, NULL);
    unsigned char guard[8];
    check_ok(bb_device_download(device, out, values, bytes));
    check_ok(bb_device_download(device, guard, (char *)values + bytes, 8));
    for (int i = 0; i < 8; ++i) {
        assert_int_equal(guard[i], 0);
    }
    bb_zfp_decoder_destroy(&decoder);
    bb_device_release(device, &values);
    return status;
}

// Other values in an array of the same type, shape and settings.
static void code_like(random_bits *random, const bb_zfp_stream *like, int kind, coded_array *out)
{
    zfp_stream *zfp = open_array(&like->shape, like->type == BB_F64, out);
    draw_values(random, kind, like->type == BB_F64, bb_zfp_stream_values(like), out->values);
    zfp->minbits = like->settings.minimum_bits;
    zfp->maxbits = like->settings.maximum_bits;
    zfp->maxprec = like->settings.maximum_precision;
    zfp->minexp = like->settings.minimum_exponent;
    code_values(zfp, out);
}

// Arrays of one decoder, and their output. The buffer stays allocated: a driver that may return its
// last page would unmap and map it at every decoder.
static struct {
    coded_array array[MOST_TOGETHER];
    unsigned char poison[MOST_TOGETHER * MOST_VALUES * sizeof(double) + GUARD_BYTES];
    unsigned char found[MOST_TOGETHER * MOST_VALUES * sizeof(double) + GUARD_BYTES];
    void *room;
} together;

static void decode_together(bb_index count, bb_index run_blocks)
{
    bb_zfp_stream streams[MOST_TOGETHER];
    bb_zfp_index indexes[MOST_TOGETHER];
    const size_t bytes = (size_t)count * together.array[0].value_bytes + GUARD_BYTES;
    for (bb_index k = 0; k < count; ++k) {
        streams[k] = together.array[k].stream;
        check_ok(bb_zfp_index_create(&streams[k], run_blocks, &indexes[k]));
    }
    check_ok(bb_device_upload(gpu, together.room, together.poison, bytes));
    bb_zfp_decoder *decoder = new_object(bb_zfp_decoder, gpu, streams, indexes, count);
    check_ok(bb_zfp_decoder_run(decoder, together.room, NULL));
    check_ok(bb_device_download(gpu, together.found, together.room, bytes));
    assert_memory_equal(together.found + bytes - GUARD_BYTES, together.poison, GUARD_BYTES);
    bb_zfp_decoder_destroy(&decoder);
    for (bb_index k = 0; k < count; ++k) {
        bb_zfp_index_release(&indexes[k]);
    }
}

static void expect_libzfp(int mode, bb_index first, bb_index count)
{
    for (bb_index k = 0; k < count; ++k) {
        const coded_array *array = &together.array[k];
        const bb_zfp_shape *shape = &array->stream.shape;
        if (memcmp(together.found + (size_t)k * array->value_bytes, array->theirs,
                   array->value_bytes) != 0) {
            print_error("%s, %d dimensions, array %td, %td of %td, of %td x %td x %td x %td\n",
                        mode_names[mode], shape->dimensions, first + k, k, count, shape->nx,
                        shape->ny, shape->nz, shape->nw);
            fail();
        }
    }
}

// One to seven arrays per decoder, cycling through the kinds of values.
TEST(every_mode_and_dimension_is_that_of_libzfp)
{
    memset(together.poison, 0xa5, sizeof together.poison);
    check_ok(bb_device_allocate(gpu, sizeof together.poison, &together.room));
    for (int mode = 0; mode < MODE_COUNT; ++mode) {
        for (int dimensions = 1; dimensions <= 4; ++dimensions) {
            random_bits random = {seed + 100 * (uint64_t)mode + (uint64_t)dimensions};
            bb_index count = 0;
            bool is_double = true;
            for (bb_index i = 0; i < arrays; i += count) {
                count = 1 + draw_below(&random, MOST_TOGETHER);
                count = count < arrays - i ? count : arrays - i;
                is_double = !is_double;
                code_array(&random, mode, dimensions, is_double, (int)(i % (KIND_COUNT + 1)),
                           &together.array[0]);
                for (bb_index k = 1; k < count; ++k) {
                    code_like(&random, &together.array[0].stream, (int)((i + k) % (KIND_COUNT + 1)),
                              &together.array[k]);
                }
                decode_together(count, 1 + draw_below(&random, 5));
                expect_libzfp(mode, i, count);
            }
        }
    }
    bb_device_release(gpu, &together.room);
}

// Flipped bits and wrong lengths: the same result as on the cpu.
TEST(broken_streams_give_the_answer_of_the_cpu)
{
    random_bits random = {11};
    char message[256];
    for (bb_index i = 0; i < flips; ++i) {
        code_array(&random, 1 + (int)(i % 4), 1 + (int)(i / 4 % 4), i % 32 >= 16,
                   (int)(i / 32 % KIND_COUNT), &coded);
        autorelease(bb_zfp_index) index = new_struct(bb_zfp_index, &coded.stream, 2);
        bb_index bit = draw_below(&random, (bb_index)coded.stream.bits);
        coded.bytes[bit / 8] ^= (unsigned char)(1u << (bit % 8));
        if (i % 3 == 0 && index.lengths != NULL) {
            index.lengths[draw_below(&random, index.runs)] ^=
                (uint16_t)(1 + draw_below(&random, 99));
        }
        if (i % 16 == 5 && index.bases != NULL) {
            index.bases[0] = draw(&random) >> draw_below(&random, 60);
        }
        bb_status expected = decode_on(cpu, &coded.stream, &index, coded.value_bytes, on_host);
        (void)snprintf(message, sizeof message, "%s", expected == BB_OK ? "" : bb_status_message());
        bb_status status = decode_on(gpu, &coded.stream, &index, coded.value_bytes, on_gpu);
        assert_int_equal(status, expected);
        if (status == BB_OK) {
            assert_memory_equal(on_gpu, on_host, coded.value_bytes);
        } else {
            assert_string_equal(bb_status_message(), message);
        }
    }
}

// Many groups of runs and all warps of a processor; aligned and unaligned rows.
TEST(large_arrays)
{
    const bb_zfp_shape shapes[] = {{1, 100003, 1, 1, 1},
                                   {2, 512, 300, 1, 1},
                                   {2, 510, 301, 1, 1},
                                   {3, 101, 43, 37, 1},
                                   {4, 36, 21, 13, 11}};
    autofree float *values = NULL, *theirs = NULL, *ours = NULL;
    const bb_index limit = 200000, room = 1 << 21;
    check_ok(BB_ALLOCATE(limit, &values));
    check_ok(BB_ALLOCATE(limit, &theirs));
    check_ok(BB_ALLOCATE(limit, &ours));
    unsigned char *bytes = new_array(unsigned char, room);
    for (bb_index i = 0; i < limit; ++i) {
        values[i] = sinf(0.01F * (float)(i % 512)) / (1.0F + 1e-3F * (float)(i / 512));
    }
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; ++s) {
        bitstream *bits = stream_open(bytes, (size_t)room);
        zfp_stream *zfp = zfp_stream_open(bits);
        zfp_field *field = field_of(&shapes[s], false, values);
        (void)zfp_stream_set_accuracy(zfp, 1e-4);
        bb_zfp_stream stream = {
            .bytes = bytes,
            .type = BB_F32,
            .shape = shapes[s],
            .settings = {zfp->minbits, zfp->maxbits, zfp->maxprec, zfp->minexp}};
        stream.size = zfp_compress(zfp, field);
        stream.bits = 8 * (uint64_t)stream.size;
        zfp_stream_rewind(zfp);
        zfp_field_set_pointer(field, theirs);
        assert_true(zfp_decompress(zfp, field) > 0);
        const size_t value_bytes = (size_t)bb_zfp_stream_values(&stream) * sizeof *ours;
        for (bb_index run_blocks = 1; run_blocks <= 16; run_blocks *= 4) {
            autorelease(bb_zfp_index) index = new_struct(bb_zfp_index, &stream, run_blocks);
            check_ok(decode_on(gpu, &stream, &index, value_bytes, ours));
            assert_memory_equal(ours, theirs, value_bytes);
        }
        zfp_field_free(field);
        zfp_stream_close(zfp);
        stream_close(bits);
    }
    BB_RELEASE(&bytes);
}

static int begin(void)
{
    const int code = open_devices();
    if (code != 0) {
        return code;
    }
    if (few) {
        arrays = 14;
        flips = 56;
    } else if (test_argument_count > 0) {
        arrays = strtol(test_arguments[0], NULL, 10);
        seed = test_argument_count > 1 ? strtoull(test_arguments[1], NULL, 10) : seed;
    }
    return 0;
}

TEST_GROUP(.begin = begin, .end = close_devices);
