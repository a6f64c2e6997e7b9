// SPDX-License-Identifier: Apache-2.0
//
// Typing of expressions: nodes are typed as they are added, with conversions where types differ.
//
// In a block of type D the values of an expression are B, D or, where D is complex, real numbers of
// D's part type (literals, re, im, abs): real and complex meet as D, B counts as a real number.
#ifndef BB_SOLVERS_KERNELS_LANGUAGE_EXPRESSION_NODES_H
#define BB_SOLVERS_KERNELS_LANGUAGE_EXPRESSION_NODES_H

#include "solvers/kernels/language/expression.h"

/// An expression under construction. The first mistake stays; what adds nodes then gives -1.
typedef struct bb_expression_builder {
    bb_element_type type;      ///< D
    bb_expression_node *nodes; ///< [capacity]
    int count, capacity;
    char mistake[200]; ///< "" while there is none
} bb_expression_builder;

/// A row for each operation that has operands, by a symbol or by the name of a function.
typedef struct bb_expression_operation {
    const char *symbol;
    int operands;
    int precedence; ///< of infix operators, from 1; 0: none
    bool function;
} bb_expression_operation;

const bb_expression_operation *bb_expression_operation_row(bb_operation operation);

/// Adds a node, or finds the one that is equal to it.
int bb_expression_builder_add(bb_expression_builder *builder, bb_expression_node node);

/// `node` as a value of `type`.
int bb_expression_builder_convert(bb_expression_builder *builder, int node, bb_element_type type);

/// An operation, typed by its operands, which are converted to what it takes.
int bb_expression_builder_apply(bb_expression_builder *builder, bb_operation operation,
                                const int *operands);

/// The number that stands in `text` [length], behind a minus sign where `negative`.
int bb_expression_builder_number(bb_expression_builder *builder, const char *text, size_t length,
                                 bool negative);

#endif
