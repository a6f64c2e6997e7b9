// SPDX-License-Identifier: Apache-2.0
#include "core/array.h"
#include "tests/check.h"

TEST(blocks_address_the_parent)
{
    double values[12];
    fill_array(values, 12, i, i);
    bb_view block = bb_view_block(bb_view_matrix(values, 3, 4), 1, 2, 1, 3);
    assert_true(bb_view_row(block, 1)[2] == 11.0);
    assert_true(bb_view_row(block, 0)[0] == 5.0);
    assert_int_equal(block.shape[0], 2);
    assert_int_equal(block.shape[1], 3);
}
