// SPDX-License-Identifier: Apache-2.0
//
// States in words.
#include "sim/kernels/slot_search.h"
#include "tests/check.h"

TEST(states_are_told_slot_by_slot)
{
    static const char *const slots[] = {"gradient", "smoother"};
    static const char *const numbers[] = {"DP", "fp16"};
    static const int chosen[] = {1, 0};
    const bb_slot_table table = {.slots = slots, .slot_count = 2, .numbers = numbers};
    char text[BB_SLOT_TABLE_STATE];
    bb_slot_table_describe(&table, chosen, text);
    assert_string_equal(text, "gradient fp16, smoother DP");
}

TEST(long_states_end)
{
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
