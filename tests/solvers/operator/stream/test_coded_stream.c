// SPDX-License-Identifier: Apache-2.0
//
// Device layout of integers scaled by powers of two, created in the memory of the CPU device.
#include "precision/codecs/plane_core.h"
#include "solvers/operator/coded_operator.h"
#include "solvers/operator/stream/coded_stream.h"
#include "tests/cpu_device.h"
#include "tests/precision/coded.h"
#include "tests/solvers/dense.h"

enum { ROWS = 5, COLUMNS = 1100 }; // three tiles, the last block incomplete

static bb_coded_matrix *encoded(const char *text, double *values)
{
    const bb_matrix_layout layout = {.rows = ROWS, .columns = COLUMNS};
    bb_codec_config config = codec_of(text);
    return coded_matrix(&config, BB_ROW_SCALE_NONE, &layout, values);
}

static bb_status create(const bb_coded_matrix *matrix, bb_coded_stream **out)
{
    return bb_coded_stream_create(cpu, matrix, 0, bb_coded_matrix_rows(matrix), out);
}

// If no block maximum rounds past 127 units, both codecs have the same numbers and one kernel reads
// both; also with poisoned blocks.
TEST(int8_of_mx_lies_as_bfp_of_8_bits)
{
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
        autoptr(bb_coded_matrix) matrix = encoded(texts[k], values);
        check_ok(create(matrix, &streams[k]));
    }
    assert_true(bb_coded_stream_alike(streams[0], streams[1]));
    const size_t bytes = bb_coded_stream_bytes(streams[0], BB_STREAM_RUNS);
    assert_int_equal(bytes, 3 * ROWS * 528);
    assert_int_equal(bytes, bb_coded_stream_bytes(streams[1], BB_STREAM_RUNS));
    assert_memory_equal(bb_coded_stream_task(streams[0], BB_STREAM_RUNS).operand[0].words,
                        bb_coded_stream_task(streams[1], BB_STREAM_RUNS).operand[0].words, bytes);
    bb_coded_stream_destroy(&streams[0]);
    bb_coded_stream_destroy(&streams[1]);
}

TEST(units_below_normal_numbers_are_refused)
{
    static double values[ROWS * COLUMNS];
    autoptr(bb_coded_stream) stream = NULL;
    values[COLUMNS + 5] = 0x1p-121;
    autoptr(bb_coded_matrix) matrix = encoded("mx element=int8", values);
    check_fails(create(matrix, &stream), BB_UNSUPPORTED, "int8 unit of 2^-127 in row 1");
    bb_coded_matrix_destroy(&matrix);
    values[COLUMNS + 5] = 0x1p-120; // and zeros have no unit
    matrix = encoded("mx element=int8", values);
    check_ok(create(matrix, &stream));
}

// Value i of block b of part of a row in planes of `bits`, as read by a decoder of plane_core.h.
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

// Every integer width: blocks permuted by row, chunks in the order of the lanes, steps stored
// separately.
TEST(integers_lie_in_planes)
{
    static double values[ROWS * COLUMNS];
    dense_random((bb_index)ROWS * COLUMNS, 5, values);
    for (int bits = 2; bits <= 16; bits += bits == 7 ? 2 : 1) {
        char text[40];
        autoptr(bb_coded_stream) stream = NULL;
        (void)snprintf(text, sizeof text, "integer bits=%d", bits);
        autoptr(bb_coded_matrix) matrix = encoded(text, values);
        check_ok(create(matrix, &stream));
        const bb_stream_operand operand = bb_coded_stream_task(stream, BB_STREAM_RUNS).operand[0];
        assert_int_equal(bb_coded_stream_bytes(stream, BB_STREAM_RUNS), 2 * ROWS * 128 * bits);
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
    }
}

// Quarters of 16 rows share the width of the widest; quarters of zeros have none. Values too wide
// for limbs are recognized.
TEST(quotients_of_a_band_have_one_width)
{
    enum { MANY = 40 };
    static double values[MANY * COLUMNS];
    for (int k = 0; k < 3; ++k) {
        autoptr(bb_coded_stream) stream = NULL;
        const bb_matrix_layout layout = {.rows = MANY, .columns = COLUMNS};
        for (int i = 0; i < MANY * COLUMNS; ++i) {
            const int row = i / COLUMNS;
            const int wide = row == 20 && i % COLUMNS / 256 == 2 ? 8 * k : 0;
            values[i] = row == 3 ? 0.0 : ldexp(0.9, row % 8 + wide);
        }
        bb_codec_config config = codec_of("quantiser tolerance=0.5");
        autoptr(bb_coded_matrix) matrix = coded_matrix(&config, BB_ROW_SCALE_NONE, &layout, values);
        check_ok(create(matrix, &stream));
        assert_int_equal(bb_coded_stream_sums_in_limbs(stream), k < 2);
        const bb_stream_place *lies = bb_coded_stream_task(stream, BB_STREAM_RUNS).operand[0].lies;
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
                    bb_coded_stream_task(stream, BB_STREAM_RUNS).operand[0].words +
                    32 * (size_t)(lies[row].unit +
                                  bb_coded_stream_units_before(lies[row].widths, quarter));
                const int natural = 4 * bb_coded_stream_chunk(8, b, i % 32 / 4) + i % 4;
                assert_int_equal(value_in_planes(part, width, 8, b % 8, row, i % 32),
                                 lrint(values[row * COLUMNS + 32 * b + natural]));
            }
        }
    }
}

