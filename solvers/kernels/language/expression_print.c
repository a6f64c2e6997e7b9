// SPDX-License-Identifier: Apache-2.0
//
// Expressions in the languages of backends. Operations that a language defines differently from the
// kernel language are calls of helpers, whose text is the same in all languages except for names.
#include "solvers/kernels/language/expression_nodes.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

const bb_expression_dialect bb_expression_dialect_c = {
    .type_names = {"unsigned char", "int32_t", "float", "double", "bb_c32", "bb_c64", "int64_t"},
    .unsigned_names = {"uint32_t", "uint64_t"},
    .function = "static inline",
    .single_suffix = "f",
    .index_suffix = "LL",
    .prologue = "#include <math.h>\n"
                "#include <stdint.h>\n"
                "typedef struct bb_c32 { float x, y; } bb_c32;\n"
                "typedef struct bb_c64 { double x, y; } bb_c64;\n",
    .double_begin = "",
    .double_end = "",
};

const bb_expression_dialect bb_expression_dialect_opencl = {
    .type_names = {"uchar", "int", "float", "double", "float2", "double2", "long"},
    .unsigned_names = {"uint", "ulong"},
    .function = "static inline",
    .single_suffix = "",
    .index_suffix = "L",
    .prologue = "#pragma OPENCL FP_CONTRACT OFF\n"
                "#ifdef cl_khr_fp64\n"
                "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
                "#endif\n",
    .double_begin = "#ifdef cl_khr_fp64\n",
    .double_end = "#endif\n",
};

const bb_expression_dialect bb_expression_dialect_cuda = {
    .type_names = {"unsigned char", "int", "float", "double", "float2", "double2", "long long"},
    .unsigned_names = {"unsigned int", "unsigned long long"},
    .function = "static __device__ __forceinline__",
    .single_suffix = "f",
    .index_suffix = "LL",
    .prologue = "",
    .double_begin = "",
    .double_end = "",
};

// $q is the qualifier of a function, $t the type, named $s, $u its unsigned variant.
static const char *const integer_helpers =
    "$q $t bb_add_$s($t a, $t b) { return ($t)(($u)a + ($u)b); }\n"
    "$q $t bb_sub_$s($t a, $t b) { return ($t)(($u)a - ($u)b); }\n"
    "$q $t bb_mul_$s($t a, $t b) { return ($t)(($u)a * ($u)b); }\n"
    "$q $t bb_neg_$s($t a) { return ($t)(($u)0 - ($u)a); }\n"
    "$q $t bb_div_$s($t a, $t b) { return b == 0 ? 0 : b == -1 ? bb_neg_$s(a) : a / b; }\n"
    "$q $t bb_mod_$s($t a, $t b) { return b == 0 || b == -1 ? 0 : a % b; }\n"
    "$q $t bb_abs_$s($t a) { return a < 0 ? bb_neg_$s(a) : a; }\n"
    "$q $t bb_max_$s($t a, $t b) { return a > b ? a : b; }\n"
    "$q $t bb_min_$s($t a, $t b) { return a < b ? a : b; }\n";

// $f and $l are the suffixes of functions and literals of the type, $x that of 64-bit literals; $c
// is the complex type, named $k; $i, $j, $b are integer types.
static const char *const float_helpers =
    "$q $t bb_fma_$s($t a, $t b, $t c) { return fma$f(a, b, c); }\n"
    "$q $t bb_sqrt_$s($t a) { return sqrt$f(a); }\n"
    "$q $t bb_abs_$s($t a) { return fabs$f(a); }\n"
    "$q $t bb_floor_$s($t a) { return floor$f(a); }\n"
    "$q $t bb_rint_$s($t a) { return rint$f(a); }\n"
    "$q $t bb_mod_$s($t a, $t b) { return fmod$f(a, b); }\n"
    "$q $t bb_max_$s($t a, $t b) { return a > b || a != a ? a : b; }\n"
    "$q $t bb_min_$s($t a, $t b) { return a < b || a != a ? a : b; }\n"
    "$q $i bb_to_int_$s($t a)\n"
    "{\n"
    "    return a != a ? 0 : a >= 0x1p+31$l ? 2147483647\n"
    "           : a <= -0x1p+31$l ? -2147483647 - 1 : ($i)a;\n"
    "}\n"
    "$q $j bb_to_index_$s($t a)\n"
    "{\n"
    "    return a != a ? 0 : a >= 0x1p+63$l ? 9223372036854775807$x\n"
    "           : a <= -0x1p+63$l ? -9223372036854775807$x - 1 : ($j)a;\n"
    "}\n"
    "$q $c bb_pair_$k($t x, $t y) { $c r; r.x = x; r.y = y; return r; }\n"
    "$q $c bb_add_$k($c a, $c b) { return bb_pair_$k(a.x + b.x, a.y + b.y); }\n"
    "$q $c bb_sub_$k($c a, $c b) { return bb_pair_$k(a.x - b.x, a.y - b.y); }\n"
    "$q $c bb_mul_$k($c a, $c b)\n"
    "{\n"
    "    return bb_pair_$k(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);\n"
    "}\n"
    "$q $c bb_div_$k($c a, $c b)\n"
    "{\n"
    "    const $t scale = b.x * b.x + b.y * b.y;\n"
    "    return bb_pair_$k((a.x * b.x + a.y * b.y) / scale, (a.y * b.x - a.x * b.y) / scale);\n"
    "}\n"
    "$q $c bb_neg_$k($c a) { return bb_pair_$k(-a.x, -a.y); }\n"
    "$q $c bb_conj_$k($c a) { return bb_pair_$k(a.x, -a.y); }\n"
    "$q $t bb_abs_$k($c a) { return sqrt$f(a.x * a.x + a.y * a.y); }\n"
    "$q $b bb_equal_$k($c a, $c b) { return a.x == b.x && a.y == b.y; }\n"
    "$q $c bb_select_$k($b c, $c a, $c b) { return bb_pair_$k(c ? a.x : b.x, c ? a.y : b.y); }\n";

