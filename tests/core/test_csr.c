// SPDX-License-Identifier: Apache-2.0
#include "core/csr.h"
#include "core/thread.h"
#include "tests/check.h"

TEST(repeated_entries_are_summed_and_sorted)
{
    autorelease(bb_triplets) list = {0};
    autorelease(bb_csr) matrix;
    check_ok(bb_triplets_add(&list, 1, 2, 5.0));
    check_ok(bb_triplets_add(&list, 0, 1, 2.0));
    check_ok(bb_triplets_add(&list, 1, 0, 3.0));
    check_ok(bb_triplets_add(&list, 1, 2, -1.0));
    check_ok(bb_csr_assemble(3, 3, &list, &matrix));
    assert_int_equal(bb_csr_nonzeros(&matrix), 3);
    assert_int_equal(matrix.row_start[1], 1);
    assert_int_equal(matrix.row_start[3], 3);
    assert_int_equal(matrix.column[1], 0);
    assert_true(matrix.value[2] == 4.0);
    double x[3] = {1.0, 10.0, 100.0};
    double y[3];
    check_ok(bb_csr_multiply(&matrix, x, y));
    assert_true(y[0] == 20.0 && y[1] == 403.0 && y[2] == 0.0);
}

TEST(entries_outside_are_refused)
{
    autorelease(bb_triplets) list = {0};
    bb_csr matrix;
    check_ok(bb_triplets_add(&list, 1, 3, 5.0));
    check_fails(bb_csr_assemble(3, 3, &list, &matrix), BB_INVALID, "(1, 3) outside 3 x 3");
    assert_null(matrix.row_start);
}

// An index over 32 bits must not wrap around into the matrix.
TEST(indices_over_32_bits_are_refused)
{
    const bb_index wrapping = ((bb_index)1 << 32) + 5;
    autorelease(bb_triplets) list = {0};
    check_fails(bb_triplets_add(&list, wrapping, 0, 1.0), BB_INVALID,
                "(4294967301, 0), expected indices of 0 to 2147483646");
    check_fails(bb_triplets_add(&list, 0, wrapping, 1.0), BB_INVALID, "(0, 4294967301)");
    check_fails(bb_triplets_add(&list, -1, 0, 1.0), BB_INVALID, "(-1, 0)");
    check_ok(bb_triplets_add(&list, INT32_MAX - 1, 0, 1.0));
    assert_int_equal(list.count, 1);
    assert_int_equal(list.items[0].row, INT32_MAX - 1);
}

TEST(product_has_the_same_bits_with_any_threads)
{
    enum { N = 20000 };
    static double x[N], one[N], many[N];
    autorelease(bb_triplets) list = {0};
    autorelease(bb_csr) matrix;
    for (int i = 0; i < N; ++i) {
        x[i] = sin(i);
        for (int k = -3; k <= 3; ++k) {
            check_ok(bb_triplets_add(&list, i, (i + 17 * k + N) % N, cos(i + k)));
        }
    }
    check_ok(bb_csr_assemble(N, N, &list, &matrix));
    check_ok(bb_threads_set(1));
    check_ok(bb_csr_multiply(&matrix, x, one));
    check_ok(bb_threads_set(4));
    check_ok(bb_csr_multiply(&matrix, x, many));
    assert_memory_equal(one, many, sizeof one);
}
