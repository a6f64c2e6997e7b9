// SPDX-License-Identifier: Apache-2.0
#include "solvers/kernels/language/expression_nodes.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Types of operands and result of an operation.
typedef enum operand_domain {
    DOMAIN_NONE,
    DOMAIN_LOGIC,   // B from B
    DOMAIN_NUMBER,  // real from real, D from complex
    DOMAIN_REAL,    // real from real
    DOMAIN_FLOAT,   // real from real, SP and DP only
    DOMAIN_SIZE,    // real from real or complex
    DOMAIN_ORDER,   // B from reals
    DOMAIN_EQUAL,   // B from any type
    DOMAIN_CHOICE,  // B, then two of the same kind
    DOMAIN_PART,    // real from complex
    DOMAIN_COMPLEX, // complex from complex
    DOMAIN_PAIR,    // complex from reals
} operand_domain;

static const struct {
    bb_expression_operation row;
    operand_domain domain;
} table[BB_OPERATION_COUNT] = {
    [BB_OPERATION_CONVERT] = {{NULL, 1, 0, false}, DOMAIN_NONE},
    [BB_OPERATION_NEGATE] = {{"-", 1, 0, false}, DOMAIN_NUMBER},
    [BB_OPERATION_NOT] = {{"!", 1, 0, false}, DOMAIN_LOGIC},
    [BB_OPERATION_ADD] = {{"+", 2, 5, false}, DOMAIN_NUMBER},
    [BB_OPERATION_SUBTRACT] = {{"-", 2, 5, false}, DOMAIN_NUMBER},
    [BB_OPERATION_MULTIPLY] = {{"*", 2, 6, false}, DOMAIN_NUMBER},
    [BB_OPERATION_DIVIDE] = {{"/", 2, 6, false}, DOMAIN_NUMBER},
    [BB_OPERATION_MODULO] = {{"%", 2, 6, false}, DOMAIN_REAL},
    [BB_OPERATION_LESS] = {{"<", 2, 4, false}, DOMAIN_ORDER},
    [BB_OPERATION_LESS_EQUAL] = {{"<=", 2, 4, false}, DOMAIN_ORDER},
    [BB_OPERATION_GREATER] = {{">", 2, 4, false}, DOMAIN_ORDER},
    [BB_OPERATION_GREATER_EQUAL] = {{">=", 2, 4, false}, DOMAIN_ORDER},
    [BB_OPERATION_EQUAL] = {{"==", 2, 3, false}, DOMAIN_EQUAL},
    [BB_OPERATION_NOT_EQUAL] = {{"!=", 2, 3, false}, DOMAIN_EQUAL},
    [BB_OPERATION_AND] = {{"&&", 2, 2, false}, DOMAIN_LOGIC},
    [BB_OPERATION_OR] = {{"||", 2, 1, false}, DOMAIN_LOGIC},
    [BB_OPERATION_SELECT] = {{"?:", 3, 0, false}, DOMAIN_CHOICE},
    [BB_OPERATION_SQRT] = {{"sqrt", 1, 0, true}, DOMAIN_FLOAT},
    [BB_OPERATION_FABS] = {{"fabs", 1, 0, true}, DOMAIN_REAL},
    [BB_OPERATION_MIN] = {{"min", 2, 0, true}, DOMAIN_REAL},
    [BB_OPERATION_MAX] = {{"max", 2, 0, true}, DOMAIN_REAL},
    [BB_OPERATION_FLOOR] = {{"floor", 1, 0, true}, DOMAIN_FLOAT},
    [BB_OPERATION_RINT] = {{"rint", 1, 0, true}, DOMAIN_FLOAT},
    [BB_OPERATION_RE] = {{"re", 1, 0, true}, DOMAIN_PART},
    [BB_OPERATION_IM] = {{"im", 1, 0, true}, DOMAIN_PART},
    [BB_OPERATION_CONJ] = {{"conj", 1, 0, true}, DOMAIN_COMPLEX},
    [BB_OPERATION_ABS] = {{"abs", 1, 0, true}, DOMAIN_SIZE},
    [BB_OPERATION_PAIR] = {{"pair", 2, 0, true}, DOMAIN_PAIR},
};

const bb_expression_operation *bb_expression_operation_row(bb_operation operation)
{
    return &table[operation].row;
}

