// SPDX-License-Identifier: Apache-2.0
//
// Numerical objects (seed 002, level 1): vectors and matrices of one element type on one device,
// and operations on them, each a shipped kernel. An image is a matrix.
//
// Elements cross between host and device when they are needed there and not before. An object knows
// where its elements stand:
//
//     made                       nowhere: zeros, on either side when asked for
//     looked at by the host      host and device, after at most one download
//     changed by the host        host alone, the device's are stale
//     operand of an operation    host and device, after at most one upload
//     result of an operation     device alone, the host's are stale; it is not uploaded
//
// bb_numerical_traffic counts what crossed. On the cpu, too, an object has elements on both sides,
// so that a program moves the same everywhere.
//
// Objects of one operation are of one context. A result is another object than its operands, whose
// elements are all overwritten.
#ifndef BB_SOLVERS_KERNELS_OBJECTS_NUMERICAL_OBJECT_H
#define BB_SOLVERS_KERNELS_OBJECTS_NUMERICAL_OBJECT_H

#include "solvers/kernels/objects/kernel_context.h"

typedef struct bb_numerical_object bb_numerical_object;

/// A vector of `length` zeros, or a matrix [rows][columns] of them, of SP or DP, on a context's
/// device; the context is borrowed for as long as the object lives. Nothing crosses. Errors:
/// BB_INVALID (another type, an extent below 1 or beyond 2^40), BB_MEMORY. Owner: the caller.
BB_CHECKED bb_status bb_numerical_object_vector(bb_kernel_context *context, bb_element_type type,
                                                bb_index length, bb_numerical_object **out);
BB_CHECKED bb_status bb_numerical_object_matrix(bb_kernel_context *context, bb_element_type type,
                                                bb_index columns, bb_index rows,
                                                bb_numerical_object **out);
void bb_numerical_object_destroy(bb_numerical_object **object);

bb_element_type bb_numerical_object_type(const bb_numerical_object *object);
bb_index bb_numerical_object_columns(const bb_numerical_object *object); ///< or the length
bb_index bb_numerical_object_rows(const bb_numerical_object *object);    ///< 1 of a vector

/// How the host uses elements.
typedef enum bb_numerical_access {
    BB_NUMERICAL_READ,      ///< looks at them
    BB_NUMERICAL_CHANGE,    ///< looks at them and changes some
    BB_NUMERICAL_OVERWRITE, ///< writes them all: nothing is downloaded
} bb_numerical_access;

/// The elements on the host, [rows][columns], float of SP and double of DP; they are the object's
/// and may be used until it is next handed to a function. Waits for what computes them. Errors:
/// BB_MEMORY, BB_DEVICE.
BB_CHECKED bb_status bb_numerical_object_host(bb_numerical_object *object,
                                              bb_numerical_access access, void **elements);

/// What crossed for an object since it was made.
typedef struct bb_numerical_traffic {
    bb_index uploads, downloads;
    double uploaded_bytes, downloaded_bytes;
} bb_numerical_traffic;

bb_numerical_traffic bb_numerical_object_traffic(const bb_numerical_object *object);

/// Operations are queued and do not wait. Errors of all: BB_INVALID (types or sizes that do not go
/// together, a result that is an operand, objects of two contexts), those of
/// bb_kernel_context_run.

/// Every element becomes `value`, rounded to the type.
BB_CHECKED bb_status bb_numerical_object_fill(bb_numerical_object *object, double value);

/// out = a, out = a + b, out = factor a, of one shape and type.
BB_CHECKED bb_status bb_numerical_object_copy(bb_numerical_object *a, bb_numerical_object *out);
BB_CHECKED bb_status bb_numerical_object_add(bb_numerical_object *a, bb_numerical_object *b,
                                             bb_numerical_object *out);
BB_CHECKED bb_status bb_numerical_object_scale(bb_numerical_object *a, double factor,
                                               bb_numerical_object *out);

/// The Euclidean norm of all elements, and the largest of them, as vectors of length 1: they stay
/// on the device until the host asks.
BB_CHECKED bb_status bb_numerical_object_norm(bb_numerical_object *a, bb_numerical_object *out);
BB_CHECKED bb_status bb_numerical_object_max(bb_numerical_object *a, bb_numerical_object *out);

/// y = A x and y = A^T x, of a matrix and vectors.
BB_CHECKED bb_status bb_numerical_object_multiply(bb_numerical_object *a, bb_numerical_object *x,
                                                  bb_numerical_object *y);
BB_CHECKED bb_status bb_numerical_object_multiply_transposed(bb_numerical_object *a,
                                                             bb_numerical_object *x,
                                                             bb_numerical_object *y);

/// The Laplace operator of 5 points on a grid of spacing 1, 0 beyond the edge, of a matrix.
BB_CHECKED bb_status bb_numerical_object_laplace(bb_numerical_object *u, bb_numerical_object *v);

#endif
