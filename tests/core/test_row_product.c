// SPDX-License-Identifier: Apache-2.0
//
// Products by ranges of rows, against results by hand and plain sums.
#include "core/row_product.h"
#include "core/thread.h"
#include "tests/check.h"

enum { ROWS = 7, COLUMNS = 5, DEPTH = 4 };

TEST(a_product_by_hand)
{
    static const double a[] = {1.0, 2.0, 3.0, 4.0};
    static const double b[] = {5.0, 6.0, 7.0, 8.0};
    double c[] = {1.0, 1.0, 1.0, 1.0};
    check_ok(bb_row_product_run(&(bb_row_product){2, 2, 2.0, a, b, false, -1.0, c}, 2, 1));
    static const double plain[] = {37.0, 43.0, 85.0, 99.0}; // 2 A B - 1
    assert_memory_equal(c, plain, sizeof c);
    check_ok(bb_row_product_run(&(bb_row_product){2, 2, 1.0, a, b, true, 0.0, c}, 2, 2));
    static const double turned[] = {17.0, 23.0, 39.0, 53.0}; // A B^T
    assert_memory_equal(c, turned, sizeof c);
}

// Small integers: sums are exact in any order.
TEST(ragged_ranges_cover_all_rows)
{
    double a[ROWS * DEPTH];
    double b[DEPTH * COLUMNS];
    fill_array(a, ROWS * DEPTH, i, i % 11 - 5);
    fill_array(b, DEPTH * COLUMNS, i, i % 7 - 3);
    for (int threads = 1; threads <= 3; ++threads) {
        double c[(ROWS + 1) * COLUMNS] = {0.0};
        check_ok(bb_threads_set(threads));
        check_ok(bb_row_product_run(&(bb_row_product){COLUMNS, DEPTH, 1.0, a, b, false, 0.0, c},
                                    ROWS, 3));
        for (int i = 0; i < ROWS * COLUMNS; ++i) {
            double sum = 0.0;
            for (int k = 0; k < DEPTH; ++k) {
                sum += a[i / COLUMNS * DEPTH + k] * b[k * COLUMNS + i % COLUMNS];
            }
            assert_true(c[i] == sum);
        }
        assert_true(c[ROWS * COLUMNS] == 0.0);
    }
    check_ok(bb_threads_set(1));
}
