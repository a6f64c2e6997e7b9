// SPDX-License-Identifier: Apache-2.0
//
// The layout that a GPU gets of whole numbers under powers of two, made in the memory of the cpu
// device.
#include "precision/codecs/plane_core.h"
#include "solvers/operator/coded_operator.h"
#include "solvers/operator/stream/coded_stream.h"
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

static bb_status create(const bb_coded_matrix *matrix, bb_coded_stream **out)
{
    return bb_coded_stream_create(device, matrix, 0, bb_coded_matrix_rows(matrix), out);
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
        check_ok(create(matrix, &streams[k]));
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
    check_fails(create(matrix, &stream), BB_UNSUPPORTED, "int8 of 2^-127 in row 1");
    bb_coded_matrix_destroy(&matrix);
    values[COLUMNS + 5] = 0x1p-120; // and zeros have no unit
    matrix = encoded("mx element=int8", values);
    check_ok(create(matrix, &stream));
    bb_coded_stream_destroy(&stream);
    bb_coded_matrix_destroy(&matrix);
}

// Value i of block b of a part of a row in planes of `bits`, as a decoder of plane_core.h sees it.
static int32_t value_in_planes(const unsigned char *part, int bits, int blocks, int b, int row,
                               int i)
{
    uint32_t value = 0;
    for (int k = 4; k >= 0; --k) {
        if ((bits >> k & 1) != 0) {
            const int width = 1 << k;
            const unsigned char *plane =
                width == 8 ? part + 16 * ((2 * b + i / 16) ^ row % 8) - 16 * (i / 16)
                           : part + 4 * width * (b ^ row % 8);
            value = value << width | bb_plane_field(plane, width, i);
            part += 4 * width * blocks;
        }
    }
    return bb_plane_signed(value, bits);
}

// Every width of integers: blocks exchanged by the row, chunks in the lanes' order, the step
// beside.
static void integers_lie_in_planes(void **state)
{
    (void)state;
    static double values[ROWS * COLUMNS];
    dense_random((bb_index)ROWS * COLUMNS, 5, values);
    for (int bits = 2; bits <= 16; bits += bits == 7 ? 2 : 1) {
        char text[40];
        bb_coded_stream *stream = NULL;
        (void)snprintf(text, sizeof text, "integer bits=%d", bits);
        bb_coded_matrix *matrix = encoded(text, values);
        check_ok(create(matrix, &stream));
        const bb_stream_operand operand = bb_coded_stream_task(stream).operand[0];
        assert_int_equal(bb_coded_stream_bytes(stream), 2 * ROWS * 128 * bits);
        assert_int_equal(bb_coded_stream_sums_in_limbs(stream), bits < 8);
        for (int k = 0; k < 2 * ROWS * 32; ++k) {
            const int tile = k / 32 / ROWS;
            const int row = k / 32 % ROWS;
            const int block = k % 32;
            int32_t numbers[32] = {0};
            if (tile * 1024 + block * 32 < COLUMNS) {
                bb_coded_matrix_whole_steps(matrix, row, tile * 32 + block, numbers);
            }
            const unsigned char *source = operand.words + (size_t)(tile * ROWS + row) * 128 * bits;
            for (int i = 0; i < 32; ++i) {
                const int natural = 4 * bb_coded_stream_chunk(8, block, i / 4) + i % 4;
                assert_int_equal(value_in_planes(source, bits, 32, block, row, i),
                                 numbers[natural]);
            }
        }
        for (int row = 0; row < ROWS; ++row) {
            assert_true(operand.steps[row] == bb_coded_matrix_row_step(matrix, row));
        }
        bb_coded_stream_destroy(&stream);
        bb_coded_matrix_destroy(&matrix);
    }
}

// Quarters of 16 rows together have the width of the widest; those of zeros none, and what limbs do
// not take is known.
static void quotients_of_a_band_have_one_width(void **state)
{
    (void)state;
    enum { MANY = 40 };
    static double values[MANY * COLUMNS];
    for (int k = 0; k < 3; ++k) {
        bb_coded_stream *stream = NULL;
        bb_coded_matrix *matrix = NULL;
        bb_codec_config config;
        const bb_matrix_layout layout = {.rows = MANY, .columns = COLUMNS};
        for (int i = 0; i < MANY * COLUMNS; ++i) {
            const int row = i / COLUMNS;
            const int wide = row == 20 && i % COLUMNS / 256 == 2 ? 8 * k : 0;
            values[i] = row == 3 ? 0.0 : ldexp(0.9, row % 8 + wide);
        }
        assert_true(bb_codec_read("quantiser tolerance=0.5", &config));
        check_ok(bb_coded_matrix_create(&config, BB_ROW_SCALE_NONE, &layout, &matrix));
        check_ok(bb_coded_matrix_encode(matrix, 0, bb_view_matrix(values, MANY, COLUMNS)));
        check_ok(create(matrix, &stream));
        assert_int_equal(bb_coded_stream_sums_in_limbs(stream), k < 2);
        const bb_stream_place *lies = bb_coded_stream_task(stream).operand[0].lies;
        assert_int_equal(bb_coded_stream_fits_fp32(stream), k < 2);
        for (int row = 0; k < 2 && row < MANY; ++row) {
            for (int q = 0; q < 4; ++q) {
                const uint32_t widest = k == 1 && row / 16 == 1 && q == 2 ? 16 : 8;
                assert_int_equal(bb_coded_stream_width(lies[row].widths, q), row == 3 ? 0 : widest);
            }
            for (int i = 0; row != 3 && i < 1024; i += 37) {
                const int b = i / 32;
                const int quarter = b / 8;
                const int width = (int)bb_coded_stream_width(lies[row].widths, quarter);
                const unsigned char *part =
                    bb_coded_stream_task(stream).operand[0].words +
                    32 * (size_t)(lies[row].unit +
                                  bb_coded_stream_units_before(lies[row].widths, quarter));
                const int natural = 4 * bb_coded_stream_chunk(8, b, i % 32 / 4) + i % 4;
                assert_int_equal(value_in_planes(part, width, 8, b % 8, row, i % 32),
                                 lrint(values[row * COLUMNS + 32 * b + natural]));
            }
        }
        bb_coded_stream_destroy(&stream);
        bb_coded_matrix_destroy(&matrix);
    }
}

