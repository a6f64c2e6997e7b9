// SPDX-License-Identifier: Apache-2.0
//
// Products of a coded matrix by a kernel of the kernel language
// (configs/kernels/gemv_mixed.kernel), assembled for any device: one description for C, OpenCL and
// CUDA. Stored values are words of fp64 or fp32. The kernel determines the order of the sums, the
// same on every device; products and sums of the same format are fused.
#ifndef BB_SOLVERS_OPERATOR_ASSEMBLED_ASSEMBLED_PRODUCT_H
#define BB_SOLVERS_OPERATOR_ASSEMBLED_ASSEMBLED_PRODUCT_H

#include "solvers/kernels/objects/kernel_context.h"
#include "solvers/operator/coded_operator.h"

/// A matrix on a context's device.
typedef struct bb_assembled_product bb_assembled_product;

/// Copies the matrix to the device, allocates a vector and its product, and compiles the kernel;
/// the matrix may be freed afterwards. The context is borrowed for the lifetime of the product.
/// Errors: BB_UNSUPPORTED (storage other than words of fp64 and fp32), BB_MEMORY, those of
/// bb_kernel_context_run.
BB_CHECKED bb_status bb_assembled_product_create(bb_kernel_context *context,
                                                 const bb_coded_matrix *matrix,
                                                 bb_gemv_arithmetic arithmetic,
                                                 bb_assembled_product **out);
void bb_assembled_product_destroy(bb_assembled_product **product);

/// y[i] = row (row + i) times x for i in [0, rows), with the scales of the rows removed. x
/// [columns], in the format of the products, and y [rows], in fp64, are on the host. Errors: those
/// of bb_kernel_context_run.
BB_CHECKED bb_status bb_assembled_product_multiply(bb_assembled_product *product, bb_index row,
                                                   bb_index rows, const void *x, double *y);

/// Bytes of the matrix read by a product of all rows.
size_t bb_assembled_product_bytes(const bb_assembled_product *product);

/// Name of the compiler of the kernel.
const char *bb_assembled_product_compiler(const bb_assembled_product *product);

#endif
