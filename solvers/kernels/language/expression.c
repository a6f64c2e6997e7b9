// SPDX-License-Identifier: Apache-2.0
//
// Values of expressions. SP is computed in float and stored as a double, from which it converts
// back exactly. The build evaluates float in float (FLT_EVAL_METHOD 0) and does not contract
// operations.
#include "solvers/kernels/language/expression.h"

#include "core/suggestion.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#define TYPE(name) (1U << BB_ELEMENT_##name)

// Conversions of each type by steps of the language: B to INT32 to SP to DP, a real to a complex
// number, and integers to and from positions.
enum {
    TO_DP2 = TYPE(DP2),
    TO_SP2 = TYPE(SP2) | TO_DP2,
    TO_DP = TYPE(DP) | TO_DP2,
    TO_SP = TYPE(SP) | TO_DP | TO_SP2,
    TO_INTEGER = TYPE(INT32) | TYPE(INDEX) | TO_SP,
    TO_B = TYPE(B) | TO_INTEGER,
};

static const bb_element_row rows[BB_ELEMENT_TYPE_COUNT + 1] = {
    [BB_ELEMENT_B] = {"B", 1, 1, false, BB_ELEMENT_B, TO_B},
    [BB_ELEMENT_INT32] = {"INT32", 4, 1, false, BB_ELEMENT_INT32, TO_INTEGER},
    [BB_ELEMENT_SP] = {"SP", 4, 1, true, BB_ELEMENT_SP, TO_SP},
    [BB_ELEMENT_DP] = {"DP", 8, 1, true, BB_ELEMENT_DP, TO_DP},
    [BB_ELEMENT_SP2] = {"SP2", 8, 2, true, BB_ELEMENT_SP, TO_SP2},
    [BB_ELEMENT_DP2] = {"DP2", 16, 2, true, BB_ELEMENT_DP, TO_DP2},
    [BB_ELEMENT_INDEX] = {"index", 8, 1, false, BB_ELEMENT_INDEX, TO_INTEGER},
};

const bb_element_row *bb_element_type_row(bb_element_type type)
{
    return &rows[type];
}

bool bb_element_type_widens(bb_element_type source, bb_element_type target)
{
    return (rows[source].widens_to >> target & 1U) != 0;
}

bb_status bb_element_type_find(const char *name, bb_element_type *out)
{
    bb_status status = BB_OK;
    bb_index distance = PTRDIFF_MAX;
    const char *nearest = NULL;
    for (int type = 0; type < BB_ELEMENT_TYPE_COUNT; ++type) {
        if (strcmp(name, rows[type].name) == 0) {
            *out = (bb_element_type)type;
            goto done;
        }
        bb_suggestion_consider(name, rows[type].name, &distance, &nearest);
    }
    BB_REQUIRE(nearest == NULL, BB_INVALID, "unknown type '%s'; did you mean %s?", name, nearest);
    BB_FAIL(BB_INVALID, "unknown type '%s', expected B, INT32, SP, DP, SP2 or DP2", name);
done:
    return status;
}

_Static_assert(FLT_EVAL_METHOD == 0, "SP operations round once, to binary32");

static bool is_float(bb_element_type type)
{
    return bb_element_type_row(type)->is_float;
}

static bb_scalar integer_scalar(int64_t integer)
{
    return (bb_scalar){.integer = integer};
}

static bb_scalar real_scalar(double real)
{
    return (bb_scalar){.parts = {real, 0.0}};
}

// Two's complement of 32 or 64 bits.
static int64_t wrapped(uint64_t bits, bb_element_type type)
{
    return type == BB_ELEMENT_INDEX ? (int64_t)bits : (int32_t)(uint32_t)bits;
}

// Truncation with saturation; NaN becomes 0.
static int64_t truncated(double value, bb_element_type type)
{
    const bool index = type == BB_ELEMENT_INDEX;
    const double limit = index ? 0x1p63 : 0x1p31;
    if (isnan(value)) {
        return 0;
    }
    if (value >= limit) {
        return index ? INT64_MAX : INT32_MAX;
    }
    if (value <= -limit) {
        return index ? INT64_MIN : INT32_MIN;
    }
    return (int64_t)value;
}

// Imaginary part; undefined memory for real numbers.
static double second_part(bb_scalar value, bb_element_type type)
{
    return bb_element_type_row(type)->parts == 2 ? value.parts[1] : 0.0;
}

// Rounds to the nearest SP through memory, because gcc 12 at -O2 drops the conversions of two
// neighbours to float and back when it combines them in a vector on one of two paths.
static double single(double value)
{
    volatile float nearest = (float)value;
    return nearest;
}

