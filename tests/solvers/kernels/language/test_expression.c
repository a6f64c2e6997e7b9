// SPDX-License-Identifier: Apache-2.0
#include "tests/solvers/kernels/parsed_text.h"

#include <fenv.h>
#include <locale.h>

static double real(bb_element_type type, const char *text, double a, double b)
{
    const bb_scalar inputs[3] = {{{a, 99.0}, 99}, {{b, 99.0}, 99}, {{0}, 0}};
    const bb_expression_rules rules = block(type);
    bb_scalar output;
    evaluate(text, &rules, inputs, &output);
    return output.parts[0];
}

static int64_t integer(bb_element_type type, const char *text, int64_t a, int64_t b)
{
    const bb_scalar inputs[3] = {{{99.0, 99.0}, a}, {{99.0, 99.0}, b}, {{0}, 0}};
    const bb_expression_rules rules = block(type);
    bb_scalar output;
    evaluate(text, &rules, inputs, &output);
    return output.integer;
}

TEST(test_precedence)
{
    static const struct {
        const char *text;
        double expected;
    } rows[] = {
        {"1 + 2 * 3", 7},
        {"(1 + 2) * 3", 9},
        {"10 - 4 - 3", 3},
        {"24 / 4 / 3", 2},
        {"7 % 4 * 2", 6},
        {"-2 * -3", 6},
        {"-(2 + 3)", -5},
        {"- - 2", 2},
        {"2 - -3", 5},
        {"1 < 2 == 1", 1},
        {"3 > 2 != 0 < 1", 0},
        {"1 || 0 && 0", 1},
        {"0 && 0 == 0", 0},
        {"!0 + 1", 2},
        {"!(0 + 1)", 0},
        {"1 ? 2 : 0 ? 3 : 4", 2},
        {"0 ? 2 : 0 ? 3 : 4", 4},
        {"0 || 1 ? 2 : 3", 2},
        {"1 + 1 <= 2", 1},
        {"2 >= 3", 0},
        {"max(1, min(5, 3)) + 1;", 4},
        {"\t1\n+ 1 ; ", 2},
        {"#in( 0 )+#acc( 1 )", 17},
        {".5 + 1.", 1.5},
        {"1e2 + 1.5E-1 + 2e+0", 102.15},
        {"1/2*#in(0)", 5},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; ++k) {
        check_bits(real(BB_ELEMENT_DP, rows[k].text, 10.0, 0.0), rows[k].expected, rows[k].text);
    }
}

