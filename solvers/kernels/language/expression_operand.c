// SPDX-License-Identifier: Apache-2.0
#include "core/suggestion.h"
#include "solvers/kernels/language/expression_parser.h"

#include <stdint.h>
#include <string.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static size_t word_length(const char *text)
{
    size_t length = 0;
    while (is_letter(text[length]) || is_digit(text[length])) {
        ++length;
    }
    return length;
}

// Digits as a number, at most 999,999,999; NULL where something else follows.
static const char *read_count(const char *text, int *out)
{
    *out = 0;
    if (!is_digit(*text)) {
        return NULL;
    }
    for (; is_digit(*text); ++text) {
        *out = *out < 100000000 ? 10 * *out + (*text - '0') : 999999999;
    }
    return text;
}

static int add_input(bb_expression_parser *parser, const char *position, int index)
{
    const bb_expression_rules *rules = parser->rules;
    if (index >= rules->inputs) {
        return rules->selector ? bb_expression_parser_report(parser, position,
                                                             "v%d: the selector has %d variables",
                                                             index, rules->inputs)
                               : bb_expression_parser_report(parser, position,
                                                             "#in(%d): the block has %d inputs",
                                                             index, rules->inputs);
    }
    parser->inputs = index >= parser->inputs ? index + 1 : parser->inputs;
    const bb_element_type type =
        rules->input_types == NULL ? rules->type : rules->input_types[index];
    const int node = bb_expression_builder_add(
        &parser->builder,
        (bb_expression_node){.operation = BB_OPERATION_INPUT, .type = type, .index = index});
    return bb_expression_parser_built(
        parser, position, bb_expression_builder_convert(&parser->builder, node, rules->type));
}

static int add_accumulator(bb_expression_parser *parser, const char *position, int index)
{
    if (index >= parser->rules->accumulators) {
        return bb_expression_parser_report(parser, position,
                                           "#acc(%d): the block has %d accumulators", index,
                                           parser->rules->accumulators);
    }
    parser->accumulators = index >= parser->accumulators ? index + 1 : parser->accumulators;
    return bb_expression_parser_built(
        parser, position,
        bb_expression_builder_add(&parser->builder,
                                  (bb_expression_node){.operation = BB_OPERATION_ACCUMULATOR,
                                                       .type = parser->rules->type,
                                                       .index = index}));
}

// #in(k) or #acc(k).
static int parse_port(bb_expression_parser *parser)
{
    const char *position = parser->rest++;
    const size_t length = word_length(parser->rest);
    const bool input = length == 2 && strncmp(parser->rest, "in", 2) == 0;
    if (parser->rules->selector) {
        return bb_expression_parser_report(parser, position, "expected v0, a name or a number");
    }
    if (!input && (length != 3 || strncmp(parser->rest, "acc", 3) != 0)) {
        return bb_expression_parser_report(parser, position, "expected #in(k) or #acc(k)");
    }
    parser->rest += length;
    if (bb_expression_parser_expect(parser, '(') < 0) {
        return -1;
    }
    int index;
    const char *end = read_count(bb_expression_parser_space(parser), &index);
    if (end == NULL) {
        return bb_expression_parser_report(parser, parser->rest, "expected a number from 0");
    }
    parser->rest = end;
    if (bb_expression_parser_expect(parser, ')') < 0) {
        return -1;
    }
    return input ? add_input(parser, position, index) : add_accumulator(parser, position, index);
}

int bb_expression_parser_number(bb_expression_parser *parser, bool negative)
{
    const char *start = parser->rest;
    const char *end = start + strspn(start, "0123456789");
    if (*end == '.') {
        end += 1 + strspn(end + 1, "0123456789");
    }
    bool sound = end - start > 1 || is_digit(*start); // not '.' alone
    if (*end == 'e' || *end == 'E') {
        end += end[1] == '+' || end[1] == '-' ? 2 : 1;
        sound = sound && is_digit(*end);
        end += strspn(end, "0123456789");
    }
    if (!sound || word_length(end) > 0 || *end == '.') {
        end += strspn(end, ".");
        const int length = (int)(end - start + (bb_index)word_length(end));
        return bb_expression_parser_report(parser, start, "'%.*s' is no number",
                                           length < 60 ? length : 60, start);
    }
    parser->rest = end;
    return bb_expression_parser_built(
        parser, start,
        bb_expression_builder_number(&parser->builder, start, (size_t)(end - start), negative));
}

