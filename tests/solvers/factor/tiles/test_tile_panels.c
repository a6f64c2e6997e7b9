// SPDX-License-Identifier: Apache-2.0
//
// Panels small enough to count by hand, and counts that do not depend on the panel width.
#include "solvers/factor/tiles/tile_panels.h"
#include "solvers/factor/tiles/tile_store.h"
#include "tests/check.h"

static size_t one_byte(const void *context, bb_index row, bb_index column)
{
    (void)context;
    (void)row;
    (void)column;
    return 1;
}

// The last row's tiles are as large as ten others.
static size_t long_last_row(const void *context, bb_index row, bb_index column)
{
    (void)column;
    return row == *(const bb_index *)context ? 10 : 1;
}

// Of 4 columns the second has the largest need: 3 tiles, its head in the first column, and one tile
// more.
TEST(the_least_is_one_column_with_a_head_and_a_tile)
{
    const bb_index last = 3;
    assert_int_equal(bb_tile_panels_least(1, one_byte, NULL), 1);
    assert_int_equal(bb_tile_panels_least(2, one_byte, NULL), 3);
    assert_int_equal(bb_tile_panels_least(4, one_byte, NULL), 5);
    // The last row, of a sweep; in column 3 it would be 10, head 10, tile 10.
    assert_int_equal(bb_tile_panels_least(4, long_last_row, &last), 40);
    assert_int_equal(bb_tile_panels_least(3, long_last_row, &last), 4);
}

// 6 tile rows in 12 bytes. [0, 2): 6 + 5 tiles, a third column would make 15. [2, 3): with column 3
// 4 + 3 tiles, twice 2 heads and 2 tiles are 13. [3, 5): 3 + 2, 4 and 2 are 11; with column 5 14.
TEST(panels_are_as_wide_as_memory)
{
    static const bb_index first[] = {0, 2, 3, 5, 6};
    static const bb_index stage[] = {0, 2, 5, 10, 16};
    autorelease(bb_tile_panels) panels = new_struct(bb_tile_panels, 6, 12, one_byte, NULL);
    assert_int_equal(panels.count, 4);
    assert_memory_equal(panels.first, first, sizeof first);
    assert_memory_equal(panels.stage, stage, sizeof stage);
    assert_int_equal(bb_tile_panels_of_column(&panels, 0), 0);
    assert_int_equal(bb_tile_panels_of_column(&panels, 2), 1);
    assert_int_equal(bb_tile_panels_of_column(&panels, 4), 2);
    assert_int_equal(bb_tile_panels_of_stage(&panels, 4), 1);
    assert_int_equal(bb_tile_panels_of_stage(&panels, 5), 2);
    assert_int_equal(bb_tile_panels_of_stage(&panels, 15), 3);
    assert_int_equal(bb_tile_panels_next_use(&panels, 1, 3, 2), 5 + 2);
    assert_int_equal(bb_tile_panels_next_use(&panels, 1, 2, 2), BB_TILE_STORE_NEVER);
    assert_int_equal(bb_tile_panels_next_use(&panels, 3, 5, 5), BB_TILE_STORE_NEVER);
    bb_tile_panels_release(&panels);
    check_ok(bb_tile_panels_create(6, 0, one_byte, NULL, &panels));
    assert_int_equal(panels.count, 1);
    assert_int_equal(panels.first[1], 6);
    assert_int_equal(panels.stage[1], 6);
}

// Each cell once, row by row.
TEST(cells_are_numbered_row_by_row)
{
    for (bb_index rows = 1; rows < 9; ++rows) {
        for (bb_index width = 1; width <= rows; ++width) {
            bb_index t = 0;
            for (bb_index row = 0; row < rows; ++row) {
                for (bb_index column = 0; column <= row && column < width; ++column, ++t) {
                    bb_index i = -1;
                    bb_index j = -1;
                    bb_tile_panels_cell(t, width, &i, &j);
                    assert_int_equal(i, row);
                    assert_int_equal(j, column);
                }
            }
            assert_int_equal(bb_tile_panels_cells(rows, width), t);
        }
    }
}

// For any limit, tile (i, j) has j updates, and a panel's updates use each operand as often as the
// tiles' use counts say: two operands per update, one for a diagonal tile. The uses of a diagonal
// tile are its solves.
TEST(counts_agree)
{
    enum { ROWS = 9 };
    for (size_t limit = bb_tile_panels_least(ROWS, one_byte, NULL); limit < 50; ++limit) {
        bb_index updates = 0;
        autorelease(bb_tile_panels) panels =
            new_struct(bb_tile_panels, ROWS, limit, one_byte, NULL);
        for (bb_index p = 0; p < panels.count; ++p) {
            for (bb_index k = 0; k < panels.first[p + 1]; ++k) {
                const bb_index below = k < panels.first[p] ? panels.first[p] : k + 1;
                const bb_index diagonals = panels.first[p + 1] - below;
                bb_index uses = 0;
                for (bb_index row = below; row < ROWS; ++row) {
                    uses += bb_tile_panels_uses(&panels, p, row, k);
                }
                const bb_index count = bb_tile_panels_updates(&panels, p, k);
                assert_int_equal(uses, 2 * count - diagonals);
                updates += count;
            }
            assert_int_equal(bb_tile_panels_uses(&panels, p, panels.first[p], panels.first[p]),
                             ROWS - 1 - panels.first[p]);
        }
        assert_int_equal(updates, (ROWS - 1) * ROWS * (ROWS + 1) / 6); // sum of j (ROWS - j)
    }
}