// Rounded by hand or by the compiler, which also rounds decimals once.
TEST(test_floats)
{
    const bb_element_type sp = BB_ELEMENT_SP;
    const bb_element_type dp = BB_ELEMENT_DP;
    // 1 + 2^-24 + 2^-60 rounds up directly, but to even if it is rounded to double first.
    check_bits(real(sp, "1.000000059604644775390625867361737988403547", 0, 0), 0x1.000002p0,
               "once");
    check_bits(real(sp, "0.1", 0, 0), 0.1F, "0.1");
    check_bits(real(dp, "0.1", 0, 0), 0.1, "0.1");
    check_bits(real(sp, "#in(0) * #in(1)", 0x1.000002p0, 0x1.000002p0), 0x1.000004p0, "*");
    check_bits(real(sp, "#in(0) + #in(1)", 0x1p24, 1.0), 0x1p24, "+");
    check_bits(real(sp, "#in(0) / #in(1)", 1.0, 3.0), 1.0F / 3.0F, "/");
    check_bits(real(dp, "#in(0) / #in(1)", 1.0, 3.0), 1.0 / 3.0, "/");
    check_bits(real(sp, "sqrt(#in(0))", 2.0, 0), sqrtf(2.0F), "sqrt");
    check_bits(real(dp, "sqrt(#in(0))", 2.0, 0), sqrt(2.0), "sqrt");
    check_bits(real(sp, "#in(0) % #in(1)", -7.5, 2.0), -1.5, "%");
    check_bits(real(dp, "#in(0) % #in(1)", 7.5, -2.0), 1.5, "%");
    check_bits(real(dp, "#in(0) - #in(0)*1", 0x1p1000, 0), 0.0, "-");
    check_bits(real(dp, "-#in(0)", 0.0, 0), -0.0, "negative zero");
    check_bits(real(dp, "-0.0", 0.0, 0), -0.0, "literal negative zero");
    check_bits(real(dp, "1 / 0 + -0 / 1", 0.0, 0), INFINITY, "1 / 0");
    check_bits(real(dp, "1 / -0.0 + 0.0 * 1", 0.0, 0), -INFINITY, "0 is not -0");
    check_bits(real(dp, "fabs(-0.0) + abs(-2)", 0.0, 0), 2.0, "fabs");
    check_bits(real(dp, "fabs(#in(0))", -0.0, 0), 0.0, "fabs");
    check_bits(real(dp, "floor(#in(0))", -0.5, 0), -1.0, "floor");
    check_bits(real(dp, "max(#in(0), #in(1))", 0.0, -0.0), -0.0, "max of zeros");
    check_bits(real(dp, "max(#in(0), #in(1))", -0.0, 0.0), 0.0, "max of zeros");
    check_bits(real(dp, "min(#in(0), #in(1))", -0.0, 0.0), 0.0, "min of zeros");
    check_bits(real(dp, "max(#in(0), #in(1))", 2.0, 1.0), 2.0, "max");
    check_bits(real(dp, "min(#in(0), #in(1))", 2.0, 1.0), 1.0, "min");
    check_bits(real(dp, "max(#in(0), #in(1))", NAN, 1.0), NAN, "max of NaN");
    check_bits(real(dp, "max(#in(0), #in(1))", 1.0, NAN), NAN, "max of NaN");
    check_bits(real(dp, "min(#in(0), #in(1))", NAN, 1.0), NAN, "min of NaN");
    check_bits(real(dp, "min(#in(0), #in(1))", 1.0, NAN), NAN, "min of NaN");
    check_bits(real(dp, "#in(0) ? 1 : 2", NAN, 0), 1.0, "NaN is true");
    check_bits(real(dp, "#in(0) == #in(0)", NAN, 0), 0.0, "NaN");
    check_bits(real(dp, "#in(0) != #in(0)", NAN, 0), 1.0, "NaN");
    check_bits(real(dp, "!#in(0)", -0.0, 0), 1.0, "-0 is false");
    check_bits(real(dp, "#in(0) && #in(1)", 0.5, -2.0), 1.0, "&&");
}

TEST(test_rint)
{
    static const double rows[][2] = {
        {0.5, 0.0},
        {1.5, 2.0},
        {2.5, 2.0},
        {-0.5, -0.0},
        {-1.5, -2.0},
        {-0.3, -0.0},
        {0.49999999999999994, 0.0},
        {-2.5000000000000004, -3.0},
        {1e300, 1e300},
        {-0.0, -0.0},
        {INFINITY, INFINITY},
        {4503599627370495.5, 4503599627370496.0},
    };
    static const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; ++k) {
        for (size_t mode = 0; mode < sizeof modes / sizeof *modes; ++mode) {
            assert_int_equal(fesetround(modes[mode]), 0);
            const double got = real(BB_ELEMENT_DP, "rint(#in(0))", rows[k][0], 0.0);
            assert_int_equal(fesetround(FE_TONEAREST), 0);
            check_bits(got, rows[k][1], "rint");
        }
    }
    assert_true(isnan(real(BB_ELEMENT_DP, "rint(#in(0))", NAN, 0.0)));
}

