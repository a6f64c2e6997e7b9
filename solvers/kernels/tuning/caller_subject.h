// SPDX-License-Identifier: Apache-2.0
//
// A caller's own program as a tuner's subject: one set of the caller's sizes, with the caller's
// elements or stand-ins for them, and shapes that follow from the sizes.
#ifndef BB_SOLVERS_KERNELS_TUNING_CALLER_SUBJECT_H
#define BB_SOLVERS_KERNELS_TUNING_CALLER_SUBJECT_H

#include "solvers/kernels/tuning/tuning_subject.h"

typedef struct bb_caller_subject bb_caller_subject;

/// A subject of a program with sizes `data` [object_count], and either the elements of all objects
/// that are read or none, and values of its parameters; all are borrowed. `name` is the set's.
/// Problems: what binding says (binding.h). Errors: BB_INVALID (over BB_TRIAL_OBJECTS objects, no
/// points, no shape), BB_UNSUPPORTED (without elements: integers that decide how far an iterator
/// runs, or none below an extent with which the program binds), BB_MEMORY. Owner: the caller; NULL
/// where there are problems.
BB_CHECKED bb_status bb_caller_subject_create(const bb_program *program, const char *name,
                                              const bb_program_data *data,
                                              const bb_scalar *parameters, bb_problems *problems,
                                              bb_caller_subject **out);
void bb_caller_subject_destroy(bb_caller_subject **subject);

const bb_tuning_subject *bb_caller_subject_table(const bb_caller_subject *subject);

/// The first object of integers for whose elements others stand in, NULL where there is none, and
/// below what they are.
const char *bb_caller_subject_synthetic(const bb_caller_subject *subject, bb_index *limit);

#endif
