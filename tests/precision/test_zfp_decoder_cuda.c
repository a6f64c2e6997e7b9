// SPDX-License-Identifier: Apache-2.0
//
// The cuda twin against the cpu's and libzfp by memcmp: every mode and dimension, floats and
// doubles, broken streams and indexes. "few" as argument: fewer arrays, for slow tools.
#include "tests/precision/zfp_arrays.h"

static bb_device *cpu, *gpu;
static bb_index arrays = 150; // a mode and dimension
static coded_array coded;
static double on_host[MOST_VALUES], on_gpu[MOST_VALUES + 1];

// The status, the message's run included, and the values of one device.
static bb_status decode_on(bb_device *device, const bb_zfp_stream *stream,
                           const bb_zfp_index *index, size_t bytes, void *out)
{
    bb_zfp_decoder *decoder = NULL;
    void *values = NULL;
    const size_t guarded = bytes + 8;
    check_ok(bb_device_allocate(device, guarded, &values));
    check_ok(bb_device_zero(device, values, guarded));
    check_ok(bb_zfp_decoder_create(device, stream, index, 1, &decoder));
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

static void every_mode_and_dimension_is_that_of_libzfp(void **state)
{
    (void)state;
    for (int mode = 0; mode < MODE_COUNT; ++mode) {
        for (int dimensions = 1; dimensions <= 4; ++dimensions) {
            random_bits random = {7 + 100 * (uint64_t)mode + (uint64_t)dimensions};
            for (bb_index i = 0; i < arrays; ++i) {
                bb_zfp_index index = {0};
                code_array(&random, mode, dimensions, i % 2 == 1, (int)(i / 2 % (KIND_COUNT + 1)),
                           &coded);
                check_ok(bb_zfp_index_create(&coded.stream, 1 + draw_below(&random, 5), &index));
                check_ok(decode_on(gpu, &coded.stream, &index, coded.value_bytes, on_gpu));
                if (memcmp(on_gpu, coded.theirs, coded.value_bytes) != 0) {
                    print_error("%s, %d dimensions, array %td of %td x %td x %td x %td\n",
                                mode_names[mode], dimensions, i, coded.stream.shape.nx,
                                coded.stream.shape.ny, coded.stream.shape.nz,
                                coded.stream.shape.nw);
                    fail();
                }
                bb_zfp_index_release(&index);
            }
        }
    }
}

// Flipped bits and wrong lengths: the same answer as on the cpu.
static void broken_streams_give_the_answer_of_the_cpu(void **state)
{
    (void)state;
    random_bits random = {11};
    char message[256];
    for (bb_index i = 0; i < 4 * arrays; ++i) {
        bb_zfp_index index = {0};
        code_array(&random, 1 + (int)(i % 4), 1 + (int)(i / 4 % 4), i % 32 >= 16,
                   (int)(i / 32 % KIND_COUNT), &coded);
        check_ok(bb_zfp_index_create(&coded.stream, 2, &index));
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
        bb_zfp_index_release(&index);
    }
}

// Several arrays of one kind: the first and the last of each mode and dimension, and what lies
// between them.
static void arrays_decode_together(void **state)
{
    (void)state;
    enum { TOGETHER = 7 };
    static coded_array several[TOGETHER];
    static double expected[TOGETHER * MOST_VALUES], ours[TOGETHER * MOST_VALUES];
    for (int cell = 0; cell < 4 * MODE_COUNT; ++cell) {
        bb_zfp_stream streams[TOGETHER];
        bb_zfp_index indexes[TOGETHER];
        bb_zfp_decoder *decoder = NULL;
        void *values = NULL;
        size_t bytes = 0;
        for (int i = 0; i < TOGETHER; ++i) {
            // The same draws of shape and settings, other kinds of values.
            random_bits random = {(uint64_t)cell};
            code_array(&random, cell / 4, 1 + cell % 4, cell % 3 == 1, i, &several[i]);
            bytes = several[i].value_bytes;
            memcpy((char *)expected + (size_t)i * bytes, several[i].theirs, bytes);
            // Settings are drawn behind the values, whose draws depend on their kind.
            if (memcmp(&several[i].stream.settings, &several[0].stream.settings,
                       sizeof several[i].stream.settings) != 0) {
                several[i] = several[0];
                several[i].stream.bytes = several[i].bytes;
                memcpy((char *)expected + (size_t)i * bytes, several[0].theirs, bytes);
            }
            streams[i] = several[i].stream;
            check_ok(bb_zfp_index_create(&streams[i], 2, &indexes[i]));
        }
        check_ok(bb_device_allocate(gpu, TOGETHER * bytes, &values));
        check_ok(bb_zfp_decoder_create(gpu, streams, indexes, TOGETHER, &decoder));
        check_ok(bb_zfp_decoder_run(decoder, values, NULL));
        check_ok(bb_device_download(gpu, ours, values, TOGETHER * bytes));
        assert_memory_equal(ours, expected, TOGETHER * bytes);
        bb_zfp_decoder_destroy(&decoder);
        bb_device_release(gpu, &values);
        for (int i = 0; i < TOGETHER; ++i) {
            bb_zfp_index_release(&indexes[i]);
        }
    }
}

// Many groups of runs and all of a processor's warps; aligned rows and rows that are not.
static void large_arrays(void **state)
{
    (void)state;
    const bb_zfp_shape shapes[] = {
        {1, 100003, 1,   1,  1 },
        {2, 512,    300, 1,  1 },
        {2, 510,    301, 1,  1 },
        {3, 101,    43,  37, 1 },
        {4, 36,     21,  13, 11}
    };
    float *values = NULL, *theirs = NULL, *ours = NULL;
    unsigned char *bytes = NULL;
    const bb_index most = 200000, room = 1 << 21;
    check_ok(BB_ALLOCATE(most, &values));
    check_ok(BB_ALLOCATE(most, &theirs));
    check_ok(BB_ALLOCATE(most, &ours));
    check_ok(BB_ALLOCATE(room, &bytes));
    for (bb_index i = 0; i < most; ++i) {
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
            .settings = {zfp->minbits, zfp->maxbits, zfp->maxprec, zfp->minexp}
        };
        stream.size = zfp_compress(zfp, field);
        stream.bits = 8 * (uint64_t)stream.size;
        zfp_stream_rewind(zfp);
        zfp_field_set_pointer(field, theirs);
        assert_true(zfp_decompress(zfp, field) > 0);
        const size_t value_bytes = (size_t)bb_zfp_stream_values(&stream) * sizeof *ours;
        for (bb_index run_blocks = 1; run_blocks <= 16; run_blocks *= 4) {
            bb_zfp_index index = {0};
            check_ok(bb_zfp_index_create(&stream, run_blocks, &index));
            check_ok(decode_on(gpu, &stream, &index, value_bytes, ours));
            assert_memory_equal(ours, theirs, value_bytes);
            bb_zfp_index_release(&index);
        }
        zfp_field_free(field);
        zfp_stream_close(zfp);
        stream_close(bits);
    }
    BB_RELEASE(&values);
    BB_RELEASE(&theirs);
    BB_RELEASE(&ours);
    BB_RELEASE(&bytes);
}

int main(int argc, char **argv)
{
    char reason[256] = "";
    if (bb_device_count(BB_DEVICE_CUDA, reason, sizeof reason) == 0) {
        print_message("skipped: %s\n", reason);
        return 77;
    }
    arrays = argc > 1 && strcmp(argv[1], "few") == 0 ? 14 : arrays;
    if (bb_device_open(BB_DEVICE_CPU, 0, &cpu) != BB_OK ||
        bb_device_open(BB_DEVICE_CUDA, 0, &gpu) != BB_OK) {
        print_error("%s\n", bb_status_message());
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_mode_and_dimension_is_that_of_libzfp),
        cmocka_unit_test(broken_streams_give_the_answer_of_the_cpu),
        cmocka_unit_test(arrays_decode_together),
        cmocka_unit_test(large_arrays),
    };
    int failures = cmocka_run_group_tests(tests, NULL, NULL);
    bb_device_close(&gpu);
    bb_device_close(&cpu);
    return failures;
}
