// SPDX-License-Identifier: Apache-2.0
//
// What a tuner works on (seed 002's kernel manager, level 2): a program, shapes on which its
// variants are verified, and sets on which they are timed. There are those of the shipped kernels
// (manager_subject.h) and of a program and sizes of the caller's (caller_subject.h).
#ifndef BB_SOLVERS_KERNELS_TUNING_TUNING_SUBJECT_H
#define BB_SOLVERS_KERNELS_TUNING_TUNING_SUBJECT_H

#include "solvers/kernels/tuning/trial_data.h"

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
