// SPDX-License-Identifier: Apache-2.0
//
// Random programs: properties proven by binding hold at every point, order does not matter, a
// program written as XML is read back unchanged, and compiled kernels give the evaluator's bits.
#include "tests/first_device.h"
#include "tests/nightly.h"
#include "tests/solvers/kernels/random_check.h"

TEST(accepted_bindings_are_sound)
{
    random_counts counts = {0};
    for (uint64_t seed = 0; seed < (uint64_t)nightly_or(60000, 1200); ++seed) {
        check_binding(seed, &counts);
    }
    print_counts(&counts);
    assert_int_equal(counts.unsound, 0);
    assert_true(2 * counts.accepted >= counts.programs);
}

TEST(compiled_programs_give_the_bits_of_the_evaluator)
{
    check_compiled(0, (int)nightly_or(560, 30));
}

// No element of a line is inside if both its row and its columns are far out.
TEST(lines_end_where_the_space_ends)
{
    enum { COLUMNS = 3, ROWS = 4, REST = 8 };
    float u[COLUMNS * ROWS] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    float v[COLUMNS * ROWS + REST];
    autocall(fixture_release) program_fixture fixture;
    autorelease(bb_binding) binding = {.program = NULL};
    autoptr(bb_assembled_kernel) kernel = NULL;
    fill_array(v, COLUMNS * ROWS + REST, i, 77.0F);
    fixture_make(&fixture,
                 "kernel k (u, v: matrix SP)\n"
                 "for x in u.columns, y in u.rows\n"
                 "  v[x, y] = u[x - 7, y - 4 | zero]\n",
                 NULL, NULL);
    fixture_bind(&fixture, "u", COLUMNS, ROWS, u);
    fixture_bind(&fixture, "v", COLUMNS, ROWS, v);
    check_ok(bb_binding_create(&fixture.program, fixture.data, NULL, &fixture.problems, &binding));
    fixture_check_sound(&fixture);
    autoclose(bb_device) device = open_device(BB_DEVICE_CPU);
    check_ok(
        bb_assembled_kernel_create(device, &fixture.program, binding.is_inside, NULL, &kernel));
    check_ok(bb_assembled_kernel_launch(kernel, &binding, (void *[]){u, v}));
    for (int i = 0; i < COLUMNS * ROWS + REST; ++i) {
        assert_true(v[i] == (i < COLUMNS * ROWS ? 0.0F : 77.0F));
    }
}

// `test-solvers-kernels-random_programs SEED` prints one program and its problems.
static int show(uint64_t seed)
{
    autocall(random_case_release) random_case test;
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
    return 0;
}

static int begin(void)
{
    if (test_argument_count > 0) {
        exit(show(strtoull(test_arguments[0], NULL, 10)));
    }
    return 0;
}

TEST_GROUP(.begin = begin);