static int unknown_function(bb_expression_parser *parser, const char *position, const char *name)
{
    bb_index distance = PTRDIFF_MAX;
    const char *nearest = NULL;
    for (int k = 0; k < BB_OPERATION_COUNT; ++k) {
        const bb_expression_operation *row = bb_expression_operation_row((bb_operation)k);
        if (row->function) {
            bb_suggestion_consider(name, row->symbol, &distance, &nearest);
        }
    }
    return bb_expression_parser_report(parser, position, "unknown function '%s'%s%s%s", name,
                                       nearest == NULL ? "" : "; did you mean ",
                                       nearest == NULL ? "" : nearest, nearest == NULL ? "" : "?");
}

static int parse_call(bb_expression_parser *parser, const char *position, const char *name)
{
    int operation = 0;
    while (operation < BB_OPERATION_COUNT) {
        const bb_expression_operation *row = bb_expression_operation_row((bb_operation)operation);
        if (row->function && strcmp(row->symbol, name) == 0) {
            break;
        }
        ++operation;
    }
    if (operation == BB_OPERATION_COUNT) {
        return unknown_function(parser, position, name);
    }
    const int wanted = bb_expression_operation_row((bb_operation)operation)->operands;
    int operands[BB_EXPRESSION_OPERANDS] = {0};
    int count = 0;
    ++parser->rest; // '('
    if (!bb_expression_parser_accept(parser, ')')) {
        do {
            const int node = bb_expression_parser_choice(parser);
            if (node < 0) {
                return -1;
            }
            if (count < BB_EXPRESSION_OPERANDS) {
                operands[count] = node;
            }
            ++count;
        } while (bb_expression_parser_accept(parser, ','));
        if (bb_expression_parser_expect(parser, ')') < 0) {
            return -1;
        }
    }
    if (count != wanted) {
        return bb_expression_parser_report(parser, position, "'%s' takes %d argument%s, got %d",
                                           name, wanted, wanted == 1 ? "" : "s", count);
    }
    return bb_expression_parser_built(
        parser, position,
        bb_expression_builder_apply(&parser->builder, (bb_operation)operation, operands));
}

static int add_parameter(bb_expression_parser *parser, const char *position, const char *name)
{
    int index = 0;
    while (index < parser->name_count && strcmp(parser->names[index], name) != 0) {
        ++index;
    }
    if (index == parser->name_count) {
        if (index == parser->capacity) {
            return bb_expression_parser_report(parser, position, "more than %d names",
                                               parser->capacity);
        }
        parser->names[parser->name_count++] = name;
    }
    bb_expression_node node = {.operation = BB_OPERATION_PARAMETER,
                               .type = parser->rules->type,
                               .index = index,
                               .name = parser->names[index]};
    return bb_expression_parser_built(parser, position,
                                      bb_expression_builder_add(&parser->builder, node));
}

// A call, v0, or the name of a parameter.
static int parse_word(bb_expression_parser *parser)
{
    const char *position = parser->rest;
    const size_t length = word_length(position);
    const char *name = NULL;
    parser->status = bb_arena_text(parser->arena, position, length, &name);
    if (parser->status != BB_OK) {
        return -1;
    }
    parser->rest += length;
    if (*bb_expression_parser_space(parser) == '(') {
        return parse_call(parser, position, name);
    }
    if (!parser->rules->selector) {
        return bb_expression_parser_report(
            parser, position, "expected #in(k), a number or a function, got '%s'", name);
    }
    int index = 0;
    const char *end = *name == 'v' ? read_count(name + 1, &index) : NULL;
    return end != NULL && *end == '\0' ? add_input(parser, position, index)
                                       : add_parameter(parser, position, name);
}

int bb_expression_parser_operand(bb_expression_parser *parser)
{
    const char *position = bb_expression_parser_space(parser);
    if (*position == '#') {
        return parse_port(parser);
    }
    if (is_digit(*position) || *position == '.') {
        return bb_expression_parser_number(parser, false);
    }
    if (is_letter(*position)) {
        return parse_word(parser);
    }
    if (!bb_expression_parser_accept(parser, '(')) {
        return bb_expression_parser_report(parser, position, "expected an operand");
    }
    const int node = bb_expression_parser_choice(parser);
    return node < 0 || bb_expression_parser_expect(parser, ')') < 0 ? -1 : node;
}
