// SPDX-License-Identifier: Apache-2.0
//
// As test_random_programs, for many more numbers.
#include "tests/solvers/kernels/random_check.h"

static void accepted_bindings_are_sound(void **state)
{
    (void)state;
    random_counts counts = {0};
    for (uint64_t seed = 10000; seed < 60000; ++seed) {
        check_binding(seed, &counts);
    }
    print_counts(&counts);
    assert_int_equal(counts.unsound, 0);
    assert_true(2 * counts.accepted >= counts.programs);
}

static void compiled_programs_give_the_bits_of_the_evaluator(void **state)
{
    (void)state;
    check_compiled(10000, 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accepted_bindings_are_sound),
        cmocka_unit_test(compiled_programs_give_the_bits_of_the_evaluator),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
