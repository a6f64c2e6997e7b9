// SPDX-License-Identifier: Apache-2.0
//
// Tile owners and the messages of a factorization against counts by hand and by an independent
// program.
#include "solvers/distributed/tile_message.h"
#include "tests/solvers/dense.h"

static bb_status fill_nothing(const bb_matrix_source *source, bb_index row, bb_index column,
                              bb_view out)
{
    (void)source;
    (void)row;
    (void)column;
    (void)out;
    return BB_OK;
}

static bool holds_none(const void *context, bb_index row, bb_index column)
{
    (void)context;
    (void)row;
    (void)column;
    return false;
}

// Tiles of a matrix of n rows without values.
static bb_tile_matrix *laid_out(bb_index n, bb_index size, bb_variant arithmetic,
                                bb_policy_config policy)
{
    bb_tile_matrix *matrix = NULL;
    const bb_matrix_source source = {
        .rows = n, .columns = n, .symmetric = true, .name = "A", .fill = fill_nothing};
    const bb_tile_plan plan = {.tile_size = size, .arithmetic = arithmetic, .policy = policy};
    const bb_tile_share none = {.holds = holds_none};
    check_ok(bb_tile_matrix_create_share(&source, NULL, &plan, &none, &matrix));
    return matrix;
}

static const bb_policy_config uniform = {.diagonal = BB_POLICY_FOLLOW_SP};
static const bb_policy_config following = {.diagonal = BB_POLICY_FOLLOW};

TEST(grids_are_as_square_as_they_can_be)
{
    const int cases[][3] = {{1, 1, 1}, {2, 1, 2}, {4, 2, 2}, {6, 2, 3}, {7, 1, 7}, {12, 3, 4}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
        const bb_process_grid grid = bb_process_grid_of(cases[k][0]);
        assert_int_equal(grid.rows, cases[k][1]);
        assert_int_equal(grid.columns, cases[k][2]);
    }
}

TEST(grids_are_read_from_two_counts)
{
    bb_process_grid grid;
    assert_true(bb_process_grid_read("2x13", &grid));
    assert_int_equal(grid.rows, 2);
    assert_int_equal(grid.columns, 13);
    const char *const wrong[] = {"10000x1", "65536x65536", "",     "2",       "x2",   "2x",
                                 "0x2",     "2x0",         "2X3",  " 2x3",    "2x3 ", "-1x2",
                                 "2x3x4",   "02x1",        "2x+3", "123456x1"};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; ++k) {
        assert_false(bb_process_grid_read(wrong[k], &grid));
    }
}

// Grid 2 x 3: rows are cyclic with period 2, columns with period 3.
TEST(tiles_are_dealt_in_both_directions)
{
    const bb_process_grid grid = {2, 3};
    const int owners[4][4] = {{0, 1, 2, 0}, {3, 4, 5, 3}, {0, 1, 2, 0}, {3, 4, 5, 3}};
    for (bb_index row = 0; row < 4; ++row) {
        for (bb_index column = 0; column < 4; ++column) {
            assert_int_equal(bb_process_grid_owner(grid, row, column), owners[row][column]);
        }
    }
}

// Tile rows 4, 4, 2 of hp2, in floats, on 1 x 2: rank 0 has columns 0 and 2, rank 1 has column 1.
TEST(ranks_keep_the_bytes_of_their_tiles)
{
    autoptr(bb_tile_matrix) matrix = laid_out(10, 4, BB_VARIANT_HP2, uniform);
    double bytes[2];
    bb_process_grid_bytes(matrix, (bb_process_grid){1, 2}, bytes);
    assert_true(bytes[0] == 4 * (16 + 16 + 8 + 4));
    assert_true(bytes[1] == 4 * (16 + 8));
}

static double traffic_of(const bb_tile_matrix *matrix, bb_process_grid grid, bb_wire wire)
{
    bool readers[4];
    double sent[4];
    double sum = 0.0;
    bb_tile_message_traffic(matrix, grid, wire, readers, sent);
    for (int rank = 0; rank < bb_process_grid_size(grid); ++rank) {
        sum += sent[rank];
    }
    return sum;
}

// Three tile rows on 1 x 2, all in fp32. (0, 0) is not sent, because rank 0 has column 0. (1, 0)
// and (2, 0) go to rank 1, which has column 1. (1, 1) is not sent; (2, 1) goes to rank 0 for (2,
// 2).
TEST(three_tile_rows_send_what_a_hand_counts)
{
    autoptr(bb_tile_matrix) matrix = laid_out(10, 4, BB_VARIANT_SP, uniform);
    bool readers[2];
    double sent[2];
    bb_tile_message_traffic(matrix, (bb_process_grid){1, 2}, BB_WIRE_FOLLOW, readers, sent);
    const double head = sizeof(bb_tile_head);
    assert_true(sent[0] == 4 * 16 + 4 * 8 + 2 * head);
    assert_true(sent[1] == 4 * 8 + head);
}

// fp64 on 2 x 1: rank 1 has row 1. (0, 0) goes to rank 1, (1, 1) to rank 0 for (2, 1). (1, 0) goes
// to rank 0, where (2, 1) reads it; (2, 0) is not read on rank 1.
TEST(columns_of_processes_send_diagonal_tiles)
{
    autoptr(bb_tile_matrix) matrix = laid_out(10, 4, BB_VARIANT_DP, uniform);
    bool readers[2];
    double sent[2];
    bb_tile_message_traffic(matrix, (bb_process_grid){2, 1}, BB_WIRE_FOLLOW, readers, sent);
    const double head = sizeof(bb_tile_head);
    assert_true(sent[0] == 8 * 16 + head);
    assert_true(sent[1] == 2 * (8 * 16 + head));
}