// Rows that start at a band boundary, so that permutations and widths are those of the whole
// matrix.
TEST(some_rows_lie_as_in_the_whole_matrix)
{
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
        autoptr(bb_coded_stream) matrix_stream = NULL;
        bb_codec_config config = codec_of(texts[k]);
        const bool scaled = bb_codec_allows_row_scale(&config);
        bb_coded_matrix *matrix =
            coded_matrix(&config, scaled ? BB_ROW_SCALE_ROW : BB_ROW_SCALE_NONE, &layout, values);
        check_ok(create(matrix, &matrix_stream));
        autoptr(bb_coded_stream) part = new_object(bb_coded_stream, cpu, matrix, FIRST, SOME);
        const bb_stream_task task = bb_coded_stream_task(part, BB_STREAM_RUNS);
        const bb_stream_operand matrix_operand =
            bb_coded_stream_task(matrix_stream, BB_STREAM_RUNS).operand[0];
        const bb_stream_operand part_operand = task.operand[0];
        assert_int_equal(task.rows, SOME);
        const bb_index tiles = (COLUMNS + task.layout.columns - 1) / task.layout.columns;
        for (bb_index i = 0; i < tiles * SOME; ++i) {
            const bb_index row =
                i / SOME * MANY + FIRST + i % SOME; // of the rows of the whole matrix
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
        bb_coded_matrix_destroy(&matrix);
    }
}

// Quotients with some wide columns: in tile t if `tiles` has bit t, in its columns 700 and 771 (7
// and 78 in the last tile), in some rows.
enum { WIDE_ROWS = 37, WIDE_TILES = 9, WIDE_COLUMNS = 8 * 1024 + 300 };

static bool is_wide_row(int row)
{
    return row == 5 || (row >= 20 && row < 30) || row == 36;
}

static void fill_wide(unsigned tiles, double *values)
{
    static const double numbers[] = {
        32768.0, -32769.0, 65535.0, -65537.0, 8388607.0, -1e9, 0x1p31 - 0x1p15 - 1.0, 1.0 - 0x1p31};
    for (int i = 0; i < WIDE_ROWS * WIDE_COLUMNS; ++i) {
        const int row = i / WIDE_COLUMNS;
        values[i] = row == 3 ? 0.0 : (double)(i * 7 % 61 - 30);
    }
    for (int k = 0; k < WIDE_ROWS * WIDE_TILES; ++k) {
        const int row = k / WIDE_TILES;
        const int tile = k % WIDE_TILES;
        double *own = values + row * WIDE_COLUMNS + tile * 1024 + (tile == 8 ? 7 : 700);
        if ((tiles >> tile & 1U) != 0 && is_wide_row(row)) {
            own[0] = numbers[row % 8];
            own[71] = numbers[(row + 3) % 8];
        }
    }
}

static bb_coded_matrix *quantised(bb_index columns, double *values)
{
    const bb_matrix_layout layout = {.rows = WIDE_ROWS, .columns = columns};
    bb_codec_config config = codec_of("quantiser tolerance=0.5");
    return coded_matrix(&config, BB_ROW_SCALE_NONE, &layout, values);
}

// Value i of block b of a row in planes.
static int32_t quotient_of(const bb_stream_operand *operand, const bb_stream_place *place, int row,
                           int b, int i)
{
    const int width = (int)bb_coded_stream_width(place->widths, b / 8);
    const size_t unit = place->unit + bb_coded_stream_units_before(place->widths, b / 8);
    assert_true(width <= 16);
    return width == 0
               ? 0
               : value_in_planes(operand->words + BB_STREAM_UNIT * unit, width, 8, b % 8, row, i);
}

