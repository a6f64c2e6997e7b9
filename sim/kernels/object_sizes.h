// SPDX-License-Identifier: Apache-2.0
//
// Sizes of a kernel's objects as they are typed: "A=2048x1024,b=2048", or the name of a set of its
// benchmark data, "large".
#ifndef BB_SIM_KERNELS_OBJECT_SIZES_H
#define BB_SIM_KERNELS_OBJECT_SIZES_H

#include "solvers/kernels/program/binding.h"

/// Fills columns and rows of `out` [object_count]; `path` is the kernel's file, by whose name its
/// benchmark data are found. Errors: BB_INVALID (no such set or object, an object without sizes, no
/// number).
BB_CHECKED bb_status bb_object_sizes_read(const char *text, const char *path,
                                          const bb_program *program, bb_program_data *out);

#endif
