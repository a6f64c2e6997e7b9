// SPDX-License-Identifier: Apache-2.0
//
// Fields of numbers on a device, and steps on them. A step is a kernel of the kernel language,
// followed by rounding of its results if they are stored in a narrow format.
#ifndef BB_SOLVERS_UNWRAP_UNWRAP_STEP_H
#define BB_SOLVERS_UNWRAP_UNWRAP_STEP_H

#include "precision/format.h"
#include "solvers/kernels/objects/kernel_context.h"

/// A vector or matrix [rows][columns] in device memory.
typedef struct bb_unwrap_field {
    bb_index columns, rows;
    bb_format format;           ///< storage format
    size_t bytes;               ///< size of the block in bytes: words of fp64 or fp32
    void *block;                ///< NULL: no field
    int32_t *indices;           ///< integer values in host memory, or NULL; borrowed
    bb_kernel_launch *rounding; ///< rounding to the format; NULL if words have the format
} bb_unwrap_field;

/// Creates a zeroed field. Errors: BB_MEMORY, errors of bb_kernel_launch_create. Owner: the caller.
BB_CHECKED bb_status bb_unwrap_field_create(bb_kernel_context *context, bb_format format,
                                            bb_index columns, bb_index rows, bb_unwrap_field *out);

/// Creates a field of `count` 32-bit integers with a copy of `values`, which are borrowed for as
/// long as steps are created with the field; NULL: zeros.
BB_CHECKED bb_status bb_unwrap_field_integers(bb_kernel_context *context, int32_t *values,
                                              bb_index columns, bb_index rows,
                                              bb_unwrap_field *out);
void bb_unwrap_field_release(bb_kernel_context *context, bb_unwrap_field *field);

/// "SP" or "DP": type of the words that store a format.
const char *bb_unwrap_field_type(bb_format format);

enum { BB_UNWRAP_OPERANDS = 11, BB_UNWRAP_WRITTEN = 6 };

/// A kernel over fields.
typedef struct bb_unwrap_step {
    bb_kernel_launch *launch;
    const bb_unwrap_field *written[BB_UNWRAP_WRITTEN];
} bb_unwrap_step;

/// Recipe of a step. Fields are the kernel's objects in its order; `as_vectors` passes matrices as
/// vectors of all their elements.
typedef struct bb_unwrap_recipe {
    bb_kernel_use use;
    const bb_unwrap_field *fields[BB_UNWRAP_OPERANDS];
    bool as_vectors;
    bb_scalar parameters[4];
    const bb_unwrap_field *written[BB_UNWRAP_WRITTEN]; ///< NULL ends them
} bb_unwrap_recipe;

/// Creates a step over fields, which must outlive it. Errors: from bb_kernel_launch_create.
/// Owner: the caller.
BB_CHECKED bb_status bb_unwrap_step_create(bb_kernel_context *context,
                                           const bb_unwrap_recipe *recipe, bb_unwrap_step *out);
void bb_unwrap_step_release(bb_unwrap_step *step);

/// Queues the step. Errors: from bb_kernel_launch_queue.
BB_CHECKED bb_status bb_unwrap_step_run(const bb_unwrap_step *step);

#endif