// Rows of a tile are adjacent; quarters of a band have one width or none.
static void check_places(const bb_stream_place *places, bb_index rows)
{
    for (bb_index row = 0; row < rows; ++row) {
        const bb_index band = row / 16 * 16;
        if (row + 1 < rows) {
            assert_int_equal(places[row + 1].unit,
                             places[row].unit + bb_coded_stream_units(places[row].widths));
        }
        for (int q = 0; q < 4; ++q) {
            uint32_t widest = 0;
            for (bb_index other = band; other < rows && other < band + 16; ++other) {
                const uint32_t width = bb_coded_stream_width(places[other].widths, q);
                widest = width > widest ? width : widest;
            }
            const uint32_t width = bb_coded_stream_width(places[row].widths, q);
            assert_true(width == 0 || width == widest);
        }
    }
}

// All tiles of limbs against the quotients: complete, or as the sum of both parts.
static void check_parts(const bb_coded_stream *stream, const bb_coded_matrix *matrix, int first)
{
    const bb_stream_task task = bb_coded_stream_task(stream, BB_STREAM_LIMBS);
    const bb_stream_task plain = bb_coded_stream_task(stream, BB_STREAM_RUNS);
    const int rows = (int)task.matrix_rows;
    size_t bytes = (size_t)(task.tiles * rows) * sizeof *task.operand[0].lies;
    for (int k = 0; k < WIDE_TILES * rows; ++k) {
        const int tile = k / rows;
        const int row = k % rows;
        const bb_stream_place *upper = NULL;
        int32_t quotients[1024];
        assert_true(bb_coded_matrix_quotients(matrix, first + row, tile, quotients));
        for (int u = 0; u < task.tiles - WIDE_TILES; ++u) {
            upper = task.sources[u] == tile ? &task.operand[0].lies[(WIDE_TILES + u) * rows + row]
                                            : upper;
        }
        const bb_stream_place *lower = &task.operand[0].lies[k];
        if (upper == NULL) {
            assert_memory_equal(lower, &plain.operand[0].lies[k], sizeof *lower);
        } else if (!is_wide_row(first + row)) {
            assert_int_equal(upper->widths, 0);
        }
        for (int i = 0; i < 1024; ++i) {
            const int natural =
                i / 32 * 32 + 4 * bb_coded_stream_chunk(8, i / 32, i % 32 / 4) + i % 4;
            int64_t found = quotient_of(&task.operand[0], lower, row, i / 32, i % 32);
            if (upper != NULL) {
                found += 65536 * (int64_t)quotient_of(&task.operand[0], upper, row, i / 32, i % 32);
            }
            assert_int_equal(found, quotients[natural]);
        }
    }
    for (bb_index tile = 0; tile < task.tiles; ++tile) {
        check_places(task.operand[0].lies + tile * rows, rows);
    }
    for (bb_index i = 0; i < task.tiles * rows; ++i) {
        bytes += 32 * (size_t)bb_coded_stream_units(task.operand[0].lies[i].widths);
    }
    assert_int_equal(bb_coded_stream_bytes(stream, BB_STREAM_LIMBS), bytes);
}

// The data read by other summation methods are unchanged: words of quotients in rows that are wide.
static void check_words(const bb_coded_stream *stream, const bb_coded_matrix *matrix, int first)
{
    const bb_stream_task task = bb_coded_stream_task(stream, BB_STREAM_RUNS);
    const int rows = (int)task.matrix_rows;
    assert_int_equal(task.tiles, WIDE_TILES);
    assert_null(task.sources);
    for (int row = 0; row < rows; ++row) {
        const bb_stream_place *place = &task.operand[0].lies[8 * rows + row];
        const unsigned char *words = task.operand[0].words + 32 * (size_t)place->unit;
        int32_t quotients[1024];
        int32_t word = 0;
        assert_int_equal((place->widths & 255U) == BB_STREAM_QUOTIENTS, is_wide_row(first + row));
        assert_true(bb_coded_matrix_quotients(matrix, first + row, 8, quotients));
        memcpy(&word, words + 128 * 7, sizeof word); // of lane 0
        assert_true(!is_wide_row(first + row) || word == quotients[7]);
    }
}

// Rows of the whole matrix and of a part, in the first tile and in the last, incomplete one.
TEST(wide_quotients_lie_in_two_parts)
{
    static double values[WIDE_ROWS * WIDE_COLUMNS];
    fill_wide(1U << 0 | 1U << 8, values);
    autoptr(bb_coded_matrix) matrix = quantised(WIDE_COLUMNS, values);
    for (int first = 0; first <= 17; first += 17) {
        autoptr(bb_coded_stream) stream =
            new_object(bb_coded_stream, cpu, matrix, first, WIDE_ROWS - first);
        const bb_stream_task task = bb_coded_stream_task(stream, BB_STREAM_LIMBS);
        assert_true(bb_coded_stream_sums_in_limbs(stream));
        assert_false(bb_coded_stream_fits_fp32(stream));
        assert_int_equal(task.tiles, WIDE_TILES + 2);
        assert_int_equal(task.sources[0], 0);
        assert_int_equal(task.sources[1], 8);
        check_parts(stream, matrix, first);
        check_words(stream, matrix, first);
    }
}

