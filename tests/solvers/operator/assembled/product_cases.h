// SPDX-License-Identifier: Apache-2.0
//
// Assembled products on a device against those of the CPU. They differ only by the order of their
// sums, and by fused products if products and sums have the same format.
#ifndef BB_TESTS_SOLVERS_OPERATOR_ASSEMBLED_PRODUCT_CASES_H
#define BB_TESTS_SOLVERS_OPERATOR_ASSEMBLED_PRODUCT_CASES_H

#include "solvers/kernels/objects/kernel_context.h"
#include "solvers/operator/coded_operator.h"
#include "tests/first_device.h"
#include "tests/solvers/dense.h"

enum { PRODUCT_ROWS = 37, PRODUCT_COLUMNS = 10007 };

typedef struct product_task {
    bb_device *device, *cpu;
    bb_kernel_context *context;
    double *c, *x;
} product_task;

static const bb_gemv_arithmetic product_kinds[] = {{BB_FORMAT_FP64, BB_FORMAT_FP64},
                                                   {BB_FORMAT_FP32, BB_FORMAT_FP64},
                                                   {BB_FORMAT_FP32, BB_FORMAT_FP32}};

static inline bb_coded_matrix *product_matrix(const product_task *task, bb_format format)
{
    const bb_codec_config config = bb_codec_plain(format);
    const bb_matrix_layout layout = {.rows = PRODUCT_ROWS, .columns = PRODUCT_COLUMNS};
    bb_coded_matrix *matrix = new_object(bb_coded_matrix, &config, BB_ROW_SCALE_ROW, &layout);
    check_ok(
        bb_coded_matrix_encode(matrix, 0, bb_view_matrix(task->c, PRODUCT_ROWS, PRODUCT_COLUMNS)));
    return matrix;
}

static inline void product_check(const product_task *task, bb_coded_operator *assembled,
                                 const bb_coded_matrix *matrix, bb_gemv_arithmetic arithmetic,
                                 bb_index row, bb_index rows)
{
    double got[PRODUCT_ROWS], expected[PRODUCT_ROWS];
    double seconds = 0.0;
    autoptr(bb_coded_operator) law = new_object(bb_coded_operator, task->cpu, matrix, arithmetic);
    check_ok(bb_coded_operator_apply(law, row, rows, task->x, expected, &seconds));
    check_ok(bb_coded_operator_apply(assembled, row, rows, task->x, got, &seconds));
    for (bb_index i = 0; i < rows; ++i) {
        double magnitude = 0.0;
        for (bb_index j = 0; j < PRODUCT_COLUMNS; ++j) {
            magnitude += fabs(task->c[(row + i) * PRODUCT_COLUMNS + j] * task->x[j]);
        }
        const double bound = arithmetic.accumulate == BB_FORMAT_FP64 ? 1e-14 : 1e-5;
        assert_true(magnitude > 0.0 && expected[i] != 0.0);
        assert_true(fabs(got[i] - expected[i]) <= bound * magnitude);
    }
}

static void products_agree_with_the_cpu(void **state)
{
    const product_task *task = *state;
    const bb_format formats[] = {BB_FORMAT_FP64, BB_FORMAT_FP32};
    for (int k = 0; k < 6; ++k) {
        const bb_gemv_arithmetic arithmetic = product_kinds[k % 3];
        autoptr(bb_coded_matrix) matrix = product_matrix(task, formats[k / 3]);
        autoptr(bb_coded_operator) assembled = NULL;
        check_ok(bb_coded_operator_assemble(task->context, matrix, arithmetic, &assembled));
        product_check(task, assembled, matrix, arithmetic, 0, PRODUCT_ROWS);
        product_check(task, assembled, matrix, arithmetic, 5, 20);
        product_check(task, assembled, matrix, arithmetic, PRODUCT_ROWS - 1, 1);
        product_check(task, assembled, matrix, arithmetic, 3, 0);
        assert_int_equal(bb_coded_operator_bytes(assembled),
                         bb_coded_matrix_bytes(matrix) - PRODUCT_ROWS * sizeof(double));
        assert_true(bb_coded_operator_compiler(assembled)[0] != '\0');
    }
    assert_int_equal(bb_kernel_context_readied(task->context), 6);
}

