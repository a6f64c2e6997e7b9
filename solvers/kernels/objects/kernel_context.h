// SPDX-License-Identifier: Apache-2.0
//
// Shipped kernels at hand on a device: each is read, checked and compiled when it is first run with
// a choice of types, and kept. A chooser says which variant a kernel runs as, by its sizes.
#ifndef BB_SOLVERS_KERNELS_OBJECTS_KERNEL_CONTEXT_H
#define BB_SOLVERS_KERNELS_OBJECTS_KERNEL_CONTEXT_H

#include "core/device/device.h"
#include "solvers/kernels/assembled_kernel.h"
#include "solvers/kernels/program/binding.h"

enum { BB_KERNEL_CONTEXT_TYPES = 5 };

/// A file of configs/kernels and types for all its placeholders; the texts are borrowed and outlive
/// the context.
typedef struct bb_kernel_use {
    const char *file; ///< in the notation
    bb_type_binding types[BB_KERNEL_CONTEXT_TYPES];
    int type_count;
} bb_kernel_use;

typedef struct bb_kernel_context bb_kernel_context;

/// A context without kernels; the device is borrowed and outlives it. Errors: BB_MEMORY. Owner: the
/// caller.
BB_CHECKED bb_status bb_kernel_context_create(bb_device *device, bb_kernel_context **out);
void bb_kernel_context_destroy(bb_kernel_context **context);

/// A kernel in some types at some sizes, all borrowed during a call.
typedef struct bb_kernel_site {
    const bb_kernel_use *use;
    const bb_description *description;
    const bb_program *program;
    const bb_program_data *data; ///< [object_count]; only sizes count
} bb_kernel_site;

/// Who says which variant to run. Members may be NULL.
typedef struct bb_kernel_chooser {
    void *context;
    /// Asked once for a kernel's types and sizes; `*choice` is the device's default, and is legal
    /// for the program afterwards. Errors end the launch that is readied.
    bb_status (*choose)(void *context, const bb_kernel_site *site, bb_choice *choice);
    /// Told that a variant could not be built or launched, so that `taken`, the default, runs in
    /// its place; a warning has said so. Told for each sizes that want it.
    void (*fall_back)(void *context, const bb_kernel_site *site, const bb_choice *failed,
                      const bb_choice *taken);
} bb_kernel_chooser;

/// Sets who is asked, before the first kernel; without, every kernel runs as its default. Copied.
void bb_kernel_context_set_chooser(bb_kernel_context *context, const bb_kernel_chooser *chooser);

bb_device *bb_kernel_context_device(const bb_kernel_context *context);

/// Queues a kernel over `blocks` of the device's memory, with the sizes `data` and `parameters`, in
/// the order in which the kernel has its objects and parameters. Elements of `data` are looked at
/// where they say what is reached, else NULL. It is compiled again where an access may leave its
/// object now and could not before. Errors: BB_INVALID (no such file, types or sizes that the
/// kernel does not take, with what is wrong), those of bb_assembled_kernel_create and _launch.
BB_CHECKED bb_status bb_kernel_context_run(bb_kernel_context *context, const bb_kernel_use *use,
                                           const bb_program_data *data, const bb_scalar *parameters,
                                           void *const *blocks);

/// A kernel with sizes, parameters and blocks, to be queued as often as wanted.
typedef struct bb_kernel_launch bb_kernel_launch;

/// Readies what bb_kernel_context_run would do, all of it but compiling: that is done when a launch
/// is first queued, for all launches of the kernel that were readied before. `use`, `data` and
/// `parameters` are copied, the elements of `data` are looked at during the call alone; the context
/// and the blocks outlive the launch. Errors: as bb_kernel_context_run. Owner: the caller.
BB_CHECKED bb_status bb_kernel_launch_create(bb_kernel_context *context, const bb_kernel_use *use,
                                             const bb_program_data *data,
                                             const bb_scalar *parameters, void *const *blocks,
                                             bb_kernel_launch **out);
void bb_kernel_launch_destroy(bb_kernel_launch **launch);

/// Queues it. Errors: those of bb_assembled_kernel_create and _launch.
BB_CHECKED bb_status bb_kernel_launch_queue(bb_kernel_launch *launch);

/// What a launch is, for kernel_sequence.c; valid as long as the launch. Launches of a kernel in
/// the same types have the same program.
typedef struct bb_kernel_launch_view {
    bb_kernel_context *context;
    const bb_binding *binding;
    void *const *blocks; ///< [object_count]
} bb_kernel_launch_view;
bb_kernel_launch_view bb_kernel_launch_query(const bb_kernel_launch *launch);

/// What compiled the last kernel that was run, for records; "" before the first.
const char *bb_kernel_context_compiler(const bb_kernel_context *context);

/// A text compiled for the context's device, which the context keeps; the same text is compiled
/// once. Errors: those of bb_build_create, BB_INTERNAL where the text does not compile.
BB_CHECKED bb_status bb_kernel_context_build(bb_kernel_context *context, const char *source,
                                             bb_build **out);

/// Says that one of those has run, for bb_kernel_context_compiler.
void bb_kernel_context_note_run(bb_kernel_context *context, const bb_build *build);

/// How many kernels and texts were readied: compiled, or found among those that are kept.
bb_index bb_kernel_context_readied(const bb_kernel_context *context);

#endif
