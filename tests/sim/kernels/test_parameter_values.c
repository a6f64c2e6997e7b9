// SPDX-License-Identifier: Apache-2.0
#include "sim/kernels/kernel_source.h"
#include "tests/solvers/kernels/program_fixture.h"

static const char short_text[] = "kernel K (u: matrix SP; limit: SP; lag: SP)\n"
                                 "for x in u.columns, y in u.rows\n"
                                 "  u[x, y] = limit + lag\n";

enum { N, LIMIT, WIDE, GOOD, Z, W, PARAMETERS };

// Declared separately, so that their use is irrelevant here.
static bb_program_parameter rows[PARAMETERS] = {
    {.name = "n", .type = BB_ELEMENT_INT32}, {.name = "limit", .type = BB_ELEMENT_SP},
    {.name = "wide", .type = BB_ELEMENT_DP}, {.name = "good", .type = BB_ELEMENT_B},
    {.name = "z", .type = BB_ELEMENT_SP2},   {.name = "w", .type = BB_ELEMENT_DP2},
};
static const bb_program program = {.name = "K", .parameters = rows, .parameter_count = PARAMETERS};

static void read_all(const char *const *words, bb_index count, bb_scalar *out, const char *lines)
{
    autorelease(bb_problems) problems = {0};
    check_ok(bb_kernel_source_parameters(&program, words, count, NULL, &problems, out));
    assert_string_equal(bb_text_string(&problems.lines), lines);
}

TEST(values_are_of_their_types)
{
    static const char *const first[] = {"good=true",  "n=-2147483648", "limit=0.1",
                                        "wide=1e300", "z=0.1,-inf",    "w=nan,0.1"};
    static const char *const second[] = {"good=0",   "n=2147483647", "limit=-inf",
                                         "wide=nan", "z=1,2",        "w=-1,-2.5"};
    bb_scalar out[PARAMETERS];
    read_all(first, PARAMETERS, out, "");
    assert_int_equal(out[N].integer, INT32_MIN);
    assert_true(out[LIMIT].parts[0] == (double)0.1F);
    assert_true(out[WIDE].parts[0] == 1e300);
    assert_int_equal(out[GOOD].integer, 1);
    assert_true(out[Z].parts[0] == (double)0.1F && out[Z].parts[1] == -INFINITY);
    assert_true(isnan(out[W].parts[0]) && out[W].parts[1] == 0.1);
    read_all(second, PARAMETERS, out, "");
    assert_int_equal(out[N].integer, INT32_MAX);
    assert_true(out[LIMIT].parts[0] == -INFINITY);
    assert_true(isnan(out[WIDE].parts[0]));
    assert_int_equal(out[GOOD].integer, 0);
    assert_true(out[W].parts[0] == -1.0 && out[W].parts[1] == -2.5);
}

TEST(others_may_stand_in_for_values)
{
    static const char *const words[] = {"limit=0.5"};
    autorelease(bb_problems) problems = {0};
    bb_scalar ones[PARAMETERS];
    bb_scalar out[PARAMETERS];
    for (int i = 0; i < PARAMETERS; ++i) {
        ones[i] = (bb_scalar){.parts = {1.0}, .integer = 1};
    }
    check_ok(bb_kernel_source_parameters(&program, words, 1, ones, &problems, out));
    assert_int_equal(problems.count, 0);
    assert_true(out[LIMIT].parts[0] == 0.5 && out[WIDE].parts[0] == 1.0 && out[N].integer == 1);
}

TEST(what_is_no_value_is_refused)
{
    static const char *const words[] = {"good=2",     "n=2147483648", "limit=3.5e38",
                                        "wide=1e999", "z=1",          "w=1,x"};
    static const char *const others[] = {
        "good=yes", "n=1.0", "limit=", "wide=-nan", "z=1,3.5e38", "w=,1"};
    bb_scalar out[PARAMETERS];
    read_all(words, PARAMETERS, out,
             "-p good=2: parameter good is of type B: expected false or true\n"
             "-p n=2147483648: parameter n is of type INT32: expected an integer in [-2147483648, "
             "2147483647]\n"
             "-p limit=3.5e38: parameter limit is of type SP: expected a number of at most 3.4e38, "
             "nan or inf\n"
             "-p wide=1e999: parameter wide is of type DP: expected a number, nan or inf\n"
             "-p z=1: parameter z is of type SP2: expected two numbers RE,IM of at most 3.4e38, "
             "nan or inf\n"
             "-p w=1,x: parameter w is of type DP2: expected two numbers RE,IM, nan or inf\n");
    read_all(others, PARAMETERS, out,
             "-p good=yes: parameter good is of type B: expected false or true\n"
             "-p n=1.0: parameter n is of type INT32: expected an integer in [-2147483648, "
             "2147483647]\n"
             "-p limit=: parameter limit is of type SP: expected a number of at most 3.4e38, nan "
             "or inf\n"
             "-p wide=-nan: parameter wide is of type DP: expected a number, nan or inf\n"
             "-p z=1,3.5e38: parameter z is of type SP2: expected two numbers RE,IM of at most "
             "3.4e38, nan or inf\n"
             "-p w=,1: parameter w is of type DP2: expected two numbers RE,IM, nan or inf\n");
}

// Places of parameters are those of the description.
TEST(each_has_one_value)
{
    static const char *const words[] = {"limt=1", "limit=1", "limit=2", "lag", "depth=1"};
    autocall(fixture_release) program_fixture fixture;
    bb_scalar out[2];
    fixture_make(&fixture, short_text, NULL, NULL);
    check_ok(bb_kernel_source_parameters(&fixture.program, words, 5, NULL, &fixture.problems, out));
    assert_string_equal(bb_text_string(&fixture.problems.lines),
                        "-p limt=1: kernel K has no parameter 'limt' (did you mean limit?)\n"
                        "-p limit=2: parameter limit is set twice\n"
                        "-p lag: expected PARAM=VALUE\n"
                        "-p depth=1: kernel K has no parameter 'depth'\n"
                        "k:1:36: parameter lag (SP) has no value; set it with -p lag=VALUE\n");
}
