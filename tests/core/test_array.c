// SPDX-License-Identifier: Apache-2.0
#include "core/array.h"
#include "tests/check.h"

static void arrays_are_row_major_and_zero(void **state)
{
    (void)state;
    bb_array array;
    check_ok(bb_array_create(BB_F32, 3, (bb_index[]){2, 3, 5}, &array));
    assert_int_equal(array.view.strides[0], 15);
    assert_int_equal(array.view.strides[1], 5);
    assert_int_equal(array.view.strides[2], 1);
    assert_int_equal(bb_view_items(array.view), 30);
    assert_true(bb_view_contiguous(array.view));
    assert_true(((float *)array.view.data)[29] == 0.0F);
    bb_array_release(&array);
    assert_null(array.view.data);
}

static void blocks_address_the_parent(void **state)
{
    (void)state;
    double values[12];
    for (int i = 0; i < 12; ++i) {
        values[i] = i;
    }
    bb_view block = bb_view_block(bb_view_matrix(values, 3, 4), 1, 2, 1, 3);
    assert_true(bb_view_row(block, 1)[2] == 11.0);
    assert_false(bb_view_contiguous(block));
}

static void impossible_shapes_are_refused(void **state)
{
    (void)state;
    bb_array array;
    check_fails(bb_array_create(BB_F64, 5, (bb_index[]){1, 1, 1, 1, 1}, &array), BB_INVALID,
                "array of 5 axes");
    check_fails(bb_array_create(BB_F64, 2, (bb_index[]){2, -1}, &array), BB_INVALID, "negative");
    check_fails(bb_array_create(BB_F64, 2, (bb_index[]){PTRDIFF_MAX, 3}, &array), BB_INVALID,
                "too large");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_are_row_major_and_zero),
        cmocka_unit_test(blocks_address_the_parent),
        cmocka_unit_test(impossible_shapes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
