// SPDX-License-Identifier: Apache-2.0
//
// The folded triangle: every block of the strictly lower triangle has a place of its own inside the
// rectangle, and no more room is taken than the triangle and half a block column.
#include "core/memory.h"
#include "solvers/factor/panels/triangle_layout.h"
#include "tests/check.h"

static void every_block_has_its_own_place(void **state)
{
    (void)state;
    for (bb_index blocks = 1; blocks <= 40; ++blocks) {
        const bb_triangle_layout layout = bb_triangle_layout_make(blocks * 8 - 3, 8);
        const bb_index across = bb_triangle_layout_columns(layout) / 8;
        const bb_index down = bb_triangle_layout_rows(layout) / 8;
        int taken[40][40] = {{0}};
        assert_int_equal(layout.blocks, blocks);
        for (bb_index i = 0; i < blocks; ++i) {
            for (bb_index j = 0; j < i; ++j) {
                const bb_index row = bb_triangle_layout_row(layout, i) / 8;
                const bb_index column = bb_triangle_layout_column(layout, i) / 8 + j;
                assert_true(row >= 0 && row < down && column >= 0 && column < across);
                assert_int_equal(taken[row][column]++, 0);
            }
        }
        assert_true(down * across - blocks * (blocks - 1) / 2 <= blocks / 2);
    }
}

static void positions_are_a_permutation_in_the_rectangles_order(void **state)
{
    (void)state;
    for (bb_index blocks = 1; blocks <= 40; ++blocks) {
        const bb_triangle_layout layout = bb_triangle_layout_make(blocks * 4, 4);
        const bb_index half = bb_triangle_layout_half(layout);
        for (bb_index i = 0; i < blocks; ++i) {
            const bb_index position = bb_triangle_layout_position(layout, i);
            assert_true(position >= 0 && position < blocks);
            assert_int_equal(bb_triangle_layout_block_at(layout, position), i);
            const bb_index row = i >= half ? position : position - half;
            assert_int_equal(bb_triangle_layout_row(layout, i), row * 4);
        }
    }
}

static void the_last_block_row_is_short(void **state)
{
    (void)state;
    const bb_triangle_layout layout = bb_triangle_layout_make(1000, 256);
    assert_int_equal(layout.blocks, 4);
    assert_int_equal(bb_triangle_layout_extent(layout, 2), 256);
    assert_int_equal(bb_triangle_layout_extent(layout, 3), 1000 - 3 * 256);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_block_has_its_own_place),
        cmocka_unit_test(positions_are_a_permutation_in_the_rectangles_order),
        cmocka_unit_test(the_last_block_row_is_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
