// SPDX-License-Identifier: Apache-2.0
//
// Recursive descent over the text; a level of nesting costs a few frames, and there are at most
// BB_EXPRESSION_MAX_DEPTH. The first mistake ends it.
#include "solvers/kernels/language/expression_parser.h"

#include "core/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int bb_expression_parser_report(bb_expression_parser *parser, const char *position,
                                const char *format, ...)
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
        --shown; // whole characters
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

int bb_expression_parser_built(bb_expression_parser *parser, const char *position, int node)
{
    return node >= 0 ? node
                     : bb_expression_parser_report(parser, position, "%s", parser->builder.mistake);
}

const char *bb_expression_parser_space(bb_expression_parser *parser)
{
    parser->rest += strspn(parser->rest, " \t\r\n");
    return parser->rest;
}

bool bb_expression_parser_accept(bb_expression_parser *parser, char c)
{
    const bool found = *bb_expression_parser_space(parser) == c;
    parser->rest += found;
    return found;
}

int bb_expression_parser_expect(bb_expression_parser *parser, char c)
{
    return bb_expression_parser_accept(parser, c)
               ? 0
               : bb_expression_parser_report(parser, parser->rest, "expected '%c'", c);
}

// One more level of nesting.
static int enter(bb_expression_parser *parser)
{
    if (parser->depth == BB_EXPRESSION_MAX_DEPTH) {
        return bb_expression_parser_report(parser, bb_expression_parser_space(parser),
                                           "nested more than %d deep", BB_EXPRESSION_MAX_DEPTH);
    }
    ++parser->depth;
    return 0;
}

static int parse_unary(bb_expression_parser *parser)
{
    const char *position = bb_expression_parser_space(parser);
    const bool negation = *position == '!' && position[1] != '=';
    if (*position != '-' && !negation) {
        return bb_expression_parser_operand(parser);
    }
    ++parser->rest;
    const char *next = bb_expression_parser_space(parser);
    if (!negation && ((*next >= '0' && *next <= '9') || *next == '.')) {
        return bb_expression_parser_number(parser, true); // the smallest integer has no positive
    }
    if (enter(parser) < 0) {
        return -1;
    }
    const int operand = parse_unary(parser);
    --parser->depth;
    if (operand < 0) {
        return -1;
    }
    return bb_expression_parser_built(
        parser, position,
        bb_expression_builder_apply(&parser->builder,
                                    negation ? BB_OPERATION_NOT : BB_OPERATION_NEGATE, &operand));
}

// The infix operator that stands next, the longer one of two; BB_OPERATION_COUNT: none.
static bb_operation infix_operation(bb_expression_parser *parser)
{
    const char *position = bb_expression_parser_space(parser);
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

// Operators of `minimum` precedence and above, from the left.
static int parse_infix(bb_expression_parser *parser, int minimum)
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
        node = bb_expression_parser_built(
            parser, position,
            bb_expression_builder_apply(&parser->builder, operation, (const int[]){node, second}));
    }
    return node;
}

static int parse_branches(bb_expression_parser *parser, const char *position, int condition)
{
    const int value = bb_expression_parser_choice(parser);
    if (value < 0 || bb_expression_parser_expect(parser, ':') < 0) {
        return -1;
    }
    const int other = bb_expression_parser_choice(parser);
    if (other < 0) {
        return -1;
    }
    return bb_expression_parser_built(
        parser, position,
        bb_expression_builder_apply(&parser->builder, BB_OPERATION_SELECT,
                                    (const int[]){condition, value, other}));
}

int bb_expression_parser_choice(bb_expression_parser *parser)
{
    if (enter(parser) < 0) {
        return -1;
    }
    int node = parse_infix(parser, 1);
    const char *position = parser->rest;
    if (node >= 0 && bb_expression_parser_accept(parser, '?')) {
        node = parse_branches(parser, position, node);
    }
    --parser->depth;
    return node;
}

// All expressions of the text; -1 after a mistake.
static int parse_outputs(bb_expression_parser *parser)
{
    const char separator = parser->rules->selector ? ',' : ';';
    do {
        const char *position = bb_expression_parser_space(parser);
        int node = bb_expression_parser_choice(parser);
        if (node < 0) {
            return -1;
        }
        node = bb_expression_parser_built(
            parser, position,
            bb_expression_builder_convert(&parser->builder, node, parser->rules->type));
        if (node < 0) {
            return -1;
        }
        if (parser->output_count == parser->capacity) {
            return bb_expression_parser_report(parser, position, "more than %d expressions",
                                               parser->capacity);
        }
        parser->outputs[parser->output_count++] = node;
        if (*bb_expression_parser_space(parser) != '\0' &&
            !bb_expression_parser_accept(parser, separator)) {
            return bb_expression_parser_report(parser, parser->rest, "expected an operator or '%c'",
                                               separator);
        }
    } while (*bb_expression_parser_space(parser) != '\0');
    const int wanted = parser->rules->outputs;
    if (wanted > 0 && parser->output_count != wanted) {
        return bb_expression_parser_report(parser, parser->rest, "%d expression%s, expected %d",
                                           parser->output_count,
                                           parser->output_count == 1 ? "" : "s", wanted);
    }
    return 0;
}

static bb_status keep(bb_expression_parser *parser, const void *items, int count, size_t item_bytes,
                      const void **out)
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

static bb_status keep_all(bb_expression_parser *parser, bb_expression *out)
{
    bb_status status = BB_OK;
    const bb_expression_builder *builder = &parser->builder;
    bb_expression kept = {.count = builder->count,
                          .output_count = parser->output_count,
                          .inputs = parser->inputs,
                          .accumulators = parser->accumulators,
                          .name_count = parser->name_count,
                          .is_selector = parser->rules->selector};
    BB_TRY(
        keep(parser, builder->nodes, kept.count, sizeof *kept.nodes, (const void **)&kept.nodes));
    BB_TRY(keep(parser, parser->outputs, kept.output_count, sizeof *kept.outputs,
                (const void **)&kept.outputs));
    BB_TRY(keep(parser, parser->names, kept.name_count, sizeof *kept.names,
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
    // A character makes four nodes at most: two operands' conversions, an operation, its result's.
    const size_t length = strlen(text);
    const int capacity =
        length < BB_EXPRESSION_MAX_NODES / 4 - 2 ? 4 * (int)length + 8 : BB_EXPRESSION_MAX_NODES;
    bb_expression_parser parser = {.start = text,
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
        BB_TRY(keep_all(&parser, out));
    }
    BB_TRY(parser.status);
done:
    BB_RELEASE(&parser.builder.nodes);
    BB_RELEASE(&parser.outputs);
    BB_RELEASE(&parser.names);
    return status;
}
