// SPDX-License-Identifier: Apache-2.0
//
// Sparse rows in slices against the same rows in fp64.
#include "solvers/loop/sliced_rows.h"
#include "tests/solvers/sparse.h"

#include <float.h>

typedef struct shape {
    bb_index rows, columns, least, most, apart, far;
} shape;

static const shape shapes[] = {
    {1000, 700, 0, 24, 37, 90}, // empty, short and long rows in the same slices
    {64, 50, 3, 3, 0, 0},       // full slices of one width
    {33, 90, 1, 5, 0, 0},       // a slice of one row
    {5, 200, 2, 2, 1, 99},      // only long rows
};

// A sum of n fused fp32 products has an error of at most n u of the sum of magnitudes; values and x
// are rounded once each.
static void check_rows(const bb_csr *a, const double *x, const double *exact, const float *y)
{
    for (bb_index row = 0; row < a->rows; ++row) {
        double magnitude = 0.0;
        for (bb_index k = a->row_start[row]; k < a->row_start[row + 1]; ++k) {
            magnitude += fabs(a->value[k] * x[a->column[k]]);
        }
        bb_index length = a->row_start[row + 1] - a->row_start[row];
        double bound = (double)(length + 3) * 0.5 * (double)FLT_EPSILON;
        check_close((double)y[row], exact[row], bound, magnitude);
    }
}

TEST(products_are_those_of_the_rows)
{
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i) {
        const shape *outline = &shapes[i];
        autorelease(bb_csr) a = {0};
        autorelease(bb_sliced_rows) rows = {0};
        autofree double *x = dense_new(outline->columns);
        autofree double *exact = dense_new(outline->rows);
        autofree float *narrow = sparse_floats(outline->columns);
        autofree float *y = sparse_floats(outline->rows);
        sparse_random(outline->rows, outline->columns, outline->least, outline->most,
                      outline->apart, outline->far, &a);
        dense_random(outline->columns, 3, x);
        sparse_narrow(outline->columns, x, narrow);
        check_ok(bb_csr_multiply(&a, x, exact));
        check_ok(bb_sliced_rows_of(&a, &rows));
        bb_sliced_rows_multiply(&rows, narrow, y);
        check_rows(&a, x, exact, y);
    }
}

// 40 rows: one of 24 entries fills its slice's width, one of 25 is stored separately.
TEST(rows_over_the_limit_stand_apart)
{
    autorelease(bb_csr) a = {0};
    autorelease(bb_sliced_rows) rows = {0};
    autorelease(bb_triplets) list = {0};
    for (bb_index row = 0; row < 40; ++row) {
        bb_index count = row == 3 ? BB_SLICED_LONG : row == 35 ? BB_SLICED_LONG + 1 : 2;
        for (bb_index k = 0; k < count; ++k) {
            check_ok(bb_triplets_add(&list, row, k, 1.0));
        }
    }
    check_ok(bb_csr_assemble(40, 40, &list, &a));
    check_ok(bb_sliced_rows_of(&a, &rows));
    assert_int_equal(rows.slices, 2);
    assert_int_equal(rows.slice_start[1], BB_SLICED_LONG);
    assert_int_equal(rows.slice_start[2], BB_SLICED_LONG + 2);
    assert_int_equal(rows.long_rows, 1);
    assert_int_equal(rows.long_row[0], 35);
    assert_int_equal(rows.apart[0], 0);
    assert_int_equal(rows.apart[1], 1 << 3);
    // 26 lines of 32 entries and 25 separate entries, 8 bytes each; two starts or marks per slice
    // and long row.
    assert_true(bb_sliced_rows_bytes(&rows) == 8.0 * (26 * 32 + 25) + 4.0 * (2 * 2 + 2 * 1));
}
