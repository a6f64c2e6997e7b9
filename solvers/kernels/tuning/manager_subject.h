// SPDX-License-Identifier: Apache-2.0
//
// The shipped kernels as a tuner's subjects: the sets of their managers, by number, and shapes that
// follow from the `odd` set: each extent that it has (but 1, and of sparse rows) becomes another,
// equal ones the same. The first shape is the `small` set.
#ifndef BB_SOLVERS_KERNELS_TUNING_MANAGER_SUBJECT_H
#define BB_SOLVERS_KERNELS_TUNING_MANAGER_SUBJECT_H

#include "solvers/kernels/kernel_manager.h"
#include "solvers/kernels/tuning/tuning_subject.h"

typedef struct bb_manager_subject bb_manager_subject;

/// Reads a manager's description and takes its types for `type` (bb_kernel_manager_types), which is
/// borrowed. Errors: BB_INVALID (no such type for this kernel), BB_MEMORY. Owner: the caller.
BB_CHECKED bb_status bb_manager_subject_create(const bb_kernel_manager *manager, const char *type,
                                               bb_manager_subject **out);
void bb_manager_subject_destroy(bb_manager_subject **subject);

const bb_tuning_subject *bb_manager_subject_table(const bb_manager_subject *subject);
const bb_description *bb_manager_subject_description(const bb_manager_subject *subject);

#endif
