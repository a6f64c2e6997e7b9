// SPDX-License-Identifier: Apache-2.0
//
// Recursive-descent parser; a nesting level needs a few stack frames, and there are at most
// BB_EXPRESSION_MAX_DEPTH. The first mistake ends the parse. Functions that return a node, or 0,
// return -1 after reporting a mistake.
#include "core/memory.h"
#include "core/suggestion.h"
#include "solvers/kernels/language/expression_nodes.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef struct expression_parser {
    const char *start, *rest;
    const char *what;
    bb_place place;
    const bb_expression_rules *rules;
    bb_arena *arena;
    bb_problems *problems;
    bb_expression_builder builder;
    int *outputs;       // [capacity]
    const char **names; // [capacity]
    int capacity, output_count, name_count, inputs, accumulators, depth;
    bb_status status; // status of a failed allocation
} expression_parser;

// Adds the problem "what: ... at 'rest of the text'" at `position`; returns -1.
BB_PRINTF(3, 4)
static int report(expression_parser *parser, const char *position, const char *format, ...)
{
    enum { SHOWN_BYTES = 40 };
    char message[400];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    bb_place place = parser->place;
    place.column += position - parser->start;
    int shown = (int)strnlen(position, SHOWN_BYTES + 1);
    const char *more = shown > SHOWN_BYTES ? "..." : "";
    shown -= shown > SHOWN_BYTES;
    while (shown > 0 && *more != '\0' && ((unsigned char)position[shown] & 0xC0) == 0x80) {
        --shown; // do not cut a UTF-8 character
    }
    if (*position == '\0') {
        parser->status =
            bb_problems_add(parser->problems, place, "%s: %s at the end", parser->what, message);
    } else {
        parser->status = bb_problems_add(parser->problems, place, "%s: %s at '%.*s%s'",
                                         parser->what, message, shown, position, more);
    }
    return -1;
}

// Passes on a node of the builder; a mistake of the builder is reported at `position`.
static int built(expression_parser *parser, const char *position, int node)
{
    return node >= 0 ? node : report(parser, position, "%s", parser->builder.mistake);
}

// Skips white space.
static const char *skip_space(expression_parser *parser)
{
    parser->rest += strspn(parser->rest, " \t\r\n");
    return parser->rest;
}

static bool accept(expression_parser *parser, char c)
{
    const bool found = *skip_space(parser) == c;
    parser->rest += found;
    return found;
}

static int expect(expression_parser *parser, char c)
{
    return accept(parser, c) ? 0 : report(parser, parser->rest, "expected '%c'", c);
}

// Parses an expression with all its operators.
static int parse_choice(expression_parser *parser);

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

// Parses digits as a number of at most 999,999,999; returns NULL if something else follows.
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

static int add_input(expression_parser *parser, const char *position, int index)
{
    const bb_expression_rules *rules = parser->rules;
    if (index >= rules->inputs) {
        return rules->selector ? report(parser, position, "v%d: the selector has %d variables",
                                        index, rules->inputs)
                               : report(parser, position, "#in(%d): the block has %d inputs", index,
                                        rules->inputs);
    }
    parser->inputs = index >= parser->inputs ? index + 1 : parser->inputs;
    const bb_element_type type =
        rules->input_types == NULL ? rules->type : rules->input_types[index];
    const int node = bb_expression_builder_add(
        &parser->builder,
        (bb_expression_node){.operation = BB_OPERATION_INPUT, .type = type, .index = index});
    return built(parser, position,
                 bb_expression_builder_convert(&parser->builder, node, rules->type));
}

static int add_accumulator(expression_parser *parser, const char *position, int index)
{
    if (index >= parser->rules->accumulators) {
        return report(parser, position, "#acc(%d): the block has %d accumulators", index,
                      parser->rules->accumulators);
    }
    parser->accumulators = index >= parser->accumulators ? index + 1 : parser->accumulators;
    return built(parser, position,
                 bb_expression_builder_add(
                     &parser->builder, (bb_expression_node){.operation = BB_OPERATION_ACCUMULATOR,
                                                            .type = parser->rules->type,
                                                            .index = index}));
}

