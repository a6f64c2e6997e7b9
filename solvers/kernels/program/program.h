// SPDX-License-Identifier: Apache-2.0
//
// A kernel's description, checked and ordered: input of the evaluator and of every backend. Created
// once from a description, for given types.
//
// Emitters are values, numbered across the program. Steps use values and compute values. They are
// in four lists in execution order: on the host, once, from sizes and parameters (`host`); once per
// point of the main space (`body`); once per iteration of an IteratorBlock (its `steps`); once
// after the space, from the result of its ICF (`final`).
//
// A list follows the order of the children in the description where connections and ordering rules
// allow it. A read with boundary `skip` runs before every write of its list, so that a point is
// skipped as a whole.
#ifndef BB_SOLVERS_KERNELS_PROGRAM_PROGRAM_H
#define BB_SOLVERS_KERNELS_PROGRAM_PROGRAM_H

#include "solvers/kernels/language/description.h"
#include "solvers/kernels/language/expression.h"

enum {
    BB_PROGRAM_DIMENSIONS = 2,
    BB_PROGRAM_ACCUMULATORS = 8,
    BB_PROGRAM_VARIABLES = 4, ///< values per selector
    BB_PROGRAM_PORTS = 64,    ///< inputs or outputs of a function, names in a selector
    BB_PROGRAM_LANES = 128,   ///< most lanes of a reduction
};

typedef enum bb_structure { BB_STRUCTURE_VECTOR, BB_STRUCTURE_MATRIX } bb_structure;

/// Behaviour of a read or write beyond the extents.
typedef enum bb_boundary {
    BB_BOUNDARY_NONE,     ///< binding proves that it does not occur
    BB_BOUNDARY_CLAMP,    ///< nearest element
    BB_BOUNDARY_ZERO,     ///< reads 0; writes nothing
    BB_BOUNDARY_MIRROR,   ///< reflected without repeating the edge: -1 is 1; extent 1 clamps
    BB_BOUNDARY_PERIODIC, ///< for any distance
    BB_BOUNDARY_SKIP,     ///< skips the innermost body for this point; for a write: the write
    BB_BOUNDARY_COUNT,
} bb_boundary;

/// Scope in which a value is computed.
typedef enum bb_scope { BB_SCOPE_HOST, BB_SCOPE_BODY, BB_SCOPE_ITERATOR, BB_SCOPE_FINAL } bb_scope;

typedef enum bb_value_kind {
    BB_VALUE_SIZE,      ///< extent `index` of data object `owner`
    BB_VALUE_PARAMETER, ///< parameter `owner`
    BB_VALUE_POSITION,  ///< position `index` in the main space, or of iterator `owner`
    BB_VALUE_READ,      ///< result of step `owner`
    BB_VALUE_FUNCTION,  ///< output `index` of step `owner`
    BB_VALUE_REDUCTION, ///< accumulator `index` of the main space or of iterator `owner`
} bb_value_kind;

typedef struct bb_value {
    bb_value_kind kind;
    bb_element_type type;
    bb_scope scope;
    int owner; ///< depends on the kind; -1 for positions and reductions of the main space
    int index;
    int iterator; ///< iterator whose space contains it, -1: none
} bb_value;

typedef struct bb_program_object {
    const char *name;
    bb_place place;
    bb_structure structure;
    bb_element_type type;
    int sizes[BB_PROGRAM_DIMENSIONS]; ///< values: columns (or length), rows; -1 as second for a
                                      ///< vector
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

/// A step: one object of the description in execution.
typedef struct bb_step {
    bb_step_kind kind;
    const char *name;
    bb_place place;
    int object;               ///< object of an access
    bb_boundary boundary;     ///< boundary of an access
    bb_expression expression; ///< selector (one output per dimension) or function
    int *inputs;              ///< values for v(k) or in(k), [expression.inputs]
    const int *parameters;    ///< values for a selector's names, [expression.name_count]
    int stored;               ///< for a write: the value
    int output;               ///< first computed value; -1: none
    int iterator; ///< for an iterator's step: that iterator; otherwise the iterator that contains
                  ///< it, or -1
} bb_step;

/// Order of the partial results of a reduction, the same on every device: see bb_reduction_order.
typedef struct bb_reduction_order {
    bb_index lanes; ///< a power of two
    bb_index chunk; ///< a multiple of lanes; 0: no chunks
} bb_reduction_order;

/// An iteration connection function with its types and start values.
typedef struct bb_reduction {
    bb_expression expression;
    bb_expression join; ///< ICF with inputs of `type`, for the accumulators of another part; empty
                        ///< if these types do not allow it and the ICF is not associative
    bb_icf icf;
    bool is_associative; ///< known ICF, or declared associative
    int count;           ///< number of accumulators
    bb_element_type type;
    bb_scalar start[BB_PROGRAM_ACCUMULATORS]; ///< start value of the first part: ICFInit or neutral
    bb_scalar neutral;                        ///< start value of the other parts, for a known ICF
    int inputs[BB_PROGRAM_ACCUMULATORS];      ///< values for func(k)
    int product; ///< step of the body whose only product the sum accumulates by fma; -1: none
    int output;  ///< first computed value
    bb_reduction_order order;
} bb_reduction;

typedef struct bb_iteration_space {
    int dimensions;
    int ranges[BB_PROGRAM_DIMENSIONS];    ///< values; positions are 0 ... range - 1
    int positions[BB_PROGRAM_DIMENSIONS]; ///< values
} bb_iteration_space;

/// Step numbers in execution order.
typedef struct bb_step_list {
    int *steps;
    int count;
} bb_step_list;

typedef struct bb_iterator {
    const char *name;
    int step; ///< its step in the body
    bb_iteration_space space;
    bb_reduction reduction;
    bb_step_list steps;
} bb_iterator;

typedef struct bb_program {
    bb_arena arena;
    const char *name;
    bb_place place; ///< place of the ParallelAlgorithm
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
    bool has_reduction; ///< true if the main space has a reduction
    bb_reduction reduction;
    bb_step_list host, body, final;
} bb_program;

/// A placeholder of the description and the type that replaces it: "USED_FLOAT", "SP".
typedef struct bb_type_binding {
    const char *name;
    const char *type;
} bb_type_binding;

/// Checks all conditions that hold for every size: names, types, connections (one emitter per
/// acceptor, every acceptor connected), scopes, ordering rules; reports nearest names, and cycles
/// as a path. The description's texts and places are borrowed for the lifetime of the program. All
/// problems are added to `problems` in one pass; the program is then empty. Errors: BB_MEMORY,
/// BB_INVALID (over the limits of the language).
BB_CHECKED bb_status bb_program_create(const bb_description *description,
                                       const bb_type_binding *types, bb_index type_count,
                                       bb_problems *problems, bb_program *out);
void bb_program_release(bb_program *program);

/// "clamp"
const char *bb_program_boundary_name(bb_boundary boundary);

#endif
