// SPDX-License-Identifier: Apache-2.0
//
// The state of a parser of expressions, and what its two sources, operators and operands, share.
// Functions that give a node, or 0, give -1 after a mistake, which is reported by then.
#ifndef BB_SOLVERS_KERNELS_LANGUAGE_EXPRESSION_PARSER_H
#define BB_SOLVERS_KERNELS_LANGUAGE_EXPRESSION_PARSER_H

#include "solvers/kernels/language/expression_nodes.h"

typedef struct bb_expression_parser {
    const char *start, *rest;
    const char *what;
    bb_place place;
    const bb_expression_rules *rules;
    bb_arena *arena;
    bb_problems *problems;
    bb_expression_builder builder;
    int *outputs;       ///< [capacity]
    const char **names; ///< [capacity]
    int capacity, output_count, name_count, inputs, accumulators, depth;
    bb_status status; ///< of what had no memory
} bb_expression_parser;

/// Adds the problem "what: ... at 'rest of the text'" at `position`; -1.
int bb_expression_parser_report(bb_expression_parser *parser, const char *position,
                                const char *format, ...) BB_PRINTF(3, 4);

/// A node of the builder, whose mistake stands at `position`.
int bb_expression_parser_built(bb_expression_parser *parser, const char *position, int node);

/// Skips white space; what follows it.
const char *bb_expression_parser_space(bb_expression_parser *parser);

/// Takes `c`, if it is next, after white space.
bool bb_expression_parser_accept(bb_expression_parser *parser, char c);

/// As bb_expression_parser_accept; a mistake where it is not next.
int bb_expression_parser_expect(bb_expression_parser *parser, char c);

/// An expression, with all its operators.
int bb_expression_parser_choice(bb_expression_parser *parser);

/// A port, number, call, name or expression in parentheses.
int bb_expression_parser_operand(bb_expression_parser *parser);

/// A number, behind a minus sign where `negative`.
int bb_expression_parser_number(bb_expression_parser *parser, bool negative);

#endif
