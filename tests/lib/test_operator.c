// SPDX-License-Identifier: Apache-2.0
//
// Operators of the library, compared with plain sums in fp64 of the decoded values.
#include "core/outcome.h"
#include "lib/bitbudget.h"
#include "tests/check.h"

enum { ROWS = 40, COLUMNS = 96, VECTORS = 3 };

static double *make_matrix(void)
{
    double *values = new_array(double, ROWS *COLUMNS);
    fill_array(values, ROWS * COLUMNS, i, sin(0.7 * (double)i) + 0.5 * cos(0.013 * (double)i));
    return values;
}

static double *make_vectors(void)
{
    double *x = new_array(double, VECTORS *COLUMNS);
    fill_array(x, VECTORS * COLUMNS, i, cos(1.3 * (double)i) - 0.2);
    return x;
}

static double sum_row(const double *row, const double *x)
{
    double sum = 0.0;
    for (bb_index j = 0; j < COLUMNS; ++j) {
        sum += row[j] * x[j];
    }
    return sum;
}

// The certificate holds for the exact product, and its parts for storage and arithmetic alone.
static void check_operator(const char *text, const char *arithmetic)
{
    autofree double *exact = make_matrix();
    autofree double *stored = new_array(double, ROWS *COLUMNS);
    autofree double *x = make_vectors();
    double y[VECTORS * ROWS], coding[ROWS], rounding[ROWS];
    double seconds = -1.0;
    autoptr(bb_operator) operation = NULL;
    check_ok(bb_storage_quantise(text, ROWS, COLUMNS, exact, stored, NULL));
    check_ok(bb_operator_create_dense(text, ROWS, COLUMNS, exact, arithmetic, "cpu", &operation));
    check_ok(bb_operator_apply(operation, VECTORS, x, y, &seconds));
    assert_true(seconds >= 0.0);
    for (bb_index v = 0; v < VECTORS; ++v) {
        check_ok(bb_operator_bound(operation, x + v * COLUMNS, coding, rounding));
        for (bb_index i = 0; i < ROWS; ++i) {
            const double got = y[v * ROWS + i];
            const double from_stored = sum_row(stored + i * COLUMNS, x + v * COLUMNS);
            const double from_exact = sum_row(exact + i * COLUMNS, x + v * COLUMNS);
            check_close(got, from_stored, 1.0, rounding[i] + 1e-13);
            check_close(from_stored, from_exact, 1.0, coding[i] + 1e-13);
            check_close(got, from_exact, 1.0, coding[i] + rounding[i] + 1e-13);
            assert_true(coding[i] < 60.0 && rounding[i] < 1e-2); // not vacuous
        }
    }
}

TEST(products_are_those_of_the_decoded_values)
{
    check_operator("fp64", NULL);
    check_operator("fp32", "multiply=fp32 accumulate=fp32");
    check_operator("bfp bits=8", "multiply=fp32 run=64");
    check_operator("mx element=e4m3", "multiply=fp32 accumulate=fp64");
    check_operator("fp16 scale=row", "");
    check_operator("zfp mode=rate bits=8 mesh_columns=12", "multiply=fp32");
    check_operator("low_rank tolerance=1e-2 mesh_columns=12 row_columns=8", "multiply=fp32");
}

TEST(the_arithmetic_matters)
{
    autofree double *exact = make_matrix();
    autofree double *x = make_vectors();
    double wide[ROWS], narrow[ROWS];
    autoptr(bb_operator) in_fp64 = NULL;
    autoptr(bb_operator) in_fp32 = NULL;
    bb_operator_report report;
    check_ok(bb_operator_create_dense("fp32", ROWS, COLUMNS, exact, NULL, NULL, &in_fp64));
    check_ok(bb_operator_create_dense("fp32", ROWS, COLUMNS, exact, "multiply=fp32 accumulate=fp32",
                                      NULL, &in_fp32));
    check_ok(bb_operator_apply(in_fp64, 1, x, wide, NULL));
    check_ok(bb_operator_apply(in_fp32, 1, x, narrow, NULL));
    assert_memory_not_equal(wide, narrow, sizeof wide);
    check_ok(bb_operator_describe(in_fp32, &report));
    assert_int_equal(report.rows, ROWS);
    assert_int_equal(report.columns, COLUMNS);
    assert_true(report.bytes == 4.0 * ROWS * COLUMNS && report.flops == 2.0 * ROWS * COLUMNS);
    assert_int_equal(report.operand_bytes, 4);
    check_ok(bb_operator_describe(in_fp64, &report));
    assert_int_equal(report.operand_bytes, 8);
}