static char letter(bb_element_type type)
{
    static const char letters[] = {
        [BB_ELEMENT_B] = 'b',    [BB_ELEMENT_INT32] = 'i', [BB_ELEMENT_SP] = 'f',
        [BB_ELEMENT_DP] = 'd',   [BB_ELEMENT_SP2] = 'c',   [BB_ELEMENT_DP2] = 'z',
        [BB_ELEMENT_INDEX] = 'l'};
    return letters[type];
}

// Replacement of a template's letter in the helpers of `type`.
static const char *substitute(const bb_expression_dialect *dialect, bb_element_type type, char mark,
                              char buffer[2])
{
    const bool single = type == BB_ELEMENT_SP;
    const bb_element_type complex = single ? BB_ELEMENT_SP2 : BB_ELEMENT_DP2;
    buffer[0] = letter(mark == 'k' ? complex : type);
    buffer[1] = '\0';
    switch (mark) {
    case 'q':
        return dialect->function;
    case 't':
        return dialect->type_names[type];
    case 'u':
        return dialect->unsigned_names[type == BB_ELEMENT_INDEX];
    case 'f':
        return single ? dialect->single_suffix : "";
    case 'l':
        return single ? "f" : "";
    case 'x':
        return dialect->index_suffix;
    case 'i':
        return dialect->type_names[BB_ELEMENT_INT32];
    case 'j':
        return dialect->type_names[BB_ELEMENT_INDEX];
    case 'b':
        return dialect->type_names[BB_ELEMENT_B];
    case 'c':
        return dialect->type_names[complex];
    default:
        return buffer; // s, k
    }
}

static bb_status add_template(const bb_expression_dialect *dialect, bb_element_type type,
                              const char *text, bb_text *out)
{
    bb_status status = BB_OK;
    char buffer[2];
    while (*text != '\0') {
        const size_t length = strcspn(text, "$");
        BB_TRY(bb_text_add_bytes(out, text, (bb_index)length));
        text += length;
        if (*text == '$') {
            BB_TRY(bb_text_add(out, "%s", substitute(dialect, type, text[1], buffer)));
            text += 2;
        }
    }
done:
    return status;
}

bb_status bb_expression_print_helpers(const bb_expression_dialect *dialect, bb_text *out)
{
    bb_status status = BB_OK;
    BB_TRY(bb_text_add(out, "%s", dialect->prologue));
    BB_TRY(add_template(dialect, BB_ELEMENT_INT32, integer_helpers, out));
    BB_TRY(add_template(dialect, BB_ELEMENT_INDEX, integer_helpers, out));
    BB_TRY(add_template(dialect, BB_ELEMENT_SP, float_helpers, out));
    BB_TRY(bb_text_add(out, "%s", dialect->double_begin));
    BB_TRY(add_template(dialect, BB_ELEMENT_DP, float_helpers, out));
    BB_TRY(bb_text_add(out, "%s", dialect->double_end));
done:
    return status;
}

// Hexadecimal literals without a point, which a locale might change. Inf and NaN are products of
// constants.
static bb_status add_float(double value, bool single, bb_text *out)
{
    const char *suffix = single ? "f" : "";
    const char *sign = signbit(value) ? "-" : "";
    const int large = single ? 127 : 1023;
    if (isnan(value)) {
        return bb_text_add(out, "(0x1p+%d%s * 0x1p+%d%s * 0x0p+0%s)", large, suffix, large, suffix,
                           suffix);
    }
    if (isinf(value)) {
        return bb_text_add(out, "(%s0x1p+%d%s * 0x1p+%d%s)", sign, large, suffix, large, suffix);
    }
    int exponent;
    const double fraction = frexp(fabs(value), &exponent);
    return bb_text_add(out, "%s0x%" PRIx64 "p%+d%s", sign, (uint64_t)ldexp(fraction, 53),
                       value == 0.0 ? 0 : exponent - 53, suffix);
}

