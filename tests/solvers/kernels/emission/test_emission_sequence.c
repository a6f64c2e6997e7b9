// SPDX-License-Identifier: Apache-2.0
//
// Allowed steps of a sequence, the contents of a table row, and the source text.
#include "core/device/build.h"
#include "tests/solvers/kernels/emission/sequence_texts.h"

static bool text_serves(const char *text, bb_index columns, bb_index rows, int64_t number)
{
    autocall(bound_text_release) bound_text bound;
    bound_text_make(&bound, text, "SP", columns, rows, number);
    const bool serves = bb_emission_sequence_supports(&bound.binding);
    return serves;
}

TEST(few_points_serve)
{
    enum { FEW = BB_EMISSION_SEQUENCE_POINTS };
    assert_true(text_serves(sequence_fill, FEW, 1, 0));
    assert_false(text_serves(sequence_fill, FEW + 1, 1, 0));
    assert_true(text_serves(sequence_fill, 0, 1, 0));
    assert_true(text_serves(sequence_shift, FEW / 64, 64, 0));
    assert_false(text_serves(sequence_shift, FEW / 64, 65, 0));
    assert_false(text_serves(sequence_shift, 1 << 20, 1 << 20, 0));
}

TEST(sums_do_not)
{
    assert_false(text_serves("kernel total (a: vector T; s: vector T)\n"
                             "for k in a.size\n"
                             "  t = sum a[k]\n"
                             "  s[0] = t\n",
                             5, 1, 0));
    assert_false(text_serves("kernel totals (a: vector T; s: vector T)\n"
                             "for k in s.size\n"
                             "  t = sum (j in a.size) a[j]\n"
                             "  s[k] = t\n",
                             5, 1, 0));
}

// Rows are at most as long as the arguments of a launch.
TEST(many_parameters_do_not)
{
    enum { MANY = BB_LAUNCH_MAX_ARGUMENTS };
    program_fixture fixture;
    bb_binding binding = {.program = NULL};
    bb_text text = {0};
    const bb_program_data data = {3, 1, NULL};
    const bb_scalar parameters[MANY] = {{.integer = 0}};
    for (int count = MANY - 2; count <= MANY - 1; ++count) { // next to an object and its size
        check_ok(bb_text_add(&text, "kernel k (a: vector SP; p0"));
        for (int i = 1; i < count; ++i) {
            check_ok(bb_text_add(&text, ", p%d", i));
        }
        check_ok(bb_text_add(&text, ": SP)\nfor x in a.size\n  a[x] = p0\n"));
        fixture_make(&fixture, bb_text_string(&text), NULL, NULL);
        check_ok(
            bb_binding_create(&fixture.program, &data, parameters, &fixture.problems, &binding));
        fixture_check_sound(&fixture);
        assert_true(bb_emission_sequence_supports(&binding) == (count == MANY - 2));
        bb_binding_release(&binding);
        fixture_release(&fixture);
        bb_text_release(&text);
    }
}

// Values that exceed 32 bits: intermediate values of a position, an extent, elements of a matrix.
TEST(far_numbers_do_not)
{
    static const char head[] = "kernel head (a: matrix T)\n"
                               "for x in 4\n"
                               "  a[x, 0] = 1\n";
    assert_true(text_serves(sequence_shift, 8, 8, (1 << 30) - 8));
    assert_false(text_serves(sequence_shift, 8, 8, 1 << 30));
    assert_false(text_serves(sequence_shift, 8, 8, -(1 << 30)));
    assert_true(text_serves(head, 1 << 15, (1 << 15) - 1, 0));
    assert_false(text_serves(head, 1 << 15, 1 << 15, 0));
    assert_false(text_serves(head, 1 << 30, 1, 0));
    assert_true(text_serves("kernel turn (a, b: vector T; n: INT32)\n"
                            "for x in 4\n"
                            "  b[x] = a[(x + n) % 4]\n",
                            4, 1, 1 << 20));
    assert_false(text_serves("kernel turn (a, b: vector T; n: INT32)\n"
                             "for x in 4\n"
                             "  b[x] = a[x + n * n - n * n]\n",
                             4, 1, 1 << 20));
    assert_false(text_serves("kernel turn (a, b: vector T; n: INT32)\n"
                             "for x in 4\n"
                             "  b[x] = a[x * n * n > n ? x : x]\n",
                             4, 1, 1 << 20));
    assert_false(text_serves("kernel turn (a: vector T)\n"
                             "for x in 4\n"
                             "  v: INT32 = x * 1048576 * 1048576 / 1048576\n"
                             "  a[x] = v\n",
                             4, 1, 0));
}

