// SPDX-License-Identifier: Apache-2.0
//
// Subject of a tuner (Beier: kernel manager, level 2): a program, shapes on which its variants are
// verified, and sets on which they are timed. Subjects exist for the shipped kernels
// (manager_subject.h) and for a caller's program and sizes (caller_subject.h).
#ifndef BB_SOLVERS_KERNELS_TUNING_TUNING_SUBJECT_H
#define BB_SOLVERS_KERNELS_TUNING_TUNING_SUBJECT_H

#include "solvers/kernels/program/binding.h"

enum { BB_TRIAL_OBJECTS = 32, BB_TRIAL_SHAPES = 8, BB_TRIAL_EXTENTS = 4 };

/// Extents of shapes, the largest of a program's first: 1; primes; one less and one more than
/// work-groups and tiles; and longer than one chunk of a sum, along each axis.
extern const bb_index bb_trial_shapes[BB_TRIAL_SHAPES][BB_TRIAL_EXTENTS];

/// Elements of a program's objects for given sizes: a shape of a verification, or a set on which
/// variants are timed. Zero-initialise; release with bb_trial_data_release.
typedef struct bb_trial_data {
    char name[64];
    bb_program_data objects[BB_TRIAL_OBJECTS]; ///< elements owned
    int count;
} bb_trial_data;

/// Allocates zeros for all objects, whose sizes are set. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_trial_data_allocate(const bb_program *program, bb_trial_data *data);
void bb_trial_data_release(bb_trial_data *data);

/// Bytes of one object, and of all.
size_t bb_trial_data_object_bytes(const bb_program *program, const bb_trial_data *data, int object);
double bb_trial_data_bytes(const bb_program *program, const bb_trial_data *data);

typedef struct bb_tuning_subject bb_tuning_subject;
struct bb_tuning_subject {
    const bb_program *program;   ///< borrowed, with at most BB_TRIAL_OBJECTS objects
    const bb_scalar *parameters; ///< [parameter_count], borrowed
    const void *context;         ///< context of the functions below
    int shape_count, set_count;
    /// Creates shape `number`, which binds. Errors: BB_MEMORY. Owner of its contents: the caller,
    /// also on failure.
    bb_status (*make_shape)(const bb_tuning_subject *subject, int number, bb_trial_data *out);
    /// Name and sizes of set `number`, without elements.
    void (*size_set)(const bb_tuning_subject *subject, int number, bb_trial_data *out);
    /// Fills the elements of set `number` into `data`, which has zeros. Errors: BB_MEMORY.
    bb_status (*fill_set)(const bb_tuning_subject *subject, int number, bb_trial_data *data);
};

#endif
