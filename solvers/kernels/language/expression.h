// SPDX-License-Identifier: Apache-2.0
//
// Expressions of the kernel language: the function of a FunctionBlock, an iteration connection
// function (ICF), or a selector. Parsed and typed once, then evaluated or printed in a backend's
// language.
//
// Grammar, by rising precedence: ?: || && == != < <= > >= + - * / % unary - ! and calls. A text has
// one expression per output, separated by `;` (for selectors: by `,`); a trailing `;` is allowed.
// Operands: #in(k), #acc(k), v0 ... v3 in selectors, names of parameters in selectors, literals.
//
// Arithmetic, bit-identical in every backend:
//   - a node computes in the block's type D; literals are of type D (1/2 is a half in SP), in SP2
//     and DP2 real until they meet a complex number; comparisons and logic give B, which counts as
//     a number where one is expected; conditions are B or real, NaN is true; inputs and the values
//     of outputs are converted to D;
//   - INT32 + - * wrap; x / 0 and x % 0 are 0, otherwise as in C; a float becomes INT32 by
//     truncation, saturating, NaN as 0; index arithmetic is the same in 64 bits, of which INT32
//     keeps the lower half; sqrt, floor, rint apply to floats only, arithmetic not to B;
//   - max(a, b) is a if a > b or a is NaN, else b; min likewise; both propagate NaN;
//   - SP2, DP2: * is the complex product (ac - bd, ad + bc), / multiplies by the conjugate and
//     divides by c c + d d; abs is sqrt(re re + im im); comparisons by order, %, min, max, floor,
//     rint, fabs, sqrt apply to real numbers only; a complex number converts to its real part;
//   - no contraction except the one found by bb_expression_product.
#ifndef BB_SOLVERS_KERNELS_LANGUAGE_EXPRESSION_H
#define BB_SOLVERS_KERNELS_LANGUAGE_EXPRESSION_H

#include "core/arena.h"
#include "core/problem.h"

#include <stdbool.h>
#include <stdint.h>

// Element types of the kernel language: Beier, "A self-optimizing framework for developing
// metrology software on massive parallel processor architectures", Table 2.

typedef enum bb_element_type {
    BB_ELEMENT_B,     ///< 0 or 1 in one unsigned byte
    BB_ELEMENT_INT32, ///< two's complement; + - * wrap
    BB_ELEMENT_SP,    ///< IEEE 754 binary32
    BB_ELEMENT_DP,    ///< IEEE 754 binary64
    BB_ELEMENT_SP2,   ///< complex: real, imaginary
    BB_ELEMENT_DP2,
    BB_ELEMENT_TYPE_COUNT,
    /// For emitters only: sizes, positions of a space and values of integer blocks computed from
    /// them; 64 bits.
    BB_ELEMENT_INDEX = BB_ELEMENT_TYPE_COUNT,
} bb_element_type;

typedef struct bb_element_row {
    const char *name; ///< "SP"
    size_t bytes;     ///< bytes of an element in memory
    int parts;        ///< 2: complex
    bool is_float;    ///< the parts are floating-point numbers
    bb_element_type part;
    unsigned widens_to; ///< sum of 1 << type over the types that accept it without a FunctionBlock
} bb_element_row;

/// The row of a type, including BB_ELEMENT_INDEX.
const bb_element_row *bb_element_type_row(bb_element_type type);

/// True if a value of `source` may be connected to an acceptor of `target`, unchanged or widened:
/// INT32 to SP to DP, B to INT32, real to complex of the same or a wider part, in any number of
/// such steps. INT32 and index convert to each other, and index to all targets of INT32; a block
/// that computes with positions has its own type.
bool bb_element_type_widens(bb_element_type source, bb_element_type target);

/// Type by name; index has no name. Errors: BB_INVALID with the nearest name.
BB_CHECKED bb_status bb_element_type_find(const char *name, bb_element_type *out);

