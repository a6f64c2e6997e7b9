// SPDX-License-Identifier: Apache-2.0
//
// Programs by chance: what binding proves holds at every point, order does not matter, what is
// written as XML is the same program, and compiled kernels give the evaluator's bits.
#include "tests/solvers/kernels/random_check.h"

static void accepted_bindings_are_sound(void **state)
{
    (void)state;
    random_counts counts = {0};
    for (uint64_t seed = 0; seed < 2500; ++seed) {
        check_binding(seed, &counts);
    }
    print_counts(&counts);
    assert_int_equal(counts.unsound, 0);
    assert_true(2 * counts.accepted >= counts.programs);
}

static void compiled_programs_give_the_bits_of_the_evaluator(void **state)
{
    (void)state;
    check_compiled(0, 60);
}

// `test-solvers-kernels-random_programs SEED` shows one program and what is said of it.
static int show(uint64_t seed)
{
    random_case test;
    random_counts counts = {0};
    random_case_create(seed, &test);
    random_case_show(&test);
    print_message("%s", bb_text_string(&test.fixture.problems.lines));
    for (int i = 0; i < 3 && test.fixture.problems.count == 0; ++i) {
        const bb_index sizes[2] = {draw_of(&test.source, 8), draw_of(&test.source, 6)};
        random_case_fill(&test, sizes);
        print_message("%td, %td:\n", sizes[0], sizes[1]);
        check_bound(&test, &counts, true);
    }
    random_case_release(&test);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        return show(strtoull(argv[1], NULL, 10));
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accepted_bindings_are_sound),
        cmocka_unit_test(compiled_programs_give_the_bits_of_the_evaluator),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
