// SPDX-License-Identifier: Apache-2.0
//
// libFuzzer target: arbitrary bytes as an expression of a kernel. It is refused with one problem,
// or its nodes are in order, can be evaluated for any values and can be printed.
//
// Input: type, selector flag, numbers of inputs and accumulators, then the text.
#include "solvers/kernels/language/expression.h"
#include "tests/fuzz/fuzz_input.h"

#include <math.h>

enum { HEAD = 4, PORTS = 4 };

static void check_nodes(const bb_expression *expression)
{
    fuzz_demand(expression->count <= BB_EXPRESSION_MAX_NODES, "few nodes");
    for (int k = 0; k < expression->count; ++k) {
        const bb_expression_node *node = &expression->nodes[k];
        for (int operand = 0; operand < BB_EXPRESSION_OPERANDS; ++operand) {
            fuzz_demand(node->operands[operand] < k || node->operands[operand] == 0, "order");
        }
    }
    for (int k = 0; k < expression->output_count; ++k) {
        fuzz_demand(expression->outputs[k] < expression->count, "outputs are nodes");
    }
}

static void use(const bb_expression *expression)
{
    static bb_scalar values[BB_EXPRESSION_MAX_NODES];
    static bb_scalar outputs[BB_EXPRESSION_MAX_NODES];
    static bb_scalar parameters[BB_EXPRESSION_MAX_NODES];
    static const char *names[BB_EXPRESSION_MAX_NODES];
    static const char *const ports[PORTS] = {"a", "b", "c", "d"};
    static const bb_scalar ends[] = {{{NAN, -INFINITY}, INT32_MIN}, {{-0.0, 1e308}, -1}};
    for (int round = 0; round < 2; ++round) {
        const bb_scalar value = ends[round];
        const bb_scalar inputs[PORTS] = {value, ends[1], value, ends[0]};
        for (int k = 0; k < expression->name_count; ++k) {
            parameters[k] = (bb_scalar){.integer = INT64_MIN};
            names[k] = expression->names[k];
        }
        bb_expression_evaluate(expression, inputs, inputs, parameters, values, outputs);
    }
    bb_text text = {0};
    fuzz_demand(bb_expression_print(expression, &bb_expression_dialect_c, "p", ports, ports, names,
                                    &text) == BB_OK,
                "it prints");
    bb_text_release(&text);
    int factors[2];
    if (bb_expression_product(expression, factors)) {
        fuzz_demand(factors[0] < expression->count && factors[1] < expression->count, "factors");
    }
    (void)bb_expression_neutral(bb_expression_icf(expression), BB_ELEMENT_INT32);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < HEAD) {
        return 0;
    }
    char *text = calloc(size - HEAD + 1, 1);
    fuzz_demand(text != NULL, "memory");
    memcpy(text, data + HEAD, size - HEAD);
    const bb_element_type type = (bb_element_type)(data[0] % (BB_ELEMENT_INDEX + 1));
    bb_element_type types[PORTS];
    for (int k = 0; k < PORTS; ++k) {
        types[k] = (bb_element_type)((data[0] + k * (data[1] / 2)) % (BB_ELEMENT_INDEX + 1));
    }
    const bb_expression_rules rules = {.type = type,
                                       .input_types = types,
                                       .inputs = data[2] % (PORTS + 1),
                                       .accumulators = data[3] % (PORTS + 1),
                                       .selector = type == BB_ELEMENT_INDEX && data[1] % 2 == 1};
    bb_arena arena = {0};
    bb_problems problems = {0};
    bb_expression expression;
    fuzz_demand(bb_expression_parse(text, "text", (bb_place){"fuzz", 1, 1}, &rules, &arena,
                                    &problems, &expression) == BB_OK,
                "only memory fails");
    fuzz_demand(problems.count == (expression.output_count == 0), "one problem, or outputs");
    fuzz_demand((expression.count == 0) == (expression.output_count == 0), "nodes for outputs");
    check_nodes(&expression);
    if (expression.output_count > 0) {
        use(&expression);
    }
    bb_problems_release(&problems);
    bb_arena_release(&arena);
    free(text);
    fuzz_demand(bb_memory_blocks() == 0, "no memory is kept");
    return 0;
}