TEST(test_integers)
{
    static const struct {
        const char *text;
        int64_t a, b, narrow, wide;
    } rows[] = {
        {"#in(0) + #in(1)", INT32_MAX, 1, INT32_MIN, 2147483648},
        {"#in(0) - #in(1)", INT32_MIN, 1, INT32_MAX, -2147483649},
        {"#in(0) * #in(1)", 65536, 65537, 65536, 4295032832},
        {"#in(0) / #in(1)", INT32_MIN, -1, INT32_MIN, 2147483648},
        {"#in(0) % #in(1)", INT32_MIN, -1, 0, 0},
        {"#in(0) / #in(1)", 5, 0, 0, 0},
        {"#in(0) % #in(1)", 5, 0, 0, 0},
        {"#in(0) / #in(1)", -7, 2, -3, -3},
        {"#in(0) % #in(1)", -7, 2, -1, -1},
        {"#in(0) % #in(1)", 7, -2, 1, 1},
        {"-#in(0)", INT32_MIN, 0, INT32_MIN, 2147483648},
        {"fabs(#in(0)) + abs(#in(1))", -3, -4, 7, 7},
        {"abs(#in(0))", INT32_MIN, 0, INT32_MIN, 2147483648},
        {"max(#in(0), #in(1))", -3, 4, 4, 4},
        {"min(#in(0), #in(1))", -3, 4, -3, -3},
        {"#in(0) && #in(1)", 2, 1, 1, 1},
        {"!#in(0) || #in(1)", 2, 0, 0, 0},
        {"#in(0) < #in(1) ? 10 : 20", -1, 1, 10, 10},
        {"-2147483648 + 0", 0, 0, INT32_MIN, INT32_MIN},
        {"2147483647", 0, 0, INT32_MAX, INT32_MAX},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; ++k) {
        if (integer(BB_ELEMENT_INT32, rows[k].text, rows[k].a, rows[k].b) != rows[k].narrow ||
            integer(BB_ELEMENT_INDEX, rows[k].text, rows[k].a, rows[k].b) != rows[k].wide) {
            fail_msg("%s of %lld, %lld", rows[k].text, (long long)rows[k].a, (long long)rows[k].b);
        }
    }
    const bb_element_type index = BB_ELEMENT_INDEX;
    assert_int_equal(integer(index, "#in(0) / #in(1)", INT64_MIN, -1), INT64_MIN);
    assert_int_equal(integer(index, "#in(0) % #in(1)", INT64_MIN, -1), 0);
    assert_int_equal(integer(index, "#in(0) * #in(1)", INT64_MAX, 2), -2);
    assert_int_equal(integer(index, "-9223372036854775808", 0, 0), INT64_MIN);
    assert_int_equal(integer(BB_ELEMENT_B, "#in(0) && !#in(1) || 0", 1, 0), 1);
    assert_int_equal(integer(BB_ELEMENT_B, "#in(0) != #in(1)", 1, 1), 0);
    assert_int_equal(integer(BB_ELEMENT_B, "#in(0) ? #in(1) : 1", 0, 0), 1);
}

static void check_complex(bb_element_type type, const char *text, double re, double im)
{
    const bb_scalar inputs[3] = {{{1.0, 2.0}, 0}, {{3.0, -4.0}, 0}, {{-0.0, 0.5}, 0}};
    const bb_expression_rules rules = block(type);
    bb_scalar output;
    evaluate(text, &rules, inputs, &output);
    check_bits(output.parts[0], re, text);
    check_bits(output.parts[1], im, text);
}

// By hand, of 1 + 2i, 3 - 4i and -0 + 0.5i.
TEST(test_complex)
{
    for (int number = BB_ELEMENT_SP2; number <= BB_ELEMENT_DP2; ++number) {
        const bb_element_type type = (bb_element_type)number;
        check_complex(type, "#in(0) + #in(1)", 4, -2);
        check_complex(type, "#in(0) - #in(1)", -2, 6);
        check_complex(type, "#in(0) * #in(1)", 11, 2);
        check_complex(type, "#in(0) / pair(0, 2)", 1, -0.5);
        check_complex(type, "#in(0) / 2", 0.5, 1);
        check_complex(type, "2 * #in(0)", 2, 4);
        check_complex(type, "-#in(2)", 0.0, -0.5);
        check_complex(type, "conj(#in(0))", 1, -2);
        check_complex(type, "abs(#in(1))", 5, 0);
        check_complex(type, "abs(re(#in(0)) - 3) + fabs(im(#in(1)))", 6, 0);
        check_complex(type, "pair(im(#in(0)), max(re(#in(1)), 7))", 2, 7);
        check_complex(type, "re(#in(0)) < 1.5 ? #in(1) : #in(0)", 3, -4);
        check_complex(type, "#in(0) == #in(1)", 0, 0);
        check_complex(type, "#in(0) != conj(#in(0))", 1, 0);
        check_complex(type, "sqrt(re(#in(1)) + 1) + floor(2.5)", 4, 0);
        check_complex(type, "#in(0) + (1 < 2)", 2, 2);
        check_complex(type, "#acc(0)", 5, -1);
    }
    check_complex(BB_ELEMENT_SP2, "#in(0) / #in(1)", -5.0F / 25.0F, 10.0F / 25.0F);
    check_complex(BB_ELEMENT_SP2, "0.1", 0.1F, 0.0);
    check_complex(BB_ELEMENT_DP2, "abs(#in(0))", sqrt(5.0), 0);
    check_complex(BB_ELEMENT_SP2, "abs(#in(0))", sqrtf(5.0F), 0);
}

