// SPDX-License-Identifier: Apache-2.0
//
// A program while it is made: program.c reads elements, program_connections.c
// what joins them, program_order.c puts steps in order, program_scopes.c says where they
// stand, program_types.c types values and parses what needs their types.
#ifndef BB_SOLVERS_KERNELS_PROGRAM_PROGRAM_BUILDER_H
#define BB_SOLVERS_KERNELS_PROGRAM_PROGRAM_BUILDER_H

#include "solvers/kernels/program/program.h"

/// What a name of the description stands for.
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
    bb_index problems_before; ///< those that are not of this program
    bb_program *program;
    const bb_element **elements;        ///< [step_count] of the steps
    int (*slots)[BB_PROGRAM_VARIABLES]; ///< [step_count] v(k) of accesses, -1: not connected
    bb_program_name *names;             ///< hash table
    int name_slots;                     ///< a power of two
    int *order;       ///< [step_count + 1] steps as they may run; step_count is the hull
    bb_status status; ///< first failure, as a rule of an allocation
} bb_program_builder;

/// Records a status unless an earlier failure is recorded; returns whether nothing has failed.
bool bb_program_builder_try(bb_program_builder *builder, bb_status status);

/// Adds a problem.
void bb_program_builder_refuse(bb_program_builder *builder, bb_place place, const char *format, ...)
    BB_PRINTF(3, 4);

/// The entry of a name, NULL where there is none.
const bb_program_name *bb_program_builder_find(const bb_program_builder *builder, const char *name);

/// The type that an attribute names, a placeholder's where it names one. Adds a problem for another
/// word, and gives SP.
void bb_program_builder_read_type(bb_program_builder *builder, const bb_element *element,
                                  bb_description_key key, bb_element_type *out);

/// Resolves both ends of every connection and fills the acceptors; all of them must then be filled.
void bb_program_builder_connect(bb_program_builder *builder);

/// Orders the steps: fills `order`.
BB_CHECKED bb_status bb_program_builder_order(bb_program_builder *builder);

/// Says where each step and value stands, refuses values that are taken where they do not exist,
/// and fills the program's lists.
BB_CHECKED bb_status bb_program_builder_scope(bb_program_builder *builder);

/// Types values in that order and parses expressions and ICFs.
void bb_program_builder_type(bb_program_builder *builder);

/// Types the reduction of the hull (iterator -1) or an iterator, described by `element`: its ICF,
/// what it starts from, whether parts may be joined in any grouping, and its values.
void bb_program_builder_reduce(bb_program_builder *builder, const bb_element *element,
                               const char *owner, int iterator, bb_reduction *reduction);

/// Gives every reduction its order.
void bb_program_builder_order_sums(bb_program *program);

enum { BB_PORT_NAME_BYTES = 96 };

/// "read_A.out", for messages.
const char *bb_program_builder_emitter(const bb_program *program, int value,
                                       char text[BB_PORT_NAME_BYTES]);

#endif
