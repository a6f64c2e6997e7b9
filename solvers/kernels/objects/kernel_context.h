// SPDX-License-Identifier: Apache-2.0
//
// Shipped kernels on a device: each is parsed, checked and compiled when it is first run with given
// types, and cached. A chooser selects the variant of a kernel by its sizes.
#ifndef BB_SOLVERS_KERNELS_OBJECTS_KERNEL_CONTEXT_H
#define BB_SOLVERS_KERNELS_OBJECTS_KERNEL_CONTEXT_H

#include "core/device/device.h"
#include "solvers/kernels/assembled_kernel.h"
#include "solvers/kernels/program/binding.h"

enum { BB_KERNEL_CONTEXT_TYPES = 5 };

/// A file of configs/kernels with types for all its placeholders; the texts are borrowed and must
/// outlive the context.
typedef struct bb_kernel_use {
    const char *file; ///< names as in the notation
    bb_type_binding types[BB_KERNEL_CONTEXT_TYPES];
    int type_count;
} bb_kernel_use;

typedef struct bb_kernel_context bb_kernel_context;

/// Creates a context without kernels; the device is borrowed and must outlive it. Errors:
/// BB_MEMORY. Owner: the caller.
BB_CHECKED bb_status bb_kernel_context_create(bb_device *device, bb_kernel_context **out);
void bb_kernel_context_destroy(bb_kernel_context **context);

/// A kernel with types and sizes, all borrowed during a call.
typedef struct bb_kernel_site {
    const bb_kernel_use *use;
    const bb_description *description;
    const bb_program *program;
    const bb_program_data *data; ///< [object_count]; only sizes are used
} bb_kernel_site;

/// Selects variants. Members may be NULL.
typedef struct bb_kernel_chooser {
    void *context;
    /// Called once for given types and sizes of a kernel. `*choice` is the device's default on
    /// entry and must be legal for the program on return. An error fails the launch being created.
    bb_status (*choose)(void *context, const bb_kernel_site *site, bb_choice *choice);
    /// Called when a variant could not be built or launched, so that `taken`, the default, runs
    /// instead, after a warning. Called for each size that requests the variant.
    void (*fall_back)(void *context, const bb_kernel_site *site, const bb_choice *failed,
                      const bb_choice *taken);
} bb_kernel_chooser;

/// Sets the chooser before the first kernel; without one every kernel runs in its default variant.
/// Copied.
void bb_kernel_context_set_chooser(bb_kernel_context *context, const bb_kernel_chooser *chooser);

bb_device *bb_kernel_context_device(const bb_kernel_context *context);

/// Queues a kernel over `blocks` of device memory, with the sizes `data` and `parameters`, in the
/// order of the kernel's objects and parameters. Elements of `data` are read if they determine
/// which elements are accessed; otherwise they may be NULL. The kernel is compiled again if an
/// access may leave its object for the first time. Errors: BB_INVALID (no such file, types or sizes
/// that the kernel rejects, with the reason), errors of bb_assembled_kernel_create and _launch.
BB_CHECKED bb_status bb_kernel_context_run(bb_kernel_context *context, const bb_kernel_use *use,
                                           const bb_program_data *data, const bb_scalar *parameters,
                                           void *const *blocks);

/// A kernel with sizes, parameters and blocks that can be queued repeatedly.
typedef struct bb_kernel_launch bb_kernel_launch;

/// Prepares a launch as bb_kernel_context_run does, without compiling: the first launch that is
/// queued compiles for all launches of the kernel created before. `use`, `data` and `parameters`
/// are copied; elements of `data` are read during the call only. The context and the blocks must
/// outlive the launch. Errors: as bb_kernel_context_run. Owner: the caller.
BB_CHECKED bb_status bb_kernel_launch_create(bb_kernel_context *context, const bb_kernel_use *use,
                                             const bb_program_data *data,
                                             const bb_scalar *parameters, void *const *blocks,
                                             bb_kernel_launch **out);
void bb_kernel_launch_destroy(bb_kernel_launch **launch);

/// Queues the launch. Errors: from bb_assembled_kernel_create and _launch.
BB_CHECKED bb_status bb_kernel_launch_queue(bb_kernel_launch *launch);

/// View of a launch for kernel_sequence.c; valid for the lifetime of the launch. Launches of a
/// kernel with the same types share their program.
typedef struct bb_kernel_launch_view {
    bb_kernel_context *context;
    const bb_binding *binding;
    void *const *blocks; ///< [object_count]
} bb_kernel_launch_view;
bb_kernel_launch_view bb_kernel_launch_query(const bb_kernel_launch *launch);

/// Compiler of the last kernel that ran, for records; "" before the first.
const char *bb_kernel_context_compiler(const bb_kernel_context *context);

/// Compiles a text for the context's device; the context owns the build, and the same text is
/// compiled once. Errors: from bb_build_create, BB_INTERNAL if the text does not compile.
BB_CHECKED bb_status bb_kernel_context_build(bb_kernel_context *context, const char *source,
                                             bb_build **out);

/// Records that such a build has run, for bb_kernel_context_compiler.
void bb_kernel_context_note_run(bb_kernel_context *context, const bb_build *build);

/// Number of kernels and texts that were compiled or found in the cache.
bb_index bb_kernel_context_readied(const bb_kernel_context *context);

#endif