static void check_conversion(bb_scalar value, bb_element_type source, bb_element_type target,
                             double re, double im, int64_t expected)
{
    const bb_scalar got = bb_expression_convert(value, source, target);
    if (bb_element_type_row(target)->is_float) {
        check_bits(got.parts[0], re, bb_element_type_row(target)->name);
        check_bits(got.parts[1], im, bb_element_type_row(target)->name);
    } else if (got.integer != expected) {
        fail_msg("%s: got %lld, expected %lld", bb_element_type_row(target)->name,
                 (long long)got.integer, (long long)expected);
    }
}

TEST(test_conversions)
{
    static const struct {
        double value;
        int64_t narrow, wide, b;
    } rows[] = {
        {NAN, 0, 0, 1},
        {INFINITY, INT32_MAX, INT64_MAX, 1},
        {-INFINITY, INT32_MIN, INT64_MIN, 1},
        {2147483647.5, INT32_MAX, 2147483647, 1},
        {2147483648.0, INT32_MAX, 2147483648, 1},
        {-2147483648.9, INT32_MIN, -2147483648, 1},
        {-3e9, INT32_MIN, -3000000000, 1},
        {9.3e18, INT32_MAX, INT64_MAX, 1},
        {-1.9, -1, -1, 1},
        {-0.0, 0, 0, 0},
        {0.5, 0, 0, 1},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; ++k) {
        const bb_scalar value = {{rows[k].value, 77.0}, 77};
        check_conversion(value, BB_ELEMENT_DP, BB_ELEMENT_INT32, 0, 0, rows[k].narrow);
        check_conversion(value, BB_ELEMENT_DP, BB_ELEMENT_INDEX, 0, 0, rows[k].wide);
        check_conversion(value, BB_ELEMENT_DP, BB_ELEMENT_B, 0, 0, rows[k].b);
    }
    const bb_scalar tenth = {{0.1, 0.2}, 0};
    check_conversion(tenth, BB_ELEMENT_DP, BB_ELEMENT_SP, 0.1F, 0, 0);
    check_conversion(tenth, BB_ELEMENT_DP, BB_ELEMENT_SP2, 0.1F, 0, 0);
    check_conversion(tenth, BB_ELEMENT_DP2, BB_ELEMENT_SP2, 0.1F, 0.2F, 0);
    check_conversion(tenth, BB_ELEMENT_DP2, BB_ELEMENT_DP, 0.1, 0, 0);
    const bb_scalar imaginary = {{0.0, 0.2}, 0};
    check_conversion(imaginary, BB_ELEMENT_DP2, BB_ELEMENT_B, 0, 0, 1);
    const bb_scalar count = {{9.0, 9.0}, 16777217};
    check_conversion(count, BB_ELEMENT_INT32, BB_ELEMENT_SP, 16777216.0, 0, 0);
    check_conversion(count, BB_ELEMENT_INT32, BB_ELEMENT_DP2, 16777217.0, 0, 0);
    check_conversion(count, BB_ELEMENT_INT32, BB_ELEMENT_B, 0, 0, 1);
    const bb_scalar far = {{9.0, 9.0}, 4294967297};
    check_conversion(far, BB_ELEMENT_INDEX, BB_ELEMENT_INT32, 0, 0, 1);
    // 2^60 + 2^36 + 1 is above a tie of floats; rounded to double first it would be the tie.
    const bb_scalar tie = {{0}, 1152921573326323713};
    check_conversion(tie, BB_ELEMENT_INDEX, BB_ELEMENT_SP, 0x1.000002p60, 0, 0);
}

