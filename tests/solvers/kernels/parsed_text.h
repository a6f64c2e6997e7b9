// SPDX-License-Identifier: Apache-2.0
//
// Expressions of the kernel language, parsed with a fixed position for messages, and their values.
#ifndef BB_TESTS_SOLVERS_KERNELS_PARSED_TEXT_H
#define BB_TESTS_SOLVERS_KERNELS_PARSED_TEXT_H

#include "solvers/kernels/language/expression.h"
#include "tests/check.h"

typedef struct parsed {
    bb_arena arena;
    bb_problems problems;
    bb_expression expression;
} parsed;

static inline void release(parsed *text)
{
    bb_arena_release(&text->arena);
    bb_problems_release(&text->problems);
}

static inline void parse(const char *text, const bb_expression_rules *rules, parsed *out)
{
    memset(out, 0, sizeof *out);
    check_ok(bb_expression_parse(text, "function of calc_5", (bb_place){"a.xml", 7, 11}, rules,
                                 &out->arena, &out->problems, &out->expression));
    assert_int_equal(out->expression.count > 0, out->problems.count == 0);
}

static inline bb_expression_rules block(bb_element_type type)
{
    return (bb_expression_rules){.type = type, .inputs = 3, .accumulators = 2, .outputs = 1};
}

static inline bb_expression_rules selector(int outputs)
{
    return (bb_expression_rules){
        .type = BB_ELEMENT_INDEX, .inputs = 4, .outputs = outputs, .selector = true};
}

static inline void parse_well(const char *text, const bb_expression_rules *rules, parsed *out)
{
    parse(text, rules, out);
    if (out->problems.count != 0) {
        fail_msg("'%s': %s", text, bb_text_string(&out->problems.lines));
    }
}

// All outputs of a text of `rules` for inputs.
static inline void evaluate(const char *text, const bb_expression_rules *rules,
                            const bb_scalar *inputs, bb_scalar *outputs)
{
    static bb_scalar values[BB_EXPRESSION_MAX_NODES];
    const bb_scalar accumulators[2] = {{{5.0, -1.0}, 5}, {{7.0, 0.0}, 7}};
    const bb_scalar parameters[2] = {{{0}, 3}, {{0}, 100}};
    autocall(release) parsed got;
    parse_well(text, rules, &got);
    bb_expression_evaluate(&got.expression, inputs, accumulators, parameters, values, outputs);
}

static inline void check_bits(double got, double expected, const char *text)
{
    if (memcmp(&got, &expected, sizeof got) != 0 && !(isnan(got) && isnan(expected))) {
        fail_msg("%s: got %a, expected %a", text, got, expected);
    }
}

#endif