// The member, points, columns and their divisors; addresses; sizes and parameters.
TEST(rows_hold_what_a_step_takes)
{
    bound_text bound[2];
    bb_emission_sequence sequence;
    uint64_t row[32];
    uint32_t numbers[64];
    double number = 0.0;
    float single = 0.0F;
    char places[2];
    void *blocks[] = {&places[0], &places[1]};
    sequence_text_make(BB_EMISSION_C, bound, &sequence);
    assert_int_equal(sequence.row_words % 2, 0);
    assert_in_range(sequence.row_words, 2 + 2 + 4, 32);
    bb_emission_sequence_row(&sequence, 0, &bound[0].binding, blocks, row);
    memcpy(numbers, row, sizeof numbers);
    assert_int_equal(numbers[0], 0);
    assert_int_equal(numbers[1], 15);
    assert_int_equal(numbers[2], 5);
    for (uint64_t p = 0; p < BB_EMISSION_SEQUENCE_POINTS; ++p) {
        assert_int_equal(p * numbers[3] >> 31, p / 5);
    }
    assert_true(row[2] == (uintptr_t)blocks[0] && row[3] == (uintptr_t)blocks[1]);
    // columns and rows of a and columns of b; f at the next word; n
    assert_int_equal(sequence.members[0].value_count, 5);
    assert_int_equal(numbers[8], 5);
    assert_int_equal(numbers[9], 3);
    assert_int_equal(numbers[10], 5);
    memcpy(&number, &numbers[12], sizeof number);
    assert_true(number == 2.0);
    assert_int_equal(numbers[14], 2);
    bb_emission_sequence_row(&sequence, 1, &bound[1].binding, &blocks[1], row);
    memcpy(numbers, row, sizeof numbers);
    assert_int_equal(numbers[0], 1);
    assert_int_equal(numbers[1], 7);
    assert_true(row[2] == (uintptr_t)blocks[1]);
    memcpy(&single, &numbers[6], sizeof single);
    assert_true(single == 3.0F);
    bb_emission_sequence_release(&sequence);
    bound_text_release(&bound[0]);
    bound_text_release(&bound[1]);
}

// The next number uses a free half-word, if there is one.
TEST(whole_numbers_take_half_a_word)
{
    autocall(bound_text_release) bound_text bound;
    autorelease(bb_emission_sequence) sequence;
    uint64_t row[32];
    uint32_t numbers[64];
    char place = 0;
    void *blocks[] = {&place};
    memset(row, 0xff, sizeof row);
    bound_text_make(&bound,
                    "kernel choose (a: matrix T; which: B; n: INT32)\n"
                    "for x in a.columns, y in a.rows\n"
                    "  v: T = which ? n * x : x\n"
                    "  a[x, y] = v\n",
                    "SP", 5, 3, 1);
    const bb_emission_member member = {.program = &bound.fixture.program,
                                       .is_inside = bound.binding.is_inside};
    check_ok(bb_emission_sequence_create(BB_EMISSION_C, &member, 1, &sequence));
    bb_emission_sequence_row(&sequence, 0, &bound.binding, blocks, row);
    memcpy(numbers, row, sizeof numbers);
    assert_int_equal(numbers[6], 5);
    assert_int_equal(numbers[7] & 0xff, 1);
    assert_int_equal(numbers[8], 1);
    bb_emission_sequence_release(&sequence);
    bound_text_release(&bound);
    bound_text_make(&bound,
                    "kernel set (a: matrix T)\nfor x in a.columns, y in a.rows\n  a[x, y] = x\n",
                    "SP", 5, 3, 1);
    check_ok(
        bb_emission_sequence_create(BB_EMISSION_C,
                                    &(bb_emission_member){.program = &bound.fixture.program,
                                                          .is_inside = bound.binding.is_inside},
                                    1, &sequence));
    memset(row, 0xff, sizeof row);
    bb_emission_sequence_row(&sequence, 0, &bound.binding, blocks, row);
    memcpy(numbers, row, sizeof numbers);
    assert_int_equal(numbers[6], 5);
    assert_int_equal(numbers[7], UINT32_MAX);
}

// A complex number has two words; the next value starts after them.
TEST(complex_numbers_take_two_words)
{
    autocall(bound_text_release) bound_text bound;
    autorelease(bb_emission_sequence) sequence;
    uint64_t row[32];
    uint32_t numbers[64];
    double parts[2];
    char place = 0;
    void *blocks[] = {&place, &place};
    bound_text_make(&bound, sequence_shift, "DP2", 5, 3, 2);
    bound.binding.values[bound.fixture.program.parameters[0].value] =
        (bb_scalar){.parts = {0.5, -3.0}};
    const bb_emission_member member = {.program = &bound.fixture.program,
                                       .is_inside = bound.binding.is_inside};
    check_ok(bb_emission_sequence_create(BB_EMISSION_C, &member, 1, &sequence));
    bb_emission_sequence_row(&sequence, 0, &bound.binding, blocks, row);
    memcpy(numbers, row, sizeof numbers);
    assert_int_equal(sequence.row_words, 10); // 9, and one so that rows start at an even word
    memcpy(parts, &numbers[12], sizeof parts);
    assert_true(parts[0] == 0.5 && parts[1] == -3.0);
    assert_int_equal(numbers[16], 2);
}

// Integers have 32 bits; values written by a step are visible to the next step.
TEST(texts_let_steps_see_each_other)
{
    bound_text bound[2];
    bb_emission_sequence sequence;
    sequence_text_make(BB_EMISSION_CUDA, bound, &sequence);
    const char *text = bb_text_string(&sequence.source);
    assert_non_null(strstr(text, "typedef int bb_index;"));
    assert_null(strstr(text, "restrict"));
    assert_null(strstr(text, "ldg"));
    const char *steps = strstr(text, "case 1: bb_step1(row, item); break;");
    assert_non_null(steps);
    assert_non_null(strstr(steps, "__syncthreads();"));
    assert_null(strstr(text, "bb_step2"));
    bb_emission_sequence_release(&sequence);
    bound_text_release(&bound[0]);
    bound_text_release(&bound[1]);
}