static bb_scalar to_integer(bb_scalar value, bb_element_type source, bb_element_type target)
{
    if (target == BB_ELEMENT_B) {
        return integer_scalar(is_float(source)
                                  ? value.parts[0] != 0.0 || second_part(value, source) != 0.0
                                  : value.integer != 0);
    }
    return integer_scalar(is_float(source) ? truncated(value.parts[0], target)
                                           : wrapped((uint64_t)value.integer, target));
}

bb_scalar bb_expression_convert(bb_scalar value, bb_element_type source, bb_element_type target)
{
    const bb_element_row *row = bb_element_type_row(target);
    if (!row->is_float) {
        return to_integer(value, source, target);
    }
    if (!is_float(source)) {
        return real_scalar(row->part == BB_ELEMENT_SP ? (double)(float)value.integer
                                                      : (double)value.integer);
    }
    bb_scalar result = real_scalar(value.parts[0]);
    result.parts[1] = row->parts == 2 ? second_part(value, source) : 0.0;
    if (row->part == BB_ELEMENT_SP) {
        result.parts[0] = single(result.parts[0]);
        result.parts[1] = single(result.parts[1]);
    }
    return result;
}

static int64_t quotient(int64_t a, int64_t b, bb_element_type type)
{
    if (b == 0) {
        return 0;
    }
    return b == -1 ? wrapped(0 - (uint64_t)a, type) : a / b;
}

static int64_t integer_value(bb_operation operation, bb_element_type type, int64_t a, int64_t b)
{
    switch (operation) {
    case BB_OPERATION_ADD:
        return wrapped((uint64_t)a + (uint64_t)b, type);
    case BB_OPERATION_SUBTRACT:
        return wrapped((uint64_t)a - (uint64_t)b, type);
    case BB_OPERATION_MULTIPLY:
        return wrapped((uint64_t)a * (uint64_t)b, type);
    case BB_OPERATION_DIVIDE:
        return quotient(a, b, type);
    case BB_OPERATION_MODULO:
        return b == 0 || b == -1 ? 0 : a % b;
    case BB_OPERATION_NEGATE:
        return wrapped(0 - (uint64_t)a, type);
    case BB_OPERATION_FABS:
    case BB_OPERATION_ABS:
        return a < 0 ? wrapped(0 - (uint64_t)a, type) : a;
    case BB_OPERATION_MIN:
        return a < b ? a : b;
    default:
        return a > b ? a : b; // BB_OPERATION_MAX
    }
}

// Rounds to nearest, ties to even, whatever the rounding mode; keeps the sign.
static double nearest_integer(double value)
{
    if (!(fabs(value) < 0x1p52)) {
        return value;
    }
    const double below = floor(value);
    const double rest = value - below;
    const bool up = rest > 0.5 || (rest == 0.5 && ((int64_t)below & 1) != 0);
    return copysign(below + (up ? 1.0 : 0.0), value);
}

static double double_value(bb_operation operation, double a, double b)
{
    switch (operation) {
    case BB_OPERATION_ADD:
        return a + b;
    case BB_OPERATION_SUBTRACT:
        return a - b;
    case BB_OPERATION_MULTIPLY:
        return a * b;
    case BB_OPERATION_DIVIDE:
        return a / b;
    case BB_OPERATION_MODULO:
        return fmod(a, b);
    default:
        return sqrt(a); // BB_OPERATION_SQRT
    }
}

// SP is computed in DP and rounded again. DP has more than twice the digits of SP plus two, so the
// result equals that of a single rounding (Figueroa 1995); fmod is exact. Operands are rounded
// first, because parameters are given in DP.
static double rounded_value(bb_operation operation, bb_element_type type, double a, double b)
{
    return bb_element_type_row(type)->part == BB_ELEMENT_SP
               ? single(double_value(operation, single(a), single(b)))
               : double_value(operation, a, b);
}

// Operations without rounding are the same in SP and DP.
static double real_value(bb_operation operation, bb_element_type type, double a, double b)
{
    switch (operation) {
    case BB_OPERATION_NEGATE:
        return -a;
    case BB_OPERATION_FABS:
    case BB_OPERATION_ABS:
        return fabs(a);
    case BB_OPERATION_MIN:
        return a < b || isnan(a) ? a : b;
    case BB_OPERATION_MAX:
        return a > b || isnan(a) ? a : b;
    case BB_OPERATION_FLOOR:
        return floor(a);
    case BB_OPERATION_RINT:
        return nearest_integer(a);
    default:
        return rounded_value(operation, type, a, b);
    }
}

