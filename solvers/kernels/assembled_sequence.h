// SPDX-License-Identifier: Apache-2.0
//
// Bound programs over few points as steps of a single launch of one work-group. Each step sees the
// writes of the earlier ones.
#ifndef BB_SOLVERS_KERNELS_ASSEMBLED_SEQUENCE_H
#define BB_SOLVERS_KERNELS_ASSEMBLED_SEQUENCE_H

#include "core/device/build.h"
#include "solvers/kernels/program/binding.h"

typedef struct bb_assembled_sequence bb_assembled_sequence;

/// A bound program over `blocks` [object_count] in device memory, as for
/// bb_assembled_kernel_launch; borrowed during a call.
typedef struct bb_assembled_step {
    const bb_binding *binding;
    void *const *blocks;
} bb_assembled_step;

/// True if a bound program may be a step: at most some thousands of points
/// (BB_EMISSION_SEQUENCE_POINTS), no reductions, and integers that fit in 32 bits.
bool bb_assembled_sequence_supports(const bb_binding *binding);

/// Prints the text of `steps` [count], at least one, each of them supported, and uploads their
/// arguments. The text depends only on the programs and their accesses that may leave an object;
/// the caller compiles it once per device. Programs are borrowed during the call, the blocks for
/// the lifetime of the sequence. Errors: BB_UNSUPPORTED (OpenCL), BB_DEVICE, BB_MEMORY. Owner: the
/// caller.
BB_CHECKED bb_status bb_assembled_sequence_create(bb_device *device, const bb_assembled_step *steps,
                                                  bb_index count, bb_assembled_sequence **out);
void bb_assembled_sequence_destroy(bb_assembled_sequence **sequence);

/// Source text; valid for the lifetime of the sequence.
const char *bb_assembled_sequence_source(const bb_assembled_sequence *sequence);

/// Queues steps [first, behind) with a build of the source. Errors: from bb_build_launch.
BB_CHECKED bb_status bb_assembled_sequence_launch(const bb_assembled_sequence *sequence,
                                                  bb_build *build, bb_index first, bb_index behind);

#endif
