// SPDX-License-Identifier: Apache-2.0
//
// Elements of a program's objects in one choice of sizes: a shape of a verification, or a set on
// which variants are timed.
#ifndef BB_SOLVERS_KERNELS_TUNING_TRIAL_DATA_H
#define BB_SOLVERS_KERNELS_TUNING_TRIAL_DATA_H

#include "solvers/kernels/program/binding.h"

enum { BB_TRIAL_OBJECTS = 32, BB_TRIAL_SHAPES = 8, BB_TRIAL_EXTENTS = 4 };

/// Extents of shapes, the largest of a program's first: 1; primes; one less and one more than
/// work-groups and tiles; beyond a chunk of a sum, in each direction.
extern const bb_index bb_trial_shapes[BB_TRIAL_SHAPES][BB_TRIAL_EXTENTS];

/// Zero-initialise; release with bb_trial_data_release.
typedef struct bb_trial_data {
    char name[64];
    bb_program_data objects[BB_TRIAL_OBJECTS]; ///< elements owned
    int count;
} bb_trial_data;

/// Allocates zeros for all objects, whose sizes stand there. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_trial_data_allocate(const bb_program *program, bb_trial_data *data);
void bb_trial_data_release(bb_trial_data *data);

/// Bytes of one object, and of all.
size_t bb_trial_data_object_bytes(const bb_program *program, const bb_trial_data *data, int object);
double bb_trial_data_bytes(const bb_program *program, const bb_trial_data *data);

#endif