// Parses #in(k) or #acc(k).
static int parse_port(expression_parser *parser)
{
    const char *position = parser->rest++;
    const size_t length = word_length(parser->rest);
    const bool input = length == 2 && strncmp(parser->rest, "in", 2) == 0;
    if (parser->rules->selector) {
        return report(parser, position, "expected v0, a name or a number");
    }
    if (!input && (length != 3 || strncmp(parser->rest, "acc", 3) != 0)) {
        return report(parser, position, "expected #in(k) or #acc(k)");
    }
    parser->rest += length;
    if (expect(parser, '(') < 0) {
        return -1;
    }
    int index;
    const char *end = read_count(skip_space(parser), &index);
    if (end == NULL) {
        return report(parser, parser->rest, "expected a number of at least 0");
    }
    parser->rest = end;
    if (expect(parser, ')') < 0) {
        return -1;
    }
    return input ? add_input(parser, position, index) : add_accumulator(parser, position, index);
}

// Parses a number, negated if `negative`.
static int parse_number(expression_parser *parser, bool negative)
{
    const char *start = parser->rest;
    const char *end = start + strspn(start, "0123456789");
    if (*end == '.') {
        end += 1 + strspn(end + 1, "0123456789");
    }
    bool sound = end - start > 1 || is_digit(*start); // '.' alone is not a number
    if (*end == 'e' || *end == 'E') {
        end += end[1] == '+' || end[1] == '-' ? 2 : 1;
        sound = sound && is_digit(*end);
        end += strspn(end, "0123456789");
    }
    if (!sound || word_length(end) > 0 || *end == '.') {
        end += strspn(end, ".");
        const int length = (int)(end - start + (bb_index)word_length(end));
        return report(parser, start, "'%.*s' is not a number", length < 60 ? length : 60, start);
    }
    parser->rest = end;
    return built(
        parser, start,
        bb_expression_builder_number(&parser->builder, start, (size_t)(end - start), negative));
}

static int unknown_function(expression_parser *parser, const char *position, const char *name)
{
    bb_index distance = PTRDIFF_MAX;
    const char *nearest = NULL;
    for (int k = 0; k < BB_OPERATION_COUNT; ++k) {
        const bb_expression_operation *row = bb_expression_operation_row((bb_operation)k);
        if (row->function) {
            bb_suggestion_consider(name, row->symbol, &distance, &nearest);
        }
    }
    return report(parser, position, "unknown function '%s'%s%s%s", name,
                  nearest == NULL ? "" : "; did you mean ", nearest == NULL ? "" : nearest,
                  nearest == NULL ? "" : "?");
}

static int parse_call(expression_parser *parser, const char *position, const char *name)
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
    if (!accept(parser, ')')) {
        do {
            const int node = parse_choice(parser);
            if (node < 0) {
                return -1;
            }
            if (count < BB_EXPRESSION_OPERANDS) {
                operands[count] = node;
            }
            ++count;
        } while (accept(parser, ','));
        if (expect(parser, ')') < 0) {
            return -1;
        }
    }
    if (count != wanted) {
        return report(parser, position, "'%s' needs %d argument%s, got %d", name, wanted,
                      wanted == 1 ? "" : "s", count);
    }
    return built(parser, position,
                 bb_expression_builder_apply(&parser->builder, (bb_operation)operation, operands));
}

static int add_parameter(expression_parser *parser, const char *position, const char *name)
{
    int index = 0;
    while (index < parser->name_count && strcmp(parser->names[index], name) != 0) {
        ++index;
    }
    if (index == parser->name_count) {
        if (index == parser->capacity) {
            return report(parser, position, "more than %d names", parser->capacity);
        }
        parser->names[parser->name_count++] = name;
    }
    bb_expression_node node = {.operation = BB_OPERATION_PARAMETER,
                               .type = parser->rules->type,
                               .index = index,
                               .name = parser->names[index]};
    return built(parser, position, bb_expression_builder_add(&parser->builder, node));
}

