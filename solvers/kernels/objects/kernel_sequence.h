// SPDX-License-Identifier: Apache-2.0
//
// Launches queued together, one after another, each seeing the writes of earlier ones.
//
// A launch costs a GPU some microseconds, however short it is. On a CUDA device, adjacent launches
// of supported kernels (bb_assembled_sequence_supports: few points, no sums) are therefore joined:
// one work-group of a single launch runs them in turn. Elsewhere each is queued separately, also on
// GPUs through OpenCL, whose buffers have no addresses for a table.
//
// Results are bit-identical to separate launches. A joined launch keeps its selected variant for
// the chooser and the records; the points of one work-group replace its work-groups.
#ifndef BB_SOLVERS_KERNELS_OBJECTS_KERNEL_SEQUENCE_H
#define BB_SOLVERS_KERNELS_OBJECTS_KERNEL_SEQUENCE_H

#include "solvers/kernels/objects/kernel_context.h"

typedef struct bb_kernel_sequence bb_kernel_sequence;

/// Creates a sequence of `launches` [count], which may be 0. Launches are borrowed, may occur more
/// than once, and must outlive it. Joined launches are compiled and uploaded on return. Errors:
/// BB_INVALID (launches of different contexts), errors of bb_kernel_context_build, BB_DEVICE,
/// BB_MEMORY. Owner: the caller.
BB_CHECKED bb_status bb_kernel_sequence_create(bb_kernel_launch *const *launches, bb_index count,
                                               bb_kernel_sequence **out);
void bb_kernel_sequence_destroy(bb_kernel_sequence **sequence);

/// Creates a sequence that joins launches also on the cpu, where joining is no faster: this tests
/// the printed texts without a GPU.
BB_CHECKED bb_status bb_kernel_sequence_join(bb_kernel_launch *const *launches, bb_index count,
                                             bb_kernel_sequence **out);

/// Queues the sequence; a bb_device_graph can record it after it has been queued once. Errors:
/// those of bb_kernel_launch_queue.
BB_CHECKED bb_status bb_kernel_sequence_queue(bb_kernel_sequence *sequence);

/// Number of queued units: separate launches, and runs of joined ones, counted as 1 each.
bb_index bb_kernel_sequence_runs(const bb_kernel_sequence *sequence);

/// Text of the joined launches; "" if there are none. Valid for the lifetime of the sequence.
const char *bb_kernel_sequence_source(const bb_kernel_sequence *sequence);

#endif
