// SPDX-License-Identifier: Apache-2.0
//
// A kernel's description, checked and put in order: what the evaluator runs and what every back end
// prints. Made once of a description, for one choice of types.
//
// Emitters are values, numbered through the program. Steps take values and make values; they stand
// in four lists in the order in which they run: on the host, once, from sizes and parameters
// (`host`); once a point of the main space (`body`); once an iteration of an IteratorBlock (its
// `steps`); once after the space, from the result of its ICF (`final`).
//
// A list's order is the order of the children in the description wherever connections and ordering
// rules allow it. A read whose boundary is `skip` runs before every write of its list, so that a
// point is left out as a whole.
#ifndef BB_SOLVERS_KERNELS_PROGRAM_PROGRAM_H
#define BB_SOLVERS_KERNELS_PROGRAM_PROGRAM_H

#include "solvers/kernels/language/description.h"
#include "solvers/kernels/language/expression.h"

enum {
    BB_PROGRAM_DIMENSIONS = 2,
    BB_PROGRAM_ACCUMULATORS = 8,
    BB_PROGRAM_VARIABLES = 4, ///< of a selector
    BB_PROGRAM_PORTS = 64,    ///< inputs or outputs of a function, names in a selector
    BB_PROGRAM_LANES = 128,   ///< the most of a reduction
};

typedef enum bb_structure { BB_STRUCTURE_VECTOR, BB_STRUCTURE_MATRIX } bb_structure;

/// What a read or write beyond the extents does.
typedef enum bb_boundary {
    BB_BOUNDARY_NONE,     ///< binding shows that there is none
    BB_BOUNDARY_CLAMP,    ///< the nearest element
    BB_BOUNDARY_ZERO,     ///< reads 0; writes nothing
    BB_BOUNDARY_MIRROR,   ///< reflected without repeating the edge: -1 is 1; extent 1 clamps
    BB_BOUNDARY_PERIODIC, ///< any distance
    BB_BOUNDARY_SKIP,     ///< leaves out the innermost body for this point; a write: itself
    BB_BOUNDARY_COUNT,
} bb_boundary;

/// Where a value stands.
typedef enum bb_scope { BB_SCOPE_HOST, BB_SCOPE_BODY, BB_SCOPE_ITERATOR, BB_SCOPE_FINAL } bb_scope;

typedef enum bb_value_kind {
    BB_VALUE_SIZE,      ///< extent `index` of data object `owner`
    BB_VALUE_PARAMETER, ///< parameter `owner`
    BB_VALUE_POSITION,  ///< position `index` in the main space, or of iterator `owner`
    BB_VALUE_READ,      ///< of step `owner`
    BB_VALUE_FUNCTION,  ///< output `index` of step `owner`
    BB_VALUE_REDUCTION, ///< accumulator `index` of the main space or of iterator `owner`
} bb_value_kind;

typedef struct bb_value {
    bb_value_kind kind;
    bb_element_type type;
    bb_scope scope;
    int owner; ///< see the kinds; -1 of positions and reductions: the main space
    int index;
    int iterator; ///< in which it stands, -1: none
} bb_value;

typedef struct bb_program_object {
    const char *name;
    bb_place place;
    bb_structure structure;
    bb_element_type type;
    int sizes[BB_PROGRAM_DIMENSIONS]; ///< values: columns (or length), rows; a vector's second is
                                      ///< -1
    bool is_read, is_written;
} bb_program_object;

typedef struct bb_program_parameter {
    const char *name;
    bb_place place;
    bb_element_type type;
    int value;
} bb_program_parameter;

typedef enum bb_step_kind {
    BB_STEP_READ,
    BB_STEP_WRITE,
    BB_STEP_FUNCTION,
    BB_STEP_ITERATOR,
} bb_step_kind;

/// One object of the description at work.
typedef struct bb_step {
    bb_step_kind kind;
    const char *name;
    bb_place place;
    int object;               ///< of an access
    bb_boundary boundary;     ///< of an access
    bb_expression expression; ///< selector (one output a dimension) or function
    int *inputs;              ///< values for v(k) or in(k), [expression.inputs]
    const int *parameters;    ///< values for a selector's names, [expression.name_count]
    int stored;               ///< a write: the value
    int output;               ///< first value made; -1: none
    int iterator;             ///< of an iterator's step: which; else that in which it stands, or -1
} bb_step;

/// Order of the partial results of a reduction, the same on every device: see bb_reduction_order.
typedef struct bb_reduction_order {
    bb_index lanes; ///< a power of two
    bb_index chunk; ///< a multiple of lanes; 0: no chunks
} bb_reduction_order;

/// An iteration connection function at work.
typedef struct bb_reduction {
    bb_expression expression;
    bb_expression join; ///< the same of inputs of `type`: takes another part's accumulators; empty
                        ///< where it is of none such, and not associative
    bb_icf icf;
    bool is_associative; ///< of a known ICF, or declared
    int count;           ///< accumulators
    bb_element_type type;
    bb_scalar start[BB_PROGRAM_ACCUMULATORS]; ///< of the first part: ICFInit or neutral
    bb_scalar neutral;                        ///< of the other parts, where icf is known
    int inputs[BB_PROGRAM_ACCUMULATORS];      ///< values for func(k)
    int product; ///< step of the body whose one product the sum takes by fma; -1: none
    int output;  ///< first value made
    bb_reduction_order order;
} bb_reduction;

typedef struct bb_iteration_space {
    int dimensions;
    int ranges[BB_PROGRAM_DIMENSIONS];    ///< values; positions are 0 ... range - 1
    int positions[BB_PROGRAM_DIMENSIONS]; ///< values
} bb_iteration_space;

/// Steps by number, in order.
typedef struct bb_step_list {
    int *steps;
    int count;
} bb_step_list;

typedef struct bb_iterator {
    const char *name;
    int step; ///< that stands for it in the body
    bb_iteration_space space;
    bb_reduction reduction;
    bb_step_list steps;
} bb_iterator;

typedef struct bb_program {
    bb_arena arena;
    const char *name;
    bb_place place; ///< of the ParallelAlgorithm
    bb_program_object *objects;
    int object_count;
    bb_program_parameter *parameters;
    int parameter_count;
    bb_value *values;
    int value_count;
    bb_step *steps;
    int step_count;
    bb_iterator *iterators;
    int iterator_count;
    bb_iteration_space space;
    bool has_reduction; ///< of the main space
    bb_reduction reduction;
    bb_step_list host, body, final;
} bb_program;

/// A placeholder of the description and the type that takes its place: "USED_FLOAT", "SP".
typedef struct bb_type_binding {
    const char *name;
    const char *type;
} bb_type_binding;

/// Checks all that holds for every size: names, types, connections (one emitter an acceptor, every
/// acceptor connected), scopes, ordering rules; nearest names and cycles as a path are told. The
/// description's texts and places are borrowed for as long as the program lives. Problems go to
/// `problems`, all of them in one go; the program is then empty. Errors: BB_MEMORY, BB_INVALID
/// (over the limits of the language).
BB_CHECKED bb_status bb_program_create(const bb_description *description,
                                       const bb_type_binding *types, bb_index type_count,
                                       bb_problems *problems, bb_program *out);
void bb_program_release(bb_program *program);

/// "clamp"
const char *bb_program_boundary_name(bb_boundary boundary);

#endif
