// SPDX-License-Identifier: Apache-2.0
//
// Typing of expressions: nodes are typed when they are added, with conversions where types differ.
//
// In a block of type D the values of an expression are B, D or, if D is complex, real numbers of
// D's part type (literals, re, im, abs). Real and complex combine to D; B counts as a real number.
#ifndef BB_SOLVERS_KERNELS_LANGUAGE_EXPRESSION_NODES_H
#define BB_SOLVERS_KERNELS_LANGUAGE_EXPRESSION_NODES_H

#include "solvers/kernels/language/expression.h"

/// An expression under construction. Only the first mistake is recorded; functions that add nodes
/// then return -1.
typedef struct bb_expression_builder {
    bb_element_type type;      ///< D
    bb_expression_node *nodes; ///< [capacity]
    int count, capacity;
    char mistake[200]; ///< "" if there is none
} bb_expression_builder;

/// Description of each operation with operands, by symbol or by function name.
typedef struct bb_expression_operation {
    const char *symbol;
    int operands;
    int precedence; ///< precedence of infix operators, from 1; otherwise 0
    bool function;
} bb_expression_operation;

const bb_expression_operation *bb_expression_operation_row(bb_operation operation);

/// Adds a node, or returns an equal one.
int bb_expression_builder_add(bb_expression_builder *builder, bb_expression_node node);

/// Converts `node` to a value of `type`.
int bb_expression_builder_convert(bb_expression_builder *builder, int node, bb_element_type type);

/// Adds an operation, typed by its operands, which are converted to the types it requires.
int bb_expression_builder_apply(bb_expression_builder *builder, bb_operation operation,
                                const int *operands);

/// Adds the number in `text` [length], negated if `negative`.
int bb_expression_builder_number(bb_expression_builder *builder, const char *text, size_t length,
                                 bool negative);

#endif