// The operator outlives the handle of its storage.
TEST(operators_share_their_storage)
{
    autofree double *exact = make_matrix();
    autofree double *x = make_vectors();
    double first[ROWS], second[ROWS];
    bb_storage *storage = NULL;
    autoptr(bb_operator) one = NULL;
    autoptr(bb_operator) other = NULL;
    check_ok(bb_storage_encode("fp32", ROWS, COLUMNS, exact, &storage));
    check_ok(bb_operator_create(storage, NULL, NULL, &one));
    check_ok(bb_operator_create(storage, NULL, NULL, &other));
    bb_storage_destroy(&storage);
    assert_null(storage);
    check_ok(bb_operator_apply(one, 1, x, first, NULL));
    bb_operator_destroy(&one);
    check_ok(bb_operator_apply(other, 1, x, second, NULL));
    assert_memory_equal(first, second, sizeof first);
}

// Rows (4, 0, 5 + 6 of a repeated column), none, (7 of the last column); 32 and 64-bit indices.
TEST(sparse_rows_are_summed)
{
    static const int32_t start32[] = {0, 4, 4, 5};
    static const int32_t column32[] = {2, 0, 2, 0, 3};
    static const int64_t start64[] = {0, 4, 4, 5};
    static const int64_t column64[] = {2, 0, 2, 0, 3};
    static const double value[] = {5.0, 4.0, 6.0, 0.5, 7.0};
    static const double x[] = {1.0, 10.0, 100.0, 1000.0};
    double y[3], coding[3], rounding[3];
    for (int wide = 0; wide < 2; ++wide) {
        autoptr(bb_operator) operation = NULL;
        bb_operator_report report;
        check_ok(bb_operator_create_csr(3, 4, wide ? 8 : 4, wide ? (const void *)start64 : start32,
                                        wide ? (const void *)column64 : column32, value,
                                        &operation));
        check_ok(bb_operator_apply(operation, 1, x, y, NULL));
        assert_true(y[0] == 1104.5 && y[1] == 0.0 && y[2] == 7000.0);
        check_ok(bb_operator_bound(operation, x, coding, rounding));
        assert_true(coding[0] == 0.0 && rounding[1] == 0.0);
        assert_true(rounding[0] > 1104.5 * 0x1p-53 && rounding[0] < 1104.5 * 0x1p-49);
        check_ok(bb_operator_describe(operation, &report));
        assert_true(report.flops == 6.0); // three entries remain
    }
}

TEST(bad_arguments_are_refused)
{
    static const int32_t start[] = {0, 2, 1};
    static const int32_t column[] = {0, 1};
    static const double value[] = {1.0, 2.0};
    autofree double *exact = make_matrix();
    bb_operator *operation = NULL;
    autoptr(bb_storage) storage = NULL;
    check_ok(bb_storage_encode("fp32", ROWS, COLUMNS, exact, &storage));
    check_fails(bb_operator_create_csr(2, 2, 4, start, column, value, &operation), BB_INVALID,
                "row_start[2] = 1 is less than row_start[1]");
    check_fails(bb_operator_create_csr(1, 1, 4, start, column, value, &operation), BB_INVALID,
                "column[1] = 1, expected 0 to 0");
    check_fails(bb_operator_create_csr(1, 2, 2, start, column, value, &operation), BB_INVALID,
                "index_bytes = 2");
    check_fails(bb_operator_create(storage, "multiply=fp32 run=33", NULL, &operation),
                BB_UNSUPPORTED, "33");
    check_fails(bb_operator_create(storage, "multiply=fp64 accumulate=fp32", NULL, &operation),
                BB_UNSUPPORTED, "no narrower");
    check_fails(bb_operator_create(storage, "multiply=fp16", NULL, &operation), BB_INVALID,
                "expected one of fp64, fp32");
    check_fails(bb_operator_create(storage, NULL, "gpu", &operation), BB_INVALID, "device 'gpu'");
    check_fails(bb_operator_create(storage, NULL, "cpu:1", &operation), BB_DEVICE, "cpu 1");
    check_fails(bb_operator_create(storage, NULL, "opencl", &operation), BB_UNSUPPORTED,
                "does not run there");
    assert_null(operation);
    check_ok(bb_operator_create(storage, NULL, NULL, &operation));
    check_fails(bb_operator_apply(operation, 1, NULL, exact, NULL), BB_INVALID, "x is NULL");
    check_fails(bb_operator_queue(operation, exact, exact, NULL), BB_UNSUPPORTED, "on the cpu");
    bb_operator_destroy(&operation);
    bb_operator_destroy(NULL);
}