// A second operator of the same formats compiles nothing, and the matrix may be destroyed.
static void operators_share_a_kernel(void **state)
{
    const product_task *task = *state;
    const bb_gemv_arithmetic mixed = {BB_FORMAT_FP32, BB_FORMAT_FP64};
    autoptr(bb_coded_matrix) matrix = product_matrix(task, BB_FORMAT_FP32);
    autoptr(bb_coded_operator) first = NULL, *second = NULL;
    double y[2][PRODUCT_ROWS];
    double seconds = 0.0;
    check_ok(bb_coded_operator_assemble(task->context, matrix, mixed, &first));
    const bb_index compiled = bb_kernel_context_readied(task->context);
    check_ok(bb_coded_operator_assemble(task->context, matrix, mixed, &second));
    assert_int_equal(bb_kernel_context_readied(task->context), compiled);
    check_ok(bb_coded_operator_apply(first, 0, PRODUCT_ROWS, task->x, y[0], &seconds));
    check_ok(bb_coded_operator_apply(second, 0, PRODUCT_ROWS, task->x, y[1], &seconds));
    assert_memory_equal(y[0], y[1], sizeof y[0]);
    bb_coded_operator_destroy(&second);
}

static void what_is_not_there_is_refused(void **state)
{
    const product_task *task = *state;
    const bb_gemv_arithmetic mixed = {BB_FORMAT_FP32, BB_FORMAT_FP64};
    const bb_gemv_arithmetic narrow = {BB_FORMAT_FP64, BB_FORMAT_FP32};
    autoptr(bb_coded_operator) assembled = NULL;
    double y[PRODUCT_ROWS];
    double seconds = 0.0;
    autoptr(bb_coded_matrix) half = product_matrix(task, BB_FORMAT_FP16);
    autoptr(bb_coded_matrix) matrix = product_matrix(task, BB_FORMAT_FP32);
    check_fails(bb_coded_operator_assemble(task->context, half, mixed, &assembled), BB_UNSUPPORTED,
                "storage fp16: products on this device need fp64 or fp32");
    check_fails(bb_coded_operator_assemble(task->context, matrix, narrow, &assembled),
                BB_UNSUPPORTED, "multiply fp64 with accumulate fp32");
    assert_null(assembled);
    check_ok(bb_coded_operator_assemble(task->context, matrix, mixed, &assembled));
    check_fails(bb_coded_operator_sum_in_runs(assembled, 32), BB_UNSUPPORTED,
                "support runs of 1 only");
    check_fails(bb_coded_operator_apply(assembled, 30, 8, task->x, y, &seconds), BB_INVALID,
                "rows 30 to 38");
    assert_false(bb_coded_operator_supports_row_at(assembled));
    const bb_coded_window window = {.rows = 1};
    double *product = y;
    check_fails(bb_coded_operator_queue(&assembled, 1, &window, task->x, &product, NULL),
                BB_UNSUPPORTED, "on the cpu or assembled");
}

static inline int product_setup(void **state)
{
    product_task *task = *state;
    check_ok(bb_device_open(BB_DEVICE_CPU, 0, &task->cpu));
    check_ok(bb_kernel_context_create(task->device, &task->context));
    task->c = dense_new((bb_index)PRODUCT_ROWS * PRODUCT_COLUMNS);
    task->x = dense_new(PRODUCT_COLUMNS);
    dense_random((bb_index)PRODUCT_ROWS * PRODUCT_COLUMNS, 1, task->c);
    dense_random(PRODUCT_COLUMNS, 2, task->x);
    for (bb_index i = 0; i < (bb_index)PRODUCT_ROWS * PRODUCT_COLUMNS; ++i) {
        task->c[i] *= ldexp(1e-10, (int)(3 * (i / PRODUCT_COLUMNS % 5))); // scales differ
    }
    return 0;
}

static inline int product_teardown(void **state)
{
    product_task *task = *state;
    bb_kernel_context_destroy(&task->context);
    bb_device_close(&task->cpu);
    BB_RELEASE(&task->c);
    BB_RELEASE(&task->x);
    return 0;
}

/// Test program of all cases on the first device of a kind; skipped without such a device.
static inline int product_cases_on(bb_device_kind kind)
{
    product_task task = {.device = NULL};
    const int code = first_device_open(kind, &task.device);
    if (code != 0) {
        return code;
    }
    void *start = &task;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate_setup_teardown(products_agree_with_the_cpu, product_setup,
                                                 product_teardown, start),
        cmocka_unit_test_prestate_setup_teardown(operators_share_a_kernel, product_setup,
                                                 product_teardown, start),
        cmocka_unit_test_prestate_setup_teardown(what_is_not_there_is_refused, product_setup,
                                                 product_teardown, start),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    bb_device_close(&task.device);
    return failed;
}

#endif