// True if limbs support a matrix; checks the number of upper tiles.
static bool takes_limbs(bb_index columns, double *values, bb_index uppers)
{
    autoptr(bb_coded_stream) stream = NULL;
    autoptr(bb_coded_matrix) matrix = quantised(columns, values);
    check_ok(create(matrix, &stream));
    const bool takes = bb_coded_stream_sums_in_limbs(stream);
    const bb_stream_task task = bb_coded_stream_task(stream, BB_STREAM_LIMBS);
    assert_int_equal(task.tiles, (columns + 1023) / 1024 + uppers);
    assert_false(bb_coded_stream_fits_fp32(stream));
    return takes;
}

TEST(limbs_do_not_take_every_wide_quotient)
{
    static double values[WIDE_ROWS * WIDE_COLUMNS];
    fill_wide(1U << 2 | 1U << 5, values);
    assert_true(takes_limbs(WIDE_COLUMNS, values, 2));
    fill_wide(1U << 2 | 1U << 5 | 1U << 6, values); // of columns of 8.3 tiles
    assert_false(takes_limbs(WIDE_COLUMNS, values, 0));
    fill_wide(1U << 2, values);
    values[30 * WIDE_COLUMNS + 8000] = 0x1p31 - 0x1p15; // an upper part of 2^15
    assert_false(takes_limbs(WIDE_COLUMNS, values, 0));
    values[30 * WIDE_COLUMNS + 8000] = 1e20; // in fp32
    assert_false(takes_limbs(WIDE_COLUMNS, values, 0));
    memset(values, 0, sizeof values);
    values[9] = 40000.0;
    assert_true(takes_limbs(4096, values, 1));
    assert_false(takes_limbs(4095, values, 0));
}

// Matrices that share the limbs of x in one launch.
TEST(matrices_share_limbs_of_the_same_tiles)
{
    static const unsigned tiles[] = {0U, 1U << 2, 1U << 5, 1U << 2 | 1U << 5, 1U << 2};
    enum { COUNT = sizeof tiles / sizeof *tiles };
    static double values[WIDE_ROWS * WIDE_COLUMNS];
    bb_coded_stream *streams[COUNT] = {NULL};
    for (int k = 0; k < COUNT; ++k) {
        fill_wide(tiles[k], values);
        autoptr(bb_coded_matrix) matrix = quantised(WIDE_COLUMNS, values);
        check_ok(create(matrix, &streams[k]));
    }
    for (int k = 0; k < COUNT * COUNT; ++k) {
        const int a = k / COUNT;
        const int b = k % COUNT;
        assert_true(bb_coded_stream_alike(streams[a], streams[b]));
        assert_int_equal(bb_coded_stream_shares_limbs(streams[a], streams[b]),
                         tiles[a] == tiles[b]);
    }
    for (int k = 0; k < COUNT; ++k) {
        bb_coded_stream_destroy(&streams[k]);
    }
}

// For the largest number of wide tiles that limbs support, and for all tiles wide.
TEST(what_a_matrix_takes_is_planned)
{
    enum { MANY = 128, ACROSS = 8192 };
    static double values[MANY * ACROSS];
    const bb_matrix_layout layout = {.rows = MANY, .columns = ACROSS};
    bb_codec_config config = codec_of("quantiser tolerance=0.5");
    for (int tiles = 2; tiles <= 8; tiles += 6) {
        bb_coded_stream *stream = NULL;
        fill_array(values, MANY * ACROSS, i, i % ACROSS < tiles * 1024 ? 1.5e9 : 3e4);
        autoptr(bb_coded_matrix) matrix = coded_matrix(&config, BB_ROW_SCALE_NONE, &layout, values);
        const size_t before = bb_memory_bytes();
        check_ok(create(matrix, &stream));
        const double held = (double)(bb_memory_bytes() - before);
        const bb_need need = bb_coded_operator_need(&config, MANY, ACROSS, BB_DEVICE_CUDA);
        assert_int_equal(bb_coded_stream_sums_in_limbs(stream), tiles == 2);
        assert_true(held > 3.4 * MANY * ACROSS);
        assert_true(held <= need.device_bytes);
        bb_coded_stream_destroy(&stream);
        assert_int_equal(bb_memory_bytes(), before);
    }
}

TEST(codecs_without_a_layout_are_refused)
{
    static double values[ROWS * COLUMNS];
    bb_coded_stream *stream = NULL;
    autoptr(bb_coded_matrix) matrix = encoded("mx element=e4m3", values);
    check_fails(create(matrix, &stream), BB_UNSUPPORTED,
                "storage mx: streamed products on a GPU are not supported");
}

TEST_GROUP(.begin = open_cpu, .end = close_cpu);
