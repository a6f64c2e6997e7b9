// SPDX-License-Identifier: Apache-2.0
//
// Parity of the CUDA twin with the cpu over formats, arithmetics and widths around a block.
#include "solvers/coded_operator.h"
#include "tests/solvers/dense.h"

enum { ROWS = 19 };
static const bb_index widths[] = {1, 31, 255, 256, 257, 4099, 65537};

static bb_device *cpu, *gpu;

static void apply(bb_device *device, const bb_coded_matrix *matrix, bb_gemv_arithmetic arithmetic,
                  const double *x, double *y)
{
    bb_coded_operator *operation = NULL;
    double seconds = 0.0;
    check_ok(bb_coded_operator_create(device, matrix, arithmetic, &operation));
    check_ok(bb_coded_operator_apply(operation, 2, ROWS - 2, x, y, &seconds));
    bb_coded_operator_destroy(&operation);
}

// Both sums are within (columns / 16 + 4) u of sum |c x|, so they differ by at most twice that.
static void compare(bb_format format, bb_gemv_arithmetic arithmetic, bb_index columns)
{
    double y[ROWS], expected[ROWS], again[ROWS];
    double *c = dense_new(ROWS * columns);
    double *x = dense_new(columns);
    bb_coded_matrix *matrix = NULL;
    bb_codec_config config = bb_codec_plain(format);
    dense_random(ROWS * columns, 1, c);
    dense_random(columns, 2, x);
    bb_matrix_layout layout = {.rows = ROWS, .columns = columns};
    check_ok(bb_coded_matrix_create(&config, BB_ROW_SCALE_ROW, &layout, &matrix));
    check_ok(bb_coded_matrix_encode(matrix, 0, bb_view_matrix(c, ROWS, columns)));
    apply(cpu, matrix, arithmetic, x, expected);
    apply(gpu, matrix, arithmetic, x, y);
    apply(gpu, matrix, arithmetic, x, again);
    assert_memory_equal(y, again, (ROWS - 2) * sizeof *y);
    for (bb_index i = 2; i < ROWS; ++i) {
        double magnitude = 0.0;
        for (bb_index j = 0; j < columns; ++j) {
            magnitude += fabs(c[i * columns + j] * x[j]);
        }
        double u = bb_format_unit_roundoff(arithmetic.accumulate);
        check_close(y[i - 2], expected[i - 2], 2.2 * ((double)columns / 16.0 + 4.0) * u, magnitude);
    }
    bb_coded_matrix_destroy(&matrix);
    BB_RELEASE(&c);
    BB_RELEASE(&x);
}

static void every_format_agrees_with_the_cpu(void **state)
{
    (void)state;
    const bb_gemv_arithmetic kinds[] = {
        {BB_FORMAT_FP64, BB_FORMAT_FP64},
        {BB_FORMAT_FP32, BB_FORMAT_FP64},
        {BB_FORMAT_FP32, BB_FORMAT_FP32}
    };
    for (int format = 0; format < BB_FORMAT_COUNT; ++format) {
        for (int k = 0; k < 3; ++k) {
            for (size_t w = 0; w < sizeof widths / sizeof *widths; ++w) {
                compare((bb_format)format, kinds[k], widths[w]);
            }
        }
    }
}

int main(void)
{
    char reason[256] = "";
    if (bb_device_count(BB_DEVICE_CUDA, reason, sizeof reason) == 0) {
        print_message("skipped: %s\n", reason);
        return 77;
    }
    if (bb_device_open(BB_DEVICE_CPU, 0, &cpu) != BB_OK ||
        bb_device_open(BB_DEVICE_CUDA, 0, &gpu) != BB_OK) {
        print_error("%s\n", bb_status_message());
        return 1;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_format_agrees_with_the_cpu)};
    int failures = cmocka_run_group_tests(tests, NULL, NULL);
    bb_device_close(&gpu);
    bb_device_close(&cpu);
    return failures;
}