// x y + z w, or x y - z w, each operation rounded.
static double product_sum(bb_operation sum, bb_element_type type, const double factors[4])
{
    const double first = rounded_value(BB_OPERATION_MULTIPLY, type, factors[0], factors[1]);
    const double second = rounded_value(BB_OPERATION_MULTIPLY, type, factors[2], factors[3]);
    return rounded_value(sum, type, first, second);
}

static bb_scalar complex_arithmetic(bb_operation operation, bb_element_type type, bb_scalar first,
                                    bb_scalar second)
{
    const double a = first.parts[0];
    const double b = first.parts[1];
    const double c = second.parts[0];
    const double d = second.parts[1];
    const bb_operation add = BB_OPERATION_ADD;
    const bb_operation subtract = BB_OPERATION_SUBTRACT;
    double scale = 1.0;
    switch (operation) {
    case BB_OPERATION_MULTIPLY:
        return (bb_scalar){.parts = {product_sum(subtract, type, (const double[]){a, c, b, d}),
                                     product_sum(add, type, (const double[]){a, d, b, c})}};
    case BB_OPERATION_DIVIDE:
        scale = product_sum(add, type, (const double[]){c, c, d, d});
        return (bb_scalar){
            .parts = {rounded_value(operation, type,
                                    product_sum(add, type, (const double[]){a, c, b, d}), scale),
                      rounded_value(operation, type,
                                    product_sum(subtract, type, (const double[]){b, c, a, d}),
                                    scale)}};
    case BB_OPERATION_ABS:
        scale = product_sum(add, type, (const double[]){a, a, b, b});
        return real_scalar(rounded_value(BB_OPERATION_SQRT, type, scale, 0.0));
    default: // other operations, part by part
        return (bb_scalar){
            .parts = {rounded_value(operation, type, a, c), rounded_value(operation, type, b, d)}};
    }
}

static bb_scalar complex_value(bb_operation operation, bb_element_type type, bb_scalar first,
                               bb_scalar second)
{
    switch (operation) {
    case BB_OPERATION_NEGATE:
        return (bb_scalar){.parts = {-first.parts[0], -first.parts[1]}};
    case BB_OPERATION_RE:
        return real_scalar(first.parts[0]);
    case BB_OPERATION_IM:
        return real_scalar(first.parts[1]);
    case BB_OPERATION_CONJ:
        return (bb_scalar){.parts = {first.parts[0], -first.parts[1]}};
    default:
        return complex_arithmetic(operation, type, first, second);
    }
}

static bool comparison(bb_operation operation, bb_element_type type, bb_scalar a, bb_scalar b)
{
    const bool real = is_float(type);
    const bool less = real ? a.parts[0] < b.parts[0] : a.integer < b.integer;
    const bool greater = real ? a.parts[0] > b.parts[0] : a.integer > b.integer;
    const bool equal =
        real ? a.parts[0] == b.parts[0] && second_part(a, type) == second_part(b, type)
             : a.integer == b.integer;
    switch (operation) {
    case BB_OPERATION_LESS:
        return less;
    case BB_OPERATION_LESS_EQUAL:
        return less || equal;
    case BB_OPERATION_GREATER:
        return greater;
    case BB_OPERATION_GREATER_EQUAL:
        return greater || equal;
    default:
        return equal == (operation == BB_OPERATION_EQUAL);
    }
}

bb_scalar bb_expression_operate(const bb_expression *expression, int node,
                                const bb_scalar *operand_values)
{
    const bb_expression_node *row = &expression->nodes[node];
    const bb_scalar first = operand_values[0];
    if (row->operation == BB_OPERATION_NOT) {
        return integer_scalar(first.integer == 0);
    }
    const bb_element_type type = expression->nodes[row->operands[0]].type;
    if (row->operation == BB_OPERATION_CONVERT) {
        return bb_expression_convert(first, type, row->type);
    }
    const bool binary = row->operation >= BB_OPERATION_ADD;
    const bb_scalar second = binary ? operand_values[1] : first;
    switch (row->operation) {
    case BB_OPERATION_AND:
        return integer_scalar(first.integer != 0 && second.integer != 0);
    case BB_OPERATION_OR:
        return integer_scalar(first.integer != 0 || second.integer != 0);
    case BB_OPERATION_SELECT:
        return first.integer != 0 ? second : operand_values[2];
    case BB_OPERATION_PAIR:
        return (bb_scalar){.parts = {first.parts[0], second.parts[0]}};
    default:
        break;
    }
    if (row->operation >= BB_OPERATION_LESS && row->operation <= BB_OPERATION_NOT_EQUAL) {
        return integer_scalar(comparison(row->operation, type, first, second));
    }
    if (!is_float(type)) {
        return integer_scalar(integer_value(row->operation, type, first.integer, second.integer));
    }
    if (bb_element_type_row(type)->parts == 2) {
        return complex_value(row->operation, type, first, second);
    }
    return real_scalar(real_value(row->operation, type, first.parts[0], second.parts[0]));
}

