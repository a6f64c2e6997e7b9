// SPDX-License-Identifier: Apache-2.0
//
// A program with the sizes of its objects and the values of its parameters: what every size must
// satisfy is known from program.h, what these sizes must is checked here, before anything runs.
#ifndef BB_SOLVERS_KERNELS_PROGRAM_BINDING_H
#define BB_SOLVERS_KERNELS_PROGRAM_BINDING_H

#include "solvers/kernels/program/program.h"

struct bb_affine_system;

/// What is bound to a data object: elements packed, columns fastest, complex ones as two parts.
typedef struct bb_program_data {
    bb_index columns; ///< or the length of a vector
    bb_index rows;    ///< 1 of a vector
    void *elements;   ///< on the host, [rows][columns]
} bb_program_data;

typedef struct bb_binding {
    const bb_program *program;              ///< borrowed
    bb_program_data *data;                  ///< [object_count]
    bb_scalar *values;                      ///< [value_count] of those that stand on the host
    bb_index ranges[BB_PROGRAM_DIMENSIONS]; ///< of the main space; 1 beyond its dimensions
    bool *is_inside;  ///< [step_count] accesses that never leave their object: no boundary to treat
    int64_t farthest; ///< no number of type index is, at a point, further from 0; at most 2^60
} bb_binding;

/// Binds `data` [object_count] and `parameters` [parameter_count]. Problems: a selector that leaves
/// its object without a boundary (with the interval that it reaches), a write that may meet itself
/// at another point or a read, an extent or range below 0 or beyond 2^40. Elements of integer
/// objects are looked at where they decide what is reached; they must not change afterwards.
/// Errors: BB_MEMORY. Owner: the caller.
BB_CHECKED bb_status bb_binding_create(const bb_program *program, const bb_program_data *data,
                                       const bb_scalar *parameters, bb_problems *problems,
                                       bb_binding *out);
void bb_binding_release(bb_binding *binding);

/// Values and ranges of sizes and parameters alone (NULL: each is 1): nothing is checked, no
/// element is read, and no access is inside. Errors: BB_MEMORY. Owner: the caller,
/// bb_binding_release.
BB_CHECKED bb_status bb_binding_create_sizes(const bb_program *program, const bb_program_data *data,
                                             const bb_scalar *parameters, bb_binding *out);

/// First step that `is_inside` [step_count] assumes to stay inside its object and the binding does
/// not; step_count: none.
int bb_binding_find_outside(const bb_binding *binding, const bool *is_inside);

/// Bytes that must cross the memory at least: every element that is read or written, once each way;
/// of elements whose number depends on data as many as the object has.
double bb_binding_bytes(const bb_binding *binding);

/// For bb_binding_create: adds a problem for every write whose selector takes an element twice, and
/// every access that meets a write of another point.
BB_CHECKED bb_status bb_binding_check_races(const bb_binding *binding,
                                            struct bb_affine_system *system, bb_problems *problems);

#endif
