// SPDX-License-Identifier: Apache-2.0
//
// Verification of a variant of a kernel: it must be bit-identical to the evaluator (evaluation.h)
// on shapes that no tile, work-group or chunk divides, with NaN, Inf and zeros of both signs in the
// data, and must write nothing outside its objects.
//
// Shapes are those of the subject (tuning_subject.h). Objects are surrounded by 256 guard bytes of
// NaN that must not change; in OpenCL, whose blocks have no address, they are only behind the
// object. A variant with another order of sums must be bit-identical to the evaluator in that
// order. The results of that order must agree with those of the program's order within (gamma_a +
// gamma_b) sum|terms|, gamma_d = d u / (1 - d u), with d the number of additions that a term passes
// (Higham 2002, (4.4)). sum|terms| is the kernel's own result for |data|, which is valid for sums
// of products, but not for every kernel that a user may write.
#ifndef BB_SOLVERS_KERNELS_TUNING_VERIFICATION_H
#define BB_SOLVERS_KERNELS_TUNING_VERIFICATION_H

#include "solvers/kernels/assembled_kernel.h"
#include "solvers/kernels/emission/choice.h"
#include "solvers/kernels/program/evaluation.h"
#include "solvers/kernels/tuning/tuning_subject.h"

/// Result of a variant.
typedef enum bb_trial_status {
    BB_TRIAL_RIGHT,
    BB_TRIAL_BEST,    ///< correct, and the fastest of its set
    BB_TRIAL_SLOW,    ///< correct on the shapes, and so slow that it was abandoned
    BB_TRIAL_COMPILE, ///< its text does not compile
    BB_TRIAL_LIMIT,   ///< exceeds the limits of the device
    BB_TRIAL_RUN,     ///< fails at run time
    BB_TRIAL_WRONG,   ///< wrong numbers, or writes outside its objects
    BB_TRIAL_COUNT,
} bb_trial_status;

/// NULL-terminated list of names in the order of the enum: "right", "best", "slow", ...
extern const char *const bb_trial_names[];

enum { BB_TRIAL_BYTES = 240 };

typedef struct bb_trial {
    bb_trial_status status;
    char why[BB_TRIAL_BYTES]; ///< message of a failure
} bb_trial;

/// Classifies the failure of a call in a trial: true if it concerns the variant (BB_INTERNAL and
/// BB_INVALID: compile, BB_UNSUPPORTED: limit, BB_DEVICE: run), with this thread's message; false
/// if it concerns the host.
bool bb_trial_is_failure(bb_status status, bb_trial *out);

typedef struct bb_verification bb_verification;

/// Shapes and data of a subject's program; the evaluator's results are computed on demand. The
/// subject's program is borrowed. Errors: BB_MEMORY, BB_INTERNAL (a shape that does not bind).
/// Owner: the caller.
BB_CHECKED bb_status bb_verification_create(const bb_tuning_subject *subject,
                                            bb_verification **out);
void bb_verification_destroy(bb_verification **verification);

/// Runs a variant on all shapes. `kernel` was assembled for it and `is_inside` [step_count]; shapes
/// where more accesses may leave their objects get separate kernels. Failures of the variant are in
/// `*out`. Errors: BB_MEMORY, BB_IO.
BB_CHECKED bb_status bb_verification_check(bb_verification *verification, bb_device *device,
                                           const bb_choice *choice, const bool *is_inside,
                                           bb_assembled_kernel *kernel, bb_trial *out);

/// True if `count` elements are bit-identical, treating all NaN as equal; otherwise returns the
/// first that is not.
bool bb_verification_equal(bb_element_type type, const void *got, const void *expected,
                           bb_index count, bb_index *first);

/// Results of the evaluator in one order of sums.
typedef struct bb_verification_answer {
    bb_reduction_order order; ///< lanes 0: the program's order
    bool is_bounded;          ///< within (gamma_a + gamma_b) sum|terms| of the program's order
    void *elements[BB_TRIAL_OBJECTS]; ///< elements of the written objects
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

/// Creates case `number` of a subject, with specials in every second one. Errors: BB_MEMORY,
/// BB_INTERNAL (it does not bind).
BB_CHECKED bb_status bb_verification_case_create(const bb_tuning_subject *subject, int number,
                                                 bb_verification_case *out);
void bb_verification_case_release(bb_verification_case *item);

/// Expected results in a choice's order of sums, evaluated on demand. Errors: BB_MEMORY. Owner of
/// `*out`: the case.
BB_CHECKED bb_status bb_verification_case_answer(bb_verification_case *item,
                                                 const bb_program *program, const bb_choice *choice,
                                                 const bb_verification_answer **out);

#endif
