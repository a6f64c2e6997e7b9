// SPDX-License-Identifier: Apache-2.0
//
// The greedy search over slots against made-up scores: what is tried in which order, what is kept,
// and that errors of slots need not add up.
#include "sim/kernels/slot_search.h"
#include "tests/check.h"

enum { SLOTS = 3, NUMBERS = 4, TRIALS = 40 };

// Slots of so many values, numbers of so many bytes; 2 stores as much as 1.
static const double values[SLOTS] = {10.0, 1.0, 3.0};
static const double widths[NUMBERS] = {8.0, 4.0, 4.0, 1.0};

typedef struct problem {
    double errors[SLOTS][NUMBERS];
    double limit;
    int coupled; // slot that has to be at 0 once slot 0 is lowered; -1: none
    int tried[TRIALS][SLOTS + 1];
    int count;
} problem;

static bb_status weigh(void *context, const int *state, double *bytes)
{
    (void)context;
    *bytes = 0.0;
    for (int s = 0; s < SLOTS; ++s) {
        *bytes += values[s] * widths[state[s]];
    }
    return BB_OK;
}

static bb_status attempt(void *context, const int *state, int slot, bool *holds)
{
    problem *self = context;
    double error = 0.0;
    assert_true(self->count < TRIALS);
    for (int s = 0; s < SLOTS; ++s) {
        error += self->errors[s][state[s]];
        self->tried[self->count][s] = state[s];
    }
    self->tried[self->count++][SLOTS] = slot;
    *holds = error <= self->limit;
    if (self->coupled >= 0 && state[0] > 0 && state[self->coupled] > 0) {
        *holds = false;
    }
    return self->limit < -1.0 ? bb_status_set(BB_DEVICE, __FILE__, __LINE__, "broken") : BB_OK;
}

static bb_slot_search search_of(problem *made)
{
    return (bb_slot_search){
        .slots = SLOTS, .numbers = NUMBERS, .context = made, .weigh = weigh, .attempt = attempt};
}

static void check_state(const int *state, int first, int second, int third)
{
    const int expected[SLOTS] = {first, second, third};
    assert_memory_equal(state, expected, sizeof expected);
}

// 1: 0.5 of slot 0 is too much, so that 2 of the same bytes is tried; then slot 2, then slot 1.
TEST(what_saves_most_is_tried_first)
{
    problem made = {.errors = {{0, 0.5, 0.1, 9}, {0, 0.1, 0.1, 0.1}, {0, 0.1, 0.1, 0.4}},
                    .limit = 0.35,
                    .coupled = -1};
    bb_slot_search search = search_of(&made);
    bool holds = false;
    check_ok(bb_slot_search_run(&search, &holds));
    assert_true(holds);
    check_state(search.state, 2, 3, 1);
    static const int expected[][SLOTS + 1] = {
        {0, 0, 0, -1}, // the start
        {3, 0, 0, 0},  // 70 bytes
        {1, 0, 0, 0},  // 40
        {2, 0, 0, 0},  // 40, kept
        {2, 0, 3, 2},  // 21
        {2, 0, 1, 2},  // 12, kept
        {2, 3, 1, 1},  // 7, kept
    };
    assert_int_equal(made.count, 7);
    assert_int_equal(search.trials, 7);
    assert_memory_equal(made.tried, expected, sizeof expected);
    // Back, the last first.
    assert_true(bb_slot_search_retreat(&search));
    check_state(search.state, 2, 0, 1);
    assert_true(bb_slot_search_retreat(&search));
    check_state(search.state, 2, 0, 0);
    assert_true(bb_slot_search_retreat(&search));
    check_state(search.state, 0, 0, 0);
    assert_false(bb_slot_search_retreat(&search));
}

// What is always too much but for its last number: every slot is tried with every one.
TEST(no_search_tries_more_than_its_most)
{
    problem made = {.errors = {{0, 9, 9, 9}, {0, 9, 9, 9}, {0, 9, 9, 9}}, .coupled = -1};
    bb_slot_search search = search_of(&made);
    bool holds = false;
    check_ok(bb_slot_search_run(&search, &holds));
    assert_int_equal(search.trials, 10);
    assert_int_equal(bb_slot_search_most(SLOTS, NUMBERS), 10);
}

// Each alone holds, both together do not.
TEST(slots_need_not_add_up)
{
    problem made = {.limit = 0.0, .coupled = 2};
    bb_slot_search search = search_of(&made);
    bool holds = false;
    check_ok(bb_slot_search_run(&search, &holds));
    check_state(search.state, 3, 3, 0);
    assert_int_equal(search.steps, 2);
}

TEST(a_start_that_fails_is_said)
{
    problem made = {.limit = -1.0, .coupled = -1};
    bb_slot_search search = search_of(&made);
    bool holds = true;
    check_ok(bb_slot_search_run(&search, &holds));
    assert_false(holds);
    assert_int_equal(made.count, 1);
    made.limit = -2.0;
    check_fails(bb_slot_search_run(&search, &holds), BB_DEVICE, "broken");
    search.slots = BB_SLOT_SEARCH_SLOTS + 1;
    check_fails(bb_slot_search_run(&search, &holds), BB_INVALID, "17 slots of 4 numbers");
}
