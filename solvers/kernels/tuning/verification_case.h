// SPDX-License-Identifier: Apache-2.0
//
// One shape with data for bb_verification, and what the evaluator makes of it, by order of sums.
#ifndef BB_SOLVERS_KERNELS_TUNING_VERIFICATION_CASE_H
#define BB_SOLVERS_KERNELS_TUNING_VERIFICATION_CASE_H

#include "solvers/kernels/emission/choice.h"
#include "solvers/kernels/kernel_manager.h"
#include "solvers/kernels/program/evaluation.h"

/// Shapes of every manager: `small` of its sets and those that follow from `odd`.
enum { BB_VERIFICATION_CASES = 9 };

/// What the evaluator gives in one order of sums.
typedef struct bb_verification_answer {
    bb_reduction_order order;           ///< lanes 0: the program's
    bool is_bounded;                    ///< see verification.h
    void *elements[BB_MANAGER_OBJECTS]; ///< of the written objects
} bb_verification_answer;

/// Zero-initialise; release with bb_verification_case_release.
typedef struct bb_verification_case {
    char name[64];
    bool has_specials; ///< NaN, Inf, zeros of both signs in the data
    bb_program_data data[BB_MANAGER_OBJECTS];
    int count;
    bb_binding binding;
    bb_verification_answer **answers; ///< [answer_count]
    int answer_count;
} bb_verification_case;

/// Makes case `number`. Errors: BB_MEMORY, BB_INTERNAL (it does not bind).
BB_CHECKED bb_status bb_verification_case_create(const bb_kernel_manager *manager,
                                                 const bb_program *program, int number,
                                                 bb_verification_case *out);
void bb_verification_case_release(bb_verification_case *item);

/// What is right in a choice's order of sums; evaluated when it is first asked for. Errors:
/// BB_MEMORY. Owner of `*out`: the case.
BB_CHECKED bb_status bb_verification_case_answer(bb_verification_case *item,
                                                 const bb_program *program, const bb_choice *choice,
                                                 const bb_verification_answer **out);

/// Bytes of an object.
size_t bb_verification_case_bytes(const bb_verification_case *item, const bb_program *program,
                                  int object);

#endif
