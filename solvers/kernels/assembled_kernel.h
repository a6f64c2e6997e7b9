// SPDX-License-Identifier: Apache-2.0
//
// Assembled kernels (seed 002, level 3): a program compiled for a device, with what is needed to
// launch it.
#ifndef BB_SOLVERS_KERNELS_ASSEMBLED_KERNEL_H
#define BB_SOLVERS_KERNELS_ASSEMBLED_KERNEL_H

#include "core/device/build.h"
#include "solvers/kernels/emission/emission.h"
#include "solvers/kernels/program/binding.h"

typedef struct bb_assembled_kernel bb_assembled_kernel;

/// Prints a program in a variant (NULL: the default) and compiles it for a device; it serves every
/// binding whose accesses stay inside their objects where those of `is_inside` [step_count] do. The
/// program and the device are borrowed for as long as the kernel lives. Errors: BB_UNSUPPORTED (no
/// compiler, no back end for the device), BB_INVALID (the program has no such variant, which is
/// told), BB_INTERNAL (the text does not compile), BB_MEMORY, BB_DEVICE, BB_IO. Owner: the caller.
BB_CHECKED bb_status bb_assembled_kernel_create(bb_device *device, const bb_program *program,
                                                const bool *is_inside, const bb_choice *choice,
                                                bb_assembled_kernel **out);
void bb_assembled_kernel_destroy(bb_assembled_kernel **kernel);

/// Queues the kernel over `blocks` [object_count], the objects' elements in the device's memory, of
/// the binding's sizes, of at least a byte each. Errors: BB_INVALID (a binding that the
/// text does not serve), BB_UNSUPPORTED (beyond the device's limits), BB_DEVICE, BB_MEMORY.
BB_CHECKED bb_status bb_assembled_kernel_launch(bb_assembled_kernel *kernel,
                                                const bb_binding *binding, void *const *blocks);

/// Name of the compiler (bb_build_compiler); valid as long as the kernel.
const char *bb_assembled_kernel_compiler(const bb_assembled_kernel *kernel);

/// The text that bb_assembled_kernel_create compiles for a kind of device. Errors: BB_MEMORY.
/// Owner: the caller.
BB_CHECKED bb_status bb_assembled_kernel_print(bb_device_kind kind, const bb_program *program,
                                               const bool *is_inside, const bb_choice *choice,
                                               bb_emission *out);

/// Uploads what the binding's data are, launches, waits, and brings what was written back. Errors:
/// as of bb_assembled_kernel_launch.
BB_CHECKED bb_status bb_assembled_kernel_compute(bb_assembled_kernel *kernel,
                                                 const bb_binding *binding);

#endif
