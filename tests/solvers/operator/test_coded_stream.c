// SPDX-License-Identifier: Apache-2.0
//
// The layout that a GPU gets of whole numbers under powers of two, made in the memory of the cpu
// device.
#include "solvers/operator/coded_operator.h"
#include "solvers/operator/coded_stream.h"
#include "tests/check.h"
#include "tests/solvers/dense.h"

enum { ROWS = 5, COLUMNS = 1100 }; // three tiles, the last block cut

static bb_device *device;

static bb_coded_matrix *encoded(const char *text, double *values)
{
    bb_coded_matrix *matrix = NULL;
    bb_codec_config config;
    const bb_matrix_layout layout = {.rows = ROWS, .columns = COLUMNS};
    assert_true(bb_codec_read(text, &config));
    check_ok(bb_coded_matrix_create(&config, BB_ROW_SCALE_NONE, &layout, &matrix));
    check_ok(bb_coded_matrix_encode(matrix, 0, bb_view_matrix(values, ROWS, COLUMNS)));
    return matrix;
}

// Where no largest value of a block rounds past 127 units both codecs have the same numbers, so
// that one kernel reads both; poisoned blocks too.
static void int8_of_mx_lies_as_bfp_of_8_bits(void **state)
{
    (void)state;
    static double values[ROWS * COLUMNS];
    dense_random((bb_index)ROWS * COLUMNS, 3, values);
    for (bb_index i = 0; i < (bb_index)ROWS * COLUMNS; ++i) {
        const bb_index block = i % COLUMNS / 32 + i / COLUMNS * 7;
        const double largest = ldexp(1.2, (int)(block * 11 % 50) - 30);
        values[i] = i % COLUMNS % 32 == 3 ? largest : fmod(values[i], 1.0) * largest;
    }
    values[2 * COLUMNS + 700] = NAN;
    bb_coded_stream *streams[2] = {NULL, NULL};
    const char *const texts[] = {"mx element=int8", "bfp bits=8"};
    for (int k = 0; k < 2; ++k) {
        bb_coded_matrix *matrix = encoded(texts[k], values);
        check_ok(bb_coded_stream_create(device, matrix, &streams[k]));
        bb_coded_matrix_destroy(&matrix);
    }
    assert_true(bb_coded_stream_alike(streams[0], streams[1]));
    const size_t bytes = bb_coded_stream_bytes(streams[0]);
    assert_int_equal(bytes, 3 * ROWS * 528);
    assert_int_equal(bytes, bb_coded_stream_bytes(streams[1]));
    assert_memory_equal(bb_coded_stream_task(streams[0]).operand[0].words,
                        bb_coded_stream_task(streams[1]).operand[0].words, bytes);
    bb_coded_stream_destroy(&streams[0]);
    bb_coded_stream_destroy(&streams[1]);
}

static void units_below_normal_numbers_are_refused(void **state)
{
    (void)state;
    static double values[ROWS * COLUMNS];
    bb_coded_stream *stream = NULL;
    values[COLUMNS + 5] = 0x1p-121;
    bb_coded_matrix *matrix = encoded("mx element=int8", values);
    check_fails(bb_coded_stream_create(device, matrix, &stream), BB_UNSUPPORTED,
                "int8 of 2^-127 in row 1");
    bb_coded_matrix_destroy(&matrix);
    values[COLUMNS + 5] = 0x1p-120; // and zeros have no unit
    matrix = encoded("mx element=int8", values);
    check_ok(bb_coded_stream_create(device, matrix, &stream));
    bb_coded_stream_destroy(&stream);
    bb_coded_matrix_destroy(&matrix);
}

static void codecs_without_a_layout_are_refused(void **state)
{
    (void)state;
    static double values[ROWS * COLUMNS];
    bb_coded_stream *stream = NULL;
    bb_coded_matrix *matrix = encoded("mx element=e4m3", values);
    check_fails(bb_coded_stream_create(device, matrix, &stream), BB_UNSUPPORTED,
                "storage mx: no streamed products on a GPU");
    bb_coded_matrix_destroy(&matrix);
}

static int open_device(void **state)
{
    (void)state;
    check_ok(bb_device_open(BB_DEVICE_CPU, 0, &device));
    return 0;
}

static int close_device(void **state)
{
    (void)state;
    bb_device_close(&device);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(int8_of_mx_lies_as_bfp_of_8_bits),
        cmocka_unit_test(units_below_normal_numbers_are_refused),
        cmocka_unit_test(codecs_without_a_layout_are_refused),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
