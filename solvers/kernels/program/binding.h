// SPDX-License-Identifier: Apache-2.0
//
// A program with the sizes of its objects and the values of its parameters. program.h checks the
// conditions that hold for every size; here the conditions on the actual sizes are checked before
// anything runs.
#ifndef BB_SOLVERS_KERNELS_PROGRAM_BINDING_H
#define BB_SOLVERS_KERNELS_PROGRAM_BINDING_H

#include "solvers/kernels/program/program.h"

struct bb_affine_system;

/// Data of an object: packed elements, columns fastest, complex ones as two parts.
typedef struct bb_program_data {
    bb_index columns; ///< or the length of a vector
    bb_index rows;    ///< 1 for a vector
    void *elements;   ///< on the host, [rows][columns]
} bb_program_data;

typedef struct bb_binding {
    const bb_program *program;              ///< borrowed
    bb_program_data *data;                  ///< [object_count]
    bb_scalar *values;                      ///< [value_count] values known on the host
    bb_index ranges[BB_PROGRAM_DIMENSIONS]; ///< ranges of the main space; 1 for unused dimensions
    bool *is_inside;  ///< [step_count] accesses that never leave their object and need no boundary
    int64_t farthest; ///< largest magnitude of a number of type index at any point; at most 2^60
} bb_binding;

/// Binds `data` [object_count] and `parameters` [parameter_count]. Problems: a selector that leaves
/// its object without a boundary (with the interval it reaches), a write that may conflict with
/// itself at another point or with a read, an extent or range below 0 or beyond 2^40. Elements of
/// integer objects are read if they determine which elements are accessed; they must not change
/// afterwards. Errors: BB_MEMORY. Owner: the caller.
BB_CHECKED bb_status bb_binding_create(const bb_program *program, const bb_program_data *data,
                                       const bb_scalar *parameters, bb_problems *problems,
                                       bb_binding *out);
void bb_binding_release(bb_binding *binding);

/// Computes values and ranges from sizes and parameters only (NULL: each is 1). Nothing is checked,
/// no element is read, and no access is inside. Errors: BB_MEMORY. Owner: the caller,
/// bb_binding_release.
BB_CHECKED bb_status bb_binding_create_sizes(const bb_program *program, const bb_program_data *data,
                                             const bb_scalar *parameters, bb_binding *out);

/// First step that `is_inside` [step_count] assumes to stay inside its object although the binding
/// does not guarantee it; step_count: none.
int bb_binding_find_outside(const bb_binding *binding, const bool *is_inside);

/// Lower bound of the memory traffic in bytes: every element that is read or written, once in each
/// direction. If their number depends on data, all elements of the object count.
double bb_binding_bytes(const bb_binding *binding);

/// For bb_binding_create: adds a problem for every write whose selector may address an element
/// twice, and for every access that conflicts with a write of another point.
BB_CHECKED bb_status bb_binding_check_races(const bb_binding *binding,
                                            struct bb_affine_system *system, bb_problems *problems);

#endif
