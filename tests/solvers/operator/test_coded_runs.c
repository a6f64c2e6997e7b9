// SPDX-License-Identifier: Apache-2.0
//
// Sums in runs on the CPU: the order specified in solvers/operator/coded_operator.h, by hand.
#include "solvers/operator/coded_operator.h"
#include "tests/cpu_device.h"
#include "tests/precision/coded.h"
#include "tests/solvers/dense.h"

enum { ROWS = 5, COLUMNS = 70001, LANES = 16 };

static const bb_gemv_arithmetic mixed = {BB_FORMAT_FP32, BB_FORMAT_FP64};
static double *c, *x;

static int begin(void)
{
    c = dense_new((bb_index)ROWS * COLUMNS);
    x = dense_new(COLUMNS);
    dense_random((bb_index)ROWS * COLUMNS, 1, c);
    dense_random(COLUMNS, 2, x);
    return open_cpu();
}

static void end(void)
{
    close_cpu();
    BB_RELEASE(&c);
    BB_RELEASE(&x);
}

static bb_coded_matrix *encoded(int codec, double bits)
{
    bb_codec_config config = bb_codec_plain(BB_FORMAT_FP32);
    bb_matrix_layout layout = {.rows = ROWS, .columns = COLUMNS};
    config.codec = codec;
    config.bits = bits > 0.0 ? bits : config.bits;
    return coded_matrix(&config, BB_ROW_SCALE_NONE, &layout, c);
}

// `piece` columns at a time, each from the start of a run; 0: all columns.
static double by_hand(const bb_coded_matrix *matrix, bb_index row, bb_index run, bb_index piece)
{
    autofree double *values = dense_new(COLUMNS);
    double wide[LANES] = {0.0};
    float narrow[LANES] = {0.0F};
    bb_coded_matrix_decode(matrix, row, 0, COLUMNS, values);
    for (bb_index j = 0; j < COLUMNS; ++j) {
        float product = (float)values[j] * (float)x[j];
        bb_index next = j + 1;
        bb_index within = piece == 0 ? next : next % piece;
        narrow[j % LANES] += product;
        if (within % (run * LANES) == 0 || within == 0 || next == COLUMNS) {
            for (int l = 0; l < LANES; ++l) {
                wide[l] += (double)narrow[l];
                narrow[l] = 0.0F;
            }
        }
    }
    for (int half = LANES / 2; half > 0; half /= 2) {
        for (int l = 0; l < half; ++l) {
            wide[l] += wide[l + half];
        }
    }
    return wide[0];
}

TEST(runs_are_promoted_in_the_order_that_is_promised)
{
    const struct {
        int codec;
        double bits;
        bb_index piece;
    } kinds[] = {{BB_FORMAT_FP32, 0.0, 0},
                 {BB_FORMAT_FP16, 0.0, 0},
                 {BB_FORMAT_E4M3, 0.0, 0},
                 {bb_codec_find("bfp"), 8.0, 0},
                 {bb_codec_find("bfp"), 6.0, 1024}};
    static const bb_index runs[] = {32, 96, 1024};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; ++k) {
        autoptr(bb_coded_matrix) matrix = encoded(kinds[k].codec, kinds[k].bits);
        autoptr(bb_coded_operator) operation = new_object(bb_coded_operator, cpu, matrix, mixed);
        for (int r = 0; r < 3; ++r) {
            double y[ROWS];
            double seconds = 0.0;
            check_ok(bb_coded_operator_sum_in_runs(operation, runs[r]));
            check_ok(bb_coded_operator_apply(operation, 0, ROWS, x, y, &seconds));
            for (bb_index i = 0; i < ROWS; ++i) {
                double expected = by_hand(matrix, i, runs[r], kinds[k].piece);
                assert_memory_equal(&y[i], &expected, sizeof expected);
            }
        }
    }
}

TEST(one_is_every_product_by_itself)
{
    double first[ROWS], runs[ROWS], again[ROWS];
    double seconds = 0.0;
    autoptr(bb_coded_matrix) matrix = encoded(BB_FORMAT_FP32, 0.0);
    autoptr(bb_coded_operator) operation = new_object(bb_coded_operator, cpu, matrix, mixed);
    check_ok(bb_coded_operator_apply(operation, 0, ROWS, x, first, &seconds));
    check_ok(bb_coded_operator_sum_in_runs(operation, 64));
    check_ok(bb_coded_operator_apply(operation, 0, ROWS, x, runs, &seconds));
    check_ok(bb_coded_operator_sum_in_runs(operation, 1));
    check_ok(bb_coded_operator_apply(operation, 0, ROWS, x, again, &seconds));
    assert_memory_equal(first, again, sizeof first);
    assert_memory_not_equal(first, runs, sizeof first);
}

TEST(other_runs_are_refused)
{
    const bb_gemv_arithmetic narrow = {BB_FORMAT_FP32, BB_FORMAT_FP32};
    autoptr(bb_coded_matrix) matrix = encoded(BB_FORMAT_FP32, 0.0);
    autoptr(bb_coded_operator) operation = new_object(bb_coded_operator, cpu, matrix, mixed);
    check_fails(bb_coded_operator_sum_in_runs(operation, 16), BB_UNSUPPORTED,
                "runs of 16 products");
    check_fails(bb_coded_operator_sum_in_runs(operation, 2048), BB_UNSUPPORTED,
                "a multiple of 32 up to 1024");
    double *y = x;
    check_fails(bb_coded_operator_queue(&operation, 1, &(bb_coded_window){0, 1, NULL}, x, &y, NULL),
                BB_UNSUPPORTED, "this operator is on the cpu");
    bb_coded_operator_destroy(&operation);
    check_ok(bb_coded_operator_create(cpu, matrix, narrow, &operation));
    check_fails(bb_coded_operator_sum_in_runs(operation, 32), BB_UNSUPPORTED,
                "for fp32 products and fp64 sums");
}

TEST_GROUP(.begin = begin, .end = end);
