// SPDX-License-Identifier: Apache-2.0
//
// A program under construction: program.c reads elements, program_connections.c resolves
// connections, program_order.c orders steps, program_scopes.c assigns scopes, program_types.c types
// values and parses the expressions that need their types.
#ifndef BB_SOLVERS_KERNELS_PROGRAM_PROGRAM_BUILDER_H
#define BB_SOLVERS_KERNELS_PROGRAM_PROGRAM_BUILDER_H

#include "solvers/kernels/program/program.h"

/// Meaning of a name of the description.
typedef enum bb_program_named {
    BB_NAMED_HULL, ///< the ParallelAlgorithm
    BB_NAMED_OBJECT,
    BB_NAMED_PARAMETER,
    BB_NAMED_STEP,
} bb_program_named;

typedef struct bb_program_name {
    const char *name;
    bb_program_named kind;
    int index;
} bb_program_name;

typedef struct bb_program_builder {
    const bb_description *description;
    const bb_type_binding *types;
    bb_index type_count;
    bool *type_used; ///< [type_count]
    bb_problems *problems;
    bb_index problems_before; ///< names outside this program
    bb_program *program;
    const bb_element **elements;        ///< [step_count] of the steps
    int (*slots)[BB_PROGRAM_VARIABLES]; ///< [step_count] v(k) of accesses, -1: not connected
    bb_program_name *names;             ///< hash table
    int name_slots;                     ///< a power of two
    int *order;       ///< [step_count + 1] steps in execution order; step_count is the hull
    bb_status status; ///< first failure, normally of an allocation
} bb_program_builder;

/// Records a status unless an earlier failure is recorded; returns true if nothing has failed.
bool bb_program_builder_try(bb_program_builder *builder, bb_status status);

/// Adds a problem.
void bb_program_builder_refuse(bb_program_builder *builder, bb_place place, const char *format, ...)
    BB_PRINTF(3, 4);

/// The entry of a name, NULL if there is none.
const bb_program_name *bb_program_builder_find(const bb_program_builder *builder, const char *name);

/// The type that an attribute names, or that replaces a placeholder. Adds a problem for any other
/// word, and returns SP.
void bb_program_builder_read_type(bb_program_builder *builder, const bb_element *element,
                                  bb_description_key key, bb_element_type *out);

/// Resolves both ends of every connection and fills the acceptors; reports those that remain empty.
void bb_program_builder_connect(bb_program_builder *builder);

/// Orders the steps: fills `order`.
BB_CHECKED bb_status bb_program_builder_order(bb_program_builder *builder);

/// Assigns the scope of each step and value, reports values used where they do not exist, and fills
/// the program's lists.
BB_CHECKED bb_status bb_program_builder_scope(bb_program_builder *builder);

/// Types values in that order and parses expressions and ICFs.
void bb_program_builder_type(bb_program_builder *builder);

/// Types the reduction of the hull (iterator -1) or an iterator, described by `element`: its ICF,
/// start values, whether parts may be joined in any grouping, and its values.
void bb_program_builder_reduce(bb_program_builder *builder, const bb_element *element,
                               const char *owner, int iterator, bb_reduction *reduction);

/// Assigns the order of every reduction.
void bb_program_builder_order_sums(bb_program *program);

enum { BB_PORT_NAME_BYTES = 96 };

/// "read_A.out", for messages.
const char *bb_program_builder_emitter(const bb_program *program, int value,
                                       char text[BB_PORT_NAME_BYTES]);

#endif
