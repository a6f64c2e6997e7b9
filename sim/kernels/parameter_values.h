// SPDX-License-Identifier: Apache-2.0
//
// Values of a kernel's parameters as they are typed: "limit=0.5", of complex types "z=0.5,-1".
#ifndef BB_SIM_KERNELS_PARAMETER_VALUES_H
#define BB_SIM_KERNELS_PARAMETER_VALUES_H

#include "solvers/kernels/program/program.h"

/// Reads `words` [count] into `out` [parameter_count of the program]. `fallback` [parameter_count]
/// has values of those that no word names, NULL: each needs one. Problems: a parameter without a
/// value or with two, an unknown one (the nearest is told), a value that is none of its type: B
/// takes 0, 1, false and true, floats also nan, inf and -inf. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_parameter_values_read(const bb_program *program, const char *const *words,
                                              bb_index count, const bb_scalar *fallback,
                                              bb_problems *problems, bb_scalar *out);

#endif