static bb_status add_integer(const bb_expression_dialect *dialect, int64_t value,
                             bb_element_type type, bb_text *out)
{
    const char *suffix = type == BB_ELEMENT_INDEX ? dialect->index_suffix : "";
    const int64_t smallest = type == BB_ELEMENT_INDEX ? INT64_MIN : INT32_MIN;
    if (value == smallest) { // its magnitude cannot be written as a literal
        return bb_text_add(out, "(%" PRId64 "%s - 1)", value + 1, suffix);
    }
    return bb_text_add(out, "%" PRId64 "%s", value, suffix);
}

bb_status bb_expression_print_constant(const bb_expression_dialect *dialect, bb_scalar value,
                                       bb_element_type type, bb_text *out)
{
    bb_status status = BB_OK;
    const bb_element_row *row = bb_element_type_row(type);
    const bool single = row->part == BB_ELEMENT_SP;
    if (!row->is_float) {
        return add_integer(dialect, value.integer, type, out);
    }
    if (row->parts == 1) {
        return add_float(value.parts[0], single, out);
    }
    BB_TRY(bb_text_add(out, "bb_pair_%c(", letter(type)));
    BB_TRY(add_float(value.parts[0], single, out));
    BB_TRY(bb_text_add(out, ", "));
    BB_TRY(add_float(value.parts[1], single, out));
    BB_TRY(bb_text_add(out, ")"));
done:
    return status;
}

// Appends `operand` as an integer of `target`.
static bb_status add_to_integer(const bb_expression_dialect *dialect, const char *operand,
                                bb_element_type source, bb_element_type target, bb_text *out)
{
    const bb_element_row *row = bb_element_type_row(source);
    const bool complex = row->parts == 2;
    if (target == BB_ELEMENT_B) {
        return complex ? bb_text_add(out, "(%s.x != 0 || %s.y != 0)", operand, operand)
                       : bb_text_add(out, "(%s != 0)", operand);
    }
    if (!row->is_float) {
        return bb_text_add(out, "(%s)%s", dialect->type_names[target], operand);
    }
    return bb_text_add(out, "bb_to_%s_%c(%s%s)", target == BB_ELEMENT_INDEX ? "index" : "int",
                       letter(row->part), operand, complex ? ".x" : "");
}

bb_status bb_expression_print_conversion(const bb_expression_dialect *dialect, const char *operand,
                                         bb_element_type source, bb_element_type target,
                                         bb_text *out)
{
    const bb_element_row *row = bb_element_type_row(target);
    const bool complex = bb_element_type_row(source)->parts == 2;
    const char *part = dialect->type_names[row->part];
    if (source == target) {
        return bb_text_add(out, "%s", operand);
    }
    if (!row->is_float) {
        return add_to_integer(dialect, operand, source, target, out);
    }
    if (row->parts == 1) {
        return bb_text_add(out, "(%s)%s%s", part, operand, complex ? ".x" : "");
    }
    if (!complex) {
        return bb_text_add(out, "bb_pair_%c((%s)%s, 0)", letter(target), part, operand);
    }
    return bb_text_add(out, "bb_pair_%c((%s)%s.x, (%s)%s.y)", letter(target), part, operand, part,
                       operand);
}

// Middle part of a helper's name, between bb_ and the type.
static const char *helper_name(bb_operation operation)
{
    static const char *const names[BB_OPERATION_COUNT] = {
        [BB_OPERATION_ADD] = "add",      [BB_OPERATION_SUBTRACT] = "sub",
        [BB_OPERATION_MULTIPLY] = "mul", [BB_OPERATION_DIVIDE] = "div",
        [BB_OPERATION_MODULO] = "mod",   [BB_OPERATION_NEGATE] = "neg",
        [BB_OPERATION_FABS] = "abs"};
    return names[operation] != NULL ? names[operation]
                                    : bb_expression_operation_row(operation)->symbol;
}

// True if C's operator, on operands of `type`, matches the language.
static bool is_plain(bb_operation operation, bb_element_type type)
{
    const bb_element_row *row = bb_element_type_row(type);
    switch (operation) {
    case BB_OPERATION_NEGATE:
    case BB_OPERATION_ADD:
    case BB_OPERATION_SUBTRACT:
    case BB_OPERATION_MULTIPLY:
    case BB_OPERATION_DIVIDE:
        return row->is_float && row->parts == 1;
    default:
        return !bb_expression_operation_row(operation)->function &&
               operation != BB_OPERATION_MODULO;
    }
}

