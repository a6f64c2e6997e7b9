// SPDX-License-Identifier: Apache-2.0
//
// Subject of a tuner (kernel manager, level 2): a program, shapes on which its
// variants are verified, and sets on which they are timed. There are those of the shipped kernels
// (manager_subject.h) and of a program and sizes of the caller's (caller_subject.h).
#ifndef BB_SOLVERS_KERNELS_TUNING_TUNING_SUBJECT_H
#define BB_SOLVERS_KERNELS_TUNING_TUNING_SUBJECT_H

#include "solvers/kernels/program/binding.h"

enum { BB_TRIAL_OBJECTS = 32, BB_TRIAL_SHAPES = 8, BB_TRIAL_EXTENTS = 4 };

/// Extents of shapes, the largest of a program's first: 1; primes; one less and one more than
/// work-groups and tiles; beyond a chunk of a sum, in each direction.
extern const bb_index bb_trial_shapes[BB_TRIAL_SHAPES][BB_TRIAL_EXTENTS];

/// Elements of a program's objects in one choice of sizes: a shape of a verification, or a set on
/// which variants are timed. Zero-initialise; release with bb_trial_data_release.
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

typedef struct bb_tuning_subject bb_tuning_subject;
struct bb_tuning_subject {
    const bb_program *program;   ///< borrowed, of at most BB_TRIAL_OBJECTS objects
    const bb_scalar *parameters; ///< [parameter_count], borrowed
    const void *context;         ///< of the functions
    int shape_count, set_count;
    /// Makes shape `number`, which binds. Errors: BB_MEMORY. Owner of what it holds: the caller,
    /// also where it fails.
    bb_status (*make_shape)(const bb_tuning_subject *subject, int number, bb_trial_data *out);
    /// Name and sizes of set `number`, without elements.
    void (*size_set)(const bb_tuning_subject *subject, int number, bb_trial_data *out);
    /// The elements of set `number`, for which `data` has zeros. Errors: BB_MEMORY.
    bb_status (*fill_set)(const bb_tuning_subject *subject, int number, bb_trial_data *data);
};

#endif
