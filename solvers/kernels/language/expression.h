// SPDX-License-Identifier: Apache-2.0
//
// Expressions of the kernel language: what a FunctionBlock does, an iteration connection function
// (ICF), a selector. Parsed once, typed, and then evaluated or printed in a back end's language.
//
// Grammar, by rising precedence: ?: || && == != < <= > >= + - * / % unary - ! and calls. Texts hold
// one expression an output, separated by `;` (of selectors: by `,`); a trailing `;` is allowed.
// Operands: #in(k), #acc(k), v0 ... v3 of selectors, names of parameters in selectors, literals.
//
// Arithmetic, the same to the bit in every back end:
//   - a node computes in the block's type D, literals are of type D (1/2 is a half in SP), in SP2
//     and DP2 real until they meet a complex number; comparisons and logic give B, which counts as
//     a number where one is wanted; conditions are B or real, NaN is true; inputs are converted to
//     D, the value of an output is too;
//   - INT32 + - * wrap; x / 0 and x % 0 are 0, else as in C; a float becomes INT32 by truncation,
//     saturating, NaN as 0; index arithmetic is the same in 64 bits, of which INT32 takes the lower
//     half; sqrt, floor, rint are of floats alone, arithmetic is not of B;
//   - max(a, b) is a where a > b or a is NaN, else b; min likewise; both hand NaN on;
//   - SP2, DP2: * is the complex product (ac - bd, ad + bc), / goes by the conjugate and
//     c c + d d; abs is sqrt(re re + im im); < and the like, %, min, max, floor, rint, fabs, sqrt
//     are of real numbers alone; a complex number becomes a real one by its real part;
//   - no contraction but the one that bb_expression_product finds.
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
    /// Of emitters only: sizes, positions of a space and what integer blocks make of them; 64 bits.
    BB_ELEMENT_INDEX = BB_ELEMENT_TYPE_COUNT,
} bb_element_type;

typedef struct bb_element_row {
    const char *name; ///< "SP"
    size_t bytes;     ///< of an element in memory
    int parts;        ///< 2: complex
    bool is_float;    ///< of its parts
    bb_element_type part;
    unsigned widens_to; ///< sum of 1 << type over those that take it without a FunctionBlock
} bb_element_row;

/// The row of a type, that of BB_ELEMENT_INDEX too.
const bb_element_row *bb_element_type_row(bb_element_type type);

/// Whether a value of `source` may be handed to an acceptor of `target` as it is or wider: INT32 to
/// SP to DP, B to INT32, real to complex of the same or a wider part, in any number of such steps.
/// INT32 and index go to each other, and index to all that INT32 goes to: a block that computes
/// with positions takes its own type.
bool bb_element_type_widens(bb_element_type source, bb_element_type target);

/// Type by name; index has none. Errors: BB_INVALID with the nearest name.
BB_CHECKED bb_status bb_element_type_find(const char *name, bb_element_type *out);

typedef enum bb_operation {
    BB_OPERATION_LITERAL,
    BB_OPERATION_INPUT,       ///< #in(index) or v<index>
    BB_OPERATION_ACCUMULATOR, ///< #acc(index)
    BB_OPERATION_PARAMETER,   ///< by name, in selectors, as index; index counts the names
    BB_OPERATION_CONVERT,     ///< to the node's type
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
    BB_OPERATION_AND, ///< both sides are computed
    BB_OPERATION_OR,
    BB_OPERATION_SELECT, ///< operands: condition, value, other value; all are computed
    BB_OPERATION_SQRT,
    BB_OPERATION_FABS,
    BB_OPERATION_MIN,
    BB_OPERATION_MAX,
    BB_OPERATION_FLOOR,
    BB_OPERATION_RINT, ///< to nearest, ties to even
    BB_OPERATION_RE,
    BB_OPERATION_IM,
    BB_OPERATION_CONJ,
    BB_OPERATION_ABS,  ///< of complex numbers; of real ones as fabs
    BB_OPERATION_PAIR, ///< complex of two reals
    BB_OPERATION_COUNT,
} bb_operation;

enum { BB_EXPRESSION_OPERANDS = 3, BB_EXPRESSION_MAX_NODES = 4096, BB_EXPRESSION_MAX_DEPTH = 64 };

/// Operands stand before the node that takes them; equal nodes are one.
typedef struct bb_expression_node {
    bb_operation operation;
    bb_element_type type;
    int operands[BB_EXPRESSION_OPERANDS];
    int index;
    double number;    ///< of a literal of a float type, as rounded to it
    int64_t integer;  ///< of one of INT32, B or index
    const char *name; ///< of a parameter
} bb_expression_node;

typedef struct bb_expression {
    const bb_expression_node *nodes;
    int count;
    const int *outputs; ///< [output_count] nodes
    int output_count;
    int inputs;               ///< 1 + the largest index of an input, 0: none
    int accumulators;         ///< likewise
    const char *const *names; ///< [name_count] of parameters, in order of first use
    int name_count;
    bool is_selector; ///< binding keeps its numbers below 2^60, so that sums are printed as sums
} bb_expression;

