// SPDX-License-Identifier: Apache-2.0
#include "core/memory.h"
#include "solvers/kernels/expression.h"
#include "tests/check.h"

#include <fenv.h>
#include <locale.h>
#include <stdbool.h>
#include <stdlib.h>

typedef struct parsed {
    bb_arena arena;
    bb_problems problems;
    bb_expression expression;
} parsed;

static void release(parsed *text)
{
    bb_arena_release(&text->arena);
    bb_problems_release(&text->problems);
}

static void parse(const char *text, const bb_expression_rules *rules, parsed *out)
{
    memset(out, 0, sizeof *out);
    check_ok(bb_expression_parse(text, "function of calc_5", (bb_place){"a.xml", 7, 11}, rules,
                                 &out->arena, &out->problems, &out->expression));
    assert_int_equal(out->expression.count > 0, out->problems.count == 0);
}

static bb_expression_rules block(bb_element_type type)
{
    return (bb_expression_rules){.type = type, .inputs = 3, .accumulators = 2, .outputs = 1};
}

static bb_expression_rules selector(int outputs)
{
    return (bb_expression_rules){
        .type = BB_ELEMENT_INDEX, .inputs = 4, .outputs = outputs, .selector = true};
}

static void parse_well(const char *text, const bb_expression_rules *rules, parsed *out)
{
    parse(text, rules, out);
    if (out->problems.count != 0) {
        fail_msg("'%s': %s", text, bb_text_string(&out->problems.lines));
    }
}

// All outputs of a text of `rules` for inputs.
static void evaluate(const char *text, const bb_expression_rules *rules, const bb_scalar *inputs,
                     bb_scalar *outputs)
{
    static bb_scalar values[BB_EXPRESSION_MAX_NODES];
    const bb_scalar accumulators[2] = {{{5.0, -1.0}, 5}, {{7.0, 0.0}, 7}};
    const bb_scalar parameters[2] = {{{0}, 3}, {{0}, 100}};
    parsed got;
    parse_well(text, rules, &got);
    bb_expression_evaluate(&got.expression, inputs, accumulators, parameters, values, outputs);
    release(&got);
}

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

static void check_bits(double got, double expected, const char *text)
{
    if (memcmp(&got, &expected, sizeof got) != 0 && !(isnan(got) && isnan(expected))) {
        fail_msg("%s: got %a, expected %a", text, got, expected);
    }
}