// Parses a call, v0, or the name of a parameter.
static int parse_word(expression_parser *parser)
{
    const char *position = parser->rest;
    const size_t length = word_length(position);
    const char *name = NULL;
    parser->status = bb_arena_text(parser->arena, position, length, &name);
    if (parser->status != BB_OK) {
        return -1;
    }
    parser->rest += length;
    if (*skip_space(parser) == '(') {
        return parse_call(parser, position, name);
    }
    if (!parser->rules->selector) {
        return report(parser, position, "expected #in(k), a number or a function, got '%s'", name);
    }
    int index = 0;
    const char *end = *name == 'v' ? read_count(name + 1, &index) : NULL;
    return end != NULL && *end == '\0' ? add_input(parser, position, index)
                                       : add_parameter(parser, position, name);
}

// Parses a port, number, call, name or expression in parentheses.
static int parse_operand(expression_parser *parser)
{
    const char *position = skip_space(parser);
    if (*position == '#') {
        return parse_port(parser);
    }
    if (is_digit(*position) || *position == '.') {
        return parse_number(parser, false);
    }
    if (is_letter(*position)) {
        return parse_word(parser);
    }
    if (!accept(parser, '(')) {
        return report(parser, position, "expected an operand");
    }
    const int node = parse_choice(parser);
    return node < 0 || expect(parser, ')') < 0 ? -1 : node;
}

// Enters a nesting level.
static int enter(expression_parser *parser)
{
    if (parser->depth == BB_EXPRESSION_MAX_DEPTH) {
        return report(parser, skip_space(parser), "nested more than %d deep",
                      BB_EXPRESSION_MAX_DEPTH);
    }
    ++parser->depth;
    return 0;
}

static int parse_unary(expression_parser *parser)
{
    const char *position = skip_space(parser);
    const bool negation = *position == '!' && position[1] != '=';
    if (*position != '-' && !negation) {
        return parse_operand(parser);
    }
    ++parser->rest;
    const char *next = skip_space(parser);
    if (!negation && ((*next >= '0' && *next <= '9') || *next == '.')) {
        return parse_number(parser, true); // the smallest integer has no positive counterpart
    }
    if (enter(parser) < 0) {
        return -1;
    }
    const int operand = parse_unary(parser);
    --parser->depth;
    if (operand < 0) {
        return -1;
    }
    return built(parser, position,
                 bb_expression_builder_apply(&parser->builder,
                                             negation ? BB_OPERATION_NOT : BB_OPERATION_NEGATE,
                                             &operand));
}

// The infix operator at the current position, the longer one of two; BB_OPERATION_COUNT: none.
static bb_operation infix_operation(expression_parser *parser)
{
    const char *position = skip_space(parser);
    bb_operation found = BB_OPERATION_COUNT;
    size_t longest = 0;
    for (int k = 0; k < BB_OPERATION_COUNT; ++k) {
        const bb_expression_operation *row = bb_expression_operation_row((bb_operation)k);
        const size_t length = row->precedence > 0 ? strlen(row->symbol) : 0;
        if (length > longest && strncmp(position, row->symbol, length) == 0) {
            found = (bb_operation)k;
            longest = length;
        }
    }
    return found;
}

// Parses operators of `minimum` precedence and above, left-associative.
static int parse_infix(expression_parser *parser, int minimum)
{
    int node = parse_unary(parser);
    while (node >= 0) {
        const bb_operation operation = infix_operation(parser);
        if (operation == BB_OPERATION_COUNT) {
            break;
        }
        const bb_expression_operation *row = bb_expression_operation_row(operation);
        if (row->precedence < minimum) {
            break;
        }
        const char *position = parser->rest;
        parser->rest += strlen(row->symbol);
        const int second = parse_infix(parser, row->precedence + 1);
        if (second < 0) {
            return -1;
        }
        node = built(
            parser, position,
            bb_expression_builder_apply(&parser->builder, operation, (const int[]){node, second}));
    }
    return node;
}

static int parse_branches(expression_parser *parser, const char *position, int condition)
{
    const int value = parse_choice(parser);
    if (value < 0 || expect(parser, ':') < 0) {
        return -1;
    }
    const int other = parse_choice(parser);
    if (other < 0) {
        return -1;
    }
    return built(parser, position,
                 bb_expression_builder_apply(&parser->builder, BB_OPERATION_SELECT,
                                             (const int[]){condition, value, other}));
}

