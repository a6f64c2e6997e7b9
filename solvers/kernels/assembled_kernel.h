// SPDX-License-Identifier: Apache-2.0
//
// Assembled kernels (Beier, level 3): a program compiled for a device, with the data needed to
// launch it.
#ifndef BB_SOLVERS_KERNELS_ASSEMBLED_KERNEL_H
#define BB_SOLVERS_KERNELS_ASSEMBLED_KERNEL_H

#include "core/device/build.h"
#include "solvers/kernels/emission/emission.h"
#include "solvers/kernels/program/binding.h"

typedef struct bb_assembled_kernel bb_assembled_kernel;

/// Prints a program in a variant (NULL: the default) and compiles it for a device. The kernel
/// serves every binding whose accesses stay inside their objects wherever `is_inside` [step_count]
/// is true. The program and the device are borrowed for the lifetime of the kernel. Errors:
/// BB_UNSUPPORTED (no compiler, no backend for the device), BB_INVALID (an illegal variant, with
/// the reason), BB_INTERNAL (the text does not compile), BB_MEMORY, BB_DEVICE, BB_IO. Owner: the
/// caller.
BB_CHECKED bb_status bb_assembled_kernel_create(bb_device *device, const bb_program *program,
                                                const bool *is_inside, const bb_choice *choice,
                                                bb_assembled_kernel **out);
void bb_assembled_kernel_destroy(bb_assembled_kernel **kernel);

/// Queues the kernel over `blocks` [object_count], the objects' elements in device memory, with the
/// sizes of the binding and at least one byte each. Errors: BB_INVALID (a binding that the text
/// does not serve), BB_UNSUPPORTED (beyond the limits of the device), BB_DEVICE, BB_MEMORY.
BB_CHECKED bb_status bb_assembled_kernel_launch(bb_assembled_kernel *kernel,
                                                const bb_binding *binding, void *const *blocks);

/// Name of the compiler (bb_build_compiler); valid for the lifetime of the kernel.
const char *bb_assembled_kernel_compiler(const bb_assembled_kernel *kernel);

/// Source text that bb_assembled_kernel_create compiles for a kind of device. Errors: BB_MEMORY.
/// Owner: the caller.
BB_CHECKED bb_status bb_assembled_kernel_print(bb_device_kind kind, const bb_program *program,
                                               const bool *is_inside, const bb_choice *choice,
                                               bb_emission *out);

/// Uploads the data of the binding, launches, waits, and downloads the written objects. Errors:
/// those of bb_assembled_kernel_launch.
BB_CHECKED bb_status bb_assembled_kernel_compute(bb_assembled_kernel *kernel,
                                                 const bb_binding *binding);

#endif