// Rows from a whole band on, so that turns and widths are those of the whole matrix.
static void some_rows_lie_as_in_the_whole_matrix(void **state)
{
    (void)state;
    enum { MANY = 40, FIRST = 16, SOME = 20 };
    static const char *const texts[] = {"fp16",           "bfp bits=6",
                                        "integer bits=5", "mx element=int8",
                                        "integer bits=8", "quantiser tolerance=1e-2"};
    static double values[MANY * COLUMNS];
    const bb_matrix_layout layout = {.rows = MANY, .columns = COLUMNS};
    dense_random((bb_index)MANY * COLUMNS, 7, values);
    for (int i = 0; i < MANY * COLUMNS; ++i) {
        values[i] = ldexp(values[i], i / COLUMNS % 7); // scales differ from row to row
    }
    for (size_t k = 0; k < sizeof texts / sizeof *texts; ++k) {
        bb_coded_matrix *matrix = NULL;
        bb_coded_stream *matrix_stream = NULL;
        bb_coded_stream *part = NULL;
        bb_codec_config config;
        assert_true(bb_codec_read(texts[k], &config));
        const bool scaled = bb_codec_takes_row_scale(&config);
        check_ok(bb_coded_matrix_create(&config, scaled ? BB_ROW_SCALE_ROW : BB_ROW_SCALE_NONE,
                                        &layout, &matrix));
        check_ok(bb_coded_matrix_encode(matrix, 0, bb_view_matrix(values, MANY, COLUMNS)));
        check_ok(create(matrix, &matrix_stream));
        check_ok(bb_coded_stream_create(device, matrix, FIRST, SOME, &part));
        const bb_stream_task task = bb_coded_stream_task(part);
        const bb_stream_operand matrix_operand = bb_coded_stream_task(matrix_stream).operand[0];
        const bb_stream_operand part_operand = task.operand[0];
        assert_int_equal(task.rows, SOME);
        const bb_index tiles = (COLUMNS + task.layout.columns - 1) / task.layout.columns;
        for (bb_index i = 0; i < tiles * SOME; ++i) {
            const bb_index row = i / SOME * MANY + FIRST + i % SOME; // of the whole matrix's rows
            size_t bytes = (size_t)task.layout.row_bytes;
            size_t source = (size_t)row * bytes;
            size_t target = (size_t)i * bytes;
            if (bytes == 0) {
                assert_int_equal(part_operand.lies[i].widths, matrix_operand.lies[row].widths);
                bytes =
                    (size_t)BB_STREAM_UNIT * bb_coded_stream_units(matrix_operand.lies[row].widths);
                source = (size_t)BB_STREAM_UNIT * matrix_operand.lies[row].unit;
                target = (size_t)BB_STREAM_UNIT * part_operand.lies[i].unit;
            }
            assert_memory_equal(part_operand.words + target, matrix_operand.words + source, bytes);
        }
        for (int row = 0; row < SOME; ++row) {
            assert_true(part_operand.scales[row] == matrix_operand.scales[FIRST + row]);
            assert_true(part_operand.steps == NULL ||
                        part_operand.steps[row] == matrix_operand.steps[FIRST + row]);
        }
        bb_coded_stream_destroy(&matrix_stream);
        bb_coded_stream_destroy(&part);
        bb_coded_matrix_destroy(&matrix);
    }
}

static void codecs_without_a_layout_are_refused(void **state)
{
    (void)state;
    static double values[ROWS * COLUMNS];
    bb_coded_stream *stream = NULL;
    bb_coded_matrix *matrix = encoded("mx element=e4m3", values);
    check_fails(create(matrix, &stream), BB_UNSUPPORTED,
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
        cmocka_unit_test(integers_lie_in_planes),
        cmocka_unit_test(quotients_of_a_band_have_one_width),
        cmocka_unit_test(some_rows_lie_as_in_the_whole_matrix),
        cmocka_unit_test(codecs_without_a_layout_are_refused),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
