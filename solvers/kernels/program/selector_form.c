// SPDX-License-Identifier: Apache-2.0
#include "solvers/kernels/program/selector_form.h"

#include "solvers/kernels/language/expression_nodes.h"

static const int64_t largest = (int64_t)1 << 60;

static void limit(bb_selector_form *form, int64_t number)
{
    form->is_known = form->is_known && number > -largest && number < largest;
}

static void add_term(bb_selector_form *form, int value, int node, int64_t coefficient)
{
    int place = 0;
    while (place < form->count &&
           (form->terms[place].value != value || form->terms[place].node != node)) {
        ++place;
    }
    if (place == BB_SELECTOR_TERMS) {
        form->is_known = false;
        return;
    }
    if (place == form->count) {
        form->terms[form->count++] = (bb_selector_term){value, node, 0};
    }
    form->terms[place].coefficient += coefficient;
    limit(form, form->terms[place].coefficient);
    if (form->terms[place].coefficient == 0) {
        form->terms[place] = form->terms[--form->count];
    }
}

// Value of a constant factor that keeps products with numbers below 2^30 within 64 bits.
static bool is_factor(const bb_expression_node *node)
{
    return node->operation == BB_OPERATION_LITERAL && node->integer > -(1 << 30) &&
           node->integer < (1 << 30);
}

// Adds factor times a node.
static void add_node(bb_selector_form *form, int number, int64_t factor)
{
    const bb_expression_node *nodes = form->step->expression.nodes;
    const bb_expression_node *node = &nodes[number];
    const int *operands = node->operands;
    if (factor <= -(1 << 30) || factor >= (1 << 30)) {
        form->is_known = false;
        return;
    }
    switch (node->operation) {
    case BB_OPERATION_LITERAL:
        limit(form, node->integer);
        if (node->integer > -(1 << 30) && node->integer < (1 << 30)) {
            form->constant += factor * node->integer;
        } else {
            form->is_known = false;
        }
        limit(form, form->constant);
        break;
    case BB_OPERATION_INPUT:
        add_term(form, form->step->inputs[node->index], -1, factor);
        break;
    case BB_OPERATION_PARAMETER:
        add_term(form, form->step->parameters[node->index], -1, factor);
        break;
    case BB_OPERATION_CONVERT:
        if (node->type == BB_ELEMENT_INDEX) {
            add_node(form, operands[0], factor);
        } else {
            add_term(form, -1, number, factor);
        }
        break;
    case BB_OPERATION_NEGATE:
        add_node(form, operands[0], -factor);
        break;
    case BB_OPERATION_ADD:
        add_node(form, operands[0], factor);
        add_node(form, operands[1], factor);
        break;
    case BB_OPERATION_SUBTRACT:
        add_node(form, operands[0], factor);
        add_node(form, operands[1], -factor);
        break;
    case BB_OPERATION_MULTIPLY:
        if (is_factor(&nodes[operands[0]])) {
            add_node(form, operands[1], factor * nodes[operands[0]].integer);
        } else if (is_factor(&nodes[operands[1]])) {
            add_node(form, operands[0], factor * nodes[operands[1]].integer);
        } else {
            add_term(form, -1, number, factor);
        }
        break;
    default:
        add_term(form, -1, number, factor);
    }
}

bb_selector_form bb_selector_form_of(const bb_step *step, int output)
{
    bb_selector_form form = {.step = step, .is_known = true};
    add_node(&form, step->expression.outputs[output], 1);
    return form;
}

static bool uses(const bb_step *step, int number, int value)
{
    const bb_expression_node *node = &step->expression.nodes[number];
    if (node->operation == BB_OPERATION_INPUT) {
        return step->inputs[node->index] == value;
    }
    const int operands = node->operation > BB_OPERATION_PARAMETER
                             ? bb_expression_operation_row(node->operation)->operands
                             : 0;
    bool any = false;
    for (int k = 0; k < operands; ++k) {
        any = any || uses(step, node->operands[k], value);
    }
    return any;
}

bool bb_selector_form_slope(const bb_selector_form *form, int value, int64_t *out)
{
    bool known = form->is_known;
    *out = 0;
    for (int i = 0; i < form->count; ++i) {
        const bb_selector_term *term = &form->terms[i];
        if (term->value == value) {
            *out = term->coefficient;
        } else if (term->value < 0) {
            known = known && !uses(form->step, term->node, value);
        }
    }
    return known;
}

static int64_t coefficient_of(const bb_selector_form *form, int value)
{
    for (int i = 0; i < form->count; ++i) {
        if (form->terms[i].value == value) {
            return form->terms[i].coefficient;
        }
    }
    return 0;
}

static bool is_shifted(const bb_selector_form *form, const bb_selector_form *other)
{
    bool same = form->is_known && other->is_known && form->count == other->count;
    for (int i = 0; same && i < form->count; ++i) {
        const bb_selector_term *term = &form->terms[i];
        same = term->value >= 0 && coefficient_of(other, term->value) == term->coefficient;
    }
    return same;
}

bool bb_selector_form_shift(const bb_step *step, const bb_step *other,
                            int64_t distances[BB_PROGRAM_DIMENSIONS])
{
    bool shifted = step->object == other->object;
    for (int k = 0; shifted && k < step->expression.output_count; ++k) {
        const bb_selector_form forms[2] = {bb_selector_form_of(step, k),
                                           bb_selector_form_of(other, k)};
        distances[k] = forms[1].constant - forms[0].constant;
        shifted = is_shifted(&forms[0], &forms[1]);
    }
    return shifted;
}
