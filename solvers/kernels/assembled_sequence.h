// SPDX-License-Identifier: Apache-2.0
//
// Bound programs over few points as steps of one launch of one work-group, each of which sees what
// those before wrote.
#ifndef BB_SOLVERS_KERNELS_ASSEMBLED_SEQUENCE_H
#define BB_SOLVERS_KERNELS_ASSEMBLED_SEQUENCE_H

#include "core/device/build.h"
#include "solvers/kernels/program/binding.h"

typedef struct bb_assembled_sequence bb_assembled_sequence;

/// A program of some sizes over `blocks` [object_count] of the device's memory, as
/// bb_assembled_kernel_launch takes them; borrowed during a call.
typedef struct bb_assembled_step {
    const bb_binding *binding;
    void *const *blocks;
} bb_assembled_step;

/// Whether a bound program may be a step: at most some thousands of points
/// (BB_EMISSION_SEQUENCE_POINTS), none of which sums anything, and whole numbers that 32 bits hold.
bool bb_assembled_sequence_supports(const bb_binding *binding);

/// Prints the text of `steps` [count], at least one, each of which serves, and puts what they work
/// on in the device's memory. The text is that of all steps of the same programs, as long as no
/// other of their accesses may leave its object; the caller has it compiled for the device, once.
/// Programs are borrowed during the call, the blocks for as long as the sequence lives. Errors:
/// BB_UNSUPPORTED (of OpenCL), BB_DEVICE, BB_MEMORY. Owner: the caller.
BB_CHECKED bb_status bb_assembled_sequence_create(bb_device *device, const bb_assembled_step *steps,
                                                  bb_index count, bb_assembled_sequence **out);
void bb_assembled_sequence_destroy(bb_assembled_sequence **sequence);

/// Valid as long as the sequence.
const char *bb_assembled_sequence_source(const bb_assembled_sequence *sequence);

/// Queues steps [first, behind), by a build of the source. Errors: those of bb_build_launch.
BB_CHECKED bb_status bb_assembled_sequence_launch(const bb_assembled_sequence *sequence,
                                                  bb_build *build, bb_index first, bb_index behind);

#endif