static bool is_sum(bb_operation operation)
{
    return operation == BB_OPERATION_ADD || operation == BB_OPERATION_SUBTRACT ||
           operation == BB_OPERATION_MULTIPLY || operation == BB_OPERATION_NEGATE;
}

typedef struct names {
    char operands[BB_EXPRESSION_OPERANDS][80];
} names;

static bb_status add_complex(const bb_expression_node *node, bb_element_type type,
                             const names *name, bb_text *out)
{
    const char *a = name->operands[0];
    const char *b = name->operands[1];
    switch (node->operation) {
    case BB_OPERATION_RE:
        return bb_text_add(out, "%s.x", a);
    case BB_OPERATION_IM:
        return bb_text_add(out, "%s.y", a);
    case BB_OPERATION_EQUAL:
        return bb_text_add(out, "bb_equal_%c(%s, %s)", letter(type), a, b);
    case BB_OPERATION_NOT_EQUAL:
        return bb_text_add(out, "!bb_equal_%c(%s, %s)", letter(type), a, b);
    default:
        return bb_text_add(out, "bb_%s_%c(%s%s%s)", helper_name(node->operation), letter(type), a,
                           bb_expression_operation_row(node->operation)->operands > 1 ? ", " : "",
                           bb_expression_operation_row(node->operation)->operands > 1 ? b : "");
    }
}

// Appends the expression of an operation on variables.
static bb_status add_operation(const bb_expression *expression, const bb_expression_node *node,
                               const names *name, bb_text *out)
{
    const bb_expression_operation *row = bb_expression_operation_row(node->operation);
    const bb_element_type type = expression->nodes[node->operands[0]].type;
    const char *a = name->operands[0];
    const char *b = name->operands[1];
    if (node->operation == BB_OPERATION_SELECT) {
        return bb_element_type_row(node->type)->parts == 2
                   ? bb_text_add(out, "bb_select_%c(%s, %s, %s)", letter(node->type), a, b,
                                 name->operands[2])
                   : bb_text_add(out, "%s ? %s : %s", a, b, name->operands[2]);
    }
    if (node->operation == BB_OPERATION_PAIR) {
        return bb_text_add(out, "bb_pair_%c(%s, %s)", letter(node->type), a, b);
    }
    if (bb_element_type_row(type)->parts == 2) {
        return add_complex(node, type, name, out);
    }
    if (is_plain(node->operation, type) ||
        (expression->is_selector && is_sum(node->operation) && type == BB_ELEMENT_INDEX)) {
        return row->operands == 1 ? bb_text_add(out, "%s%s", row->symbol, a)
                                  : bb_text_add(out, "%s %s %s", a, row->symbol, b);
    }
    return bb_text_add(out, "bb_%s_%c(%s%s%s)", helper_name(node->operation), letter(type), a,
                       row->operands > 1 ? ", " : "", row->operands > 1 ? b : "");
}

bb_status bb_expression_print(const bb_expression *expression, const bb_expression_dialect *dialect,
                              const char *prefix, const char *const *inputs,
                              const char *const *accumulators, const char *const *parameters,
                              bb_text *out)
{
    bb_status status = BB_OK;
    for (int k = 0; k < expression->count; ++k) {
        const bb_expression_node *node = &expression->nodes[k];
        const bb_scalar literal = {.parts = {node->number, 0.0}, .integer = node->integer};
        names name;
        for (int operand = 0; operand < BB_EXPRESSION_OPERANDS; ++operand) {
            (void)snprintf(name.operands[operand], sizeof name.operands[operand], "%s%d", prefix,
                           node->operands[operand]);
        }
        BB_TRY(bb_text_add(out, "const %s %s%d = ", dialect->type_names[node->type], prefix, k));
        switch (node->operation) {
        case BB_OPERATION_LITERAL:
            BB_TRY(bb_expression_print_constant(dialect, literal, node->type, out));
            break;
        case BB_OPERATION_INPUT:
            BB_TRY(bb_text_add(out, "%s", inputs[node->index]));
            break;
        case BB_OPERATION_ACCUMULATOR:
            BB_TRY(bb_text_add(out, "%s", accumulators[node->index]));
            break;
        case BB_OPERATION_PARAMETER:
            BB_TRY(bb_text_add(out, "%s", parameters[node->index]));
            break;
        case BB_OPERATION_CONVERT:
            BB_TRY(bb_expression_print_conversion(dialect, name.operands[0],
                                                  expression->nodes[node->operands[0]].type,
                                                  node->type, out));
            break;
        default:
            BB_TRY(add_operation(expression, node, &name, out));
        }
        BB_TRY(bb_text_add(out, ";\n"));
    }
done:
    return status;
}
