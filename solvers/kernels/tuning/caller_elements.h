// SPDX-License-Identifier: Apache-2.0
//
// What stands in for the elements of a caller's objects where sizes alone are given: real numbers
// in [-1, 1) and truth values that follow from object and index; integers below a limit, which is
// the largest extent for which the program binds. Integers that decide how far an iterator runs
// rise from 0 to a limit of their own, as the beginnings of sparse rows do.
#ifndef BB_SOLVERS_KERNELS_TUNING_CALLER_ELEMENTS_H
#define BB_SOLVERS_KERNELS_TUNING_CALLER_ELEMENTS_H

#include "solvers/kernels/program/binding.h"

/// INT32 elements are in [0, index), those that decide on a range in [0, range].
typedef struct bb_caller_limits {
    bb_index index, range;
} bb_caller_limits;

/// Marks the objects [object_count] whose elements decide how far an iterator runs. Errors:
/// BB_MEMORY.
BB_CHECKED bb_status bb_caller_elements_find_ranges(const bb_program *program, bool *is_range);

/// Fills an object's elements.
void bb_caller_elements_fill(const bb_program *program, const bool *is_range,
                             bb_caller_limits limits, int object, const bb_program_data *data);

/// Binds sizes `data` [object_count], whose elements are NULL, with integers below the largest
/// limits for which that goes. What is against the smallest ones goes to `problems`, and there is
/// then no binding. Errors: BB_MEMORY. Owner of `*out`: the caller; it refers to no integers.
BB_CHECKED bb_status bb_caller_elements_bind(const bb_program *program, const bb_scalar *parameters,
                                             const bool *is_range, const bb_program_data *data,
                                             bb_problems *problems, bb_caller_limits *limits,
                                             bb_binding *out);

#endif
