// SPDX-License-Identifier: Apache-2.0
//
// One shape with data for bb_verification, and what the evaluator makes of it, by order of sums.
#ifndef BB_SOLVERS_KERNELS_TUNING_VERIFICATION_CASE_H
#define BB_SOLVERS_KERNELS_TUNING_VERIFICATION_CASE_H

#include "solvers/kernels/emission/choice.h"
#include "solvers/kernels/program/evaluation.h"
#include "solvers/kernels/tuning/tuning_subject.h"

/// What the evaluator gives in one order of sums.
typedef struct bb_verification_answer {
    bb_reduction_order order;         ///< lanes 0: the program's
    bool is_bounded;                  ///< see verification.h
    void *elements[BB_TRIAL_OBJECTS]; ///< of the written objects
} bb_verification_answer;

/// Zero-initialise; release with bb_verification_case_release.
typedef struct bb_verification_case {
    bb_trial_data shape;
    bool has_specials; ///< NaN, Inf, zeros of both signs in the data
    bb_binding binding;
    bb_verification_answer **answers; ///< [answer_count]
    int answer_count;
} bb_verification_case;

/// Makes case `number` of a subject, with specials in every second one. Errors: BB_MEMORY,
/// BB_INTERNAL (it does not bind).
BB_CHECKED bb_status bb_verification_case_create(const bb_tuning_subject *subject, int number,
                                                 bb_verification_case *out);
void bb_verification_case_release(bb_verification_case *item);

/// What is right in a choice's order of sums; evaluated when it is first asked for. Errors:
/// BB_MEMORY. Owner of `*out`: the case.
BB_CHECKED bb_status bb_verification_case_answer(bb_verification_case *item,
                                                 const bb_program *program, const bb_choice *choice,
                                                 const bb_verification_answer **out);

#endif