/// What a text may hold, and how it is typed.
typedef struct bb_expression_rules {
    bb_element_type type;               ///< of the block: D; BB_ELEMENT_INDEX for selectors
    const bb_element_type *input_types; ///< [inputs]; NULL: all are D already
    int inputs;                         ///< #in(0) ... #in(inputs - 1), or v0 ...
    int accumulators;                   ///< #acc(0) ...
    int outputs;                        ///< so many expressions are expected; 0: any number from 1
    bool selector;                      ///< v<k> and names in place of #in(k); `,` separates
} bb_expression_rules;

/// Parses and types `text`, whose first character stands at `place`. Mistakes go to `problems` as
/// "what: ... at 'rest of the text'", `what` naming object and attribute; one a text, at the column
/// of its character, and `*out` is then empty. All memory is the arena's. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_expression_parse(const char *text, const char *what, bb_place place,
                                         const bb_expression_rules *rules, bb_arena *arena,
                                         bb_problems *problems, bb_expression *out);

/// A value at run time: parts of a float type, or an integer.
typedef struct bb_scalar {
    double parts[2]; ///< SP values are held as doubles that are floats
    int64_t integer; ///< B, INT32, index
} bb_scalar;

/// Converts between any two types as the language says.
bb_scalar bb_expression_convert(bb_scalar value, bb_element_type source, bb_element_type target);

/// One operation on values [operands of it] of its operands' types. `node` is none of a literal,
/// input, accumulator or parameter.
bb_scalar bb_expression_operate(const bb_expression *expression, int node,
                                const bb_scalar *operand_values);

/// Computes all outputs. `values` [count] is scratch and holds every node afterwards.
void bb_expression_evaluate(const bb_expression *expression, const bb_scalar *inputs,
                            const bb_scalar *accumulators, const bb_scalar *parameters,
                            bb_scalar *values, bb_scalar *outputs);

/// ICFs that are known to be associative, so that parts may be combined in any grouping.
typedef enum bb_icf {
    BB_ICF_OTHER,
    BB_ICF_SUM,
    BB_ICF_PRODUCT,
    BB_ICF_MAX,
    BB_ICF_MIN,
    BB_ICF_AND,
    BB_ICF_OR,
} bb_icf;

/// What a one-output ICF is: `#acc(0) op #in(0)`, either way round, or max, min of the two.
bb_icf bb_expression_icf(const bb_expression *expression);

/// The operation of a known ICF.
bb_operation bb_expression_icf_operation(bb_icf icf);

/// Neutral element of a known ICF in a type: 0, 1, -Inf or the smallest INT32, Inf or the largest.
bb_scalar bb_expression_neutral(bb_icf icf, bb_element_type type);

/// Whether the output is one real product a * b of two nodes, which a sum then takes by fma.
bool bb_expression_product(const bb_expression *expression, int factors[2]);

/// A back end's language: how it names types, and what of C it says otherwise. Its compiler must
/// contract nothing and round / and sqrt as IEEE 754 does: NVRTC with --fmad=false, cc with
/// -ffp-contract=off and, as gcc 12 drops the conversions of two neighbours to float and back where
/// it joins them in a vector, -fno-tree-slp-vectorize.
typedef struct bb_expression_dialect {
    const char *type_names[BB_ELEMENT_TYPE_COUNT + 1];
    const char *unsigned_names[2]; ///< of INT32 and index
    const char *function;          ///< what stands before a helper: "static inline"
    const char *single_suffix;     ///< of functions of SP: "f", "" where they are overloaded
    const char *index_suffix;      ///< of literals of 64 bits
    const char *prologue;          ///< before the helpers
    const char *double_begin;      ///< around what needs DP, which a device may lack; or ""
    const char *double_end;
} bb_expression_dialect;

extern const bb_expression_dialect bb_expression_dialect_c;      ///< C17: gcc, clang
extern const bb_expression_dialect bb_expression_dialect_opencl; ///< OpenCL C 1.2
extern const bb_expression_dialect bb_expression_dialect_cuda;   ///< CUDA C++17 without headers

/// Appends the definitions of all helpers, which stand before everything that is printed:
/// bb_<operation>_<type>, type being i (INT32), l (index), f, d, c (SP2), z (DP2), and
/// bb_fma_f, bb_fma_d. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_expression_print_helpers(const bb_expression_dialect *dialect,
                                                 bb_text *out);

/// Appends a declaration a node, one a line: `const float p7 = p3 * p5;` with `prefix` p (of at
/// most 60 characters); output k is then `prefix` and outputs[k]. `inputs`, `accumulators` and
/// `parameters` are expressions in the back end's language, of the types that the expression was
/// parsed with; parameters are index. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_expression_print(const bb_expression *expression,
                                         const bb_expression_dialect *dialect, const char *prefix,
                                         const char *const *inputs, const char *const *accumulators,
                                         const char *const *parameters, bb_text *out);

/// Appends `operand`, a variable of `source`, as an expression of `target`, as
/// bb_expression_convert does. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_expression_print_conversion(const bb_expression_dialect *dialect,
                                                    const char *operand, bb_element_type source,
                                                    bb_element_type target, bb_text *out);

/// Appends a constant that reads back to the same bits: a neutral element. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_expression_print_constant(const bb_expression_dialect *dialect,
                                                  bb_scalar value, bb_element_type type,
                                                  bb_text *out);

#endif