// Bytes counted by StarPU for n = 2048 in tiles of 256, without headers, in MB to two digits: fp16
// with an fp32 diagonal, fp32 on the wire, fp16 with diagonal_follows.
TEST(bytes_are_those_of_an_independent_count)
{
    const struct {
        const bb_policy_config *policy;
        bb_process_grid grid;
        bb_wire wire;
        double megabytes;
    } cases[] = {
        {&uniform, {2, 2}, BB_WIRE_FOLLOW, 12.19},  {&uniform, {2, 2}, BB_WIRE_FP32, 14.68},
        {&following, {2, 2}, BB_WIRE_FOLLOW, 8.26}, {&uniform, {1, 2}, BB_WIRE_FP32, 7.34},
        {&uniform, {1, 2}, BB_WIRE_FOLLOW, 7.73},   {&following, {1, 2}, BB_WIRE_FOLLOW, 3.67},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
        autoptr(bb_tile_matrix) matrix = laid_out(2048, 256, BB_VARIANT_HP1, *cases[k].policy);
        const double bytes = traffic_of(matrix, cases[k].grid, cases[k].wire);
        assert_true(fabs(bytes / 1e6 - cases[k].megabytes) <
                    0.005 + 200 * sizeof(bb_tile_head) / 1e6);
    }
}

// With diagonal_follows the bytes of a tile halve.
TEST(following_sends_at_most_0_57_of_fp32)
{
    autoptr(bb_tile_matrix) matrix = laid_out(4096, 256, BB_VARIANT_HP1, following);
    const double narrow = traffic_of(matrix, (bb_process_grid){2, 2}, BB_WIRE_FOLLOW);
    const double plain = traffic_of(matrix, (bb_process_grid){2, 2}, BB_WIRE_FP32);
    assert_true(narrow <= 0.57 * plain);
    assert_true(narrow >= 0.5 * plain);
}

// Random values and special cases of the formats: subnormals, zeros, the largest fp16 value (next
// to which e4m3 has little resolution), then NaN, a value out of fp16's range, a tile without such
// values, infinity.
static void fill_values(float *values, bb_index count)
{
    double wide[512];
    dense_random(count, 5, wide);
    fill_array(values, count, i, (float)wide[i]);
    values[3] = 0.0F;
    values[4] = -0.0F;
    values[5] = 0x1p-25F;
    values[6] = 65504.0F;
    values[7] = 1e-38F;
}

// Bitwise equal, but any NaN equals any NaN.
static void assert_same(const void *read, const void *expected, size_t bytes, bool wide)
{
    const float *narrow[] = {read, expected};
    const double *doubles[] = {read, expected};
    const size_t word = wide ? sizeof(double) : sizeof(float);
    for (size_t i = 0; i < bytes / word; ++i) {
        const bool both_nan = wide ? isnan(doubles[0][i]) && isnan(doubles[1][i])
                                   : isnan(narrow[0][i]) && isnan(narrow[1][i]);
        assert_true(both_nan || memcmp((const char *)read + i * word,
                                       (const char *)expected + i * word, word) == 0);
    }
}

// The received tile gives the same operand as bb_tile_convert of the tile itself, in every wire
// format and operand.
TEST(messages_hold_the_bits_of_operands)
{
    enum { ROWS = 17, COLUMNS = 30, ITEMS = ROWS * COLUMNS };
    static float values[ITEMS], scratch[2 * ITEMS];
    static char message[sizeof(bb_tile_head) + 8 * ITEMS];
    static double expected[ITEMS], copy[ITEMS];
    fill_values(values, ITEMS);
    for (int k = 0; k < 5; ++k) {
        values[9] = k == 1 ? NAN : values[9];
        values[6] = k == 2 ? 70000.0F : k == 3 ? 1.0F : k == 4 ? INFINITY : values[6];
        const bb_tile tile = {
            .format = BB_FORMAT_FP32, .rows = ROWS, .columns = COLUMNS, .norm = 2.5, .f32 = values};
        for (bb_operand operand = 0; operand < BB_OPERAND_COUNT; ++operand) {
            const size_t bytes = ITEMS * bb_tile_operand_bytes(operand);
            const bb_index clipped = bb_tile_convert(&tile, operand, expected);
            // Scaled by the tile's largest value, e4m3 clips infinities only.
            assert_true(operand != (bb_operand)BB_FORMAT_E4M3 || (clipped > 0) == (k == 4));
            for (int wire = BB_WIRE_FOLLOW; wire <= BB_WIRE_FP32; ++wire) {
                const bb_operand form = bb_tile_message_form(&tile, operand, (bb_wire)wire);
                assert_true(bb_tile_message_bytes(&tile, form) <= sizeof message);
                assert_int_equal(bb_tile_message_write(&tile, form, scratch, message),
                                 form == operand ? clipped : 0);
                const void *read = bb_tile_message_read(&tile, form, operand, message, copy);
                assert_same(read, expected, bytes, operand == (bb_operand)BB_FORMAT_FP64);
                assert_true(((const bb_tile_head *)(const void *)message)->norm == 2.5);
            }
        }
    }
}
