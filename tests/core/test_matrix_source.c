// SPDX-License-Identifier: Apache-2.0
#include "core/matrix_source.h"
#include "tests/check.h"

TEST(dense_source_fills_blocks)
{
    double values[6] = {1, 2, 3, 4, 5, 6};
    double block[2] = {0};
    bb_view matrix = bb_view_matrix(values, 2, 3);
    bb_matrix_source source = bb_matrix_source_dense(&matrix, "C", "1");
    check_ok(bb_matrix_source_fill(&source, 1, 1, bb_view_matrix(block, 1, 2)));
    assert_true(block[0] == 5.0 && block[1] == 6.0);
}

TEST(blocks_that_leave_the_matrix_are_refused)
{
    double values[6] = {0};
    double block[6] = {0};
    bb_view matrix = bb_view_matrix(values, 2, 3);
    bb_matrix_source source = bb_matrix_source_dense(&matrix, "C", "1");
    check_fails(bb_matrix_source_fill(&source, 1, 0, bb_view_matrix(block, 2, 3)), BB_INVALID,
                "matrix C: block 2 x 3 at (1, 0) exceeds 2 x 3");
    bb_view narrow = bb_view_matrix(block, 1, 3);
    narrow.type = BB_F32;
    check_fails(bb_matrix_source_fill(&source, 0, 0, narrow), BB_INVALID, "must be fp64");
}

TEST(whole_matrix_is_loaded)
{
    static double values[50 * 3], loaded[50 * 3];
    fill_array(values, 150, i, i);
    bb_view matrix = bb_view_matrix(values, 50, 3);
    bb_matrix_source source = bb_matrix_source_dense(&matrix, "C", "1");
    check_ok(bb_matrix_source_load(&source, loaded));
    assert_memory_equal(values, loaded, sizeof values);
}

TEST(diagonal_of_a_square_source)
{
    double values[6] = {1, 2, 3, 4, 5, 6};
    double diagonal[2] = {0};
    bb_view square = bb_view_matrix(values, 2, 2);
    bb_matrix_source source = bb_matrix_source_dense(&square, "C", "1");
    check_ok(bb_matrix_source_diagonal(&source, diagonal));
    assert_true(diagonal[0] == 1.0 && diagonal[1] == 4.0);
    bb_view wide = bb_view_matrix(values, 2, 3);
    source = bb_matrix_source_dense(&wide, "C", "1");
    check_fails(bb_matrix_source_diagonal(&source, diagonal), BB_INVALID, "not square");
}

TEST(identity_has_ones_on_its_diagonal)
{
    double block[3 * 4] = {9, 9, 9}, diagonal[5];
    bb_matrix_source source = bb_matrix_source_identity(5, 7);
    check_ok(bb_matrix_source_fill(&source, 1, 2, bb_view_matrix(block, 3, 4)));
    for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 4; ++j) {
            assert_true(block[4 * i + j] == (1 + i == 2 + j ? 1.0 : 0.0));
        }
    }
    source = bb_matrix_source_identity(5, 5);
    assert_true(source.symmetric);
    check_ok(bb_matrix_source_diagonal(&source, diagonal));
    assert_true(diagonal[0] == 1.0 && diagonal[4] == 1.0);
}
