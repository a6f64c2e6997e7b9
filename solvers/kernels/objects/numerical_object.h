// SPDX-License-Identifier: Apache-2.0
//
// Numerical objects (Beier, level 1): vectors and matrices of one element type on one device, and
// operations on them, each a shipped kernel. An image is a matrix.
//
// Elements are copied between host and device on demand. State after each use:
//
//     created                    no copy: zeros, allocated on demand
//     read by the host           host and device, after at most one download
//     changed by the host        host only, the device copy is stale
//     operand of an operation    host and device, after at most one upload
//     result of an operation     device only, the host copy is stale; it is not uploaded
//
// bb_numerical_traffic counts the copies. On the cpu, too, an object has two copies, so that a
// program behaves the same everywhere.
//
// The objects of one operation must be of one context. A result must differ from the operands; all
// its elements are overwritten.
#ifndef BB_SOLVERS_KERNELS_OBJECTS_NUMERICAL_OBJECT_H
#define BB_SOLVERS_KERNELS_OBJECTS_NUMERICAL_OBJECT_H

#include "solvers/kernels/objects/kernel_context.h"

typedef struct bb_numerical_object bb_numerical_object;

/// Creates a vector of `length` zeros, or a matrix [rows][columns] of zeros, of SP or DP, on a
/// context's device; the context is borrowed for the lifetime of the object. Nothing is copied.
/// Errors: BB_INVALID (another type, an extent below 1 or beyond 2^40), BB_MEMORY. Owner: the
/// caller.
BB_CHECKED bb_status bb_numerical_object_vector(bb_kernel_context *context, bb_element_type type,
                                                bb_index length, bb_numerical_object **out);
BB_CHECKED bb_status bb_numerical_object_matrix(bb_kernel_context *context, bb_element_type type,
                                                bb_index columns, bb_index rows,
                                                bb_numerical_object **out);
void bb_numerical_object_destroy(bb_numerical_object **object);

bb_element_type bb_numerical_object_type(const bb_numerical_object *object);
bb_index bb_numerical_object_columns(const bb_numerical_object *object); ///< or the length
bb_index bb_numerical_object_rows(const bb_numerical_object *object);    ///< 1 for a vector

/// Use of the elements by the host.
typedef enum bb_numerical_access {
    BB_NUMERICAL_READ,      ///< reads them
    BB_NUMERICAL_CHANGE,    ///< reads them and changes some
    BB_NUMERICAL_OVERWRITE, ///< overwrites all: nothing is downloaded
} bb_numerical_access;

/// Elements on the host, [rows][columns], float for SP and double for DP. They belong to the object
/// and may be used until it is next passed to a function. Waits for pending computations. Errors:
/// BB_MEMORY, BB_DEVICE.
BB_CHECKED bb_status bb_numerical_object_host(bb_numerical_object *object,
                                              bb_numerical_access access, void **elements);

/// Bytes copied for an object since its creation.
typedef struct bb_numerical_traffic {
    bb_index uploads, downloads;
    double uploaded_bytes, downloaded_bytes;
} bb_numerical_traffic;

bb_numerical_traffic bb_numerical_object_traffic(const bb_numerical_object *object);

/// Operations are queued and do not wait. Errors of all: BB_INVALID (incompatible types or sizes, a
/// result that is an operand, objects of two contexts), errors of bb_kernel_context_run.

/// Sets every element to `value`, rounded to the type.
BB_CHECKED bb_status bb_numerical_object_fill(bb_numerical_object *object, double value);

/// out = a, out = a + b, out = factor a, of one shape and type.
BB_CHECKED bb_status bb_numerical_object_copy(bb_numerical_object *a, bb_numerical_object *out);
BB_CHECKED bb_status bb_numerical_object_add(bb_numerical_object *a, bb_numerical_object *b,
                                             bb_numerical_object *out);
BB_CHECKED bb_status bb_numerical_object_scale(bb_numerical_object *a, double factor,
                                               bb_numerical_object *out);

/// Euclidean norm of all elements, and their maximum, as vectors of length 1, which stay on the
/// device until the host reads them.
BB_CHECKED bb_status bb_numerical_object_norm(bb_numerical_object *a, bb_numerical_object *out);
BB_CHECKED bb_status bb_numerical_object_max(bb_numerical_object *a, bb_numerical_object *out);

/// y = A x and y = A^T x, of a matrix and vectors.
BB_CHECKED bb_status bb_numerical_object_multiply(bb_numerical_object *a, bb_numerical_object *x,
                                                  bb_numerical_object *y);
BB_CHECKED bb_status bb_numerical_object_multiply_transposed(bb_numerical_object *a,
                                                             bb_numerical_object *x,
                                                             bb_numerical_object *y);

/// Five-point Laplace operator of a matrix, grid spacing 1, 0 beyond the edge.
BB_CHECKED bb_status bb_numerical_object_laplace(bb_numerical_object *u, bb_numerical_object *v);

#endif
