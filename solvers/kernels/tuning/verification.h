// SPDX-License-Identifier: Apache-2.0
//
// Whether a variant of a kernel is right: it gives the evaluator's bits (evaluation.h) on shapes
// that no tile, work-group or chunk divides, with NaN, Inf and zeros of both signs in the data, and
// writes nothing beside its objects.
//
// Shapes are the subject's (tuning_subject.h). Objects lie between 256 bytes that nothing may
// change; in OpenCL, whose blocks have no address, only behind: what is read there is NaN. A
// variant with another order of sums is held to the evaluator in that order to the bit, and that
// order to the program's within (gamma_a + gamma_b) sum|terms|, gamma_d = d u / (1 - d u), d the
// additions that a term passes (Higham 2002, (4.4)); sum|terms| is the kernel's own result of
// |data|, which holds for sums of products, not for every kernel that a user may write.
#ifndef BB_SOLVERS_KERNELS_TUNING_VERIFICATION_H
#define BB_SOLVERS_KERNELS_TUNING_VERIFICATION_H

#include "solvers/kernels/assembled_kernel.h"
#include "solvers/kernels/emission/choice.h"
#include "solvers/kernels/program/evaluation.h"
#include "solvers/kernels/tuning/tuning_subject.h"

/// What became of a variant.
typedef enum bb_trial_status {
    BB_TRIAL_RIGHT,
    BB_TRIAL_BEST,    ///< right, and the fastest of its set
    BB_TRIAL_SLOW,    ///< right on the shapes here, and so slow that no more was tried
    BB_TRIAL_COMPILE, ///< its text does not compile
    BB_TRIAL_LIMIT,   ///< beyond the device's limits
    BB_TRIAL_RUN,     ///< fails when it runs
    BB_TRIAL_WRONG,   ///< other numbers, or something written beside its objects
    BB_TRIAL_COUNT,
} bb_trial_status;

/// NULL-terminated words in the order of the enum: "right", "best", "slow", ...
extern const char *const bb_trial_names[];

enum { BB_TRIAL_BYTES = 240 };

typedef struct bb_trial {
    bb_trial_status status;
    char why[BB_TRIAL_BYTES]; ///< a sentence where it failed
} bb_trial;

/// What a failure of a call is to a trial: true where it is one of the variant (BB_INTERNAL and
/// BB_INVALID: compile, BB_UNSUPPORTED: limit, BB_DEVICE: run), with this thread's message; false
/// where it is one of the host.
bool bb_trial_is_failure(bb_status status, bb_trial *out);

typedef struct bb_verification bb_verification;

/// Shapes and data of a subject's program; what the evaluator gives is found when it is first
/// needed. The subject's program is borrowed. Errors: BB_MEMORY, BB_INTERNAL (a shape that does not
/// bind). Owner: the caller.
BB_CHECKED bb_status bb_verification_create(const bb_tuning_subject *subject,
                                            bb_verification **out);
void bb_verification_destroy(bb_verification **verification);

/// Runs a variant on all shapes. `kernel` was assembled for it and `is_inside` [step_count]; shapes
/// with more edges than that have kernels of their own. What is wrong with the variant is in
/// `*out`. Errors: BB_MEMORY, BB_IO.
BB_CHECKED bb_status bb_verification_check(bb_verification *verification, bb_device *device,
                                           const bb_choice *choice, const bool *is_inside,
                                           bb_assembled_kernel *kernel, bb_trial *out);

/// Whether `count` elements are equal to the bit, any NaN to any; else the first that is not.
bool bb_verification_equal(bb_element_type type, const void *got, const void *expected,
                           bb_index count, bb_index *first);

/// Results of the evaluator in one order of sums.
typedef struct bb_verification_answer {
    bb_reduction_order order;         ///< lanes 0: the program's
    bool is_bounded;                  ///< by (gamma_a + gamma_b) sum|terms|
    void *elements[BB_TRIAL_OBJECTS]; ///< of the written objects
} bb_verification_answer;

/// One shape with data and the evaluator's results. Zero-initialise; release with
/// bb_verification_case_release.
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
