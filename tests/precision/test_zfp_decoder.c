// SPDX-License-Identifier: Apache-2.0
//
// The decoder against libzfp by memcmp: 10,000 arrays a mode and dimension, floats and doubles in
// turn. With arguments: arrays a mode and dimension, and a seed.
#include "tests/precision/zfp_arrays.h"

#include <stdlib.h>

static bb_index arrays = 10000;
static uint64_t seed = 1;
static bb_device *cpu;
static coded_array coded;
static double ours[MOST_VALUES + 1];

static void check_decoder(const bb_zfp_stream *stream, const bb_zfp_index *index)
{
    bb_zfp_decoder *decoder = NULL;
    double seconds = -1.0;
    memset(ours, 0xa5, sizeof ours);
    check_ok(bb_zfp_decoder_create(cpu, stream, index, &decoder));
    check_ok(bb_zfp_decoder_run(decoder, ours, &seconds));
    assert_true(seconds >= 0.0);
    bb_zfp_decoder_destroy(&decoder);
}

static void check_array(random_bits *random, bool with_index)
{
    bb_zfp_index index = {0};
    memset(ours, 0xa5, sizeof ours);
    check_ok(bb_zfp_decode(&coded.stream, ours));
    assert_memory_equal(ours, coded.theirs, coded.value_bytes);
    assert_int_equal(((unsigned char *)ours)[coded.value_bytes], 0xa5);
    if (with_index) {
        check_ok(bb_zfp_index_create(&coded.stream, 1 + draw_below(random, 9), &index));
        check_decoder(&coded.stream, &index);
        assert_memory_equal(ours, coded.theirs, coded.value_bytes);
        bb_zfp_index_release(&index);
    }
}

static void every_mode_and_dimension_is_that_of_libzfp(void **state)
{
    (void)state;
    for (int mode = 0; mode < MODE_COUNT; ++mode) {
        for (int dimensions = 1; dimensions <= 4; ++dimensions) {
            random_bits random = {seed + 1000 * (uint64_t)mode + (uint64_t)dimensions};
            for (bb_index i = 0; i < arrays; ++i) {
                code_array(&random, mode, dimensions, i % 2 == 1, (int)(i / 2 % (KIND_COUNT + 1)),
                           &coded);
                check_array(&random, i % 4 < 2);
            }
        }
    }
}

// Any bits as a stream, as long as libzfp says that the array's blocks are.
static void any_bits_decode_as_in_libzfp(void **state)
{
    (void)state;
    random_bits random = {seed};
    for (bb_index i = 0; i < arrays / 10; ++i) {
        for (int dimensions = 1; dimensions <= 4; ++dimensions) {
            int mode = (int)draw_below(&random, MODE_COUNT);
            bool is_double = i % 2 == 1;
            bitstream *bits = stream_open(coded.bytes, sizeof coded.bytes);
            zfp_stream *zfp = zfp_stream_open(bits);
            bb_zfp_shape shape = draw_shape(&random, dimensions);
            for (size_t k = 0; k < sizeof coded.bytes / 2; k += 8) {
                uint64_t word = draw(&random) & (i % 3 == 0 ? draw(&random) : UINT64_MAX);
                memcpy(coded.bytes + k, &word, 8);
            }
            draw_mode(&random, mode, is_double, dimensions, zfp);
            zfp_field *field = field_of(&shape, is_double, coded.theirs);
            coded.stream = (bb_zfp_stream){
                .bytes = coded.bytes,
                .type = is_double ? BB_F64 : BB_F32,
                .shape = shape,
                .settings = {zfp->minbits, zfp->maxbits, zfp->maxprec, zfp->minexp}
            };
            coded.value_bytes = (size_t)bb_zfp_stream_values(&coded.stream) * (is_double ? 8 : 4);
            assert_true(zfp_decompress(zfp, field) > 0);
            coded.stream.bits = stream_rtell(bits);
            coded.stream.size = (size_t)(coded.stream.bits + 7) / 8;
            check_array(&random, true);
            zfp_field_free(field);
            zfp_stream_close(zfp);
            stream_close(bits);
        }
    }
}

int main(int argc, char **argv)
{
    arrays = argc > 1 ? strtol(argv[1], NULL, 10) : arrays;
    seed = argc > 2 ? strtoull(argv[2], NULL, 10) : seed;
    if (bb_device_open(BB_DEVICE_CPU, 0, &cpu) != BB_OK) {
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_mode_and_dimension_is_that_of_libzfp),
        cmocka_unit_test(any_bits_decode_as_in_libzfp),
    };
    int failures = cmocka_run_group_tests(tests, NULL, NULL);
    bb_device_close(&cpu);
    return failures;
}