static int parse_choice(expression_parser *parser)
{
    if (enter(parser) < 0) {
        return -1;
    }
    int node = parse_infix(parser, 1);
    const char *position = parser->rest;
    if (node >= 0 && accept(parser, '?')) {
        node = parse_branches(parser, position, node);
    }
    --parser->depth;
    return node;
}

// Parses all expressions of the text; returns -1 after a mistake.
static int parse_outputs(expression_parser *parser)
{
    const char separator = parser->rules->selector ? ',' : ';';
    do {
        const char *position = skip_space(parser);
        int node = parse_choice(parser);
        if (node < 0) {
            return -1;
        }
        node = built(parser, position,
                     bb_expression_builder_convert(&parser->builder, node, parser->rules->type));
        if (node < 0) {
            return -1;
        }
        if (parser->output_count == parser->capacity) {
            return report(parser, position, "more than %d expressions", parser->capacity);
        }
        parser->outputs[parser->output_count++] = node;
        if (*skip_space(parser) != '\0' && !accept(parser, separator)) {
            return report(parser, parser->rest, "expected an operator or '%c'", separator);
        }
    } while (*skip_space(parser) != '\0');
    const int wanted = parser->rules->outputs;
    if (wanted > 0 && parser->output_count != wanted) {
        return report(parser, parser->rest, "%d expression%s, expected %d", parser->output_count,
                      parser->output_count == 1 ? "" : "s", wanted);
    }
    return 0;
}

static bb_status copy_items(expression_parser *parser, const void *items, int count,
                            size_t item_bytes, const void **out)
{
    bb_status status = BB_OK;
    void *copy = NULL;
    BB_TRY(bb_arena_zeroed(parser->arena, count, item_bytes, &copy));
    if (count > 0) {
        memcpy(copy, items, (size_t)count * item_bytes);
    }
    *out = copy;
done:
    return status;
}

static bb_status copy_result(expression_parser *parser, bb_expression *out)
{
    bb_status status = BB_OK;
    const bb_expression_builder *builder = &parser->builder;
    bb_expression kept = {.count = builder->count,
                          .output_count = parser->output_count,
                          .inputs = parser->inputs,
                          .accumulators = parser->accumulators,
                          .name_count = parser->name_count,
                          .is_selector = parser->rules->selector};
    BB_TRY(copy_items(parser, builder->nodes, kept.count, sizeof *kept.nodes,
                      (const void **)&kept.nodes));
    BB_TRY(copy_items(parser, parser->outputs, kept.output_count, sizeof *kept.outputs,
                      (const void **)&kept.outputs));
    BB_TRY(copy_items(parser, parser->names, kept.name_count, sizeof *kept.names,
                      (const void **)&kept.names));
    *out = kept;
done:
    return status;
}

bb_status bb_expression_parse(const char *text, const char *what, bb_place place,
                              const bb_expression_rules *rules, bb_arena *arena,
                              bb_problems *problems, bb_expression *out)
{
    bb_status status = BB_OK;
    // A character creates at most four nodes: two conversions of operands, an operation, a
    // conversion of its result.
    const size_t length = strlen(text);
    const int capacity =
        length < BB_EXPRESSION_MAX_NODES / 4 - 2 ? 4 * (int)length + 8 : BB_EXPRESSION_MAX_NODES;
    expression_parser parser = {.start = text,
                                .rest = text,
                                .what = what,
                                .place = place,
                                .rules = rules,
                                .arena = arena,
                                .problems = problems,
                                .capacity = capacity,
                                .builder = {.type = rules->type, .capacity = capacity}};
    *out = (bb_expression){0};
    BB_TRY(BB_ALLOCATE(capacity, &parser.builder.nodes));
    BB_TRY(BB_ALLOCATE(capacity, &parser.outputs));
    BB_TRY(BB_ALLOCATE(capacity, &parser.names));
    if (parse_outputs(&parser) == 0) {
        BB_TRY(copy_result(&parser, out));
    }
    BB_TRY(parser.status);
done:
    BB_RELEASE(&parser.builder.nodes);
    BB_RELEASE(&parser.outputs);
    BB_RELEASE(&parser.names);
    return status;
}
