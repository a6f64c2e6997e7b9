// SPDX-License-Identifier: Apache-2.0
//
// The shipped kernels as tuning subjects: the sets of their managers, by number, and shapes derived
// from the `odd` set. Each of its extents (except 1, and those of sparse rows) is replaced by
// another one, equal ones alike. The first shape is the `small` set.
#ifndef BB_SOLVERS_KERNELS_TUNING_MANAGER_SUBJECT_H
#define BB_SOLVERS_KERNELS_TUNING_MANAGER_SUBJECT_H

#include "solvers/kernels/kernel_manager.h"
#include "solvers/kernels/tuning/tuning_subject.h"

typedef struct bb_manager_subject bb_manager_subject;

/// Parses a manager's description and selects its types for `type` (bb_kernel_manager_types), which
/// is borrowed. Errors: BB_INVALID (no such type for this kernel), BB_MEMORY. Owner: the caller.
BB_CHECKED bb_status bb_manager_subject_create(const bb_kernel_manager *manager, const char *type,
                                               bb_manager_subject **out);
void bb_manager_subject_destroy(bb_manager_subject **subject);

const bb_tuning_subject *bb_manager_subject_table(const bb_manager_subject *subject);
const bb_description *bb_manager_subject_description(const bb_manager_subject *subject);

#endif
