// SPDX-License-Identifier: Apache-2.0
//
// Folded triangle: every block of the strictly lower triangle has its own place inside the
// rectangle of one part. The storage exceeds the blocks by at most half a block column.
#include "solvers/factor/panels/triangle_layout.h"
#include "tests/check.h"

TEST(every_block_has_its_own_place)
{
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

TEST(positions_are_a_permutation_in_the_rectangles_order)
{
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

// All parts together have every block once; each has at most its share plus half a row.
TEST(parts_hold_every_block_once)
{
    for (bb_index parts = 1; parts <= 8; ++parts) {
        for (bb_index blocks = 1; blocks <= 40; ++blocks) {
            bb_index held = 0;
            for (bb_index part = 0; part < parts; ++part) {
                const bb_triangle_layout layout =
                    bb_triangle_layout_share(blocks * 8 - 3, 8, part, parts);
                const bb_index across = bb_triangle_layout_columns(layout) / 8;
                const bb_index down = bb_triangle_layout_rows(layout) / 8;
                int taken[40][80] = {{0}};
                bb_index block_count = 0;
                assert_true(across < 80);
                for (bb_index i = part; i < blocks; i += parts) {
                    assert_true(bb_triangle_layout_contains(layout, i));
                    for (bb_index j = 0; j < i; ++j) {
                        const bb_index row = bb_triangle_layout_row(layout, i) / 8;
                        const bb_index column = bb_triangle_layout_column(layout, i) / 8 + j;
                        assert_true(row >= 0 && row < down && column >= 0 && column < across);
                        assert_int_equal(taken[row][column]++, 0);
                        ++block_count;
                    }
                    assert_true(!bb_triangle_layout_contains(layout, i + 1) || parts == 1);
                }
                held += block_count;
                assert_true(down * across - block_count <= across - across / 2);
            }
            assert_int_equal(held, blocks * (blocks - 1) / 2);
        }
    }
}

// Block rows below a panel are adjacent in a part, and in each half of the rectangle the step from
// one to the next is constant.
TEST(a_panel_of_a_part_is_one_run)
{
    for (bb_index item = 0; item < 8 * 20; ++item) {
        const bb_index parts = item / 20 + 1;
        const bb_index part = item % 20 % parts;
        const bb_triangle_layout layout =
            bb_triangle_layout_share(item % 20 * 4 + 4, 4, part, parts);
        for (bb_index k = 0; k < layout.blocks; ++k) {
            const bb_index begin = bb_triangle_layout_begin_below(layout, k);
            const bb_index end = bb_triangle_layout_end_below(layout, k);
            bb_index below = 0;
            for (bb_index i = part; i < layout.blocks; i += parts) {
                const bb_index position = bb_triangle_layout_position(layout, i);
                assert_true(position >= 0 && position < layout.held);
                assert_int_equal(bb_triangle_layout_block_at(layout, position), i);
                assert_int_equal(position >= begin && position<end, i> k);
                below += i > k;
            }
            assert_int_equal(end - begin, below);
        }
        for (bb_index position = 1; position < layout.held; ++position) {
            const bb_index before = bb_triangle_layout_block_at(layout, position - 1);
            const bb_index i = bb_triangle_layout_block_at(layout, position);
            const bb_index straight = layout.held - bb_triangle_layout_half(layout);
            if (position != straight) {
                assert_int_equal(bb_triangle_layout_row(layout, i),
                                 bb_triangle_layout_row(layout, before) + 4);
                assert_int_equal(bb_triangle_layout_column(layout, i) -
                                     bb_triangle_layout_column(layout, before),
                                 position < straight ? 0 : 4 * parts);
            }
        }
    }
}

TEST(a_stack_is_not_folded)
{
    const bb_triangle_layout layout = bb_triangle_layout_stack(1000, 256);
    for (bb_index i = 0; i < 4; ++i) {
        assert_int_equal(bb_triangle_layout_row(layout, i), 256 * i);
        assert_int_equal(bb_triangle_layout_column(layout, i), 0);
    }
}

TEST(the_last_block_row_is_short)
{
    const bb_triangle_layout layout = bb_triangle_layout_make(1000, 256);
    assert_int_equal(layout.blocks, 4);
    assert_int_equal(bb_triangle_layout_extent(layout, 2), 256);
    assert_int_equal(bb_triangle_layout_extent(layout, 3), 1000 - 3 * 256);
}

// Block rows from the third on, of the columns from 512 on.
TEST(a_strip_begins_where_it_is_told)
{
    const bb_triangle_layout layout = bb_triangle_layout_strip(1000, 128, 2, 512, 256);
    assert_int_equal(bb_triangle_layout_columns(layout), 256);
    assert_int_equal(bb_triangle_layout_rows(layout), 6 * 128);
    for (bb_index i = 2; i < 8; ++i) {
        assert_int_equal(bb_triangle_layout_row(layout, i), 128 * (i - 2));
        assert_int_equal(bb_triangle_layout_column(layout, i) + 512, 0);
        assert_int_equal(bb_triangle_layout_position(layout, i), i);
        assert_true(bb_triangle_layout_contains(layout, i));
    }
}