// Types of nodes: inputs are converted once, and so are outputs.
TEST(test_typing)
{
    const bb_element_type types[] = {BB_ELEMENT_SP, BB_ELEMENT_B};
    const bb_expression_rules rules = {
        .type = BB_ELEMENT_DP, .input_types = types, .inputs = 2, .outputs = 2};
    const bb_scalar inputs[] = {{{0.1F, 0}, 0}, {{0}, 1}};
    bb_scalar outputs[2];
    evaluate("#in(0) * 3 + #in(1) + #in(0); #in(0) > 0", &rules, inputs, outputs);
    check_bits(outputs[0].parts[0], (double)0.1F * 3.0 + 1.0 + (double)0.1F, "DP of SP");
    check_bits(outputs[1].parts[0], 1.0, "B to DP");
    parsed got;
    parse_well("#in(0) * #in(0); #in(0) > 0", &rules, &got);
    int conversions = 0;
    for (int k = 0; k < got.expression.count; ++k) {
        conversions += got.expression.nodes[k].operation == BB_OPERATION_CONVERT;
    }
    assert_int_equal(conversions, 2);
    assert_int_equal(got.expression.nodes[0].type, BB_ELEMENT_SP);
    assert_int_equal(got.expression.inputs, 1);
    assert_int_equal(got.expression.output_count, 2);
    release(&got);
    bb_scalar truth;
    const bb_element_type halves[] = {BB_ELEMENT_DP};
    const bb_expression_rules truncation = {
        .type = BB_ELEMENT_INT32, .input_types = halves, .inputs = 1, .outputs = 1};
    evaluate("#in(0) * 2", &truncation, (const bb_scalar[]){{{-3.9, 0}, 0}}, &truth);
    assert_int_equal(truth.integer, -6);
}

TEST(test_icf)
{
    static const struct {
        bb_element_type type;
        const char *text;
        bb_icf expected;
    } rows[] = {
        {BB_ELEMENT_SP, "#acc(0) + #in(0)", BB_ICF_SUM},
        {BB_ELEMENT_DP2, "#in(0) + ((#acc(0)));", BB_ICF_SUM},
        {BB_ELEMENT_SP2, "#acc(0) * #in(0)", BB_ICF_PRODUCT},
        {BB_ELEMENT_SP, "max(#acc(0), #in(0))", BB_ICF_MAX},
        {BB_ELEMENT_INT32, "max(#in(0), #acc(0))", BB_ICF_MAX},
        {BB_ELEMENT_DP, "min(#in(0), #acc(0))", BB_ICF_MIN},
        {BB_ELEMENT_B, "#in(0) && #acc(0)", BB_ICF_AND},
        {BB_ELEMENT_INT32, "#acc(0) || #in(0)", BB_ICF_OR},
        {BB_ELEMENT_SP, "#acc(0) || #in(0)", BB_ICF_OTHER},
        {BB_ELEMENT_SP, "#acc(0) - #in(0)", BB_ICF_OTHER},
        {BB_ELEMENT_SP, "#acc(0) + #in(0) * 1", BB_ICF_OTHER},
        {BB_ELEMENT_SP, "#acc(0) + #acc(0)", BB_ICF_OTHER},
        {BB_ELEMENT_SP, "#in(0) + #in(0)", BB_ICF_OTHER},
        {BB_ELEMENT_SP, "#acc(0) + #in(1)", BB_ICF_OTHER},
        {BB_ELEMENT_SP, "#acc(1) + #in(0)", BB_ICF_OTHER},
        {BB_ELEMENT_SP, "#acc(0) < #in(0)", BB_ICF_OTHER},
        {BB_ELEMENT_SP, "#acc(0)", BB_ICF_OTHER},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; ++k) {
        const bb_expression_rules rules = block(rows[k].type);
        autocall(release) parsed got;
        parse_well(rows[k].text, &rules, &got);
        if (bb_expression_icf(&got.expression) != rows[k].expected) {
            fail_msg("%s: got %d", rows[k].text, (int)bb_expression_icf(&got.expression));
        }
    }
    // Sum of SP values in DP, as in mixed products.
    const bb_element_type single = BB_ELEMENT_SP;
    const bb_expression_rules mixed = {.type = BB_ELEMENT_DP,
                                       .input_types = &single,
                                       .inputs = 1,
                                       .accumulators = 2,
                                       .outputs = 0};
    autocall(release) parsed got;
    parse_well("#acc(0) + #in(0)", &mixed, &got);
    assert_int_equal(bb_expression_icf(&got.expression), BB_ICF_SUM);
    release(&got);
    parse_well("#acc(0) + #in(0); #acc(1) + 1", &mixed, &got);
    assert_int_equal(bb_expression_icf(&got.expression), BB_ICF_OTHER);
}