static bb_element_type part_of(const bb_expression_builder *builder)
{
    return bb_element_type_row(builder->type)->part;
}

static bool is_complex(bb_element_type type)
{
    return bb_element_type_row(type)->parts == 2;
}

static bool is_equal(const bb_expression_node *a, const bb_expression_node *b)
{
    return a->operation == b->operation && a->type == b->type && a->index == b->index &&
           a->integer == b->integer && a->name == b->name &&
           memcmp(a->operands, b->operands, sizeof a->operands) == 0 && a->number == b->number &&
           signbit(a->number) == signbit(b->number); // 0 and -0 differ
}

int bb_expression_builder_add(bb_expression_builder *builder, bb_expression_node node)
{
    for (int k = 0; k < builder->count; ++k) {
        if (is_equal(&builder->nodes[k], &node)) {
            return k;
        }
    }
    if (builder->count == builder->capacity) {
        (void)snprintf(builder->mistake, sizeof builder->mistake,
                       "more than %d different operations", builder->capacity);
        return -1;
    }
    builder->nodes[builder->count] = node;
    return builder->count++;
}

int bb_expression_builder_convert(bb_expression_builder *builder, int node, bb_element_type type)
{
    if (node < 0 || builder->nodes[node].type == type) {
        return node;
    }
    return bb_expression_builder_add(
        builder,
        (bb_expression_node){.operation = BB_OPERATION_CONVERT, .type = type, .operands = {node}});
}

static const char *wanted(const bb_expression_builder *builder, operand_domain domain, bool complex)
{
    const bool is_b = part_of(builder) == BB_ELEMENT_B;
    switch (domain) {
    case DOMAIN_LOGIC:
    case DOMAIN_CHOICE:
        return complex ? "a condition that is B or real" : NULL;
    case DOMAIN_NUMBER:
    case DOMAIN_SIZE:
        return is_b ? "numbers (B supports &&, ||, !, == and ?:)" : NULL;
    case DOMAIN_REAL:
        return is_b || complex ? "real numbers" : NULL;
    case DOMAIN_FLOAT:
        return complex || !bb_element_type_row(part_of(builder))->is_float
                   ? "real numbers, SP or DP"
                   : NULL;
    case DOMAIN_ORDER:
        return complex ? "real numbers" : NULL;
    case DOMAIN_PART:
    case DOMAIN_COMPLEX:
        return is_complex(builder->type) ? NULL : "complex numbers, SP2 or DP2";
    case DOMAIN_PAIR:
        return !is_complex(builder->type) ? "a block of SP2 or DP2"
               : complex                  ? "real numbers"
                                          : NULL;
    default:
        return NULL;
    }
}

// Common type of the operands from `first` on: the widest one.
static bb_element_type common_type(const bb_expression_builder *builder, const int *operands,
                                   int first, int count)
{
    bool all_b = true;
    for (int k = first; k < count; ++k) {
        const bb_element_type type = builder->nodes[operands[k]].type;
        if (is_complex(type)) {
            return type;
        }
        all_b = all_b && type == BB_ELEMENT_B;
    }
    return all_b ? BB_ELEMENT_B : part_of(builder);
}

// Types of the operands and, returned, of the result.
static bb_element_type signature(const bb_expression_builder *builder, operand_domain domain,
                                 const int *operands, int count, bb_element_type *taken)
{
    const bb_element_type part = part_of(builder);
    const bb_element_type common =
        common_type(builder, operands, domain == DOMAIN_CHOICE ? 1 : 0, count);
    const bb_element_type number = is_complex(common) ? common : part;
    switch (domain) {
    case DOMAIN_LOGIC:
        *taken = BB_ELEMENT_B;
        return BB_ELEMENT_B;
    case DOMAIN_NUMBER:
        *taken = number;
        return number;
    case DOMAIN_SIZE:
        *taken = number;
        return part;
    case DOMAIN_ORDER:
    case DOMAIN_EQUAL:
        *taken = common;
        return BB_ELEMENT_B;
    case DOMAIN_CHOICE:
        *taken = common;
        return common;
    case DOMAIN_PART:
        *taken = builder->type;
        return part;
    case DOMAIN_COMPLEX:
        *taken = builder->type;
        return builder->type;
    case DOMAIN_PAIR:
        *taken = part;
        return builder->type;
    default:
        *taken = part;
        return part;
    }
}