typedef enum bb_operation {
    BB_OPERATION_LITERAL,
    BB_OPERATION_INPUT,       ///< #in(index) or v<index>
    BB_OPERATION_ACCUMULATOR, ///< #acc(index)
    BB_OPERATION_PARAMETER,   ///< parameter by name, in selectors, as index; index counts the names
    BB_OPERATION_CONVERT,     ///< conversion to the node's type
    BB_OPERATION_NEGATE,
    BB_OPERATION_NOT,
    BB_OPERATION_ADD,
    BB_OPERATION_SUBTRACT,
    BB_OPERATION_MULTIPLY,
    BB_OPERATION_DIVIDE,
    BB_OPERATION_MODULO, ///< INT32 and index: sign of the first, as in C; float: fmod
    BB_OPERATION_LESS,
    BB_OPERATION_LESS_EQUAL,
    BB_OPERATION_GREATER,
    BB_OPERATION_GREATER_EQUAL,
    BB_OPERATION_EQUAL,
    BB_OPERATION_NOT_EQUAL,
    BB_OPERATION_AND, ///< both sides are evaluated
    BB_OPERATION_OR,
    BB_OPERATION_SELECT, ///< operands: condition, value, other value; all are evaluated
    BB_OPERATION_SQRT,
    BB_OPERATION_FABS,
    BB_OPERATION_MIN,
    BB_OPERATION_MAX,
    BB_OPERATION_FLOOR,
    BB_OPERATION_RINT, ///< to nearest, ties to even
    BB_OPERATION_RE,
    BB_OPERATION_IM,
    BB_OPERATION_CONJ,
    BB_OPERATION_ABS,  ///< for complex numbers; fabs for real ones
    BB_OPERATION_PAIR, ///< complex of two reals
    BB_OPERATION_COUNT,
} bb_operation;

enum { BB_EXPRESSION_OPERANDS = 3, BB_EXPRESSION_MAX_NODES = 4096, BB_EXPRESSION_MAX_DEPTH = 64 };

/// Operands precede the node that uses them; equal nodes are merged.
typedef struct bb_expression_node {
    bb_operation operation;
    bb_element_type type;
    int operands[BB_EXPRESSION_OPERANDS];
    int index;
    double number;    ///< value of a literal of a float type, rounded to it
    int64_t integer;  ///< value of a literal of INT32, B or index
    const char *name; ///< name of a parameter
} bb_expression_node;

typedef struct bb_expression {
    const bb_expression_node *nodes;
    int count;
    const int *outputs; ///< [output_count] nodes
    int output_count;
    int inputs;               ///< 1 + the largest index of an input, 0: none
    int accumulators;         ///< 1 + the largest index of an accumulator, 0: none
    const char *const *names; ///< [name_count] parameters, in order of first use
    int name_count;
    bool is_selector; ///< binding has shown that its numbers are below 2^60, so sums are printed as
                      ///< plain sums
} bb_expression;

/// Allowed operands of a text, and its types.
typedef struct bb_expression_rules {
    bb_element_type type;               ///< type of the block: D; BB_ELEMENT_INDEX for selectors
    const bb_element_type *input_types; ///< [inputs]; NULL: all are D already
    int inputs;                         ///< #in(0) ... #in(inputs - 1), or v0 ...
    int accumulators;                   ///< #acc(0) ...
    int outputs;                        ///< expected number of expressions; 0: any number from 1
    bool selector;                      ///< v<k> and names instead of #in(k); `,` separates
} bb_expression_rules;

/// Parses and types `text`, whose first character is at `place`. Mistakes are added to `problems`
/// as "what: ... at 'rest of the text'", where `what` names object and attribute; at most one per
/// text, at the column of its character, and `*out` is then empty. All memory belongs to the arena.
/// Errors: BB_MEMORY.
BB_CHECKED bb_status bb_expression_parse(const char *text, const char *what, bb_place place,
                                         const bb_expression_rules *rules, bb_arena *arena,
                                         bb_problems *problems, bb_expression *out);

/// A value at run time: parts of a float type, or an integer.
typedef struct bb_scalar {
    double parts[2]; ///< SP values are stored as doubles
    int64_t integer; ///< B, INT32, index
} bb_scalar;

/// Converts between any two types by the rules of the language.
bb_scalar bb_expression_convert(bb_scalar value, bb_element_type source, bb_element_type target);