static void test_precedence(void **state)
{
    (void)state;
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

// Rounded by hand or by the compiler, which reads decimals once as well.
static void test_floats(void **state)
{
    (void)state;
    const bb_element_type sp = BB_ELEMENT_SP;
    const bb_element_type dp = BB_ELEMENT_DP;
    // 1 + 2^-24 + 2^-60 rounds up at once, to even by way of a double.
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

static void test_rint(void **state)
{
    (void)state;
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

static void test_integers(void **state)
{
    (void)state;
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
static void test_complex(void **state)
{
    (void)state;
    for (int type = BB_ELEMENT_SP2; type <= BB_ELEMENT_DP2; ++type) {
        const bb_element_type own = (bb_element_type)type;
        check_complex(own, "#in(0) + #in(1)", 4, -2);
        check_complex(own, "#in(0) - #in(1)", -2, 6);
        check_complex(own, "#in(0) * #in(1)", 11, 2);
        check_complex(own, "#in(0) / pair(0, 2)", 1, -0.5);
        check_complex(own, "#in(0) / 2", 0.5, 1);
        check_complex(own, "2 * #in(0)", 2, 4);
        check_complex(own, "-#in(2)", 0.0, -0.5);
        check_complex(own, "conj(#in(0))", 1, -2);
        check_complex(own, "abs(#in(1))", 5, 0);
        check_complex(own, "abs(re(#in(0)) - 3) + fabs(im(#in(1)))", 6, 0);
        check_complex(own, "pair(im(#in(0)), max(re(#in(1)), 7))", 2, 7);
        check_complex(own, "re(#in(0)) < 1.5 ? #in(1) : #in(0)", 3, -4);
        check_complex(own, "#in(0) == #in(1)", 0, 0);
        check_complex(own, "#in(0) != conj(#in(0))", 1, 0);
        check_complex(own, "sqrt(re(#in(1)) + 1) + floor(2.5)", 4, 0);
        check_complex(own, "#in(0) + (1 < 2)", 2, 2);
        check_complex(own, "#acc(0)", 5, -1);
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

static void test_conversions(void **state)
{
    (void)state;
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
    // 2^60 + 2^36 + 1 is above a tie of floats that a double would round to.
    const bb_scalar tie = {{0}, 1152921573326323713};
    check_conversion(tie, BB_ELEMENT_INDEX, BB_ELEMENT_SP, 0x1.000002p60, 0, 0);
}

// Types of nodes: inputs are converted once, values of outputs too.
static void test_typing(void **state)
{
    (void)state;
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
    const bb_expression_rules whole = {
        .type = BB_ELEMENT_INT32, .input_types = halves, .inputs = 1, .outputs = 1};
    evaluate("#in(0) * 2", &whole, (const bb_scalar[]){{{-3.9, 0}, 0}}, &truth);
    assert_int_equal(truth.integer, -6);
}

static void test_selectors(void **state)
{
    (void)state;
    const bb_scalar inputs[] = {{{0}, 1}, {{0}, 20}, {{0}, 300}, {{0}, 4000}};
    bb_scalar outputs[4];
    const bb_expression_rules two = selector(2);
    evaluate("2*v0 + (v1 + colour) % 2, v3 - v2 + colour*rows", &two, inputs, outputs);
    assert_int_equal(outputs[0].integer, 3);
    assert_int_equal(outputs[1].integer, 4000 - 300 + 300);
    const bb_expression_rules any = selector(0);
    parsed got;
    parse_well("v1, v0, max(b, a) + b,", &any, &got);
    assert_int_equal(got.expression.output_count, 3);
    assert_int_equal(got.expression.inputs, 2);
    assert_int_equal(got.expression.name_count, 2);
    assert_string_equal(got.expression.names[0], "b");
    assert_string_equal(got.expression.names[1], "a");
    release(&got);
}

typedef struct mistake {
    bb_element_type type;
    const char *text, *expected;
} mistake;

static void check_mistake(const char *text, const bb_expression_rules *rules, const char *expected)
{
    parsed got;
    parse(text, rules, &got);
    if (got.problems.count != 1 || strstr(bb_text_string(&got.problems.lines), expected) == NULL) {
        fail_msg("'%s': got '%s', expected '%s'", text, bb_text_string(&got.problems.lines),
                 expected);
    }
    release(&got);
}

static void test_mistakes(void **state)
{
    (void)state;
    static const mistake rows[] = {
        {BB_ELEMENT_SP, "#in(0) + (1 + ) * 2",
         "a.xml:7:25: function of calc_5: expected an operand at ') * 2'\n"},
        {BB_ELEMENT_SP, "1 + sqr(2)",
         "a.xml:7:15: function of calc_5: unknown function 'sqr'; did you mean sqrt? at 'sqr(2)'"},
        {BB_ELEMENT_SP, "sine(2)", "unknown function 'sine' at"},
        {BB_ELEMENT_SP, "", "a.xml:7:11: function of calc_5: expected an operand at the end"},
        {BB_ELEMENT_SP, "1 +", "expected an operand at the end"},
        {BB_ELEMENT_SP, ";", "expected an operand at ';'"},
        {BB_ELEMENT_SP, "#in(3)", "#in(3): the block has 3 inputs"},
        {BB_ELEMENT_SP, "#in(99999999999999999999)", "the block has 3 inputs"},
        {BB_ELEMENT_SP, "#acc(2)", "#acc(2): the block has 2 accumulators"},
        {BB_ELEMENT_SP, "#out(2)", "expected #in(k) or #acc(k) at '#out(2)'"},
        {BB_ELEMENT_SP, "#in(-1)", "expected a number from 0 at '-1)'"},
        {BB_ELEMENT_SP, "#in(1", "expected ')' at the end"},
        {BB_ELEMENT_SP, "max(1, 2, 3, 4)", "'max' takes 2 arguments, got 4"},
        {BB_ELEMENT_SP, "sqrt()", "'sqrt' takes 1 argument, got 0"},
        {BB_ELEMENT_SP, "(1", "expected ')' at the end"},
        {BB_ELEMENT_SP, "1 2", "expected an operator or ';' at '2'"},
        {BB_ELEMENT_SP, "1 & 2", "expected an operator or ';' at '& 2'"},
        {BB_ELEMENT_SP, "1 ? 2", "expected ':' at the end"},
        {BB_ELEMENT_SP, "1; 2", "2 expressions, expected 1"},
        {BB_ELEMENT_SP, "1 + v0", "expected #in(k), a number or a function, got 'v0' at 'v0'"},
        {BB_ELEMENT_SP, "1.5f", "'1.5f' is no number"},
        {BB_ELEMENT_SP, "0x10", "'0x10' is no number"},
        {BB_ELEMENT_SP, "1.2.3", "'1.2.3' is no number"},
        {BB_ELEMENT_SP, "1e", "'1e' is no number"},
        {BB_ELEMENT_SP, "1e+", "'1e+' is no number"},
        {BB_ELEMENT_SP, ".", "'.' is no number"},
        {BB_ELEMENT_SP, "1e39", "1e39 is beyond SP"},
        {BB_ELEMENT_DP, "1e309", "1e309 is beyond DP"},
        {BB_ELEMENT_INT32, "1.5", "1.5 is no integer"},
        {BB_ELEMENT_INT32, "1e3", "1e3 is no integer"},
        {BB_ELEMENT_INDEX, "1.5", "1.5 is no integer"},
        {BB_ELEMENT_INT32, "2147483648", "2147483648 is beyond INT32"},
        {BB_ELEMENT_INT32, "-2147483649", "2147483649 is beyond INT32"},
        {BB_ELEMENT_INDEX, "9223372036854775808", "9223372036854775808 is beyond 64 bits"},
        {BB_ELEMENT_B, "2", "2 is no B, which is 0 or 1"},
        {BB_ELEMENT_B, "#in(0) + 1", "'+' of B: expected numbers"},
        {BB_ELEMENT_B, "max(#in(0), 1)", "'max' of B: expected real numbers"},
        {BB_ELEMENT_INT32, "sqrt(#in(0))", "'sqrt' of INT32: expected real numbers, SP or DP"},
        {BB_ELEMENT_INT32, "rint(1)", "'rint' of INT32"},
        {BB_ELEMENT_INDEX, "floor(1)", "'floor' of index"},
        {BB_ELEMENT_SP, "re(1)", "'re' of SP: expected complex numbers, SP2 or DP2"},
        {BB_ELEMENT_SP, "pair(1, 2)", "'pair' of SP: expected a block of SP2 or DP2"},
        {BB_ELEMENT_SP2, "#in(0) % #in(1)", "'%' of SP2: expected real numbers at '% #in(1)'"},
        {BB_ELEMENT_SP2, "#in(0) < 1", "'<' of SP2: expected real numbers"},
        {BB_ELEMENT_DP2, "fabs(#in(0))", "'fabs' of DP2: expected real numbers"},
        {BB_ELEMENT_DP2, "sqrt(#in(0))", "'sqrt' of DP2: expected real numbers"},
        {BB_ELEMENT_DP2, "pair(#in(0), 1)", "'pair' of DP2: expected real numbers"},
        {BB_ELEMENT_DP2, "#in(0) ? 1 : 2", "'?:' of DP2: expected a condition that is B or real"},
        {BB_ELEMENT_DP2, "1 && #in(0)", "'&&' of DP2: expected a condition that is B or real"},
        {BB_ELEMENT_SP, "1 + (2 $ 3) + 456789012345678901234567890 + 123456789",
         "expected ')' at '$ 3) + 456789012345678901234567890 + 123...'"},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; ++k) {
        const bb_expression_rules rules = block(rows[k].type);
        check_mistake(rows[k].text, &rules, rows[k].expected);
    }
    const bb_expression_rules two = selector(2);
    check_mistake("v0", &two, "1 expression, expected 2");
    check_mistake("v4, v0", &two, "v4: the selector has 4 variables at 'v4, v0'");
    check_mistake("#in(0), 1", &two, "expected v0, a name or a number at '#in(0), 1'");
    check_mistake("v0; v1", &two, "expected an operator or ',' at '; v1'");
    check_mistake("v0,, v1", &two, "expected an operand at ', v1'");
}

// Texts that are too deep or too long are mistakes as any other.
static void test_limits(void **state)
{
    (void)state;
    enum { LENGTH = 1000000 };
    const bb_expression_rules rules = block(BB_ELEMENT_DP);
    char *text = malloc(LENGTH + 1);
    assert_non_null(text);
    static const char *const pieces[] = {"(", "-", "!", "max(", "1?", "1?1:", "1+("};
    for (size_t k = 0; k < sizeof pieces / sizeof *pieces; ++k) {
        const size_t length = strlen(pieces[k]);
        for (size_t position = 0; position < LENGTH; ++position) {
            text[position] = pieces[k][position % length];
        }
        text[LENGTH] = '\0';
        check_mistake(text, &rules, "nested more than 64 deep at");
    }
    // Different numbers, each a node, with a sum each.
    int length = 0;
    for (int k = 1; k <= BB_EXPRESSION_MAX_NODES / 2; ++k) {
        length += sprintf(text + length, "%d+", k);
    }
    text[length - 1] = '\0'; // 2n - 1 nodes
    parsed got;
    parse_well(text, &rules, &got);
    assert_int_equal(got.expression.count, BB_EXPRESSION_MAX_NODES - 1);
    release(&got);
    (void)strcat(text, "+0.5");
    check_mistake(text, &rules, "more than 4096 different operations");
    const bb_expression_rules any = {.type = BB_ELEMENT_DP};
    for (length = 0; length < LENGTH; length += 2) {
        memcpy(text + length, "1;", 2);
    }
    text[LENGTH] = '\0';
    check_mistake(text, &any, "more than 4096 expressions");
    memset(text, ' ', LENGTH);
    memset(text, '(', BB_EXPRESSION_MAX_DEPTH - 1);
    text[BB_EXPRESSION_MAX_DEPTH - 1] = '1';
    memset(text + BB_EXPRESSION_MAX_DEPTH, ')', BB_EXPRESSION_MAX_DEPTH - 1);
    parse_well(text, &rules, &got);
    release(&got);
    memset(text, '1', LENGTH);
    check_mistake(text, &rules, "more than 255 characters");
    free(text);
}

static void test_icf(void **state)
{
    (void)state;
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
        parsed got;
        parse_well(rows[k].text, &rules, &got);
        if (bb_expression_icf(&got.expression) != rows[k].expected) {
            fail_msg("%s: got %d", rows[k].text, (int)bb_expression_icf(&got.expression));
        }
        release(&got);
    }
    // The sum of SP values in DP, as in mixed products.
    const bb_element_type single = BB_ELEMENT_SP;
    const bb_expression_rules mixed = {.type = BB_ELEMENT_DP,
                                       .input_types = &single,
                                       .inputs = 1,
                                       .accumulators = 2,
                                       .outputs = 0};
    parsed got;
    parse_well("#acc(0) + #in(0)", &mixed, &got);
    assert_int_equal(bb_expression_icf(&got.expression), BB_ICF_SUM);
    release(&got);
    parse_well("#acc(0) + #in(0); #acc(1) + 1", &mixed, &got);
    assert_int_equal(bb_expression_icf(&got.expression), BB_ICF_OTHER);
    release(&got);
}

static void test_neutral(void **state)
{
    (void)state;
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

static void test_product(void **state)
{
    (void)state;
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
        parsed got;
        int factors[2] = {-1, -1};
        parse_well(rows[k].text, &rules, &got);
        assert_int_equal(bb_expression_product(&got.expression, factors), rows[k].expected);
        if (k == 0) {
            assert_int_equal(got.expression.nodes[factors[0]].operation, BB_OPERATION_INPUT);
            assert_int_equal(got.expression.nodes[factors[1]].operation, BB_OPERATION_ADD);
        }
        release(&got);
    }
}

// The program sets no locale; a caller of the library may, and '.' stays the decimal point.
static void test_locale(void **state)
{
    (void)state;
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

static void test_memory(void **state)
{
    (void)state;
    const bb_expression_rules rules = selector(2);
    for (bb_index k = 1;; ++k) {
        parsed got = {0};
        bb_memory_fail_at(k);
        const bb_status status =
            bb_expression_parse("colour + v0, v1", "selector", (bb_place){"a", 1, 1}, &rules,
                                &got.arena, &got.problems, &got.expression);
        const bool happened = bb_memory_failure_happened();
        bb_memory_fail_at(0);
        assert_int_equal(status, happened ? BB_MEMORY : BB_OK);
        assert_int_equal(got.expression.count, happened ? 0 : 4);
        release(&got);
        if (!happened) {
            assert_true(k > 4);
            break;
        }
    }
    assert_int_equal(bb_memory_blocks(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_precedence), cmocka_unit_test(test_floats),
        cmocka_unit_test(test_rint),       cmocka_unit_test(test_integers),
        cmocka_unit_test(test_complex),    cmocka_unit_test(test_conversions),
        cmocka_unit_test(test_typing),     cmocka_unit_test(test_selectors),
        cmocka_unit_test(test_mistakes),   cmocka_unit_test(test_limits),
        cmocka_unit_test(test_icf),        cmocka_unit_test(test_neutral),
        cmocka_unit_test(test_product),    cmocka_unit_test(test_locale),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