int bb_expression_builder_apply(bb_expression_builder *builder, bb_operation operation,
                                const int *operands)
{
    const operand_domain domain = table[operation].domain;
    const int count = table[operation].row.operands;
    const int checked = domain == DOMAIN_CHOICE ? 1 : count;
    bool complex = false;
    for (int k = 0; k < checked; ++k) {
        complex = complex || is_complex(builder->nodes[operands[k]].type);
    }
    const char *expected = wanted(builder, domain, complex);
    if (expected != NULL) {
        (void)snprintf(builder->mistake, sizeof builder->mistake, "'%s' of %s: expected %s",
                       table[operation].row.symbol,
                       bb_element_type_row(complex ? builder->type : part_of(builder))->name,
                       expected);
        return -1;
    }
    bb_element_type taken;
    bb_expression_node node = {.operation = operation};
    node.type = signature(builder, domain, operands, count, &taken);
    for (int k = 0; k < count; ++k) {
        const bool condition = domain == DOMAIN_CHOICE && k == 0;
        node.operands[k] =
            bb_expression_builder_convert(builder, operands[k], condition ? BB_ELEMENT_B : taken);
        if (node.operands[k] < 0) {
            return -1;
        }
    }
    return bb_expression_builder_add(builder, node);
}

static int refuse_number(bb_expression_builder *builder, const char *text, size_t length,
                         const char *why)
{
    (void)snprintf(builder->mistake, sizeof builder->mistake, "%.*s is %s",
                   (int)(length < 60 ? length : 60), text, why);
    return -1;
}

static int add_integer(bb_expression_builder *builder, const char *text, size_t length,
                       bool negative)
{
    const bb_element_type type = part_of(builder);
    const uint64_t largest = type == BB_ELEMENT_B       ? 1
                             : type == BB_ELEMENT_INT32 ? (uint64_t)INT32_MAX + negative
                                                        : (uint64_t)INT64_MAX + negative;
    uint64_t value = 0;
    if (negative && type == BB_ELEMENT_B) {
        return refuse_number(builder, text, length, "negative, but a B is 0 or 1");
    }
    for (size_t k = 0; k < length; ++k) {
        if (text[k] < '0' || text[k] > '9') {
            return refuse_number(builder, text, length, "not an integer");
        }
        const uint64_t digit = (uint64_t)(text[k] - '0');
        if (digit > largest || value > (largest - digit) / 10) {
            return refuse_number(builder, text, length,
                                 type == BB_ELEMENT_B       ? "not a B, which is 0 or 1"
                                 : type == BB_ELEMENT_INT32 ? "outside the range of INT32"
                                                            : "outside the range of 64 bits");
        }
        value = 10 * value + digit;
    }
    return bb_expression_builder_add(
        builder, (bb_expression_node){.operation = BB_OPERATION_LITERAL,
                                      .type = type,
                                      .integer = (int64_t)(negative ? 0 - value : value)});
}

int bb_expression_builder_number(bb_expression_builder *builder, const char *text, size_t length,
                                 bool negative)
{
    enum { NUMBER_BYTES = 256, POINT_BYTES = 16 };
    const bb_element_type type = part_of(builder);
    if (!bb_element_type_row(type)->is_float) {
        return add_integer(builder, text, length, negative);
    }
    if (length >= NUMBER_BYTES) {
        return refuse_number(builder, text, length, "a number of more than 255 characters");
    }
    // The C library uses the decimal point of the locale.
    char copy[NUMBER_BYTES + POINT_BYTES];
    const char *point = memchr(text, '.', length);
    const int before = point == NULL ? (int)length : (int)(point - text);
    const int after = point == NULL ? 0 : (int)length - before - 1;
    (void)snprintf(copy, sizeof copy, "%.*s%s%.*s", before, text,
                   point == NULL ? "" : localeconv()->decimal_point, after,
                   point == NULL ? "" : point + 1);
    const double value = type == BB_ELEMENT_SP ? (double)strtof(copy, NULL) : strtod(copy, NULL);
    if (!isfinite(value)) {
        return refuse_number(builder, text, length,
                             type == BB_ELEMENT_SP ? "beyond SP" : "beyond DP");
    }
    return bb_expression_builder_add(builder,
                                     (bb_expression_node){.operation = BB_OPERATION_LITERAL,
                                                          .type = type,
                                                          .number = negative ? -value : value});
}
