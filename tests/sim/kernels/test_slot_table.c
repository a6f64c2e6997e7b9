// SPDX-License-Identifier: Apache-2.0
//
// States in words.
#include "sim/kernels/slot_table.h"
#include "tests/check.h"

static void states_are_told_slot_by_slot(void **state)
{
    (void)state;
    static const char *const slots[] = {"gradient", "smoother"};
    static const char *const numbers[] = {"DP", "fp16"};
    static const int chosen[] = {1, 0};
    const bb_slot_table table = {.slots = slots, .slot_count = 2, .numbers = numbers};
    char text[BB_SLOT_TABLE_STATE];
    bb_slot_table_describe(&table, chosen, text);
    assert_string_equal(text, "gradient fp16, smoother DP");
}

static void long_states_end(void **state)
{
    (void)state;
    enum { MANY = 30 };
    static const char *const numbers[] = {"DP"};
    const char *slots[MANY];
    int chosen[MANY];
    char text[BB_SLOT_TABLE_STATE + 1];
    for (int i = 0; i < MANY; ++i) {
        slots[i] = "gradient";
        chosen[i] = 0;
    }
    const bb_slot_table table = {.slots = slots, .slot_count = MANY, .numbers = numbers};
    text[BB_SLOT_TABLE_STATE] = 'x';
    bb_slot_table_describe(&table, chosen, text);
    assert_int_equal(strlen(text), BB_SLOT_TABLE_STATE - 1);
    assert_int_equal(text[BB_SLOT_TABLE_STATE], 'x');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states_are_told_slot_by_slot),
        cmocka_unit_test(long_states_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