TEST(test_neutral)
{
    assert_true(bb_expression_neutral(BB_ICF_MAX, BB_ELEMENT_SP).parts[0] == -INFINITY);
    assert_true(bb_expression_neutral(BB_ICF_MIN, BB_ELEMENT_DP).parts[0] == INFINITY);
    assert_int_equal(bb_expression_neutral(BB_ICF_MAX, BB_ELEMENT_INT32).integer, INT32_MIN);
    assert_int_equal(bb_expression_neutral(BB_ICF_MIN, BB_ELEMENT_INT32).integer, INT32_MAX);
    assert_int_equal(bb_expression_neutral(BB_ICF_MIN, BB_ELEMENT_INDEX).integer, INT64_MAX);
    assert_int_equal(bb_expression_neutral(BB_ICF_AND, BB_ELEMENT_B).integer, 1);
    assert_int_equal(bb_expression_neutral(BB_ICF_OR, BB_ELEMENT_B).integer, 0);
    assert_int_equal(bb_expression_neutral(BB_ICF_AND, BB_ELEMENT_INT32).integer, 1);
    const bb_scalar one = bb_expression_neutral(BB_ICF_PRODUCT, BB_ELEMENT_DP2);
    assert_true(one.parts[0] == 1.0 && one.parts[1] == 0.0);
    const bb_scalar zero = bb_expression_neutral(BB_ICF_SUM, BB_ELEMENT_SP);
    check_bits(zero.parts[0], 0.0, "sum");
}

TEST(test_product)
{
    static const struct {
        bb_element_type type;
        const char *text;
        bool expected;
    } rows[] = {
        {BB_ELEMENT_SP, "#in(0) * (#in(1) + 1)", true}, {BB_ELEMENT_DP, "(#in(0) * #in(0))", true},
        {BB_ELEMENT_SP2, "#in(0) * #in(1)", false},     {BB_ELEMENT_INT32, "#in(0) * 2", false},
        {BB_ELEMENT_SP2, "re(#in(0)) * 2", false},      {BB_ELEMENT_DP, "#in(0) * 2 + 1", false},
        {BB_ELEMENT_DP, "-(#in(0) * 2)", false},        {BB_ELEMENT_DP, "#in(0) / 2", false},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; ++k) {
        const bb_expression_rules rules = block(rows[k].type);
        autocall(release) parsed got;
        int factors[2] = {-1, -1};
        parse_well(rows[k].text, &rules, &got);
        assert_int_equal(bb_expression_product(&got.expression, factors), rows[k].expected);
        if (k == 0) {
            assert_int_equal(got.expression.nodes[factors[0]].operation, BB_OPERATION_INPUT);
            assert_int_equal(got.expression.nodes[factors[1]].operation, BB_OPERATION_ADD);
        }
    }
}

// The program sets no locale, but a caller of the library may; '.' remains the decimal point.
TEST(test_locale)
{
    static const char *const names[] = {"de_DE.utf8", "de_DE.UTF-8", "fr_FR.utf8", "nl_NL.utf8"};
    bool found = false;
    for (size_t k = 0; k < sizeof names / sizeof *names && !found; ++k) {
        found = setlocale(LC_NUMERIC, names[k]) != NULL;
    }
    const double single = real(BB_ELEMENT_SP, "1.25e1", 0, 0);
    const double twice = real(BB_ELEMENT_DP, "1.25", 0, 0);
    (void)setlocale(LC_NUMERIC, "C");
    check_bits(single, 12.5, "SP");
    check_bits(twice, 1.25, "DP");
    if (!found) {
        print_message("no locale with a decimal comma here\n");
        skip();
    }
}