/// Applies one operation to as many values as it has operands, of its operands' types. `node` is
/// not a literal, input, accumulator or parameter.
bb_scalar bb_expression_operate(const bb_expression *expression, int node,
                                const bb_scalar *operand_values);

/// Computes all outputs. `values` [count] is scratch; it contains the value of every node
/// afterwards.
void bb_expression_evaluate(const bb_expression *expression, const bb_scalar *inputs,
                            const bb_scalar *accumulators, const bb_scalar *parameters,
                            bb_scalar *values, bb_scalar *outputs);

/// ICFs known to be associative, so that parts may be combined in any grouping.
typedef enum bb_icf {
    BB_ICF_OTHER,
    BB_ICF_SUM,
    BB_ICF_PRODUCT,
    BB_ICF_MAX,
    BB_ICF_MIN,
    BB_ICF_AND,
    BB_ICF_OR,
} bb_icf;

/// Kind of a one-output ICF: `#acc(0) op #in(0)`, in either order, or max, min of the two.
bb_icf bb_expression_icf(const bb_expression *expression);

/// Operation of a known ICF.
bb_operation bb_expression_icf_operation(bb_icf icf);

/// Neutral element of a known ICF in a type: 0, 1, -Inf or the smallest INT32, Inf or the largest.
bb_scalar bb_expression_neutral(bb_icf icf, bb_element_type type);

/// True if the output is a single real product a * b of two nodes, which a sum then accumulates by
/// fma.
bool bb_expression_product(const bb_expression *expression, int factors[2]);

/// Dialect of a backend's language: names of types, and differences from C. Its compiler must not
/// contract operations and must round / and sqrt as IEEE 754 requires: NVRTC with --fmad=false, cc
/// with -ffp-contract=off. gcc 12 drops the conversions of two neighbours to float and back when it
/// combines them in a vector, so it also needs -fno-tree-slp-vectorize.
typedef struct bb_expression_dialect {
    const char *type_names[BB_ELEMENT_TYPE_COUNT + 1];
    const char *unsigned_names[2]; ///< unsigned types for INT32 and index
    const char *function;          ///< qualifiers of a helper: "static inline"
    const char *single_suffix;     ///< suffix of SP functions: "f", or "" if they are overloaded
    const char *index_suffix;      ///< suffix of 64-bit literals
    const char *prologue;          ///< text before the helpers
    const char *double_begin; ///< text around helpers that need DP, which a device may lack; or ""
    const char *double_end;
} bb_expression_dialect;

extern const bb_expression_dialect bb_expression_dialect_c;      ///< C17: gcc, clang
extern const bb_expression_dialect bb_expression_dialect_opencl; ///< OpenCL C 1.2
extern const bb_expression_dialect bb_expression_dialect_cuda;   ///< CUDA C++17 without headers

/// Appends the definitions of all helpers, which must precede all other printed text:
/// bb_<operation>_<type>, with type i (INT32), l (index), f, d, c (SP2) or z (DP2), and bb_fma_f,
/// bb_fma_d. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_expression_print_helpers(const bb_expression_dialect *dialect,
                                                 bb_text *out);

/// Appends one declaration per node and line: `const float p7 = p3 * p5;` with `prefix` p (at most
/// 60 characters); output k is then `prefix` followed by outputs[k]. `inputs`, `accumulators` and
/// `parameters` are expressions in the backend's language, of the types with which the expression
/// was parsed; parameters are index. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_expression_print(const bb_expression *expression,
                                         const bb_expression_dialect *dialect, const char *prefix,
                                         const char *const *inputs, const char *const *accumulators,
                                         const char *const *parameters, bb_text *out);

/// Appends `operand`, a variable of `source`, as an expression of `target`, converted like
/// bb_expression_convert. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_expression_print_conversion(const bb_expression_dialect *dialect,
                                                    const char *operand, bb_element_type source,
                                                    bb_element_type target, bb_text *out);

/// Appends a constant that reads back to the same bits, such as a neutral element. Errors:
/// BB_MEMORY.
BB_CHECKED bb_status bb_expression_print_constant(const bb_expression_dialect *dialect,
                                                  bb_scalar value, bb_element_type type,
                                                  bb_text *out);

#endif