void bb_expression_evaluate(const bb_expression *expression, const bb_scalar *inputs,
                            const bb_scalar *accumulators, const bb_scalar *parameters,
                            bb_scalar *values, bb_scalar *outputs)
{
    for (int k = 0; k < expression->count; ++k) {
        const bb_expression_node *node = &expression->nodes[k];
        switch (node->operation) {
        case BB_OPERATION_LITERAL:
            values[k] = (bb_scalar){.parts = {node->number, 0.0}, .integer = node->integer};
            break;
        case BB_OPERATION_INPUT:
            values[k] = inputs[node->index];
            break;
        case BB_OPERATION_ACCUMULATOR:
            values[k] = accumulators[node->index];
            break;
        case BB_OPERATION_PARAMETER:
            values[k] = parameters[node->index];
            break;
        default: {
            // Unused operands are 0, which is a node with a value.
            const bb_scalar operands[BB_EXPRESSION_OPERANDS] = {
                values[node->operands[0]], values[node->operands[1]], values[node->operands[2]]};
            values[k] = bb_expression_operate(expression, k, operands);
        }
        }
    }
    for (int k = 0; k < expression->output_count; ++k) {
        outputs[k] = values[expression->outputs[k]];
    }
}

// The node below all conversions.
static const bb_expression_node *source_node(const bb_expression *expression, int node)
{
    const bb_expression_node *row = &expression->nodes[node];
    while (row->operation == BB_OPERATION_CONVERT) {
        row = &expression->nodes[row->operands[0]];
    }
    return row;
}

static const bb_operation icf_operations[] = {
    [BB_ICF_SUM] = BB_OPERATION_ADD, [BB_ICF_PRODUCT] = BB_OPERATION_MULTIPLY,
    [BB_ICF_MAX] = BB_OPERATION_MAX, [BB_ICF_MIN] = BB_OPERATION_MIN,
    [BB_ICF_AND] = BB_OPERATION_AND, [BB_ICF_OR] = BB_OPERATION_OR,
};

bb_operation bb_expression_icf_operation(bb_icf icf)
{
    return icf_operations[icf];
}

bb_icf bb_expression_icf(const bb_expression *expression)
{
    if (expression->output_count != 1 || expression->inputs != 1 || expression->accumulators != 1) {
        return BB_ICF_OTHER;
    }
    const bb_expression_node *root = source_node(expression, expression->outputs[0]);
    bb_icf icf = BB_ICF_OR;
    while (icf > BB_ICF_OTHER && icf_operations[icf] != root->operation) {
        --icf;
    }
    const bb_element_type type = expression->nodes[expression->outputs[0]].type;
    const bool logic = icf == BB_ICF_AND || icf == BB_ICF_OR;
    if (icf == BB_ICF_OTHER || (logic && is_float(type)) || (!logic && root->type != type)) {
        return BB_ICF_OTHER;
    }
    const bb_operation first = source_node(expression, root->operands[0])->operation;
    const bb_operation second = source_node(expression, root->operands[1])->operation;
    const bool known = (first == BB_OPERATION_ACCUMULATOR && second == BB_OPERATION_INPUT) ||
                       (first == BB_OPERATION_INPUT && second == BB_OPERATION_ACCUMULATOR);
    return known ? icf : BB_ICF_OTHER;
}

bb_scalar bb_expression_neutral(bb_icf icf, bb_element_type type)
{
    double number = 0.0;
    switch (icf) {
    case BB_ICF_PRODUCT:
    case BB_ICF_AND:
        number = 1.0;
        break;
    case BB_ICF_MAX:
        number = -INFINITY;
        break;
    case BB_ICF_MIN:
        number = INFINITY;
        break;
    default:
        break; // 0
    }
    if (type == BB_ELEMENT_B) {
        return integer_scalar(number > 0.0);
    }
    return bb_expression_convert(real_scalar(number), BB_ELEMENT_DP, type); // saturates
}

bool bb_expression_product(const bb_expression *expression, int factors[2])
{
    if (expression->output_count != 1) {
        return false;
    }
    const bb_expression_node *root = &expression->nodes[expression->outputs[0]];
    if (root->operation != BB_OPERATION_MULTIPLY ||
        (root->type != BB_ELEMENT_SP && root->type != BB_ELEMENT_DP)) {
        return false;
    }
    factors[0] = root->operands[0];
    factors[1] = root->operands[1];
    return true;
}
