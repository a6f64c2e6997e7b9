// SPDX-License-Identifier: Apache-2.0
//
// As test_random_programs, for many more numbers; by turns in CI.
#include "tests/solvers/kernels/random_check.h"
#include "tests/turn.h"

enum { FIRST = 10000, BINDINGS = 50000, COMPILED = 500 };

TEST(accepted_bindings_are_sound)
{
    const test_turn turn = turn_of_environment();
    random_counts counts = {0};
    for (bb_index i = turn.first; i < BINDINGS; i += turn.stride) {
        check_binding((uint64_t)(FIRST + i), &counts);
    }
    print_counts(&counts);
    assert_int_equal(counts.unsound, 0);
    assert_true(2 * counts.accepted >= counts.programs);
}

TEST(compiled_programs_give_the_bits_of_the_evaluator)
{
    const test_turn turn = turn_of_environment();
    const bb_index share = COMPILED / turn.stride;
    check_compiled((uint64_t)(FIRST + 2 * share * turn.first), (int)share);
}
