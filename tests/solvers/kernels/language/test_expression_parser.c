// SPDX-License-Identifier: Apache-2.0
#include "tests/solvers/kernels/parsed_text.h"

TEST(test_selectors)
{
    const bb_scalar inputs[] = {{{0}, 1}, {{0}, 20}, {{0}, 300}, {{0}, 4000}};
    bb_scalar outputs[4];
    const bb_expression_rules two = selector(2);
    evaluate("2*v0 + (v1 + colour) % 2, v3 - v2 + colour*rows", &two, inputs, outputs);
    assert_int_equal(outputs[0].integer, 3);
    assert_int_equal(outputs[1].integer, 4000 - 300 + 300);
    const bb_expression_rules any = selector(0);
    autocall(release) parsed got;
    parse_well("v1, v0, max(b, a) + b,", &any, &got);
    assert_int_equal(got.expression.output_count, 3);
    assert_int_equal(got.expression.inputs, 2);
    assert_int_equal(got.expression.name_count, 2);
    assert_string_equal(got.expression.names[0], "b");
    assert_string_equal(got.expression.names[1], "a");
}

typedef struct mistake {
    bb_element_type type;
    const char *text, *expected;
} mistake;

static void check_mistake(const char *text, const bb_expression_rules *rules, const char *expected)
{
    autocall(release) parsed got;
    parse(text, rules, &got);
    if (got.problems.count != 1 || strstr(bb_text_string(&got.problems.lines), expected) == NULL) {
        fail_msg("'%s': got '%s', expected '%s'", text, bb_text_string(&got.problems.lines),
                 expected);
    }
}

TEST(test_mistakes)
{
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
        {BB_ELEMENT_SP, "#in(-1)", "expected a number of at least 0 at '-1)'"},
        {BB_ELEMENT_SP, "#in(1", "expected ')' at the end"},
        {BB_ELEMENT_SP, "max(1, 2, 3, 4)", "'max' needs 2 arguments, got 4"},
        {BB_ELEMENT_SP, "sqrt()", "'sqrt' needs 1 argument, got 0"},
        {BB_ELEMENT_SP, "(1", "expected ')' at the end"},
        {BB_ELEMENT_SP, "1 2", "expected an operator or ';' at '2'"},
        {BB_ELEMENT_SP, "1 & 2", "expected an operator or ';' at '& 2'"},
        {BB_ELEMENT_SP, "1 ? 2", "expected ':' at the end"},
        {BB_ELEMENT_SP, "1; 2", "2 expressions, expected 1"},
        {BB_ELEMENT_SP, "1 + v0", "expected #in(k), a number or a function, got 'v0' at 'v0'"},
        {BB_ELEMENT_SP, "1.5f", "'1.5f' is not a number"},
        {BB_ELEMENT_SP, "0x10", "'0x10' is not a number"},
        {BB_ELEMENT_SP, "1.2.3", "'1.2.3' is not a number"},
        {BB_ELEMENT_SP, "1e", "'1e' is not a number"},
        {BB_ELEMENT_SP, "1e+", "'1e+' is not a number"},
        {BB_ELEMENT_SP, ".", "'.' is not a number"},
        {BB_ELEMENT_SP, "1e39", "1e39 is beyond SP"},
        {BB_ELEMENT_DP, "1e309", "1e309 is beyond DP"},
        {BB_ELEMENT_INT32, "1.5", "1.5 is not an integer"},
        {BB_ELEMENT_INT32, "1e3", "1e3 is not an integer"},
        {BB_ELEMENT_INDEX, "1.5", "1.5 is not an integer"},
        {BB_ELEMENT_INT32, "2147483648", "2147483648 is outside the range of INT32"},
        {BB_ELEMENT_INT32, "-2147483649", "2147483649 is outside the range of INT32"},
        {BB_ELEMENT_INDEX, "9223372036854775808",
         "9223372036854775808 is outside the range of 64 bits"},
        {BB_ELEMENT_B, "2", "2 is not a B, which is 0 or 1"},
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
    // Characters are quoted whole, and invalid bytes are cut.
    char text[101];
    const bb_expression_rules any = block(BB_ELEMENT_SP);
    fill_array(text, 100, k, k % 2 == 1 ? '\xB5' : '\xC2');
    text[100] = '\0';
    check_mistake(text + 1, &any, "\xC2\xB5...'");
    memset(text, 0xAF, 100);
    check_mistake(text, &any, "expected an operand at '...'");
    const bb_expression_rules two = selector(2);
    check_mistake("v0", &two, "1 expression, expected 2");
    check_mistake("v4, v0", &two, "v4: the selector has 4 variables at 'v4, v0'");
    check_mistake("#in(0), 1", &two, "expected v0, a name or a number at '#in(0), 1'");
    check_mistake("v0; v1", &two, "expected an operator or ',' at '; v1'");
    check_mistake("v0,, v1", &two, "expected an operand at ', v1'");
}

// Texts that are too deep or too long are problems like any other.
TEST(test_limits)
{
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
    // Different numbers, each a node, each added by a node.
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

TEST(test_memory)
{
    const bb_expression_rules rules = selector(2);
    failing_allocation walk = {0};
    bb_status status = BB_OK;
    while (fail_next(&walk, status)) {
        autocall(release) parsed got = {0};
        status = bb_expression_parse("colour + v0, v1", "selector", (bb_place){"a", 1, 1}, &rules,
                                     &got.arena, &got.problems, &got.expression);
        assert_int_equal(got.expression.count, status == BB_OK ? 4 : 0);
    }
    assert_true(walk.k > 4);
}
