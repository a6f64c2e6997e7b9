// SPDX-License-Identifier: Apache-2.0
//
// A caller's own program as a tuning subject: one set with the caller's sizes, with the caller's
// elements or stand-ins for them, and shapes derived from the sizes.
#ifndef BB_SOLVERS_KERNELS_TUNING_CALLER_SUBJECT_H
#define BB_SOLVERS_KERNELS_TUNING_CALLER_SUBJECT_H

#include "solvers/kernels/tuning/tuning_subject.h"

typedef struct bb_caller_subject bb_caller_subject;

/// Creates a subject of a program with sizes `data` [object_count], either the elements of all
/// objects that are read or none, and values of its parameters; all are borrowed. `name` is that of
/// the set. Problems: those of binding (binding.h). Errors: BB_INVALID (over BB_TRIAL_OBJECTS
/// objects, no points, no shape), BB_UNSUPPORTED (without elements: integers that determine the
/// range of an iterator, or none below an extent for which the program binds), BB_MEMORY. Owner:
/// the caller; NULL if there are problems.
BB_CHECKED bb_status bb_caller_subject_create(const bb_program *program, const char *name,
                                              const bb_program_data *data,
                                              const bb_scalar *parameters, bb_problems *problems,
                                              bb_caller_subject **out);
void bb_caller_subject_destroy(bb_caller_subject **subject);

const bb_tuning_subject *bb_caller_subject_table(const bb_caller_subject *subject);

/// First integer object with stand-in elements, and their limit; NULL if there is none.
const char *bb_caller_subject_synthetic(const bb_caller_subject *subject, bb_index *limit);

#endif
