// SPDX-License-Identifier: Apache-2.0
//
// Launches that are queued together, one after another, each seeing what those before wrote.
//
// A launch costs a GPU some microseconds however little it does. Where the device is a GPU of CUDA,
// neighbours in the order whose kernels serve (bb_assembled_sequence_supports: few points, no sums)
// are joined: one work-group of one launch does them in turn. Everywhere else, and on GPUs
// through OpenCL, where buffers have no addresses to be kept in a table, each is queued by itself.
//
// Bits are those of single launches. A joined launch keeps the variant that was chosen for it,
// which is what a chooser was asked about and records tell; points of one work-group take the place
// of its work-groups.
#ifndef BB_SOLVERS_KERNELS_OBJECTS_KERNEL_SEQUENCE_H
#define BB_SOLVERS_KERNELS_OBJECTS_KERNEL_SEQUENCE_H

#include "solvers/kernels/objects/kernel_context.h"

typedef struct bb_kernel_sequence bb_kernel_sequence;

/// A sequence of `launches` [count], none for 0, which are borrowed, may stand in it more than
/// once, and outlive it. What is joined is compiled and known to the device when this returns.
/// Errors: BB_INVALID (launches of more than one context), those of bb_kernel_context_build,
/// BB_DEVICE, BB_MEMORY. Owner: the caller.
BB_CHECKED bb_status bb_kernel_sequence_create(bb_kernel_launch *const *launches, bb_index count,
                                               bb_kernel_sequence **out);
void bb_kernel_sequence_destroy(bb_kernel_sequence **sequence);

/// The same, joined on the cpu device too, where nothing is won: so that what is printed can be
/// tried without a GPU.
BB_CHECKED bb_status bb_kernel_sequence_join(bb_kernel_launch *const *launches, bb_index count,
                                             bb_kernel_sequence **out);

/// Queues it; may be recorded (bb_device_graph) once it was queued. Errors: those of
/// bb_kernel_launch_queue.
BB_CHECKED bb_status bb_kernel_sequence_queue(bb_kernel_sequence *sequence);

/// What it is queued as: launches that stand by themselves, and runs of joined ones, 1 each.
bb_index bb_kernel_sequence_runs(const bb_kernel_sequence *sequence);

/// The text of what is joined; "" where nothing is. Valid as long as the sequence.
const char *bb_kernel_sequence_source(const bb_kernel_sequence *sequence);

#endif
